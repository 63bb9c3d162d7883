from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs._failures import find_failures as failures_of_piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs._failures import open_message
from ansible_collections.trainops.cluster.plugins.module_utils.logs._find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs._signatures import PYTHON_ERROR, SIGNATURES

ROOT = Path(__file__).resolve().parents[3]
SHARED_LOGS = ROOT.parent / "shared" / "logs"
TRAINER = ROOT / "roles" / "training" / "files" / "trainer" / "examples" / "llama" / "train_llama3.sh"


def find_failures(text: bytes) -> list[dict[str, Any]]:
    return failures_of_piece(Piece(text))


# class, text, rank, exit code
TEST_TEXTS = [
    ("gpu_hang", "HW Exception by GPU node-9 (Agent handle: 0x1) reason :GPU Hang", None, None),
    (
        "gpu_hang",
        " 45%|####  | 9/20 [00:09<00:11]HW Exception by GPU node-9 (Agent handle: 0x1) reason :GPU Hang",
        None,
        None,
    ),
    (
        "gpu_memory_fault",
        "Memory access fault by GPU node-3 (Agent handle: 0x1) on address 0x7f. Reason: Page not present.",
        None,
        None,
    ),
    ("no_gpu", "jax.errors.JaxRuntimeError: FAILED_PRECONDITION: No visible GPU devices.", None, None),
    ("no_gpu", "E rocm_driver.cc:1] failed call to hipInit: HIP_ERROR_NoDevice", None, None),
    (
        "no_gpu",
        "E rocm_diagnostics.cc:1] librocm reported version is: NOT_FOUND: was unable to find librocm.so",
        None,
        None,
    ),
    ("no_gpu", "[rank2]: RuntimeError: No HIP GPUs are available", 2, None),
    ("killed", "E api.py:874] failed (exitcode: -9) local_rank: 3 (pid: 77) of binary: /usr/bin/python", None, -9),
    (
        "out_of_memory",
        "[rank5]: torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of",
        5,
        None,
    ),
    ("out_of_memory", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB.", None, None),
    ("out_of_memory", "RuntimeError: HIP error: out of memory", None, None),
    (
        "out_of_memory",
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 7 bytes.",
        None,
        None,
    ),
    ("out_of_memory", "BufferAssignment OOM Debugging.", None, None),
    ("out_of_memory", "HIP out of memory. Tried to allocate 2.00 GiB.", None, None),
    ("out_of_memory", "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory.", None, None),
    ("gpu_error", "RuntimeError: CUDA error: an illegal memory access was encountered", None, None),
    ("nan", "AssertionError: Rank 3: found Inf in local grad norm in backward pass before data-parallel", 3, None),
    ("nan", "AssertionError: Rank 3: found unexpected large grads in bucket #0", 3, None),
    ("import_error", "ModuleNotFoundError: import of torch halted; None in sys.modules", None, None),
    ("access_denied", "You are trying to access a gated repo.", None, None),
    ("not_found", "bash: ./train_llama3.sh: Permission denied", None, None),
    ("address_in_use", "bind: Address already in use", None, None),
    ("segmentation_fault", "train.sh: line 7:   77 Segmentation fault      (core dumped) python3 x.py", None, None),
    ("peer_died", "XlaRuntimeError: UNAVAILABLE: BarrierError: a task has failed", None, None),
    ("gpu_error", "torch.AcceleratorError: HIP error: an illegal memory access was encountered", None, None),
    (
        "nan",
        "AssertionError: Rank 3: found NaN in local forward loss calculation. Device: 3, node: n1",
        3,
        None,
    ),
    (
        "nan",
        "RuntimeError: Rank 12, node n2, device 4, iteration 7: Unexpected result nan "
        "(message='found NaN in local forward loss calculation')",
        12,
        None,
    ),
    (
        "nan",
        "RuntimeError: Rank 1, node n, device 1, iteration 7: Unexpected result inf "
        "(message='found unexpected large grads in bucket #0')",
        1,
        None,
    ),
    ("nan", "ERROR:megatron.core.rerun_state_machine:Unexpected result nan on rank 0", None, None),
    ("nan", "I0102 03:04:05.1 1 metric_logger.py:1] Aborting training due to NaN loss.", None, None),
    ("import_error", "ModuleNotFoundError: No module named 'grain'", None, None),
    ("import_error", "ImportError: libx.so.1: cannot open shared object file", None, None),
    ("import_error", "/usr/bin/python3: No module named maxtext", None, None),
    ("disk_full", "OSError: [Errno 28] No space left on device: '/cache/x.npy'", None, None),
    ("disk_full", "tee: experiment/output_perf.log: No space left on device", None, None),
    (
        "disk_full",
        "n1:1:2 [4] NCCL WARN Error while creating shared memory segment /dev/shm/nccl-x (size 9637888), error: "
        "No space left on device (28)",
        None,
        None,
    ),
    ("disk_full", "[rank2]: OSError: [Errno 122] Disk quota exceeded", 2, None),
    (
        "disk_full",
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
        None,
        None,
    ),
    ("access_denied", "[rank3]: OSError: You are trying to access a gated repo.", 3, None),
    (
        "access_denied",
        "huggingface_hub.errors.GatedRepoError: 403 Client Error. (Request ID: Root=1-66f4b037)",
        None,
        None,
    ),
    (
        "access_denied",
        "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://huggingface.co/x",
        None,
        None,
    ),
    ("access_denied", "2026-01-02 03:04:05 ERROR 403: Forbidden.", None, None),
    ("sizes", "AssertionError: world size (6) is not divisible by total_model_size (total_model_size=16)", None, None),
    (
        "sizes",
        "[rank1]: AssertionError: current global batch size (10) is not divisible by micro-batch-size (4) timesdata "
        "parallel size (2)",
        1,
        None,
    ),
    (
        "sizes",
        "AssertionError: Number of layers should be divisible by the pipeline-model-parallel size",
        None,
        None,
    ),
    (
        "sizes",
        "RuntimeError: decoder world_size (4) is not divisible by expert_tensor_model_pipeline_parallel size (8)",
        None,
        None,
    ),
    ("sizes", "RuntimeError: invalid implied data parallel degree: 8 / 3", None, None),
    ("settings_refused", "Model size not supported.", None, None),
    ("settings_refused", "pretrain_gpt.py: error: unrecognized arguments: --no-such-flag", None, None),
    ("settings_refused", "pretrain_gpt.py: error: argument --tp: invalid int value: '8.0'", None, None),
    (
        "settings_refused",
        "ValueError: Key head_dim1 was passed at the command line but isn't in config.",
        None,
        None,
    ),
    (
        "settings_refused",
        "ValueError: You are passing overrides by both CLI and ENV for `run_name`. This isn't allowed.",
        None,
        None,
    ),
    (
        "settings_refused",
        "ValueError: We received env `M_STEP` but it doesn't match a key, so it is assumed a mistake.",
        None,
        None,
    ),
    (
        "settings_refused",
        "pretrain_tiny.py: the settings are refused, nothing was started:\n  BS: found '3', expected a multiple",
        None,
        None,
    ),
    ("settings_refused", "train_llama3.sh: the argument 'X' is refused: KEY=VALUE is expected", None, None),
    (
        "xla_flags",
        "F0102 03:04:05.1 1 parse_flags_from_env.cc:234] Unknown flag in XLA_FLAGS: --xla_tpu_x=true",
        None,
        None,
    ),
    ("xla_flags", "Unknown flags in XLA_FLAGS: --xla_tpu_x=true --xla_tpu_y=true", None, None),
    ("xla_flags", "Couldn't interpret value maybe for flag xla_gpu_enable_triton_gemm.", None, None),
    ("xla_flags", "Illegal value for --xla_gpu_enable_command_buffer 'BOGUS'", None, None),
    (
        "xla_flags",
        'Could not open file "x=1" to read flags for environment variable "XLA_FLAGS".',
        None,
        None,
    ),
    ("jax_start", "ValueError: Number of processes must be defined.", None, None),
    ("jax_start", "ValueError: coordinator_address should be defined.", None, None),
    ("not_found", "/runs/r1/launch.sh: line 9: cd: /workspace/Megatron-LM: No such file or directory", None, None),
    ("not_found", "/runs/r1/launch.sh: line 10: torchrun: command not found", None, None),
    ("not_found", "bash: examples/llama/train_llama3.sh: No such file or directory", None, None),
    ("not_found", "/bin/bash: line 1: cd: /workspace: No such file or directory", None, None),
    ("not_found", "train_llama3.sh: line 212: torchrun: command not found", None, None),
    ("not_found", "sh: 1: torchrun: not found", None, None),
    ("not_found", "python3: can't open file '/w/pretrain_gpt.py': [Errno 2] No such file or directory", None, None),
    (
        "not_found",
        'OCI runtime exec failed: exec: "bash": executable file not found in $PATH: unknown',
        None,
        None,
    ),
    (
        "wrong_rank",
        "ConnectionError: rank 0 refused to begin: two nodes were started as rank 1: n1 at 10.0.0.2 and n2 at 10.0.0.3",
        1,
        None,
    ),
    ("wrong_rank", "ConnectionError: two nodes were started as rank 2: n1 at 10.0.0.2 and n2 at 10.0.0.3", 2, None),
    (
        "wrong_rank",
        "ConnectionError: rank 3 (n1 at 10.0.0.2) was started with other settings than rank 0: BS=8 (rank 0 has 16)",
        3,
        None,
    ),
    (
        "name_resolution",
        "OSError: MASTER_ADDR 'n0' cannot be resolved to an IPv4 address: Name or service not known",
        None,
        None,
    ),
    ("name_resolution", "socket.gaierror: [Errno -2] Name or service not known", None, None),
    (
        "name_resolution",
        "UNAVAILABLE: DNS resolution failed for n0:1234: C-ares status is not ARES_SUCCESS",
        None,
        None,
    ),
    (
        "name_resolution",
        "OSError: rank 0 cannot listen on 10.0.0.9:6000 (Cannot assign requested address)",
        None,
        None,
    ),
    (
        "network_interface",
        "OSError: there is no network interface 'ens51np0' on n1; there are lo, eth0",
        None,
        None,
    ),
    ("network_interface", "OSError: the network interface 'ib0' has no IPv4 address (Cannot assign)", None, None),
    (
        "network_interface",
        "[rank5]: RuntimeError: [enforce fail at ../third_party/gloo/gloo/transport/tcp/device.cc:84] ifa != nullptr. "
        "Unable to find address for: ens51np0",
        5,
        None,
    ),
    (
        "network_interface",
        "RuntimeError: [enforce fail at ../gloo/transport/tcp/device.cc:212] ifa != nullptr. Unable to find interface "
        "for: [0.0.0.0]",
        None,
        None,
    ),
    ("network_interface", "n1:1:2 [0] bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found", None, None),
    ("network_interface", "[rank0]: Bootstrap : no socket interface found", 0, None),
    ("network_interface", "n1:1:2 [0] NCCL WARN NET/Socket : no interface found", None, None),
    (
        "network_interface",
        "ncclSocketInit: connecting to address  with family 59936 is neither AF_INET(2) nor AF_INET6(10)",
        None,
        None,
    ),
    (
        "address_in_use",
        "ConnectionError: what rank 1 found at 10.0.0.1:6000 is no rank 0 of this trainer: x",
        None,
        None,
    ),
    (
        "rendezvous_timeout",
        "torch.distributed.DistNetworkError: The client socket has failed to connect to any network address of "
        "(n0, 6000).",
        None,
        None,
    ),
    (
        "data_cache",
        "FileNotFoundError: [Errno 2] No such file or directory: '/c/abc-MockGPTDataset-train-document_index.npy'",
        None,
        None,
    ),
    (
        "address_in_use",
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. "
        "port: 6000, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use",
        None,
        None,
    ),
    ("address_in_use", "OSError: [Errno 98] Address already in use", None, None),
    ("segmentation_fault", "Fatal Python error: Segmentation fault", None, None),
    ("segmentation_fault", "  traceback : Signal 11 (SIGSEGV) received by PID 77", None, None),
    ("segmentation_fault", "failed (exitcode: -11) local_rank: 3 (pid: 77) of binary: /usr/bin/python", None, -11),
    (
        "rdma_abi_mismatch",
        "libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 6 (supports 1 to 1) for device /sys/x",
        None,
        None,
    ),
    ("gloo", "RuntimeError: Gloo connectFullMesh failed with [pair.cc:144] no error", None, None),
    (
        "rendezvous_timeout",
        "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to "
        "(10.0.0.1, 6000).",
        None,
        None,
    ),
    (
        "rendezvous_timeout",
        "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 1/3 clients joined.",
        None,
        None,
    ),
    ("rendezvous_timeout", "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError", None, None),
    ("rendezvous_timeout", "TimeoutError: rendezvous timed out after 5 s: rank 1 on n1 could not connect", None, None),
    (
        "rendezvous_timeout",
        "rendezvous timed out after 5 s: 1 of 3 nodes joined (n0), missing: rank 2; rank 0 listened on 10.0.0.1:6000",
        2,
        None,
    ),
    (
        "rendezvous_timeout",
        "DEADLINE_EXCEEDED: Deadline Exceeded\n\nRPC: /tensorflow.CoordinationService/RegisterTask",
        None,
        None,
    ),
    (
        "rendezvous_timeout",
        'while calling /tensorflow.CoordinationService/RegisterTask:\n:{"description":"Deadline Exceeded"}',
        None,
        None,
    ),
    ("rendezvous_timeout", "Stopping coordination service as cluster registration failed.", None, None),
    (
        "stale_process",
        "ABORTED: /job:jax_worker/replica:0/task:1 unexpectedly tried to connect with a different incarnation.",
        1,
        None,
    ),
    (
        "nccl",
        "n1:1:2 [4] NCCL WARN NET/IB : Got completion from peer 10.0.0.1<1> with status=12 opcode=0 len=0",
        None,
        None,
    ),
    (
        "nccl",
        "n1:1:2 [4] NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev rdma0",
        None,
        None,
    ),
    ("nccl", "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting", None, None),
    ("nccl", "ncclSystemError: System call (e.g. socket, malloc) or external library call failed", None, None),
    (
        "nccl",
        "[rank3]: torch.distributed.DistBackendError: NCCL error in: /x/NCCLUtils.hpp:268, remote process",
        3,
        None,
    ),
    (
        "watchdog",
        "[rank0]:[E321 02:07:08.4 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.",
        None,
        None,
    ),
    (
        "watchdog",
        "[PG 1 Rank 0] Exception (either an error or timeout) detected by watchdog at work: 1580, last enqueued NCCL "
        "work: 1582, last completed NCCL work: 1579.",
        None,
        None,
    ),
    ("watchdog", "terminate called after throwing an instance of 'c10::DistBackendError'", None, None),
    ("watchdog", "  what():  [PG 1 Rank 1] Process group watchdog thread terminated with exception: x", None, None),
    ("elastic", "Root Cause (first observed failure): [0]: rank      : 6 (local_rank: 6) exitcode  : 1 (pid: 9)", 6, 1),
    (
        "child_failed",
        "E api.py:984] failed (exitcode: 1) local_rank: 6 (pid: 92121) of binary: /usr/bin/python",
        None,
        1,
    ),
    ("child_failed", "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", None, None),
    ("training_script", "ERROR: training (torchrun pretrain_gpt.py) failed with exit code 7", None, 7),
    (
        "peer_died",
        "absl::Status: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n"
        "/job:jax_worker/replica:0/task:3\nThe tasks have crashed.",
        3,
        None,
    ),
    (
        "peer_died",
        "/job:jax_worker/replica:0/task:0 has been set to ERROR in coordination service: UNAVAILABLE: "
        "Task /job:jax_worker/replica:0/task:2 heartbeat timeout.",
        2,
        None,
    ),
    ("peer_died", "ConnectionError: rank 0 lost the connection to rank 5: another node has failed", 5, None),
    (
        "peer_died",
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.1]:1",
        None,
        None,
    ),
    (
        "peer_died",
        "RuntimeError: [/x/gloo/transport/tcp/pair.cc:589] Read error [10.0.0.1]:1: Connection reset by peer",
        None,
        None,
    ),
    (
        "coordinator_died",
        "UNAVAILABLE: Failed to send RPC to coordination service. Either the leader task was preempted/died/restarted",
        None,
        None,
    ),
    ("sigterm", "W api.py:1] Received 15 death signal, shutting down workers", None, None),
    ("sigterm", "torch.distributed.elastic.multiprocessing.api.SignalException: Process 4 got signal: 15", None, None),
    ("sigterm", "W0902 api.py:900] Sending process 819027 closing signal SIGTERM", None, None),
    ("sigterm", "  traceback : Signal 15 (SIGTERM) received by PID 92115", None, None),
    ("sigterm", "exiting program after receiving SIGTERM.", None, None),
]


