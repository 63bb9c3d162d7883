from __future__ import annotations

import math

import pytest
from training_logs import (
    ALL,
    GPU_HANG,
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
    "  exitcode  : -11 (pid: 92121)\n",
    "ERROR   NRT:nrt_execute   failed with status=101\n",
    "E0203 04:05:06.000000 77 client.h:80] Polled an error from coordination service\n",
]


@pytest.mark.parametrize("text", AFTER_THE_LAST_STEP)
@pytest.mark.parametrize("place", [0, 1], ids=["a rank without steps", "the rank with steps"])
def test_nothing_that_sounds_like_a_failure_passes_after_the_end(text, place, tmp_path):
    nodes = two()
    nodes[place].log += text
    summary = judged(nodes, tmp_path)
    assert summary["verdict"] == "INCONCLUSIVE"
    assert {reason["code"] for reason in summary["reasons"]} == {"failure_at_end"}
    assert {(reason["node"], reason["row"]) for reason in summary["reasons"]} == {(nodes[place].name, "failures")}


def test_a_failure_after_the_last_step_is_the_first_failure(tmp_path):
    first = judged(two(ALL + OUT_OF_MEMORY), tmp_path)["first_failure"]
    assert (first["node"], first["class"]) == ("gpu01", "out_of_memory")


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


LOST_TASK = (
    "E1103 02:07:08.4 77 client.h:80] UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n"
    "/job:jax_worker/replica:0/task:1\n"
)


@pytest.mark.parametrize(("text", "failure"), [(OUT_OF_MEMORY, "out_of_memory"), (LOST_TASK, "peer_died")])
def test_what_a_node_without_steps_failed_of_keeps_its_class_though_it_also_sounds_like_one(text, failure, tmp_path):
    first = judged([Node("gpu00", text), Node("gpu01", ALL)], tmp_path)["first_failure"]
    assert (first["node"], first["class"]) == ("gpu00", failure)


# The same as MaxText and JAX, c10d and the launch scripts of Megatron-LM print them where all went well.
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
