# SPDX-License-Identifier: GPL-3.0-or-later
"""What failures look like in a training log.

The texts are those of the ROCm and CUDA runtimes, PyTorch (torchrun, c10d, gloo), NCCL/RCCL, Megatron, JAX/XLA,
MaxText, Hugging Face, the shells, the launch scripts and the embedded trainer. They are never looked for at the start
of a line: they stand behind prefixes and progress bars.
"""

from __future__ import annotations

import typing as t


class Signature(t.NamedTuple):
    """How one class of failures shows in a log.

    ``pattern`` is a regular expression that is looked for only where one of the ``marks`` stands: one of them is part
    of every line in which a match begins, and so is one of the ``NEEDLES``. It is compiled when it is needed, as few
    ever are. Its groups ``rank`` (the rank or JAX task that the text blames) and ``exit_code`` are kept.

    ``blame`` is smaller the nearer a class is to the cause, whatever is printed first: fault of the GPU or the host 1x,
    out of memory 2x, NaN 3x, the program and its settings 4x, the network 5x, then what follows from a failure
    elsewhere. Those are marked as ``echo``: they stand in the logs of healthy nodes as well.
    """

    failure: str
    marks: tuple[bytes, ...]
    pattern: bytes
    blame: int
    echo: bool
    remedy: str


