# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of PyTorch: c10d (ProcessGroupNCCL.cpp, TCPStore.cpp, socket.cpp), torchrun (torch/distributed/elastic)."""

from __future__ import annotations

from ..failure_classes import BLAME
from ..signature import Signature
from . import codes

SIGNATURES = (
    Signature(
        "out_of_memory",
        "The GPU ran out of memory. Lower the micro batch size, recompute activations or increase model parallelism.",
        rb"OutOfMemoryError: ",
        sample="torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory.",
    ),
    Signature(
        "killed",
        "A data worker was killed, usually because host memory ran out or shared memory (/dev/shm) is too small. Use "
        "fewer workers, give the container more memory or a larger /dev/shm, and read the kernel log.",
        rb"DataLoader worker \(pid(?:\(s\))? [\d, ]{1,99}\) is killed by signal|TerminatedWorkerError: "
        rb"|subprocesses has abruptly died",
        sample="RuntimeError: DataLoader worker (pid 77) is killed by signal: Killed.",
    ),
    Signature(
        "killed",
        "A data worker ended without a message, usually killed because host memory ran out. Check the lines before "
        "this one for a crash, and read the kernel log; use fewer workers, or give the container more memory.",
        rb"DataLoader worker \(pid(?:\(s\))? [\d, ]{1,99}\) exited unexpectedly|Pin memory thread exited unexpectedly"
        rb"|BrokenProcessPool: ",
        BLAME["python_error"] + 1,
        sample=("concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly"),
    ),
    Signature(
        "data_corrupt",
        "A checkpoint or data file is truncated or damaged, usually because the run that wrote it was killed or a "
        "copy is incomplete. Use an earlier checkpoint, or copy the file again.",
        rb"unexpected EOF[^\r\n]{0,60}corrupted|PytorchStreamReader failed|UnpicklingError: (?:invalid load key"
        rb"|pickle data was truncated)|SafetensorError: [^\r\n]{0,200}(?:MetadataIncompleteBuffer|HeaderTooLarge"
        rb"|InvalidHeader|deserializing header)|EOFError: Ran out of input|Error: [^\r\n]{0,99}corrupt file"
        rb"|storage has wrong byte size|SafetensorsParsingError: ",
        sample="_pickle.UnpicklingError: invalid load key, 'v'.",
    ),
    Signature(
        "checkpoint",
        "The checkpoint does not match this model. Compare the model's sizes, the parallel sizes and the checkpoint "
        "format with those of the run that wrote it.",
        rb"Error\(s\) in loading state_dict for|size mismatch for \S{1,200}: copying a param with shape"
        rb"|Checkpoint(?:ing)?Exception: |Missing key\(s\) in state_dict"
        rb"|Weights only load failed|could not load the checkpoint|Error: \w{1,60} value from checkpoint "
        rb"|Error: Size mismatch between saved |KeyError: MetadataIndex\(",
        more_specific_than=("any checkpoint error",),
        sample="_pickle.UnpicklingError: Weights only load failed.",
    ),
    Signature(
        "checkpoint",
        "A checkpoint cannot be written. Check that its folder exists on this node, is writable and has space.",
        rb"RuntimeError: File [^\r\n]{1,300} cannot be opened\.",
        more_specific_than=("any checkpoint error",),
        sample="RuntimeError: File out/checkpoints/checkpoint_0.pt cannot be opened.",
    ),
    Signature(
        "compile",
        codes.COMPILE,
        rb"out of resource: (?:shared memory|tensor memory|registers|threads)"
        rb"|type fp8\w{1,20} not supported in this architecture|InductorError: |BackendCompilerFailed: "
        rb"|Error building extension|Error compiling objects for extension|Ninja is required to load"
        rb"|CompilationError: |Failed to find C compiler|torch\._dynamo\.exc\.\w{1,60}: "
        rb"|Error: PassManager::run failed|processing an MLIR pass pipeline|libdevice not found|ptxas fatal"
        rb"|PTXASError|NoTritonConfigsError|Cannot find a working triton installation|nvcc fatal"
        rb"|LoweringException: |/(?:llvm|mlir|triton)[\w./-]{0,200}:\d{1,6}: [^\r\n]{0,900}Assertion `|hipcc: error"
        rb"|clang\+\+: error|ld\.lld: error|\d errors? generated when compiling|ninja: build stopped"
        rb"|\bNVRTC_ERROR_[A-Z]|nvrtc: error: |NVJITLINK_ERROR_[A-Z]|CUDA_HOME (?:environment variable is not set"
        rb"|does not exist)|collect2: error: ld returned|: undefined reference to |\.(?:cc|cpp|cu|cuh|hip|hpp|h"
        rb"|c):\d{1,6}:(?:\d{1,6}:)? (?:fatal )?error: |failed to execute: ?\S{0,200}(?:clang|gcc|nvcc|hipcc|ptxas)"
        rb"|\bmake(?:\[\d\])?: \*\*\* \[|CMake Error|CalledProcessError: Command '\['[^'\r\n]{0,200}(?:gcc|g\+\+"
        rb"|nvcc|hipcc|ninja|clang|ptxas|make)['\d.]",
        name="any kernel compilation",
        sample="RuntimeError: odd: NVJITLINK_ERROR_ODD",
    ),
    Signature(
        "settings_refused",
        "A rank does not know where the others are. Start the trainer with torchrun, which sets MASTER_ADDR, "
        "MASTER_PORT, RANK and WORLD_SIZE.",
        rb"environment variable \w{1,40} expected, but not set|Default process group has not been initialized"
        rb"|Error initializing torch\.distributed using env:// rendezvous",
        sample="SomeError: environment variable x expected, but not set",
    ),
    Signature(
        "compile",
        "A kernel compiler failed. Try another image, or disable torch.compile or the fused kernel.",
        rb"LLVM ERROR: |fatal error: error in backend",
        sample="LLVM ERROR: Failed to compute parent layout for slice layout.",
    ),
    Signature(
        "peer_died",
        "The named ranks did not reach the barrier. Check their logs for the cause.",
        rb"Ranks? (?P<rank>\d{1,9})[\d, ]{0,999} failed to pass monitoredBarrier",
        sample="Rank 1 failed to pass monitoredBarrier",
    ),
    Signature(
        "peer_died",
        "A rank did not reach the barrier, or went away in it. Check that rank's log; the message gives the rank.",
        rb"reached monitoredBarrier, but received errors while waiting [^\r\n]{0,60}rank (?P<rank>\d{1,9})",
        sample=(
            "RuntimeError: Rank 0 reached monitoredBarrier, but received errors while waiting for odd from rank 5."
        ),
    ),
    Signature(
        "name_resolution",
        "This node cannot resolve the master's name. Check DNS and /etc/hosts, and use an address that every node "
        "resolves and reaches (MASTER_ADDR).",
        rb"(?:any network address|The (?:IPv4 )?network addresses) of [^\r\n]{0,300}cannot be retrieved",
        sample=("RuntimeError: The network addresses of (odd, 515) cannot be retrieved (gai error: -2 - odd)."),
    ),
    Signature(
        "rendezvous_timeout",
        "Not all nodes joined. Look for a node that did not start or failed earlier, then check master address, port "
        "and firewall.",
        rb"connect\(\) timed out|api\.RendezvousTimeoutError|\betcd\.Etcd\w{1,40}: "
        rb"|client socket has timed out after \S{1,60} while trying to connect to"
        rb"|client socket (?:has failed to connect to any network address|cannot be initialized to connect to)"
        rb"|Timed out after \d{1,9} seconds waiting for (?:clients|workers)|RendezvousClosedError"
        rb"|wait timeout after \d{1,9} ?ms, keys: [^\r\n]{0,200}(?:worker_count|barrier|torch\.rendezvous"
        rb"|default_pg)|RendezvousStateError: |[Tt]imed out initializing process group in store based barrier"
        rb"|Timeout waiting for key: |TCP client failed to connect/validate to host [^\r\n]{1,300} - timed out ",
        sample="torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError",
    ),
    Signature(
        "address_in_use",
        None,
        rb"[Aa]ddress already in use|\bEADDRINUSE\b|failed to listen on any local network address",
        sample="OSError: [Errno 98] Address already in use",
    ),
    Signature(
        "watchdog",
        "A collective never finished. Look for the rank that has no such line, or the lowest last completed work: it "
        "is the culprit.",
        rb"[Ww]atchdog caught collective operation timeout|detected by watchdog at work"
        rb"|watchdog thread terminated with exception"
        rb"|throwing an instance of 'c10::DistBackendError'|Some NCCL operations have failed or timed out"
        rb"|Heartbeat monitor timed out|ProcessGroupNCCL(?:'s)? watchdog (?:got stuck|hang)"
        rb"|Timeout at NCCL work: |dump signal due to a collective timeout"
        rb"|flight recorder dump signal from|First PG on this rank to signal dumping|timed out in blocking wait"
        rb"|NCCLABORTEDCOMM|Could not acquire GIL within|Timeout at collective: "
        rb"|NCCL communicator was aborted|DeepEP (?:error: )?(?:[\w ]{1,40} )?timeout",
        sample="RuntimeError: DeepEP error: timeout (odd)",
    ),
    Signature(
        "elastic",
        None,
        rb"Root Cause \(first observed failure\):(?s:.{0,400}?)rank\s{1,9}: (?P<rank>\d{1,9})(?s:.{0,200}?)"
        rb"exitcode\s{1,9}: (?P<exit_code>-?\d{1,9})",
        sample=("Root Cause (first observed failure): [0]: rank      : 6 (local_rank: 6) exitcode  : 1 (pid: 9)"),
    ),
    Signature(
        "child_failed",
        "A training process failed. Look for the cause in its earlier output.",
        rb"failed \(exitcode: (?P<exit_code>-?\d{1,9})\)|Rank \d{1,6} crashed with exit code"
        rb"|errors\.ChildFailedError|Process(?:Exited|Raised)Exception: ",
        name="any failed child",
        more_specific_than=("any exit code",),
        sample="torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
    ),
    Signature(
        "peer_died",
        "Another rank, or the process that holds the store, went away. Look for the cause in its log or in the first "
        "node's log.",
        rb"\[c10d\] While waitForInput, poolFD failed|[Ff]ailed to recv, got 0 bytes"
        rb"|DistNetworkError: (?!The (?:client|server) socket)|store->get\('[^'\r\n]{0,99}'\) got error: "
        rb"|RendezvousConnectionError: |failed to (?:send a keep-alive heartbeat to|shutdown) the rendezvous"
        rb"|RendezvousGracefulExitError|failed on SocketImpl\([^\r\n]{0,300}: Broken pipe|(?:Runtime|DistStore"
        rb"|DistNetwork)Error: (?:Broken pipe|Socket Timeout|wait timeout after )",
        sample="[rank3]: torch.distributed.DistNetworkError: failed to recv, got 0 bytes",
    ),
    Signature(
        "sigterm",
        None,
        rb"Received \S{1,30} death signal, shutting down workers|got signal: (?:1|2|15)\b|closing signal SIGTERM"
        rb"|Signal (?:15 \(SIGTERM\)|1 \(SIGHUP\)) received by PID|SIGTERM caught|[Rr]eceived SIGTERM\b"
        rb"|\*\*\* SIGTERM received |Caught signal SIGTERM|Bypassing signal SIGTERM|died with <Signals\.SIGTERM"
        rb"|(?m:^(?:Terminated|Hangup)\r?$)|: line \d{1,9}: {1,20}\d{1,9} (?:Terminated|Hangup) {2,60}"
        rb"|handling auto-requeue signal|(?:[Rr]eceived|[Cc]aught) signal:? (?:15|SIGHUP|1)\b",
        sample="  traceback : Signal 1 (SIGHUP) received by PID 77",
    ),
)