@pytest.mark.parametrize(("name", "text", "rank", "exit_code"), TEST_TEXTS)
def test_each_text_is_of_its_class_alone(name: str, text: str, rank: int | None, exit_code: int | None) -> None:
    [found] = find_failures(f"noise\r\n\x1b[31m{text}\x1b[0m\r\nnoise\r\n".encode())
    assert (found["class"], found["rank"], found["exit_code"]) == (name, rank, exit_code)
    assert found["line"] in " ".join(text.split())


def test_every_signature_has_a_text_here() -> None:
    assert {signature.failure for signature in SIGNATURES} == {case[0] for case in TEST_TEXTS}


TEST_HARMLESS = [
    "W external/xla/bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.50GiB with "
    "freed_by_count=0. The caller indicates that this is not a failure, but may mean that there could be gains",
    "libibverbs: Warning: couldn't load driver 'libvmw_pvrdma-rdmav34.so': libvmw_pvrdma-rdmav34.so: cannot open "
    "shared object file: No such file or directory",
    'n1:1:2 [0] NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!',
    "n1:1:2 [0] NCCL INFO transport/net.cc:1302 -> 6",
    "WARNING:megatron.core.datasets.gpt_dataset:Unable to save MockGPTDataset indexes because path_to_cache is None",
    "  check_for_nan_in_loss_and_grad .................. True",
    "  distributed_timeout_minutes ..................... 120",
    "  error_injection_rate ............................ 0",
    "Overwriting rerun_state_machine.current_iteration from -1 to 0...",
    "INFO:megatron.core.rerun_state_machine:Unexpected result 3.5 on rank 0 (message='Spiky loss')",
    "Epoch 0:   3%|3 | 3/91 [03:00<88:00, v_num=5, reduced_train_loss=11.8, loss=nan]",
    "/x/megatron/core/optimizer/__init__.py:17: UserWarning: Apex is not installed. Falling back to Torch optimizers.",
    "Config param abort_on_nan_loss: True",
    "    raise torch.OutOfMemoryError(",
    "    raise RendezvousTimeoutError()",
    "    raise ChildFailedError(",
    "  error_file: <N/A>",
    "  exitcode  : -15 (pid: 92115)",
    " [2026-01-02 03:04:05] iteration 2/50 | throughput per GPU (TFLOP/s/GPU): 1.0 | number of nan iterations:   0 |",
    "UserWarning: 'pin_memory' argument is set as true but no accelerator is found",
    "I0926 coordination_service_agent.cc:1] Coordination agent has successfully connected.",
    "train_llama3.sh: line 44: rdma: command not found",
    "bash: warning: setlocale: LC_ALL: cannot change locale (en_US.UTF-8): No such file or directory",
    "n1:1:2 [0] NCCL INFO NET/Plugin : libnccl-net.so: cannot open shared object file: No such file or directory",
    "[W socket.cpp:601] [c10d] The IPv6 network addresses of (localhost, 51595) cannot be retrieved (gai error: -2 - "
    "Name or service not known).",
    "n1:1:2 [0] NCCL INFO NET/IB : No device found.",
    "XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true",
    "WARNING: Connection refused, trying again",
]


