"""Without a clone's ansible.cfg: installed from the artifact, or called elsewhere, a run shows all it has to."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from playbook_bench import BIN, ROOT, Bench

JSON_CALLBACK = '''
DOCUMENTATION = """
name: own_json
type: stdout
short_description: The results of a play as JSON, once it has ended
description: As ansible.posix.json does.
"""
import json
from ansible.plugins.callback import CallbackBase

class CallbackModule(CallbackBase):
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "own_json"

    def v2_playbook_on_stats(self, stats):
        self._display.display(json.dumps({host: stats.summarize(host) for host in stats.processed}))
'''


def played(command: list[str], cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    home = {"HOME": str(cwd / "home")}
    return subprocess.run(
        command, cwd=cwd, env={**environment, **home}, capture_output=True, text=True, timeout=300, check=False
    )


def assert_tells_all(output: str, report: str) -> None:
    assert re.search(r"^step \d/8 ", output, re.MULTILINE), output
    assert len(re.findall(r"^PASS  ", output, re.MULTILINE)) == 1, output
    assert output.rstrip().splitlines()[-1] == f"Report: {report}"


@pytest.mark.slow
def test_a_run_of_the_installed_collection_shows_progress_verdict_and_report(bench: Bench, tmp_path: Path) -> None:
    away, collections = tmp_path / "away", tmp_path / "collections"
    away.mkdir()
    environment = bench.environment()
    galaxy = [str(BIN / "ansible-galaxy"), "collection"]
    built = played([*galaxy, "build", "--output-path", str(tmp_path), str(ROOT)], tmp_path, **environment)
    assert built.returncode == 0, built.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    installed = played([*galaxy, "install", "--offline", str(archive), "-p", str(collections)], away, **environment)
    assert installed.returncode == 0, installed.stderr
    command = bench.arguments("", bench.inventory(node0={}, node1={}), bench.config(), training_output_dir="runs")
    command[1:2] = ["trainops.cluster.megatron_multinode", "--forks=1"]
    done = played(command, away, **environment, ANSIBLE_COLLECTIONS_PATH=str(collections))
    assert done.returncode == 0, done.stdout + done.stderr
    assert_tells_all(done.stdout, str(*away.glob("runs/*/report.html")))
    assert "step 8/8" in done.stdout.split("PLAY RECAP")[0]


@pytest.mark.slow
def test_standard_output_stays_json_and_a_callback_that_is_configured_as_well_tells_once(
    bench: Bench, tmp_path: Path
) -> None:
    (tmp_path / "callbacks").mkdir()
    (tmp_path / "callbacks/own_json.py").write_text(JSON_CALLBACK)
    done = played(
        bench.arguments("megatron_multinode.yml", bench.inventory(node0={}, node1={}), bench.config()),
        tmp_path,
        **bench.environment(),
        ANSIBLE_CALLBACK_PLUGINS=str(tmp_path / "callbacks"),
        ANSIBLE_STDOUT_CALLBACK="own_json",
        ANSIBLE_CALLBACKS_ENABLED="trainops.cluster.training_progress",
        ANSIBLE_COLLECTIONS_PATH=str(ROOT / "collections"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert {host["failures"] for host in json.loads(done.stdout).values()} == {0}
    assert "judged by" in done.stderr
    assert_tells_all(done.stderr, str(*bench.runs.glob("*/report.html")))


def test_variables_that_nothing_reads_are_refused_before_a_node_is_touched(bench: Bench) -> None:
    inventory = bench.inventory(node0={}, node1={"training_adress": "10.0.0.1"})
    done = bench.play("megatron_multinode.yml", inventory, bench.config(), training_rehersal=True)
    assert done.status != 0
    assert done.output.count("Did you mean training_rehearsal?") == 1
    assert "The variable does not exist (on node1). Did you mean training_address?" in done.output
    assert not bench.nodes.exists()
