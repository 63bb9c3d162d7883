# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of JAX and XLA: the coordination service (tsl/coordination), PJRT, XLA's rendezvous, jax.distributed."""

from __future__ import annotations

from ..failure_classes import BLAME
from ..severity import ERROR
from ..signature import Signature

_TASK = rb"/job:\S{1,99}/task:"
# The text before the code of an absl or gRPC status, printed by exceptions, absl::Status, glog, gRPC for Python.
_STATUS = rb"(?:(?:rror|xception|[Ss]tatus|ailed|ailure|access)(?::{1,2} ?| ?= ?)|StatusCode\.|(?<![^\r\n])|\] |\()"
_STATUS += rb"(?:StatusCode\.)?"

_NO_DEVICE = (
    "JAX finds no accelerator that it can use. Check the driver and the devices passed in, that jaxlib is built for "
    "this platform (JAX_PLATFORMS), and that no other process uses the devices."
)
_OUT_OF_MEMORY = (
    "The GPU ran out of memory. Lower the batch per device, choose another remat policy, shard the model more, or "
    "raise XLA_PYTHON_CLIENT_MEM_FRACTION."
)
_COMPILE = (
    "XLA could not compile or load a kernel. Try another image or jaxlib, or fewer XLA_FLAGS; if only one node fails, "
    "its driver differs."
)
_NOT_MET = (
    "Not all processes joined. Look for a node that did not start or failed earlier, then check the coordinator's "
    "address, port and firewall."
)
_COORDINATOR_DIED = "The coordinator, which is the first process, went away. Check its log for the cause."
SIGNATURES = (
    Signature(
        "node_failure",
        "Megascale suspects the chips of the hosts that it names. Exclude these hosts, and start again.",
        rb"caused by bad TPU chips",
        sample=(
            "E0430 22:19:02.7 402 odd.cc:377] Megascale detects a hang that is likely caused by bad TPU chips on odd"
        ),
    ),
    # From pathwaysutils' elastic manager, which then goes on from the last checkpoint.
    Signature(
        "node_failure",
        "A TPU slice went away, and the training tried again. Find out whether the slice was preempted or repaired.",
        rb"Slice down event (?:and new slice available )?detected",
        sample="I0612 10:15:11.6 137 manager.py:210] Slice down event detected. Retrying.",
        severity=ERROR,
    ),
    Signature(
        "no_gpu",
        _NO_DEVICE,
        rb"No visible GPU devices|Unknown backend:? '?\w{1,20}'? requested, but no"
        rb"|Unknown backend \w{1,20}\. Available|Could not initialize backend '"
        rb"|Backend '\w{1,20}' (?:is not in the list of known|provides no devices|failed to initialize: )"
        rb"|NOT_FOUND: No \w{1,40} device found|No TPU devices were found|Failed to get TPU metadata",
        sample="RuntimeError: Backend 'odd' provides no devices.",
    ),
    Signature(
        "stale_process",
        "Another process uses the TPU. Stop it (the message may give its pid; lsof shows who has /dev/vfio or "
        "/dev/accel open), and remove /tmp/libtpu_lockfile if it is left over.",
        rb"(?:libtpu\S{0,20}|The TPU) is already in use by|libtpu multi-process lockfile"
        rb"|/dev/(?:vfio|accel)[^\r\n]{0,60}Device or resource busy",
        more_specific_than=("no device of JAX",),
        sample=(
            "RuntimeError: Unable to initialize backend 'tpu': ABORTED: The TPU is already in "
            "use by process with pid 7."
        ),
    ),
    Signature(
        "import_error",
        "A loaded library or plugin is missing or not the version that jaxlib was built with. Take it out of "
        "LD_LIBRARY_PATH, or install the version that the message names.",
        rb"is not compatible with the installed jaxlib|Loaded runtime \w{1,20} library: [^\r\n]{1,60} but source was "
        rb"compiled with"
        rb"|RuntimeError: (?:Outdated \w{1,20} installation found\.|Unable to load \w{1,20}\. Is it installed\?)"
        rb"|[Mm]ismatched PJRT plugin PJRT API|plugin PJRT API version is|Invalid opaque object size",
        sample="RuntimeError: Outdated cuDNN installation found.",
    ),
    Signature(
        "illegal_instruction",
        "This node's CPU, or the part that the virtual machine exposes, lacks instructions that jaxlib was built for. "
        "Use another machine type, or a jaxlib built without them.",
        rb"jaxlib was built using",
        sample=(
            "RuntimeError: This version of jaxlib was built using AVX9 instructions, which your CPU odd do not support."
        ),
    ),
    Signature(
        "gpu_error",
        "A TPU chip or its driver failed on the worker that the message names. Exclude that host, and replace it if "
        "it fails again.",
        rb"SLICE_FAILURE_CHIP_[A-Z_]{1,40}|Session master detected TPU session error|: RuntimeUnexpectedCoreHalt\b"
        rb"|halted (?:unexpectedly|prematurely)|Halt is unexpected|Fatal error occurred during TPU execution"
        rb"|!!!! FATAL ERROR !!!!|all pending programs will fail",
        more_specific_than=("status INTERNAL",),
        sample="JaxRuntimeError: INTERNAL: E0200: RuntimeUnexpectedCoreHalt:",
    ),
    Signature(
        "gpu_error",
        "cuDNN or MIOpen did not start on the GPU. Usually GPU memory is full (lower XLA_PYTHON_CLIENT_MEM_FRACTION) "
        "or the library does not match jaxlib; read the lines before this one.",
        rb"DNN library initialization failed|Could not create cudnn handle",
        BLAME["import_error"] + 1,
        sample="Could not create cudnn handle",
    ),
    Signature(
        "xla_flags",
        None,
        rb"Unknown flags? in XLA_FLAGS: |Unknown command line flag '(?:xla|tpu|megascale)_"
        rb"|Couldn't interpret value \S{0,300} ?for flag|Illegal value for --xla"
        rb"|: (?:No such compile option: '|While setting option )"
        rb'|Could not open file "[^"\r\n]{0,300}" to read flags for environment variable',
        sample="ERROR: Unknown command line flag 'xla_odd'",
    ),
    Signature(
        "jax_start",
        "JAX does not know how the nodes find each other, or two processes have the same number. Set "
        "JAX_COORDINATOR_IP, JAX_COORDINATOR_PORT, NNODES and NODE_RANK, and hardware=gpu.",
        rb"Error: (?:coordinator_address should be defined|Number of processes must be defined"
        rb"|The process id of the current process must be defined)"
        rb"|distributed\.initialize\(\) must be called before|Duplicate task registration with "
        rb"|Unexpected (?:task re(?:gistered|quest)|disconnect request with task=|heartbeat request from task: )"
        rb"|Error: (?:process_id|num_processes) must be a |distributed\.initialize should only"
        rb"|FAILED_PRECONDITION: \w{1,40} platform already registered|a request from a newer incarnation",
        more_specific_than=(
            "status INTERNAL",
            "any refused setting",
        ),
        sample="ValueError: Number of processes must be defined.",
    ),
    Signature(
        "compile",
        "A kernel needs more of a TPU core's fast memory (vmem, smem) than there is; a smaller batch does not help. "
        "Use smaller block sizes for it, or raise xla_tpu_scoped_vmem_limit_kib in LIBTPU_INIT_ARGS.",
        rb"\bCompileTime(?:ScopedVmemOom|SparseCoreAllocationFailure)\b|exceeded scoped vmem limit"
        rb"|Ran out of memory in memory space (?:[vs]mem|cmem|sflag|tile_?spmem)",
        more_specific_than=(
            "any compilation of XLA",
            "memory of a GPU under XLA",
            "status RESOURCE_EXHAUSTED",
        ),
        sample="JaxRuntimeError: RESOURCE_EXHAUSTED: E1001: CompileTimeScopedVmemOom:",
    ),
    Signature(
        "compile",
        _COMPILE,
        rb"\bE\d{4}: CompileTime(?!HbmOom)\w{1,60}",
        name="any compilation of XLA",
        more_specific_than=("status INVALID_ARGUMENT",),
        sample=("JaxRuntimeError: INVALID_ARGUMENT: E2003: CompileTimeMosaicUnprovenMemoryAccessAlignment:"),
    ),
    Signature(
        "sizes",
        "The program was compiled for other shapes or another number of devices. Compare batch, mesh and parallel "
        "sizes with those in the message.",
        rb"\bRuntimeProgramInputMismatch\b|Invalid number of devices in device assignment: ",
        more_specific_than=("status INVALID_ARGUMENT",),
        sample="JaxRuntimeError: INVALID_ARGUMENT: E0102: RuntimeProgramInputMismatch:",
    ),
    Signature(
        "out_of_memory",
        "The program needs more of a TPU's memory (HBM) than there is. Lower the batch per device, choose another "
        "remat policy, or shard the model more.",
        rb"(?:RESOURCE_EXHAUSTED|Resource exhausted): XLA:TPU|CompileTimeHbmOom|Ran out of memory in memory space hbm"
        rb"|Exceeded hbm capacity by ",
        more_specific_than=(
            "memory of a GPU under XLA",
            "status RESOURCE_EXHAUSTED",
        ),
        sample="RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 9G.",
    ),
    Signature(
        "out_of_memory",
        _OUT_OF_MEMORY,
        rb"INTERNAL: Failed to allocate \d|(?:RESOURCE_EXHAUSTED|Resource exhausted): (?:Out of memory"
        rb"|Failed to allocate(?! \d{1,20} bytes of host)|Error allocating|Attempting|E0(?:007|10[01]): |E1000: )"
        rb"|ResourceExhaustedError: |OOM when allocating tensor|BufferAssignment OOM Debugging"
        rb"|Ran out of memory (?:in memory space|trying to allocate)",
        name="memory of a GPU under XLA",
        more_specific_than=(
            "status INTERNAL",
            "status RESOURCE_EXHAUSTED",
        ),
        sample="BufferAssignment OOM Debugging.",
    ),
    Signature(
        "address_in_use",
        "The coordinator cannot listen on its port. Stop the leftovers of an earlier run, or choose another port "
        "(JAX_COORDINATOR_PORT), and check that its address belongs to the first node.",
        rb"Failed to add port to server|No address added out of|Failed to start RPC server",
        sample=("UNKNOWN: Failed to add port to server: No address added out of total 1 resolved for '[::]:1234'"),
    ),
    Signature(
        "name_resolution",
        "This node cannot resolve the coordinator's name. Use an address that every node resolves and reaches "
        "(JAX_COORDINATOR_IP).",
        rb"DNS resolution failed for|the target uri is not valid|Error: Failed to recognize coordinator address ",
        sample="RuntimeError: Failed to recognize coordinator address odd-0.odd",
    ),
    Signature(
        "watchdog",
        "Not all processes reached a collective or barrier. Look for the process that hung or died: it has no such "
        "line, and usually its own log has the cause.",
        rb"waiting for `?(?:initialize clique|[^\r\n]{0,300}) for \d{1,9} seconds and may be stuck"
        rb"|Termination timeout (?:for|of) |threads to join the rendezvous|\] Rendezvous timed out"
        rb"|Barrier timed out\. Id: (?!Shutdown::|\[Init\]|PjRT_|WaitForAllTasks)",
        more_specific_than=("status DEADLINE_EXCEEDED",),
        sample="JaxRuntimeError: DEADLINE_EXCEEDED: [id=7] Rendezvous timed out: Expected 8 threads",
    ),
    Signature(
        "peer_died",
        "Another process of the job went away. Check its log for the cause.",
        rb"(?:The following tasks are unhealthy \(stopped sending heartbeats\):\s{0,9}(?:" + _TASK + rb")?"
        rb"|Task (?:" + _TASK + rb")?(?=\d{1,9} heartbeat timeout))(?P<rank>\d{1,9})|BarrierError"
        rb"|Heartbeat: Incarnation ID mismatch|is already in error before the barrier|already-in-error task"
        rb"|is invoked by the task, but the service thinks|agent is in error state, implying"
        rb"|The task is not connected or already has an error|Incarnation id \d{1,20} is stale"
        rb"|Task with incarnation id \d{1,20} is not connected"
        rb"|Barrier failed (?:because|from) a task"
        rb"|Shutdown barrier[^\r\n]{0,99}(?:failed|timed out)|Barrier timed out\. Id: Shutdown::",
        more_specific_than=("status UNAVAILABLE",),
        sample="XlaRuntimeError: UNAVAILABLE: BarrierError: a task has failed",
    ),
    # Only who has met the others says so.
    Signature(
        "coordinator_died",
        None,
        rb"(?:is set to ERROR|detected fatal errors|Failed to disconnect|WatchTasksAsync failed)"
        rb"[^\r\n]{0,400}UNAVAILABLE: ?failed to connect to all addresses",
        more_specific_than=("registration with the coordinator",),
        sample=("agent.cc:9] Coordination agent is set to ERROR: UNAVAILABLE: failed to connect to all addresses"),
    ),
    Signature(
        "rendezvous_timeout",
        _NOT_MET,
        rb"RegisterTask(?:[^\n]{0,600}\n){0,3}?[^\n]{0,600}?Deadline Exceeded"
        rb"|DEADLINE_EXCEEDED: Barrier timed out[^\r\n]{0,300}PjRT_Client_Connect[^\r\n]{0,300}"
        rb"(?:\s{1,4}" + _TASK + rb"(?P<rank>\d{1,9}))?"
        rb"|DEADLINE_EXCEEDED(?:[^\n]{0,600}\n){0,3}?[^\n]{0,600}?RegisterTask"
        rb"|UNAVAILABLE: ?failed to connect to all addresses|[Cc]luster registration failed"
        rb"|Getting local topologies failed|Failed to establish SliceBuilder grpc channel"
        rb"|connections to all backends failing|errors_impl\.(?:DeadlineExceeded|Unavailable)Error: "
        rb"|Failed to connect to remote server at address: ",
        name="registration with the coordinator",
        more_specific_than=(
            "status DEADLINE_EXCEEDED",
            "status UNAVAILABLE",
        ),
        sample="Stopping coordination service as cluster registration failed.",
    ),
    Signature(
        "stale_process",
        None,
        rb"Different local topology for node \d{1,9} has been set previously"
        rb"|(?:(?:/task:|(?<=\] ))(?P<rank>\d{1,9}) )?unexpectedly tried to connect with a different incarnation"
        rb"|unexpectedly tried to connect while it is already in error",
        more_specific_than=("status INTERNAL",),
        sample=("XlaRuntimeError: INTERNAL: Different local topology for node 1 has been set previously, odd"),
    ),
    Signature(
        "nccl",
        "An XLA collective failed. Check links, NCCL_SOCKET_IFNAME and NCCL_IB_HCA, and the other nodes' logs; "
        "NCCL_DEBUG=WARN shows more.",
        rb"NCCL operation \w{1,60}\([^\r\n]{0,400}\) failed|INTERNAL: [^\r\n]{0,400}"
        rb"(?:\b[NR]CCL\b|\ball[-_](?:reduce|gather|to[-_]all)\b|\breduce[-_]scatter\b|[Cc]ommunicator\b)",
        more_specific_than=("status INTERNAL",),
        sample="JaxRuntimeError: INTERNAL: custom call of all-reduce is odd",
    ),
    Signature(
        "coordinator_died",
        None,
        rb"Leader incarnation ID mismatch|requested after coordination service has shut down"
        rb"|Barrier failed because service is shutting down|must be registered before sending heartbeat"
        rb"|Failed to send RPC to coordination service|Coordination service has stopped"
        rb"|Failed to disconnect from coordination service"
        rb'|Error received from peer[^\r\n]{0,400}grpc_message:"Socket closed"',
        more_specific_than=("status UNAVAILABLE",),
        sample="ABORTED: Leader incarnation ID mismatch: odd",
    ),
    Signature(
        "peer_died",
        "The coordination service ended this process because another one failed. Check that process's log for the "
        "cause.",
        rb"JAX distributed service detected fatal errors",
        sample="JAX distributed service detected fatal errors",
    ),
    Signature(
        "compile",
        "XLA could not link a kernel for this GPU. The lines before this one show the missing part; use an image whose "
        "ROCm and jaxlib were built for each other.",
        rb"(?m:^[^\r\n]{0,60}ld\.lld: error: )|INTERNAL: ld\.lld execute fail",
        more_specific_than=(
            "status INTERNAL",
            "any kernel compilation",
        ),
        sample="ld.lld: error: undefined hidden symbol: __odd",
    ),
)