# Where two match in one line, the first one here counts.
SIGNATURES = (
    Signature(
        "gpu_hang",
        (b"HW Exception by GPU",),
        rb"HW Exception by GPU",
        10,
        False,
        "A GPU of this node hung: drain the node, read its kernel log for amdgpu messages and reset the GPU.",
    ),
    Signature(
        "gpu_memory_fault",
        (b"Memory access fault by GPU",),
        rb"Memory access fault by GPU",
        10,
        False,
        "A kernel touched memory that is not its own: if other nodes run the same software well, suspect the GPU "
        "(kernel log, RAS counters); if not, the container image.",
    ),
    Signature(
        "no_gpu",
        (b"visible GPU", b"GPUs are available", b"call to hipInit", b"NOT_FOUND"),
        (
            rb"No visible GPU devices|No (?:HIP|CUDA) GPUs are available|failed call to hipInit"
            rb"|librocm reported version is: NOT_FOUND"
        ),
        12,
        False,
        "No GPU can be used in the container: check the driver, the devices passed in (/dev/kfd, /dev/dri) and "
        "HIP_VISIBLE_DEVICES.",
    ),
    Signature(
        "killed",
        (b"(exitcode: -9)",),
        rb"failed \(exitcode: (?P<exit_code>-9)\)",
        14,
        False,
        "A process was killed with SIGKILL, mostly by the kernel for want of host memory: read the kernel log.",
    ),
    Signature(
        "out_of_memory",
        (b"OutOfMemoryError", b"out of memory", b"RESOURCE_EXHAUSTED", b"OOM Debugging"),
        (
            rb"OutOfMemoryError: |(?:HIP|CUDA)(?: error:)? out of memory"
            rb"|RESOURCE_EXHAUSTED: (?:Out of memory|Error allocating)"
            rb"|failed: RESOURCE_EXHAUSTED|BufferAssignment OOM Debugging"
        ),
        20,
        False,
        "The GPU memory does not suffice: lower the micro batch size, recompute activations or split the model more.",
    ),
    Signature(
        "disk_full",
        (b"No space left", b"quota exceeded", b"insufficient shared memory"),
        rb"No space left on device|Disk quota exceeded|bus error [^\r\n]*insufficient shared memory",
        18,
        False,
        "A disk or the shared memory (/dev/shm) of this node is full: free it, let logs, caches and checkpoints go "
        "elsewhere, or give the container more shared memory.",
    ),
    Signature(
        "gpu_error",
        (b"HIP error: ", b"CUDA error: "),
        rb"(?:HIP|CUDA) error: ",
        16,
        False,
        "A GPU kernel failed: run again with AMD_SERIALIZE_KERNEL=3 to see which one, and read the node's kernel log.",
    ),
    Signature(
        "nan",
        (b"found NaN in", b"found Inf in", b"found unexpected", b"Unexpected result", b"Aborting training"),
        (
            rb"(?:Rank (?P<rank>\d+)[:,][^\r\n]*)?"
            rb"(?:found (?:NaN|Inf|unexpected large grads) in|Unexpected result (?:nan|[-+]?inf)\b"
            rb"|Aborting training due to (?:NaN|Inf) loss)"
        ),
        30,
        False,
        "The loss or the gradients became NaN or infinite: check data, precision and learning rate; where one rank "
        "alone has it, check its GPU.",
    ),
    Signature(
        "import_error",
        (b"ModuleNotFoundError", b"ImportError", b"No module named"),
        rb"(?:ModuleNotFoundError|ImportError): |/python[\d.]*: No module named ",
        40,
        False,
        "A Python package is missing or does not fit: the container image is not the one that the trainer needs.",
    ),
    Signature(
        "access_denied",
        (b"gated repo", b"Client Error", b"ERROR 40"),
        (
            rb"trying to access a gated repo|Cannot access gated repo|(?:401|403) Client Error"
            rb"|ERROR (?:401|403): "
        ),
        40,
        False,
        "Hugging Face does not hand out the model or tokenizer: ask for access on its page and give a token (HF_TOKEN) "
        "of an account that has it, or use a local copy.",
    ),
    Signature(
        "sizes",
        (b"divisible by", b"implied data parallel"),
        rb"(?:Error|Exception): [^\r\n]*(?:divisible by|invalid implied data parallel degree)",
        40,
        False,
        "The sizes do not fit each other: the GPUs must be a multiple of tensor × pipeline × context parallel size, "
        "the global batch size one of micro batch size × data parallel size.",
    ),
    Signature(
        "settings_refused",
        (b"refused", b"Model size not", b".py: error: ", b"isn't in config", b"passing overrides", b"We received env"),
        (
            rb"the settings are refused, nothing was started:(?:\s+[^\r\n]+)?|\.sh: [^\r\n]* is refused: "
            rb"|Model size not supported"
            rb"|\.py: error: (?:argument |unrecognized arguments|the following arguments are required)"
            rb"|Error: Key \S+ was passed at the command line but isn't in config"
            rb"|Error: You are passing overrides by (?:both )?CLI"
            rb"|Error: We received env `M_"
        ),
        40,
        False,
        "The trainer does not take a setting: correct what the message names; another image may know other settings.",
    ),
    Signature(
        "xla_flags",
        (b"XLA_FLAGS", b"Couldn't interpret", b"Illegal value for"),
        (
            rb"Unknown flags? in XLA_FLAGS: |Couldn't interpret value \S* ?for flag|Illegal value for --xla"
            rb'|Could not open file "[^"\r\n]*" to read flags for environment variable'
        ),
        40,
        False,
        "XLA does not take a flag: flags belong to a version of jaxlib, TPU flags go in LIBTPU_INIT_ARGS, and each "
        "flag begins with --.",
    ),
    Signature(
        "jax_start",
        (b"should be defined", b"must be defined"),
        (
            rb"Error: (?:coordinator_address should be defined|Number of processes must be defined"
            rb"|The process id of the current process must be defined)"
        ),
        40,
        False,
        "JAX was not told how the nodes find each other: set JAX_COORDINATOR_IP, JAX_COORDINATOR_PORT, NNODES and "
        "NODE_RANK, and hardware=gpu.",
    ),
    Signature(
        "not_found",
        (b"No such file", b"not found", b"Permission denied"),
        (
            rb"sh: (?:line \d+: )?cd: [^\r\n]*: (?:No such file or directory|Permission denied)"
            rb"|\blaunch\.sh: line \d+: [^\r\n]*: (?:No such file or directory|command not found|Permission denied)"
            rb"|(?:^|(?<=[\s/]))(?:ba)?sh: (?:line \d+: )?[^:\r\n]+: (?:No such file or directory|Permission denied)"
            rb"|\b(?:torchrun|python3?|bash): (?:command )?not found"
            rb"|\bsh: \d+: cannot open [^\r\n]*: No such file"
            rb"|can't open file '[^'\r\n]*': \[Errno 2\]"
            rb"|executable file [^\r\n]*not found in \$PATH|/env: [^\r\n]*: No such file or directory"
        ),
        40,
        False,
        "A program, script or folder of the launch is not there: the image or the paths are not those that the plan "
        "expects.",
    ),
    Signature(
        "wrong_rank",
        (b"two nodes were started", b"with other settings"),
        (
            rb"(?:two nodes were started as rank |rank (?=\d+ \([^\r\n]*\) was started with other settings))"
            rb"(?P<rank>\d+)"
        ),
        40,
        False,
        "A node was not started as this run's plan says: look for a launch of another run or by hand on the nodes that "
        "the message names, stop it, then start anew.",
    ),
    Signature(
        "data_cache",
        (b"_index.npy",),
        rb"FileNotFoundError: [^\r\n]*_index\.npy",
        40,
        False,
        "The data index of the first rank cannot be seen here: the data cache path must be shared by all nodes.",
    ),
    Signature(
        "name_resolution",
        (b"cannot be resolved", b"gaierror", b"DNS resolution failed", b"Cannot assign requested"),
        (
            rb"MASTER_ADDR [^\r\n]* cannot be resolved|gaierror: \[Errno|DNS resolution failed for"
            rb"|rank 0 cannot listen on [^\r\n]*Cannot assign requested address"
        ),
        43,
        False,
        "The master address is of no use on this node: give an address of rank 0 that every node resolves and reaches "
        "(MASTER_ADDR, JAX_COORDINATOR_IP).",
    ),
    Signature(
        "network_interface",
        (b"network interface", b"Unable to find", b"interface found", b"AF_INET"),
        (
            rb"there is no network interface '[^'\r\n]*' on |the network interface '[^'\r\n]*' has no IPv4 address"
            rb"|Unable to find (?:address|interface) for: "
            rb"|(?:Bootstrap|NET/Socket) : no (?:socket )?interface found|is neither AF_INET\(2\) nor AF_INET6"
        ),
        43,
        False,
        "This node has no such network interface, or it has no address: set NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME "
        "to what it is called here (gloo takes one name, no list and no ^).",
    ),
    Signature(
        "address_in_use",
        (b"ddress already in use", b"no rank 0 of"),
        rb"[Aa]ddress already in use|is no rank 0 of this trainer",
        41,
        False,
        "Another process holds the port: stop what an earlier run left behind, or choose another master port.",
    ),
    Signature(
        "segmentation_fault",
        (b"Segmentation fault", b"SIGSEGV", b"(exitcode: -11)"),
        rb"Segmentation fault|SIGSEGV|failed \(exitcode: (?P<exit_code>-11)\)",
        42,
        False,
        "A process crashed in native code: mostly libraries in the image that do not fit each other or the driver.",
    ),
    Signature(
        "rdma_abi_mismatch",
        (b"kernel ABI of",),
        rb"Driver \S+ does not support the kernel ABI of",
        48,
        False,
        "The RDMA library in the container is older than the host's driver: mount the host's library into it.",
    ),
    Signature(
        "gloo",
        (b"connectFullMesh",),
        rb"Gloo connectFullMesh failed",
        50,
        False,
        "The ranks cannot reach each other: set GLOO_SOCKET_IFNAME to the interface of the cluster network.",
    ),
    Signature(
        "rendezvous_timeout",
        (
            b"imed out",
            b"RendezvousTimeoutError",
            b"client socket has failed",
            b"RegisterTask",
            b"DEADLINE_EXCEEDED",
            b"registration failed",
        ),
        (
            rb"rendezvous timed out(?:[^\r\n]*missing: rank (?P<rank>\d+))?|api\.RendezvousTimeoutError"
            rb"|client socket has timed out after \S+ while trying to connect to"
            rb"|client socket has failed to connect to any network address"
            rb"|Timed out after \d+ seconds waiting for (?:clients|workers)"
            rb"|RegisterTask(?:[^\n]*\n){0,3}?[^\n]*?Deadline Exceeded"
            rb"|DEADLINE_EXCEEDED(?:[^\n]*\n){0,3}?[^\n]*?RegisterTask"
            rb"|cluster registration failed"
        ),
        54,
        False,
        "The nodes did not all meet: look for a node that did not start or failed before, then check master address, "
        "port and firewall.",
    ),
    Signature(
        "stale_process",
        (b"different incarnation",),
        rb"(?:/task:(?P<rank>\d+) )?unexpectedly tried to connect with a different incarnation",
        54,
        False,
        "A process of an earlier start still takes part: stop what is left over on all nodes, then start anew.",
    ),
    Signature(
        "nccl",
        (b"Got completion", b"ibv_modify_qp", b"ncclRemoteError", b"ncclSystemError", b"NCCL error", b"work queue"),
        (
            rb"Got completion from peer|Call to ibv_modify_qp failed|nccl(?:Remote|System)Error: |NCCL error(?: in)?:"
            rb"|local work queue catastrophic error"
        ),
        56,
        False,
        "The network between the nodes failed or a peer went away: check the links, NCCL_IB_HCA, NCCL_IB_GID_INDEX, "
        "NCCL_SOCKET_IFNAME and the logs of the other nodes.",
    ),
    Signature(
        "watchdog",
        (b"atchdog", b"DistBackendError"),
        (
            rb"Watchdog caught collective operation timeout|detected by watchdog at work"
            rb"|watchdog thread terminated with exception|throwing an instance of 'c10::DistBackendError'"
        ),
        60,
        True,
        "A collective was never finished: the culprit is the rank that has no such line, or the smallest last "
        "completed work.",
    ),
    Signature(
        "elastic",
        (b"Root Cause (first",),
        (
            rb"Root Cause \(first observed failure\):(?s:.{0,400}?)rank\s+: (?P<rank>\d+)(?s:.{0,200}?)"
            rb"exitcode\s+: (?P<exit_code>-?\d+)"
        ),
        62,
        True,
        "torchrun names the rank that failed first on this node: what that rank printed before is the cause.",
    ),
    Signature(
        "child_failed",
        (b"failed (exitcode: ", b"ChildFailedError", b"(core dumped)"),
        rb"failed \(exitcode: (?P<exit_code>-?\d+)\)|errors\.ChildFailedError|\bAborted\s+\(core dumped\)",
        64,
        True,
        "A process of the training failed: what it printed before is the cause.",
    ),
    Signature(
        "training_script",
        (b"ERROR: training",),
        rb"ERROR: training \([^)\r\n]*\) failed with exit code (?P<exit_code>\d+)",
        66,
        True,
        "The launch script reports that the trainer failed: what the trainer printed before is the cause.",
    ),
    Signature(
        "peer_died",
        (
            b"heartbeat",
            b"lost the connection",
            b" by peer",
            b"by remote peer",
            b"BarrierError",
            b"recv, got 0 bytes",
            b"DistNetworkError",
            b"RendezvousConnectionError",
            b"got error: ",
            b"ConnectionResetError",
            b"BrokenPipeError",
            b"Broken pipe",
            b"EOFError",
        ),
        (
            rb"(?:The following tasks are unhealthy \(stopped sending heartbeats\):\s*/job:\S+/task:"
            rb"|Task /job:\S+/task:(?=\d+ heartbeat timeout)|lost the connection to rank )(?P<rank>\d+)"
            rb"|gloo/transport/tcp/pair\.cc:\d+\][^\r\n]*(?:closed|reset) by peer|BarrierError"
            # of c10d's store, NCCL's sockets, torchrun
            rb"|[Ff]ailed to recv, got 0 bytes|DistNetworkError: (?!The (?:client|server) socket)"
            rb"|store->get\('[^'\r\n]*'\) got error: |RendezvousConnectionError: "
            rb"|Connection closed by remote peer|(?<!')Connection reset by peer"
            rb"|failed on SocketImpl\([^\r\n]*: Broken pipe"
            # of Python's sockets and pipes; an EOFError with a message is of a file
            rb"|(?:ConnectionResetError|BrokenPipeError): |(?<!raise )\bEOFError(?=\s*(?m:$))"
        ),
        70,
        True,
        "Another rank or process went away: its log, or what it printed before, has the cause.",
    ),
    Signature(
        "coordinator_died",
        (b"Failed to send RPC", b"grpc_message:"),
        (rb'Failed to send RPC to coordination service|Error received from peer[^\r\n]*grpc_message:"Socket closed"'),
        70,
        True,
        "The process that coordinates the others, the first one, went away: its log has the cause.",
    ),
    Signature(
        "sigterm",
        (b"death signal", b"got signal: 15", b"SIGTERM"),
        (
            rb"Received \S+ death signal, shutting down workers|got signal: 15|closing signal SIGTERM"
            rb"|Signal 15 \(SIGTERM\) received by PID|after receiving SIGTERM|SIGTERM caught"
        ),
        80,
        True,
        "The process was told to stop: by the launcher because another one failed, by a person or by a scheduler.",
    ),
)

