from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

# What the node does: import by the full name, read a log.
PROGRAM = """
import json, sys
from ansible_collections.trainops.cluster.plugins.module_utils.logs.reader import read_log, tail
for framework in ("maxtext", "nxdt"):
    assert read_log(sys.argv[1], framework, {}, final=True)["cursor"]["step"] is None
answer = read_log(sys.argv[1], "megatron", {}, final=True, tokens_per_step_per_gpu=1000.0)
print(json.dumps([len(answer["rows"]), [failure["class"] for failure in answer["failures"]], len(tail(sys.argv[1]))]))
"""


def python_38() -> str | None:
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(str(path) for path in versions.glob("3.8.*/bin/python3.8"))
    return found[-1] if found else shutil.which("python3.8")


def test_the_oldest_python_of_a_node_reads_a_log() -> None:
    python = python_38()
    if not python:
        pytest.skip("there is no python3.8 here, neither in PATH nor of pyenv")
    log = ROOT / "tests" / "data" / "logs" / "megatron_rocm_restarted.log"
    done = subprocess.run(
        [python, "-W", "error", "-c", PROGRAM, str(log)],
        env={"PYTHONPATH": str(ROOT / "collections"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ('[5, ["out_of_memory"], 18]\n', "", 0)
