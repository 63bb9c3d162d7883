from __future__ import annotations

import math

import pytest
from training_logs import (
    ALL,
    GPU_HANG,
    LOGS,
    LOST_PEER,
    NCCL_ERROR,
    OUT_OF_MEMORY,
    SILENT,
    WATCHDOG,
    Node,
    codes,
    judged,
    lines,
    two,
)


def test_a_crash_that_a_script_hides_is_the_first_failure(tmp_path):
    log = lines(range(1, 6)) + OUT_OF_MEMORY + "throughput per GPU: nan\n"
    summary = judged([Node("gpu00", NCCL_ERROR), Node("gpu01", log)], tmp_path)
    assert summary["verdict"] == "FAIL"
    assert (summary["first_failure"]["node"], summary["first_failure"]["class"]) == ("gpu01", "out_of_memory")


def test_a_crash_that_a_script_hides_on_a_node_without_steps_is_the_first_failure(tmp_path):
    nodes = [Node("gpu00", SILENT + GPU_HANG), Node("gpu01", lines(range(1, 6)) + WATCHDOG)]
    first = judged(nodes, tmp_path)["first_failure"]
    assert (first["node"], first["class"]) == ("gpu00", "gpu_hang")
    assert [echo["node"] for echo in first["echoes"]] == ["gpu01"]


def test_a_crash_before_the_first_step_that_a_script_hides_is_a_failure_of_the_training(tmp_path):
    summary = judged([Node("gpu00", SILENT + OUT_OF_MEMORY), Node("gpu01", SILENT)], tmp_path)
    assert summary["verdict"] == "FAIL"
    assert ("failure_in_log", "gpu00") in codes(summary)


AFTER_THE_LAST_STEP = [
    OUT_OF_MEMORY,
    WATCHDOG,
    LOST_PEER,
    NCCL_ERROR,
    "Killed\n",
    "Fatal Python error: Segmentation fault\n",
    "srun: error: gpu01: task 3: Exited with exit code 1\n",
    "slurmstepd: error: *** STEP 12.0 ON gpu01 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***\n",
    "[ 12.3] NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus.\n",
    "amdgpu 0000:c5:00.0: amdgpu: RAS: 2 uncorrectable hardware errors detected in umc block\n",
    "[ 12.3] Out of memory: Killed process 4242 (python)\n",
    "ERROR   NRT:nrt_execute   failed with status=101\n",
]


# Losses that count even if the training came to its end: a process, a device, a file to be saved.
LOST = [AFTER_THE_LAST_STEP[place] for place in (4, 8, 9, 10)]


@pytest.mark.parametrize("text", AFTER_THE_LAST_STEP)
@pytest.mark.parametrize("place", [0, 1], ids=["a rank without steps", "the rank with steps"])
def test_a_failure_behind_the_end_leaves_open_what_only_logs_say(text, place, tmp_path):
    nodes = two()
    nodes[place].log += text
    summary = judged(nodes, tmp_path, **LOGS)
    assert summary["verdict"] == "INCONCLUSIVE"
    assert {reason["code"] for reason in summary["reasons"]} <= {"failure_at_end", "fault_at_end"}
    assert {(reason["node"], reason["row"]) for reason in summary["reasons"]} == {(nodes[place].name, "failures")}


@pytest.mark.parametrize("text", [text for text in AFTER_THE_LAST_STEP if text not in LOST])
@pytest.mark.parametrize("place", [0, 1], ids=["a rank without steps", "the rank with steps"])
def test_a_run_that_was_seen_to_end_well_passes_whatever_is_printed_behind_its_end(text, place, tmp_path):
    nodes = two()
    nodes[place].log += text
    summary = judged(nodes, tmp_path)
    assert (summary["verdict"], summary["first_failure"]) == ("PASS", None)
    assert "failure_at_end" in {note["code"] for note in summary["notes"]}


