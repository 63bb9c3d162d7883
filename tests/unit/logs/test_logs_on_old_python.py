from __future__ import annotations

import subprocess
from pathlib import Path

from not_run import need_python_38

ROOT = Path(__file__).resolve().parents[3]

# The node's work: import by the full name, read a log.
PROGRAM = """
import json, sys
from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.known import GRAMMARS
from ansible_collections.trainops.cluster.plugins.module_utils.logs.reader import read_log, tail
for framework in GRAMMARS.keys() - {"megatron"}:
    reads_such_lines = framework == "megatron_bridge"
    assert (read_log(sys.argv[1], framework, {}, final=True)["cursor"]["step"] is not None) == reads_such_lines
answer = read_log(sys.argv[1], "megatron", {}, final=True, tokens_per_step_per_gpu=1000.0)
print(json.dumps([len(answer["rows"]), [failure["class"] for failure in answer["failures"]], len(tail(sys.argv[1]))]))
"""


def test_the_oldest_python_of_a_node_reads_a_log() -> None:
    python = need_python_38()
    log = ROOT / "tests" / "data" / "logs" / "megatron_rocm_restarted.log"
    done = subprocess.run(
        [python, "-W", "error", "-c", PROGRAM, str(log)],
        env={"PYTHONPATH": str(ROOT / "collections"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ('[5, ["out_of_memory"], 18]\n', "", 0)
