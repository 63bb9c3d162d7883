"""A node whose program gives any answer it likes: its Python is one of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from playbook_bench import Bench

# Answers as it should until it is followed, or its log is collected.
PYTHON = """\
#!{python}
import base64, json, re, subprocess, sys, zlib
program = sys.stdin.buffer.read()
request = json.loads(zlib.decompress(base64.b64decode(program.splitlines()[0])))["request"]
answer = {answers!r}.get(request["phase"])
if answer is None:
    sys.exit(subprocess.run([sys.executable, *sys.argv[1:]], input=program).returncode)
print("\\ntrainops-answer:" + answer)
"""

FLOOD = "import os; open({asked!r}, 'w').close(); os.execvp('yes', ['yes']); ("


def play(bench: Bench, iterations: str = "100000", **answers: str) -> tuple[str, dict]:
    python = bench.folder / "python3"
    python.write_text(PYTHON.format(python=sys.executable, answers=answers))
    python.chmod(0o755)
    inventory = bench.inventory(hostile0={}, hostile1={"ansible_python_interpreter": str(python)})
    # So long that the nodes cannot be done before the answer counts.
    done = bench.play("megatron_multinode.yml", inventory, bench.config(training_iterations=iterations))
    assert done.status != 0, done.output
    assert "Traceback" not in done.output
    return done.output, done.summary


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ('{"failed": false, "status": {"\\u001b]0;owned\\u0007": 1}}', "its answer in phase follow is invalid: "),
        pytest.param("[" * 100_000, "its answer is nested too deeply", marks=pytest.mark.slow),
    ],
    ids=["other types", "deep"],
)
def test_an_answer_that_is_none_ends_the_run_like_any_failure_of_the_node(bench: Bench, answer: str, told: str) -> None:
    output, summary = play(bench, follow=answer)
    assert summary["verdict"] == "ERROR"
    assert (summary["first_failure"]["node"], summary["first_failure"]["class"]) == ("hostile1", "bad_answer")
    assert told in summary["first_failure"]["message"]
    assert "\x1b]" not in output
    assert bench.trainings() == []


@pytest.mark.parametrize(
    "phase", [pytest.param(phase, marks=pytest.mark.slow) for phase in ("stage", "follow", "stop", "collect")]
)
def test_an_answer_without_an_end_is_refused_at_the_bound_in_every_phase(bench: Bench, phase: str) -> None:
    python, asked = bench.folder / "python3", bench.folder / "asked"
    flood = FLOOD.format(asked=str(asked))
    python.write_text(PYTHON.format(python=sys.executable, answers={phase: ""}).replace("print(", flood))
    python.chmod(0o755)
    # The log of the other node is collected as well, because it ends with an error.
    inventory = bench.inventory(hostile0={}, hostile1={"ansible_python_interpreter": str(python)})
    iterations = "8" if phase == "collect" else "100000"
    # Only a node that still runs is stopped: the flooding one runs until it is asked to stop.
    wait = f'until [ "$NODE_RANK" = 0 ] || [ -e {asked} ]; do sleep 0.1; done; ' if phase == "stop" else ""
    root = bench.megatron(f"echo begun; {wait}exit 3\n") if phase in ("stop", "collect") else None
    more = {"training_megatron_root": root} if root else {}
    done = bench.play("megatron_multinode.yml", inventory, bench.config(training_iterations=iterations), **more)
    assert done.status != 0
    assert "Traceback" not in done.output
    if phase != "collect":
        assert "its answer is longer than" in " ".join(done.output.split())
    assert done.summary["verdict"] in ("ERROR", "FAIL")
    assert bench.trainings() == []


@pytest.mark.slow
def test_what_a_node_says_when_it_refuses_is_shown_without_control_characters(bench: Bench) -> None:
    refusal = json.dumps({"failed": True, "message": "held by run \x1b]0;owned\x07\x9b2Jevil"})
    output, summary = play(bench, stage=refusal)
    assert "held by run evil" in output
    assert "owned" not in output
    assert summary["verdict"] == "ERROR"
    assert "owned" not in Path(next(bench.runs.glob("*/nodes/hostile1/status.json"))).read_text()
