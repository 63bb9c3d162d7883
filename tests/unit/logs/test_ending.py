# SPDX-License-Identifier: GPL-3.0-or-later
"""How a log ends: failures of a known class, unusual lines, and the trainer's own end."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.ending import End, end_of_training

STEPS = {
    "maxtext": "completed step: 1, seconds: 1.000, loss: 9.000\n",
    "megatron": " iteration        1/       1 | elapsed time per iteration (ms): 100.0 | loss scale: 1.0 |\n",
    "nxdt": "Epoch 0: 100%|███| 1/1 [00:25<00:00, 25.00s/it, v_num=2, loss=nan, reduced_train_loss=9.00]\n",
    "torchtitan": "step:  1  loss:  9.00000  grad_norm:  1.0000  memory:  9.46GiB(64.99%)  tps: 7,282  tflops: 0.52\n",
}


def end_of(text: str, folder: Path, framework: str = "maxtext", steps: str | None = None) -> End:
    (folder / "log").write_text((STEPS[framework] if steps is None else steps) + text)
    return end_of_training(str(folder / "log"), framework)


WARNINGS = [
    "[rank0]:[W1126 20:08:32.3 ProcessGroupNCCL.cpp:5188] Guessing device ID. This can cause a hang if rank to GPU",
    "/opt/x.py:83: UserWarning: cannot allocate: CUDA out of memory. Tried to allocate 2 GiB",
    "2026-01-02 03:04:05,678 - WARNING - CUDA error: an illegal memory access was encountered",
    "INFO:root:Watchdog caught collective operation timeout was the error of the last run",
    "W1103 02:14:02.158000 92046 torch/distributed/elastic/api.py:1010] Sending process 92115 closing signal SIGTERM",
    "libibverbs: Warning: couldn't load driver 'libbnxt_re-rdmav34.so': cannot open shared object file",
]


@pytest.mark.parametrize("text", WARNINGS)
def test_a_line_that_its_program_calls_a_warning_is_no_failure_whatever_it_says(text: str, tmp_path: Path) -> None:
    assert end_of(f"{text}\n", tmp_path)["failures_at_end"] == []


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("[rank0]:[E1103 02:07:08.4 ProcessGroupNCCL.cpp:7] Watchdog caught collective operation timeout", "watchdog"),
        ("[ 8123.1] NVRM: Xid (PCI:0000:4e:00): 79, pid=7, GPU has fallen off the bus.", "gpu_hang"),
        ("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB", "out_of_memory"),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=12.0.", "host_memory"),
    ],
)
def test_a_line_of_a_known_class_is_a_failure(text: str, failure: str, tmp_path: Path) -> None:
    classes = [found["class"] for found in end_of(f"{text}\n", tmp_path)["failures_at_end"]]
    assert classes == [failure] or (failure == "gpu_hang" and classes[0].startswith("gpu"))


UNUSUAL = [
    "rm: cannot remove '/tmp/x': Directory not empty",
    "fatal: detected dubious ownership in repository at '/workspace'",
    "GPU[0] : RAS errors: correctable 0, uncorrectable 0",
    "rank 3 died",
    "Time limit of the job: 04:00:00, used 00:05:12. Nothing exceeded",
]


@pytest.mark.parametrize("text", UNUSUAL)
def test_a_line_that_only_sounds_like_a_failure_is_shown_and_is_none(text: str, tmp_path: Path) -> None:
    end = end_of(f"{text}\n", tmp_path)
    assert end["failures_at_end"] == []
    assert [found["line"] for found in end["unusual_at_end"]] == [text]


@pytest.mark.parametrize("text", ["Training is over.", "I0203 04:05:21.0 78 client.cc:1] Socket closed", "+ exit 0"])
def test_an_ordinary_line_is_not_shown(text: str, tmp_path: Path) -> None:
    assert end_of(f"{text}\n", tmp_path)["unusual_at_end"] == []


@pytest.mark.parametrize("framework", ["megatron", "nxdt"])
def test_what_is_glued_to_the_last_step_is_read(framework: str, tmp_path: Path) -> None:
    steps = STEPS[framework].rstrip("\n")
    end = end_of("Killed\n", tmp_path, framework, steps)
    assert [found["class"] for found in (*end["failures_at_end"], *end["unusual_at_end"])]
    assert end_of("", tmp_path, framework, steps)["unusual_at_end"] == []


@pytest.mark.parametrize(
    ("framework", "text", "failed"),
    [
        (
            "megatron",
            "saving checkpoint at iteration 40 to /c\n  successfully saved checkpoint from iteration 40\n",
            False,
        ),
        (
            "megatron",
            "saving checkpoint at iteration 40 to /c\n  successfully saved checkpoint from iteration 20\n",
            True,
        ),
        ("megatron", "saving checkpoint at iteration 40 to /c\n  successfully saved local checkpoint\n", False),
        ("megatron", "saving checkpoint at iteration 40 to /c\n", True),
        ("torchtitan", "Saving the checkpoint.\n", True),
        ("torchtitan", "Saving the checkpoint.\nFinished saving the checkpoint in 0.5 seconds.\n", False),
        ("torchtitan", "Saving the checkpoint.\nLast step checkpoint completed in 0.52s\n", False),
        ("torchtitan", "Saving the checkpoint.\nwords of another version\nTraining completed\n", False),
    ],
)
def test_a_checkpoint_that_was_begun_has_to_be_written(framework: str, text: str, failed: bool, tmp_path: Path) -> None:
    classes = [found["class"] for found in end_of(text, tmp_path, framework)["failures_at_end"]]
    assert classes == (["checkpoint"] if failed else [])


@pytest.mark.parametrize(
    ("framework", "text"),
    [
        ("megatron", "[after training is done] datetime: 2026-11-26 20:08:32 \n"),
        ("nxdt", "`Trainer.fit` stopped: `max_steps=1` reached.\n"),
    ],
)
def test_the_line_with_which_a_trainer_ends_is_found_behind_any_noise(
    framework: str, text: str, tmp_path: Path
) -> None:
    noise = "gpu01:705:705 [0] NCCL INFO Channel 00/64 : 0\n" * 200
    assert end_of(text + noise, tmp_path, framework)["said_end"]
    assert not end_of(noise, tmp_path, framework)["said_end"]
    more = "".join(STEPS[framework].replace("1/", f"{step}/", 1) for step in range(1, 5))
    assert not end_of(noise, tmp_path, framework, steps=text + more)["said_end"], "of an earlier run"


def test_the_rank_that_says_the_end_may_print_it_before_another_prints_its_last_steps(tmp_path: Path) -> None:
    text = "[after training is done] datetime: 2026-11-26 20:08:32 \n"
    assert end_of("", tmp_path, "megatron", steps=text + STEPS["megatron"])["said_end"]


def test_a_rank_without_steps_says_its_end_too(tmp_path: Path) -> None:
    assert end_of("[after training is done] datetime: 2026-11-26\n", tmp_path, "megatron", steps="")["said_end"]


@pytest.mark.parametrize(("order", "shown"), [((0, 1), False), ((1, 0), True)])
def test_what_kept_a_rank_from_the_others_is_past_once_it_met_them(
    order: tuple[int, int], shown: bool, tmp_path: Path
) -> None:
    lines = "[c10d] The client socket has failed to connect\n", "n1:7:9 [0] NCCL INFO comm 0x5 - Init COMPLETE\n"
    text = "".join(lines[place] for place in order)
    assert bool(end_of(text, tmp_path, "megatron", steps="")["unusual_at_end"]) is shown