@pytest.mark.parametrize("text", LOST)
def test_what_was_lost_at_the_end_is_no_pass_although_the_run_ended_well(text, tmp_path):
    summary = judged(two(ALL + text), tmp_path)
    assert summary["verdict"] == "INCONCLUSIVE"
    assert {reason["code"] for reason in summary["reasons"]} == {"fault_at_end"}


def test_an_end_that_the_trainer_did_not_print_is_not_that_of_a_script(tmp_path):
    silent = SILENT.replace("[after training is done]", "[after validation]")
    summary = judged([Node("gpu00", silent), Node("gpu01", ALL)], tmp_path)
    assert summary["verdict"] == "INCONCLUSIVE"
    assert ("no_end_seen", None) in codes(summary)


EXITED = "[2026-02-03 04:06:09] [NODE-0(n0)] [INFO] [direct] torchrun finished successfully (code 0)\n"
OF_PRIMUS = {"chosen": {"trainer": {"name": "primus_cli", "why": ""}}}


@pytest.mark.parametrize(
    ("one", "other", "plan", "codes_of_end"),
    [
        (EXITED, EXITED, OF_PRIMUS, []),
        (EXITED, "", OF_PRIMUS, [("no_end_seen", None)]),
        (*["torchrun finished successfully (code 0)\n"] * 2, OF_PRIMUS, [("no_end_seen", None)]),
        (EXITED, EXITED, {"chosen": {"trainer": {"name": "rocm_scripts", "why": ""}}}, [("no_end_seen", None)]),
        (EXITED, EXITED, OF_PRIMUS | {"rehearsal": True}, [("no_end_seen", None)]),
        (EXITED, EXITED, {}, [("no_end_seen", None)]),
        ("", "throughput per GPU: 400.0\ntokens/GPU/s: 8065.4\n", {}, [("no_end_seen", None)]),
    ],
    ids=["its own", "of one node", "echoed", "of another launcher", "in a rehearsal", "no launcher", "averages"],
)
def test_only_the_launcher_of_the_plan_says_that_it_ended_well(one, other, plan, codes_of_end, tmp_path):
    silent = SILENT.replace("[after training is done]", "[after validation]")
    summary = judged([Node("gpu00", silent + one), Node("gpu01", ALL + other)], tmp_path, **plan)
    assert [found for found in codes(summary) if found[0] == "no_end_seen"] == codes_of_end
    assert summary["verdict"] == ("INCONCLUSIVE" if codes_of_end else "PASS")


def test_a_failure_after_the_last_step_is_the_first_failure(tmp_path):
    first = judged(two(ALL + OUT_OF_MEMORY), tmp_path, **LOGS)["first_failure"]
    assert (first["node"], first["class"]) == ("gpu01", "out_of_memory")


WARNINGS = [
    "[rank0]:[W1126 20:08:32.397 ProcessGroupNCCL.cpp:5188] Guessing device ID based on global rank. This can cause a"
    " hang if rank to GPU mapping is heterogeneous.\n",
    "wandb: Network error (ConnectTimeout), entering retry loop.\n",
    "GPU[0] : RAS errors: correctable 0, uncorrectable 0\n",
    "fatal: detected dubious ownership in repository at '/workspace/Megatron-LM'\n",
    "/opt/venv/torch/c10d_logger.py:83: UserWarning: CUDA error: out of memory was handled\n",
]


@pytest.mark.parametrize("text", WARNINGS)
@pytest.mark.parametrize("logs", [False, True], ids=["followed", "logs"])
def test_a_warning_is_never_a_failure(text, logs, tmp_path):
    summary = judged(two(ALL + text), tmp_path, **(LOGS if logs else {}))
    assert (summary["verdict"], summary["first_failure"]) == ("PASS", None)


