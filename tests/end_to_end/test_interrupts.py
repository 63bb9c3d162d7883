"""Ctrl-C, signals and a terminal that goes away while a run is followed: the training never ends without a word."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import threading
import time

import pytest
from fault_table import add_row
from faults import trainer
from playbook_bench import ROOT, Bench, wait_until

RUN = {"training_run_id": "fault"}


class Terminal:
    """A run in a terminal of its own. Its processes get typed keys, and the signals of a closing terminal."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        self.output = ""
        self.pid, self._handle = pty.fork()
        if self.pid == 0:
            os.chdir(ROOT)
            os.execve(arguments[0], arguments, environment)
        self._closed = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while not self._closed.is_set() and (text := os.read(self._handle, 65536)):
                self.output += text.decode("utf-8", "replace")

    def type(self, text: str) -> None:
        os.write(self._handle, text.encode())

    def close(self) -> None:
        self._closed.set()
        self._reader.join()
        os.close(self._handle)

    def ended(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    @property
    def words(self) -> str:
        """The terminal's text, without colours and line breaks."""
        return " ".join(re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", self.output).split())


@pytest.fixture(autouse=True)
def _hears_sighup():
    """Children of these tests must get SIGHUP, even if the tests are called with nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def trains(bench: Bench) -> bool:
    status = bench.runs / "fault/nodes/node0/status.json"
    return status.exists() and json.loads(status.read_text()).get("last_step", 0) >= 3


def stop(bench: Bench) -> None:
    """Check that nobody follows the run any longer, that it trains, and that it can be stopped."""
    wait_until(lambda: not bench.controllers())
    assert bench.trainings()
    stopped = bench.play("stop.yml", bench.folder / "hosts", bench.folder / "config.json", **RUN)
    assert stopped.status == 0, stopped.output
    assert bench.trainings() == []


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(number, marks=pytest.mark.slow, id=number.name)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    ],
)
def test_who_interrupts_a_run_learns_that_it_goes_on_and_how_to_come_back(bench: Bench, number: signal.Signals) -> None:
    config, inventory = bench.config(training_iterations="100000"), bench.inventory(node0={}, node1={})
    run = bench.start_as_user("megatron_multinode.yml", inventory, config, **trainer(bench))
    wait_until(lambda: trains(bench))
    began = time.monotonic()
    run.send_signal(number)
    output, _ = run.communicate(timeout=60)
    said = time.monotonic() - began
    assert run.returncode != 0
    assert "Run fault continues in the background." in output
    for playbook in ("attach", "stop"):
        there = f"-e training_output_dir={bench.runs} -e training_run_id=fault"
        assert f"ansible-playbook playbooks/{playbook}.yml -i {inventory} {there}" in output
    stop(bench)
    words = "Run fault continues in the background, with the commands to follow it again and to stop it"
    add_row(f"whoever follows the run gets {number.name}", said, words, "none yet", "the training, until stop.yml")


@pytest.mark.slow
def test_ctrl_c_in_a_terminal_which_reaches_every_process_ends_whoever_follows(bench: Bench) -> None:
    config, inventory = bench.config(training_iterations="100000"), bench.inventory(node0={}, node1={})
    terminal = Terminal(
        bench.arguments("megatron_multinode.yml", inventory, config, **trainer(bench)), bench.environment()
    )
    wait_until(lambda: trains(bench))
    began = time.monotonic()
    terminal.type("\x03")
    assert terminal.ended() != 0
    said = time.monotonic() - began
    assert "Run fault continues in the background." in terminal.words
    stop(bench)
    left = "the training, until stop.yml"
    add_row("Ctrl-C in a terminal", said, "Run fault continues in the background", "none yet", left)


@pytest.mark.slow
def test_a_terminal_that_goes_away_ends_whoever_follows_and_no_training(bench: Bench) -> None:
    config, inventory = bench.config(training_iterations="100000"), bench.inventory(node0={}, node1={})
    terminal = Terminal(
        bench.arguments("megatron_multinode.yml", inventory, config, **trainer(bench)), bench.environment()
    )
    wait_until(lambda: trains(bench))
    began = time.monotonic()
    terminal.close()
    assert terminal.ended() != 0
    gone = time.monotonic() - began
    stop(bench)
    add_row("the terminal goes away", gone, "nobody is watching", "none yet", "the training, until stop.yml")


@pytest.mark.slow
def test_a_run_that_is_to_stop_with_whoever_follows_it_is_stopped_and_judged(bench: Bench) -> None:
    config = bench.config(training_iterations="100000")
    run = bench.start_as_user(
        "megatron_multinode.yml",
        bench.inventory(node0={}, node1={}),
        config,
        **trainer(bench),
        training_on_interrupt="stop",
    )
    wait_until(lambda: trains(bench))
    run.send_signal(signal.SIGINT)
    output, _ = run.communicate(timeout=120)
    assert "Stopping run fault on every node" in output
    summary = json.loads((bench.runs / "fault/summary.json").read_text())
    assert summary["verdict"] == "ERROR"
    assert {node["state"] for node in summary["nodes"]} == {"stopped"}
    assert bench.trainings() == []
