from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.failures import find_failures
from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece

ROOT = Path(__file__).resolve().parents[3]
TRAINER = ROOT / "roles" / "training" / "files" / "trainer" / "examples" / "llama" / "train_llama3.sh"


def said_by(command: list[str], folder: Path, **variables: str) -> list[str]:
    """Run a command and return the classes of the failures that it reports."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **variables}, capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode != 0
    return [found["class"] for found in find_failures(Piece(done.stdout + done.stderr))]


@pytest.mark.parametrize(
    ("variables", "classes"),
    [
        ({"NNODES": "2", "GLOO_SOCKET_IFNAME": "nope0"}, ["network_interface", "training_script"]),
        ({"NNODES": "2", "NODE_RANK": "1", "MASTER_ADDR": "a..b"}, ["name_resolution", "training_script"]),
        ({"BS": "3"}, ["settings_refused"]),
    ],
)
def test_what_the_embedded_trainer_says_is_known(variables: dict[str, str], classes: list[str], tmp_path: Path) -> None:
    found = said_by(["bash", str(TRAINER)], tmp_path, PYTHON=sys.executable, RENDEZVOUS_TIMEOUT="5", **variables)
    assert found == classes


@pytest.mark.parametrize(
    "command",
    [
        ["bash", "nowhere.sh"],
        ["bash", "-c", "cd nowhere"],
        ["sh", "nowhere.sh"],
        [sys.executable, "nowhere.py"],
        ["bash", "./launch.sh"],
        ["env", "./no_bash"],
    ],
)
def test_what_shells_and_python_say_of_missing_files_is_known(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "launch.sh").write_text("set -e\nno-such-trainer --x\n")
    (tmp_path / "no_bash").write_text("#!/usr/bin/env no-such-bash\n")
    (tmp_path / "no_bash").chmod(0o755)
    assert said_by(command, tmp_path, LC_ALL="C") == ["not_found"]


TEST_LOGS = [
    ("13_megatron_primus_child_failed.log", {"elastic", "child_failed", "sigterm"}, 6),
    ("40_fail_nccl_watchdog_allreduce.log", {"watchdog"}, None),
    ("42_fail_nccl_watchdog_terminate.log", {"watchdog"}, None),
    ("43_fail_amd_gpu_hang_elastic.log", {"gpu_hang", "sigterm", "child_failed"}, None),
    ("45_fail_rdma_bnxt_abi_mismatch.log", {"rdma_abi_mismatch"}, None),
    ("46_warn_libibverbs_missing_driver.log", set(), None),
    ("47_fail_nccl_ib_completion_error.log", {"nccl"}, None),
    ("49_fail_hip_out_of_memory_mi350.log", {"out_of_memory"}, None),
    ("51_fail_jax_heartbeat_peer_died.log", {"peer_died"}, 3),
    ("53_fail_jax_heartbeat_2024.log", {"peer_died"}, 0),
    ("10_megatron_primus_mi355x_10of10_done.log", set(), None),
    ("12_megatron_primus_iteration_lines_twice.log", set(), None),
    ("20_maxtext_docs_v5p_10_steps_done.log", set(), None),
    ("30_nxdt_llama3_70b_progress.log", set(), None),
    ("maxtext_cpu_2proc_hw_gpu_env_contract_node0.log", set(), None),
    ("maxtext_cpu_2proc_hw_gpu_env_contract_node1.log", set(), None),
    ("megatron_cpu_rocm_pretrain_gpt_2nodes_node0.log", set(), None),
    ("megatron_cpu_rocm_pretrain_gpt_2nodes_node1.log", set(), None),
]


@pytest.mark.parametrize(("name", "classes", "rank"), TEST_LOGS)
def test_whole_logs(name: str, classes: set[str], rank: int | None, log_named: Callable[[str], Path]) -> None:
    found = find_failures(Piece(log_named(name).read_bytes()))
    assert {failure["class"] for failure in found} == classes
    assert {failure["rank"] for failure in found if failure["rank"] is not None} == (
        {rank} if rank is not None else set()
    )