@pytest.mark.parametrize("text", TEST_HARMLESS)
def test_harmless_lookalikes_are_no_failures(text: str) -> None:
    assert find_failures(f"{text}\n".encode()) == []


def test_a_failure_carries_what_its_signature_says() -> None:
    [found] = find_failures(b"[rank1]: torch.OutOfMemoryError: HIP out of memory.\n")
    [signature] = [signature for signature in SIGNATURES if signature.failure == "out_of_memory"]
    assert found == {
        "class": "out_of_memory",
        "blame": signature.blame,
        "echo": False,
        "remedy": signature.remedy,
        "line": "[rank1]: torch.OutOfMemoryError: HIP out of memory.",
        "rank": 1,
        "exit_code": None,
    }


def test_blame_follows_the_chain_from_cause_to_echo() -> None:
    chain = (
        "gpu_hang", "out_of_memory", "nan", "python_error", "nccl", "watchdog", "elastic", "peer_died", "sigterm",
    )  # fmt: skip
    blame = {signature.failure: signature.blame for signature in (*SIGNATURES, PYTHON_ERROR)}
    assert [blame[name] for name in chain] == sorted(blame[name] for name in chain)
    not_echoes = [signature.blame for signature in SIGNATURES if not signature.echo]
    assert max(not_echoes) < min(signature.blame for signature in SIGNATURES if signature.echo)


