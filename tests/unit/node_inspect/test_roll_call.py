"""The roll-call of a node: what is present on it, and which processes of others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from node_trees import mi300x_thor2, write

from ansible_collections.trainops.cluster.plugins.module_utils.node import roll_call as roll_call_module
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.processes import processor_seconds
from ansible_collections.trainops.cluster.plugins.module_utils.node.processes import labels
from ansible_collections.trainops.cluster.plugins.module_utils.node.roll_call import roll_call

_SPINS = "import os\nwhile True: os.getpid()"


def test_gpus_ports_that_a_training_uses_and_processes_on_gpus_are_present(tmp_path: Path) -> None:
    root = mi300x_thor2(tmp_path)
    write(root, {"/sys/class/infiniband/bnxt_re3/ports/1/state": "1: DOWN"})
    for pid, label in ((4711, "night-1"), (4712, "isolation-1")):
        write(root, {f"/proc/{pid}/comm": "python3", f"/sys/class/kfd/kfd/proc/{pid}/vram_51110": 1})
        (root / f"proc/{pid}/environ").write_bytes(b"TRAINOPS_RUN_ID=%s\0" % label.encode())
    all_ports = roll_call({"env": {}}, "isolation-1", str(root), seconds=0)  # type: ignore[typeddict-item]
    chosen = {"env": {"NCCL_IB_HCA": "=bnxt_re2,bnxt_re3"}}
    found = roll_call(chosen, "isolation-1", str(root), seconds=0)  # type: ignore[arg-type]
    assert (len(found["gpus"]), found["gpus"][0], found["on_bus"]) == (8, "0000:05:00.0", 8)
    assert len(all_ports["ports"]) == 8
    assert {port: one["state"] for port, one in found["ports"].items()} == {
        "bnxt_re2/1": "ACTIVE",
        "bnxt_re3/1": "DOWN",
    }
    assert found["ports"]["bnxt_re2/1"]["rate"]
    assert found["ports"]["bnxt_re2/1"]["model"] == "0x14e4:0x1760"
    assert [(one["pid"], one["run_id"]) for one in found["on_gpus"] or []] == [(4711, "night-1")]


def test_a_process_that_keeps_a_core_busy_is_named_and_one_of_the_isolation_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # This machine may be busy, too.
    monkeypatch.setattr(roll_call_module, "_BUSY", 0.02)
    spins = [sys.executable, "-c", _SPINS]
    other = subprocess.Popen(spins)
    own = subprocess.Popen(spins, env={**os.environ, **labels("isolation-1", "a")})
    try:
        seen = {}
        for _try in range(20):
            found = roll_call({"env": {}}, "isolation-1", seconds=0.5)  # type: ignore[typeddict-item]
            seen |= {one["pid"]: one for one in found["busy"]}
            if other.pid in seen and processor_seconds("/")[own.pid] > 1:
                break
    finally:
        for process in (other, own):
            process.kill()
            process.wait()
    assert seen[other.pid]["command"].startswith(f"{sys.executable} -c")
    assert found["busy_cores"] >= seen[other.pid]["cores"] > 0
    assert own.pid not in seen