SURVIVED = [
    ("gpu_ecc", "amdgpu 0000:0c:00.0: amdgpu: 1 uncorrectable hardware errors detected in umc block\n"),
    ("gpu_error", "[ 8123.1] NVRM: Xid (PCI:0000:4e:00): 94, pid=4100, name=python, Contained: SM (0x1).\n"),
    ("nccl", "n1:77:99 [0] transport/net_ib.cc:94 NCCL WARN NET/IB : mlx5_2:1 Got async event : port error\n"),
    ("killed", "RuntimeError: DataLoader worker (pid 4242) is killed by signal: Killed.\n"),
    ("node_failure", "I0612 10:15:11.123456 137 manager.py:210] Slice down event detected. Retrying.\n"),
]


@pytest.mark.parametrize(("failure", "text"), SURVIVED, ids=[failure for failure, _text in SURVIVED])
def test_a_fault_between_steps_is_a_note_with_its_step(failure, text, tmp_path):
    summary = judged(two(lines(range(1, 6)) + text + lines(range(6, 11))), tmp_path)
    assert (summary["verdict"], summary["first_failure"]) == ("PASS", None)
    [note] = [note for note in summary["notes"] if note["code"] == "survived_fault"]
    assert (note["node"], note["values"]["step"]) == ("gpu01", 5)
    assert note["values"]["line"] in text
    assert note["values"]["class"].startswith(failure.partition("_")[0])


def test_a_failure_after_which_no_number_of_steps_is_missing_is_named(tmp_path):
    log = lines(range(1, 6)).replace("/      10 |", "/       5 |") + OUT_OF_MEMORY
    summary = judged([Node("gpu00", log)], tmp_path, iterations=None)
    assert summary["verdict"] != "PASS"
    assert summary["first_failure"]["class"] == "out_of_memory"


@pytest.mark.parametrize(
    ("values", "remedy"),
    [
        ({"loss": math.nan, "grad_norm": math.nan}, "check data, precision"),
        ({"tflops": math.inf}, "Check that log"),
    ],
    ids=["of the model", "of the clock"],
)
def test_a_value_that_is_nan_is_the_first_failure(values, remedy, tmp_path):
    first = judged(two(lines(range(1, 8)) + lines(range(8, 11), **values)), tmp_path)["first_failure"]
    assert (first["node"], first["class"]) == ("gpu01", "nan")
    assert "8" in first["message"]
    assert remedy in first["remedy"]
    assert "Neuron" not in first["remedy"]


def test_what_a_node_without_steps_failed_of_keeps_its_class_though_it_also_sounds_like_one(tmp_path):
    first = judged([Node("gpu00", OUT_OF_MEMORY), Node("gpu01", ALL)], tmp_path, **LOGS)["first_failure"]
    assert (first["node"], first["class"]) == ("gpu00", "out_of_memory")


# The same in the words of MaxText and JAX, c10d and the launch scripts of Megatron-LM, if all went well.
SHUTDOWN_NOISE = """\
I0203 04:05:21.000001 78 preemption_sync_manager.cc:115] Preemption sync protocol cancelled by notifier: CANCELLED.
=== Source Location Trace: ===
xla/pjrt/distributed/preemption/preemption_notifier.cc:88
. This is expected during program shutdown.
[rank0]:[W203 04:05:21.0 ProcessGroupNCCL.cpp:1553] Warning: WARNING: destroy_process_group() was not called
gpu01:77:99 [0] NCCL INFO comm 0x55 rank 7 nranks 8 cudaDev 7 busId d0 - Abort COMPLETE
/opt/numpy/_methods.py:129: RuntimeWarning: invalid value encountered in scalar divide
Traceback (most recent call last):
  File "/workspace/Megatron-LM/mean_log_value.py", line 9, in <module>
    print(float(line))
ValueError: could not convert string to float: 'nan'
throughput per GPU: nan
"""


def test_what_ends_well_says_this(tmp_path):
    assert judged(two(ALL + SHUTDOWN_NOISE.replace("[rank0]", "[rank15]")), tmp_path)["verdict"] == "PASS"