def test_failures_stand_in_the_order_of_the_log_and_at_most_three_of_a_class() -> None:
    text = b"got signal: 15\n" + b"".join(b"HW Exception by GPU node-%d\n" % number for number in range(9))
    assert [(found["class"], found["line"]) for found in find_failures(text)] == [
        ("sigterm", "got signal: 15"),
        *(("gpu_hang", f"HW Exception by GPU node-{number}") for number in range(3)),
    ]


def test_no_line_changes_its_class_because_there_are_many_of_it() -> None:
    line = b"RuntimeError: HIP error: out of memory\n"
    text = (b'Traceback (most recent call last):\n  File "/x/a.py", line 8, in f\n' + line) * 8
    assert [found["class"] for found in find_failures(text)] == ["out_of_memory"] * 3


def test_an_exception_among_many_with_a_class_of_their_own_is_told() -> None:
    opening = 'Traceback (most recent call last):\n  File "/x/a.py", line 8, in f\n'
    text = f"{opening}torch.distributed.DistBackendError: NCCL error in: /x.hpp:268, remote\n" * 8
    text += f"{opening}KeyError: 'layers'\n"
    assert [name for name, _, _ in lines_of(text)] == ["nccl", "nccl", "nccl", "python_error"]


def test_evidence_of_a_long_line_is_cut_around_the_text_and_never_breaks_on_invalid_utf_8() -> None:
    [found] = find_failures(b"\xff" * 5000 + b"\tSegmentation fault\xff" + b"x" * 5000)
    assert found["line"].startswith("Segmentation fault\N{REPLACEMENT CHARACTER}xxx")
    assert len(found["line"]) == 400


