# SPDX-License-Identifier: GPL-3.0-or-later
"""Which lines at the end of a log are failures, and what is left out of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.ending import failures_at_end

STEP = "completed step: 1, seconds: 1.000, loss: 9.000\n"


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("32 succeeded, 0 failed", False),
        ("xid errors: 0, uncorrectable ecc errors: 0", False),
        ("finished without any errors", False),
        ("12 done, 0 retries exhausted", False),
        ("lost samples: 0", False),
        ("n3 : ok=12 unreachable=0 failed=0", False),
        ("unreachable hosts: none", False),
        ("lost rank: 0", True),
        ("checkpoint shard 12 is 0 bytes", True),
        ("rank 3 died with status 0", True),
        ("failed ranks: 0, 5", True),
        ("ENOTCONN", True),
        ("Transport endpoint is not connected", True),
        ("rmdir: failed to remove 'x': Directory not empty", True),
        ("mkdir: x: File exists", False),
        ("stopping at iteration 40 of 500", True),
        ("stopping at iteration 40 of 40", False),
        ("GPU 3 ECC errors: 0", False),
        ("rank failed: 0", True),
        ("rank 3 died, failed=0", True),
        ("exit code: 1 failed=0", True),
        ("worker 3 crashed, status: 0", True),
        ("the shard is 0 bytes", True),
        ("rank 0 failed", True),
        ("errors: 0x3f", True),
        ("errors: 0 but 3 ranks died", True),
        ("no errors until the watchdog came", True),
        ("INFO checkpoint save failed", True),
        ("INFO checkpoint saved", False),
        ("n1:7:9 [0] NCCL INFO misc/socket.cc:47 -> 3", False),
        ("n1:7:9 [0] NCCL INFO transport/net.cc:1134 -> 6", True),
        ("leader lease has expired", True),
        ("lease renewed", False),
        ("node3 fenced by its peer", True),
        ('pod "worker-3" deleted', True),
        ("deleted 3 old checkpoints", False),
        ("slurmstepd: done with step", False),
        ("+ srun --kill-on-bad-exit=1 train.sh", False),
        ("++ trap 'kill 0' ERR", False),
        ("+ exit 1", True),
        ("srun: jobid 7: nodes(4):`n[0-3]', cpu counts: 8(x4)", False),
        ("E0000 00:00:17.1 7 cuda_fft.cc:467] Unable to register cuFFT factory: Attempting to register", False),
        ("status 1", True),
        ("status 200", False),
        ("retry 3 of 5", True),
        ("node2 is slow", True),
        ("data loading is slower than training", False),
        ("checkpoint size 0", True),
        ("ExitCode=0:9", True),
        ("ExitCode=0:0", False),
        ("/x.py:7: UserWarning: x\n  raise ImportError", False),
        ("/x.py:7: UserWarning: x\nImportError", True),
    ],
)
def test_a_line_after_the_last_step(text: str, failed: bool, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(f"{STEP}{text}\n")
    assert bool(failures_at_end(str(tmp_path / "log"), "maxtext")) is failed


STEPS = {
    "megatron": " iteration        1/       1 | elapsed time per iteration (ms): 100.0 | loss scale: 1.0 |",
    "nxdt": "Epoch 0: 100%|███| 1/1 [00:25<00:00, 25.00s/it, v_num=2, loss=nan, reduced_train_loss=9.00]",
}


@pytest.mark.parametrize(
    ("framework", "text", "failed"),
    [
        ("megatron", "Killed\n", True),
        ("megatron", " rocm max mem usage/usage_ratio: 170.79GB/59.31%\n", False),
        ("nxdt", "Killed\n", True),
        ("nxdt", "Terminated\r\n`Trainer.fit` stopped: `max_steps=1` reached.\n", True),
        ("nxdt", "\n`Trainer.fit` stopped: `max_steps=1` reached.\n", False),
        ("nxdt", "", False),
    ],
)
def test_what_is_glued_to_the_last_step(framework: str, text: str, failed: bool, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(STEPS[framework] + text)
    assert bool(failures_at_end(str(tmp_path / "log"), framework)) is failed


def test_a_bar_without_its_end_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(STEPS["nxdt"][:-1] + "\n")
    assert not failures_at_end(str(tmp_path / "log"), "nxdt")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_what_cannot_be_read_after_the_last_step_is_a_failure(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(STEP.encode() + "Training is over.\n".encode(encoding))
    assert failures_at_end(str(tmp_path / "log"), "maxtext")


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("    optimizer-unscale-and-check-inf ................: (0.01, 0.02)\n", False),
        ("loss: -inf\n", True),
        ("saving checkpoint at iteration      40 to /c\n  successfully saved checkpoint from iteration 40\n", False),
        ("saving checkpoint at iteration      40 to /c\n  successfully saved checkpoint from iteration 20\n", True),
        ("saving checkpoint at iteration 40 to /c\n  successfully saved local checkpoint\n", False),
        ("n1:7:9 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n", True),
        ("n1:7:9 [0] NCCL INFO ncclCommSplit comm 0x6 rank 1 - Init START\n", True),
        ("n1:7:9 [0] NCCL INFO comm 0x6 rank 1 - Init START\nn1:7:9 [0] NCCL INFO comm 0x6 - Init COMPLETE\n", False),
        ("INFO [default] Detected 1 new nodes from group_rank=2; will restart worker group\n", True),
        ("Saving shards:  50%|█████     | 4/8 [00:10<00:10,  2.50s/it]\n", True),
        ("Saving shards:  50%|███   | 4/8 [00:10<00:10]\rSaving shards: 100%|██████| 8/8 [00:20<00:00]\r\n", False),
        ("Saving shards:  50%|███   | 4/8 [00:10<00:10]\nSaved.\n", False),
    ],
)
def test_what_is_begun_behind_the_last_step_has_to_end(text: str, failed: bool, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(f"{STEPS['megatron']}\n{text}")
    assert bool(failures_at_end(str(tmp_path / "log"), "megatron")) is failed


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("n1:7:9 [0] NCCL INFO Bootstrap : Using eth0\n", False),
        ("NCCL INFO comm 0x6 - Init START\n", True),
        ("NCCL INFO comm 0x6 - Init START\nNCCL INFO comm 0x6 - Init COMPLETE\n", False),
        ("n1:7:9 [0] NCCL INFO comm 0x6 - Init COMPLETE\nn1:7:9 [0] NCCL INFO Bootstrap : Using eth0\n", True),
    ],
)
def test_a_rank_that_began_to_join_the_others_has_to_join_them(text: str, failed: bool, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(text)
    assert bool(failures_at_end(str(tmp_path / "log"), "megatron")) is failed


def test_the_line_is_shown_whole(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(f"{STEP}0 errors, rank 3 died\n")
    assert [found["line"] for found in failures_at_end(str(tmp_path / "log"), "maxtext")] == ["0 errors, rank 3 died"]


@pytest.mark.parametrize(("order", "failed"), [((0, 1), False), ((1, 0), True)])
def test_what_kept_a_rank_from_the_others_is_past_once_it_met_them(
    order: tuple[int, int], failed: bool, tmp_path: Path
) -> None:
    lines = "[c10d] The client socket has failed to connect\n", "n1:7:9 [0] NCCL INFO comm 0x5 - Init COMPLETE\n"
    (tmp_path / "log").write_text("".join(lines[place] for place in order))
    assert bool(failures_at_end(str(tmp_path / "log"), "megatron")) is failed
