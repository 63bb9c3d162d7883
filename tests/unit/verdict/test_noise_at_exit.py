"""Lines that PyTorch, Python and wandb print as a good training ends, and that are failures in mid run."""

from __future__ import annotations

import pytest
from training_logs import ALL, SILENT, Node, judged, lines, two

IGNORED = """\
Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f62eb6ed630>
Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/torch/utils/data/dataloader.py", line 1466, in __del__
    self._shutdown_workers()
  File "/usr/lib/python3.12/multiprocessing/process.py", line 160, in is_alive
    assert self._parent_pid == os.getpid(), 'can only test a child process'
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
AssertionError: can only test a child process
"""
AT_EXIT = """\
Error in atexit._run_exitfuncs:
Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/wandb/sdk/lib/service_connection.py", line 94, in teardown
    self._client.send(b"x")
BrokenPipeError: [Errno 32] Broken pipe
"""
NOISE = {
    "barrier": "[rank0]:[W203 04:05:21.3 ProcessGroupNCCL.cpp:4715] [PG ID 0 PG GUID 0 Rank 0]  using GPU 0 as device "
    "used by this process is currently unknown. This can potentially cause a hang if this rank to GPU mapping is "
    "incorrect. You can pecify device_id in init_process_group() to force use of a particular device.\n",
    "barrier of 2.5": "[rank0]:[W203 04:05:21.3 ProcessGroupNCCL.cpp:4115] [PG ID 0 PG GUID 0 Rank 0]  using GPU 0 to "
    "perform barrier as devices used by this process are currently unknown. This can potentially cause a hang if this "
    "rank to GPU mapping is incorrect.Specify device_ids in barrier() to force use of a particular device.\n",
    "barrier of 1.9": "[W ProcessGroupNCCL.cpp:1569] Rank 0 using best-guess GPU 0 to perform barrier as devices used "
    "by this process are currently unknown. This can potentially cause a hang if this rank to GPU mapping is "
    "incorrect.Specify device_ids in barrier() to force use of a particular device.\n",
    "producer": "[W CudaIPCTypes.cpp:15] Producer process has been terminated before all shared CUDA tensors released. "
    "See Note [Sharing CUDA tensors]\n",
    "ignored": IGNORED,
    "ignored of a rank": "".join(f"[rank0]: {line}\n" for line in IGNORED.splitlines()),
    "at exit": AT_EXIT,
    "store": "[rank1]:[W203 04:05:21.7 TCPStore.cpp:125] [c10d] recvValueWithTimeout failed on SocketImpl(fd=66, "
    "addr=[gpu01]:48392, remote=[gpu00]:29500): failed to recv, got 0 bytes\n"
    "Exception raised from recvBytes at /pytorch/torch/csrc/distributed/c10d/Utils.hpp:678 (most recent call first):\n"
    "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x98 (0x7f0 in /opt/libc10.so)\n"
    "frame #1: <unknown function> + 0x5ba8afe (0x7f0 in /opt/libtorch_cpu.so)\n",
    "store of threads": "[rank1]:[W203 04:05:21.7 TCPStore.cpp:106] [c10d] sendBytes failed on SocketImpl(fd=66, "
    "addr=[gpu01]:48392, remote=[gpu00]:29500): Broken pipe\n",
    "wandb": "wandb: ERROR Problem finishing run\n" + IGNORED.partition("\n")[2],
    "wandb, raised again": "wandb: ERROR Problem finishing run\n"
    + AT_EXIT.partition("\n")[2]
    + "\nDuring handling of the above exception, another exception occurred:\n\n"
    + IGNORED.partition("\n")[2],
    "process group": "[rank0]:[W203 04:05:21.0 ProcessGroupNCCL.cpp:1250] Warning: WARNING: process group has NOT been "
    "destroyed before we destruct ProcessGroupNCCL. On normal program exit, the application should call "
    "destroy_process_group to ensure that any pending NCCL operations have finished in this process. In rare cases "
    "this process can exit before this point and block the progress of another member of the process group. This "
    "constraint has always been present,  but this warning has only been added since PyTorch 2.4\n",
    "semaphores": "/usr/lib/python3.12/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There "
    "appear to be 3 leaked semaphore objects to clean up at shutdown\n  warnings.warn('resource_tracker: There '\n",
}


@pytest.mark.parametrize("place", [0, 1], ids=["a rank without steps", "the rank with steps"])
@pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE)
def test_noise_at_exit_does_not_keep_a_good_run_from_a_pass(noise, place, tmp_path):
    nodes = two()
    nodes[place].log += noise
    assert judged(nodes, tmp_path)["verdict"] == "PASS"


def test_noise_at_the_exit_of_a_rank_that_prints_warnings_alone_does_not_keep_a_good_run_from_a_pass(tmp_path):
    middle = Node("gpu02", NOISE["process group"] + AT_EXIT)
    assert judged([*two(), middle], tmp_path, iterations=10)["verdict"] == "PASS"


# The store's line says which node has closed it.
@pytest.mark.parametrize(
    ("text", "node", "failure"),
    [("store", "gpu00", "peer_died"), ("at exit", "gpu01", "peer_died"), ("ignored", "gpu01", "exit_status")],
)
def test_in_mid_run_it_keeps_its_meaning(text, node, failure, tmp_path):
    nodes = [Node("gpu00", SILENT, status="stopped"), Node("gpu01", lines(range(1, 6)) + NOISE[text], exit_status=1)]
    first = judged(nodes, tmp_path)["first_failure"]
    assert (first["node"], first["class"]) == (node, failure)


def test_a_fault_of_the_machine_is_none_of_the_exit(tmp_path):
    fault = IGNORED.replace("AssertionError: can only test a child process", "RuntimeError: CUDA error: unknown error")
    first = judged(two(ALL + fault), tmp_path)["first_failure"]
    assert first["class"] == "gpu_error"
    assert "Exception ignored in: <function" in first["message"]