def said_by(command: list[str], folder: Path, **variables: str) -> list[str]:
    """Run a command and return the classes of the failures that it tells of."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **variables}, capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode != 0
    return [found["class"] for found in find_failures(done.stdout + done.stderr)]


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


def test_every_match_begins_on_a_line_with_a_mark_of_its_signature() -> None:
    """Which is what the search relies on; the texts above hold every alternative of the patterns."""
    for signature in SIGNATURES:
        for name, text, _, _ in TEST_TEXTS:
            match = signature.pattern.search(text.encode())
            if match and name == signature.failure:
                start = text.encode().rfind(b"\n", 0, match.start()) + 1
                line = text.encode()[start:].split(b"\n")[0]
                assert any(mark in line for mark in signature.marks), (signature.failure, line)


ROOT_CAUSE = """\
{prefix}Traceback (most recent call last):
{prefix}  File "/x/torchrun", line 8, in <module>
{prefix}torch.distributed.elastic.multiprocessing.errors.ChildFailedError:{blank}
============================================================
pretrain_gpt.py FAILED
Failures:
[1]:
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 92115)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 92115
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-01-02_03:04:05
  host      : n1
  rank      : 6 (local_rank: 6)
  exitcode  : 1 (pid: 92121)
  error_file: <N/A>