TRACEBACK = b"Traceback (most recent call last):"

# By these the lines are found that may tell of a failure; the number is how many of the bytes behind the line may
# belong to it. Each costs a search through the whole log, so they are few, and many texts share them: "rror" is in
# every Python exception, "E_EX" in RESOURCE_EXHAUSTED and DEADLINE_EXCEEDED. The others had better begin with two bytes
# that are rare in logs, as "hdog" of "watchdog" does: strstr goes by these.
NEEDLES = {
    b"rror": 0,
    b"ailed": 0,
    b"by GPU": 0,
    b"NOT_FOUND": 0,
    b"E_EX": 400,
    b"OOM Debugging": 0,
    b"of memory": 0,
    b"No space left": 0,
    b"nexpected": 0,
    b"Aborting training": 0,
    b"No module named": 0,
    b"gated repo": 0,
    b"ERROR 40": 0,
    b"efused": 400,
    b"flag": 0,
    b"Illegal value for": 0,
    b"uch file": 0,
    b"ot found": 0,
    b"Permission denied": 0,
    b"face found": 0,
    b"AF_INET": 0,
    b"ddress already in use": 0,
    b"Segmentation fault": 0,
    b"SIG": 0,
    b"ot support": 0,
    b"imed out": 0,
    b"RegisterTask": 400,
    b"Got completion": 0,
    b"hdog": 0,
    b"Root Cause (first": 1000,
    b"tbeat": 200,
    b"ignal": 0,
    b"Connection ": 0,
    b"(core dumped)": 0,
    TRACEBACK: 0,
}

EXCEPTION = (
    rb"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Exit|Expired|Failure|Group|Interrupt|Iteration|Timeout)"
)
PYTHON_ERROR = Signature(
    "python_error",
    (TRACEBACK,),
    EXCEPTION + rb"(?::[^\r\n]*)?$",
    44,
    False,
    "The trainer raised an exception: read the traceback before this line.",
)