# The class by the code of a status alone, if no word of it, of a file system or of a service says more.
STATUSES = (
    Signature(
        "no_gpu",
        _NO_DEVICE,
        rb"RuntimeError: Unable to initialize backend|TPU initialization failed: |no supported devices found for",
        BLAME["wrong_rank"] + 1,
        name="no device of JAX",
        sample="XlaRuntimeError: UNKNOWN: TPU initialization failed: No x device found.",
    ),
    Signature(
        "checkpoint",
        None,
        _STATUS + rb"(?!DATA_LOSS)[A-Z_]{5,20}: (?:Error (?:opening|reading|writing) |[^\r\n]{0,900}='tensorstore/)",
        name="checkpoint under XLA",
        more_specific_than=("status OUT_OF_RANGE",),
        sample="ValueError: OUT_OF_RANGE: Odd bounds [source locations='tensorstore/x.cc:7']",
    ),
    Signature(
        "compile",
        _COMPILE,
        rb"(?:INTERNAL|INVALID_ARGUMENT|UNKNOWN|NOT_FOUND): (?:No valid config found|No algorithm worked"
        rb"|[^\r\n]{0,200}(?:[Cc]ompil(?:e|ing|ation)\b|[Aa]utotuning|\bptxas\b|\bnvlink\b|\bMLIR\b|\bMosaic\b"
        rb"|RET_CHECK failure|hlo verifier|\blibdevice\b|\bLLVM\b|Failed to load in-memory))|"
        + _STATUS
        + rb"UNIMPLEMENTED\b",
        more_specific_than=(
            "status INTERNAL",
            "status INVALID_ARGUMENT",
        ),
        sample="JaxRuntimeError: NOT_FOUND: No valid config found!",
    ),
    Signature(
        "gpu_error",
        "A kernel or library failed under XLA. Read the text after INTERNAL, try another image or fewer XLA_FLAGS, "
        "and compare with another node; if only one node fails, read its kernel log.",
        _STATUS + rb"(?:INTERNAL: (?!From /job:)|INTERNAL\b(?!:)|FAILED_PRECONDITION\b)"
        rb"|\bInternalError: "
        rb"|Non-OK-status: [^\r\n]{0,99}INTERNAL: ",
        name="status INTERNAL",
        sample="jaxlib.xla_extension.XlaRuntimeError: INTERNAL: Failed to execute XLA Runtime executable",
    ),
    Signature(
        "out_of_memory",
        _OUT_OF_MEMORY,
        _STATUS + rb"RESOURCE_EXHAUSTED(?![^\r\n]{0,900}(?:[Qq]uota|larger than max|requests|[Cc]annot allocate memory"
        rb"|host memory|pinned))",
        name="status RESOURCE_EXHAUSTED",
        sample="RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED",
    ),
    Signature(
        "rendezvous_timeout",
        _NOT_MET,
        _STATUS + rb"DEADLINE_EXCEEDED\b|DEADLINE_EXCEEDED: ",
        name="status DEADLINE_EXCEEDED",
        sample="DEADLINE_EXCEEDED: Deadline Exceeded",
    ),
    Signature(
        "peer_died",
        "A service or another process of the job no longer answers. Check its log for the cause.",
        _STATUS + rb"(?:ABORTED|UNAVAILABLE|CANCELLED|(?:Aborted|Unavailable|Cancelled):)|\b(?:Aborted"
        rb"|Cancelled)Error: ",
        name="status UNAVAILABLE",
        sample="        status = StatusCode.UNAVAILABLE",
    ),
    Signature(
        "access_denied",
        "A service denies access. Give this node credentials for the resource in the message.",
        _STATUS + rb"(?:PERMISSION_DENIED|UNAUTHENTICATED)\b|PERMISSION_DENIED: |UNAUTHENTICATED: ",
        name="status PERMISSION_DENIED",
        sample="PERMISSION_DENIED",
    ),
    Signature(
        "sizes",
        "XLA rejects a program whose shapes or shardings do not match. Compare batch, mesh and parallel sizes with "
        "those in the message.",
        _STATUS + rb"INVALID_ARGUMENT: [^\r\n]{0,300}(?:\b[Ss]hap|\b[Ss]ize|[Dd]imension|[Ss]hard|divi|\b[Rr]anks?\b"
        rb"|mismatch)",
        more_specific_than=("status INVALID_ARGUMENT",),
        sample="XlaRuntimeError: INVALID_ARGUMENT: the shape of it is odd",
    ),
    Signature(
        "settings_refused",
        "XLA or a service rejects its input. Read the text after the code; correct the config, or use an image that "
        "supports it.",
        _STATUS + rb"INVALID_ARGUMENT\b|\b(?:InvalidArgument|FailedPrecondition|Unimplemented)Error: ",
        name="status INVALID_ARGUMENT",
        sample="INVALID_ARGUMENT",
    ),
    Signature(
        "data",
        "The training data ended, or a record is shorter than its index says. Check that all files are complete and "
        "enough for the steps.",
        _STATUS + rb"OUT_OF_RANGE\b|\bOutOfRangeError: ",
        name="status OUT_OF_RANGE",
        sample="OUT_OF_RANGE",
    ),
    Signature(
        "jax_start",
        "A process, key or backend exists twice. Look for a leftover process, two nodes with the same number, or JAX "
        "started before jax.distributed.initialize.",
        _STATUS + rb"ALREADY_EXISTS\b",
        sample="XlaRuntimeError: ALREADY_EXISTS: process 7 is there",
    ),
)