============================================================
"""


def test_the_root_cause_of_torchrun_is_the_rank_to_blame() -> None:
    found = find_failures(ROOT_CAUSE.format(prefix="", blank=" ").encode())
    assert [failure["class"] for failure in found] == ["child_failed", "sigterm", "elastic"]
    assert (found[-1]["rank"], found[-1]["exit_code"]) == (6, 1)
    assert found[-1]["line"].startswith("Root Cause (first observed failure): [0]:")
    assert "rank : 6 (local_rank: 6) exitcode : 1 (pid: 92121)" in found[-1]["line"]


def lines_of(text: str) -> list[tuple[str, str, int | None]]:
    return [(found["class"], found["line"], found["rank"]) for found in find_failures(text.encode())]


def test_a_traceback_is_told_by_its_last_line() -> None:
    text = (
        "10%|# | 1/10Traceback (most recent call last):\n"
        '  File "/x/pretrain_gpt.py", line 8, in <module>\n'
        "    raise my.own.ConfigError(\n"
        "          ^^^^^^^^^^^^^^^^^^^\n"
        "WARNING: another process prints between\n"
        "my.own.ConfigError: no such model\n"
        "ValueError: not of the traceback\n"
    )
    assert lines_of(text) == [("python_error", "my.own.ConfigError: no such model", None)]


def test_each_exception_of_a_chain_is_told() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/x/a.py", line 8, in f\nKeyError: 1\n\n'
        "During handling of the above exception, another exception occurred:\n\n"
        'Traceback (most recent call last):\n  File "/x/a.py", line 9, in f\nAssertionError\n'
    )
    assert [line for _, line, _ in lines_of(text)] == ["KeyError: 1", "AssertionError"]


def test_tracebacks_of_ranks_that_print_between_each_other_are_kept_apart() -> None:
    text = (
        "[rank3]: Traceback (most recent call last):\n"
        "[rank1]: Traceback (most recent call last):\n"
        '[rank3]:   File "/x/a.py", line 8, in f\n'
        '[rank1]:   File "/x/a.py", line 9, in f\n'
        "[rank1]: KeyError: 1\n"
        "[rank3]: ValueError: 3\n"
    )
    assert lines_of(text) == [
        ("python_error", "[rank1]: KeyError: 1", 1),
        ("python_error", "[rank3]: ValueError: 3", 3),
    ]


def test_a_traceback_whose_end_has_a_class_of_its_own_is_not_told_twice() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/x/a.py", line 8, in f\n'
        "ConnectionError: rank 0 lost the connection to rank 1: another node has failed\n"
    )
    assert [name for name, _, _ in lines_of(text)] == ["peer_died"]


@pytest.mark.parametrize(
    ("files", "end"),
    [
        (["<string>"], "IndexError: list index out of range"),
        (
            ["<string>", "/usr/lib/python3.10/json/__init__.py", "/usr/lib/python3.10/json/decoder.py"],
            "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
        ),
        (["/workspace/Megatron-LM/mean_log_value.py"], "ValueError: could not convert string to float: ''"),
    ],
)
def test_the_launch_scripts_helpers_fail_without_harm(files: list[str], end: str) -> None:
    frames = "".join(f'  File "{file}", line 1, in <module>\n' for file in files)
    assert lines_of(f"Traceback (most recent call last):\n{frames}{end}\n") == []


def test_an_unfinished_traceback_is_no_failure_yet() -> None:
    assert find_failures(b'Traceback (most recent call last):\n  File "/x/a.py", line 8, in f\n') == []


TEST_OPEN = [
    (b"noise\nTraceback (most recent call last):\n  File x\n", 6),
    (b"noise\n[rank0]: Traceback (most recent call last):\n[rank0]:   File x\n", 6),
    (b"noise\nTraceback (most recent call last):\n  File x\nKeyError: 1\n", None),
    (b"noise\n[rank0]: Traceback (most recent call last):\n[rank0]: a.b.KeyError\n", None),
    (b"noise\nRoot Cause (first observed failure):\n[0]:\n  rank      : 6\n", 6),
    (b"noise\nRoot Cause (first observed failure):\n[0]:\n  rank      : 6\n  exitcode  : 1 (pid: 2)\n", None),
    (b"noise\nUNAVAILABLE: unhealthy (stopped sending heartbeats):\n", 6),
    (b"noise\nUNAVAILABLE: unhealthy (stopped sending heartbeats):\n/job:jax_worker/replica:0/task:3\n", None),
    (b"noise\n", None),
]


@pytest.mark.parametrize(("text", "start"), TEST_OPEN)
def test_messages_that_have_not_ended_are_seen(text: bytes, start: int | None) -> None:
    assert open_message(Piece(text)) == start


TEST_REAL_LOGS = [
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


@pytest.mark.parametrize(("name", "classes", "rank"), TEST_REAL_LOGS)
def test_real_logs(name: str, classes: set[str], rank: int | None) -> None:
    path = SHARED_LOGS / name
    if not path.exists():
        pytest.skip(f"the real log {name} is not beside this checkout")
    found = find_failures(path.read_bytes())
    assert {failure["class"] for failure in found} == classes
    assert {failure["rank"] for failure in found if failure["rank"] is not None} == (
        {rank} if rank is not None else set()
    )
