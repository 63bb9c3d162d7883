"""The controller's disk is full or read-only: no training is stopped for it, and nothing torn is left."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_table import add_row
from faults import trainer, trains
from not_run import need_root
from playbook_bench import BIN, ROOT, Bench, wait_until

BYTES = 1 << 20


def fill(disk: Path) -> None:
    handle = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(handle, bytes(512))
    except OSError:
        os.close(handle)


def remount(disk: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(disk)], check=True)


@pytest.fixture
def disk(bench: Bench) -> Iterator[Path]:
    """A file system of 1 MiB of its own for the runs."""
    need_root("only root may mount a file system of 1 MiB")
    bench.runs.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={BYTES}", "tmpfs", str(bench.runs)]
    if subprocess.run(mount, check=False).returncode:
        pytest.skip("this container may not mount anything; run it on a machine of its own")
    yield bench.runs
    subprocess.run(["umount", "--lazy", str(bench.runs)], check=True)


def torn(disk: Path) -> list[str]:
    """Return the incomplete files of the runs."""
    found = [str(path) for path in disk.rglob("*.new")]
    for path in disk.rglob("*.json"):
        try:
            json.loads(path.read_text())
        except ValueError:
            found.append(str(path))
    return found + [str(path) for path in disk.rglob("*") if path.is_file() and not path.stat().st_size]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "spoil", "repair", "reason", "need"),
    [
        (
            "full",
            fill,
            lambda disk: (disk / "filler").unlink(),
            "No space left on device",
            r"Free about \d+ MiB there",
        ),
        pytest.param(
            "read-only",
            lambda disk: remount(disk, "ro"),
            lambda disk: remount(disk, "rw"),
            "Read-only file system",
            "Make it writable",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["full", "read-only"],
)
def test_a_healthy_training_goes_on_and_is_followed_again(
    bench: Bench, disk: Path, state, spoil, repair, reason, need
) -> None:
    settings = {"training_retries": 1}
    variables = {**trainer(bench), **settings}
    config = bench.config(training_iterations="120")
    run = bench.start("megatron_multinode.yml", bench.inventory(node0={}, node1={}), config, **variables)
    wait_until(lambda: trains(bench))
    began = time.monotonic()
    spoil(disk)
    output, _ = run.communicate(timeout=120)
    noticed = time.monotonic() - began
    assert run.returncode != 0
    assert bench.trainings(), output
    shown = " ".join(output.split())
    assert re.search(rf"{disk}/fault/\S+ cannot be written on this machine: {reason}\. Nothing was stopped", shown), (
        output
    )
    assert re.search(rf"{need}, then follow the run again: ", shown)
    assert "The report cannot be written" not in shown
    assert torn(disk) == []
    (command,) = set(re.findall(r"(?<=then follow the run again: )ansible-playbook .*? training_run_id=fault", shown))
    repair(disk)
    attached = subprocess.run(
        [str(BIN / "ansible-playbook"), *shlex.split(command)[1:]],
        cwd=ROOT,
        env=bench.environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "120/120" in attached.stdout, attached.stdout
    summary = json.loads((disk / "fault/summary.json").read_text())
    assert [node["exit_code"] for node in summary["nodes"]] == [0, 0]
    assert torn(disk) == []
    said = f"{reason}. Nothing was stopped, and the command to follow the run"
    add_row(f"the controller's disk is {state}", noticed, said, "unchanged", "the training", settings)


def test_a_run_that_has_no_room_to_begin_touches_no_node(bench: Bench, disk: Path) -> None:
    fill(disk)
    began = time.monotonic()
    done = bench.play(
        "megatron_multinode.yml", bench.inventory(node0={}, node1={}), bench.config(), training_run_id="r"
    )
    refused = time.monotonic() - began
    shown = " ".join(done.output.split())
    assert done.status != 0
    assert f"{disk}/r/plan.json cannot be written on this machine: No space left on device. No node has been" in shown
    assert not bench.nodes.exists()
    assert not list(disk.glob("*/*"))
    said = "No space left on device. No node has been touched"
    add_row("the controller's disk is full before a run", refused, said, "nothing starts")
