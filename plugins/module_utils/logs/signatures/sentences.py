# SPDX-License-Identifier: GPL-3.0-or-later
"""The class of a line that no signature knows and that is not an exception: by its program, then by its words.

It is used only for lines that sound like a failure at the end of a log.
"""

from __future__ import annotations

from itertools import chain

from ..pattern import compiled
from ..signature import Signature
from .exceptions import TOPICS

_LINE_BYTES = 1000


# "rendezvous.cc:38]", "[E socket.cpp:860]", "(x/y.cpp:39 in function z"
_FILE = rb"\w{0,40}\.(?:cc|cpp|cu|cuh|c|h|hpp):\d"
_KERNEL = rb"(?:\bkernel: |(?:^|\s)\[ {0,9}\+?\d{1,9}\.\d{1,9}\] )(?:[^:\r\n]{0,40}\W)?"
_ENDED = (
    rb"(?i:\b(?:exit(?:ed|s|ing)?|rc|ret(?:urn(?:ed|s)?)?|status|error code|with code)"
    rb"(?:[ _-]?(?:code|status|with|value)){0,2}[\s`'\":=(]{1,4})"
)

# By the prefix of a line, or by the source file in it.
SOURCES = (
    Signature(
        "compile",
        "A compiler ended with an error. Read its earlier output; try another image or version, or other sizes.",
        rb"\[(?:[A-Z]{3}\d{3}|NCC_\w{1,20}|F\d{3})\]|\[neuronx?-cc\]|\bneuronxcc/|NEURON_CC"
        rb"|^(?:ptxas|nvcc|hipcc|ld|clang(?:\+\+)?|g\+\+|gcc|ninja) ?: |\b(?:mlir|llvm|hlo_|autotun|triton)" + _FILE,
    ),
    Signature(
        "neuron",
        "The Neuron runtime or driver reports an error. Read the lines around it and the kernel log, compare the "
        "versions of runtime, driver and compiler, and check neuron-top.",
        rb"\bERROR {1,4}(?:NRT|TDRV|NMGR|KMGR|HAL|ENC|CCOM|NEFF|DMEM|NDS):|" + _KERNEL + rb"neuron\b|\bneuron:\w",
    ),
    Signature(
        "container",
        None,
        rb"^(?:enroot-\w{1,30}|nvidia-container-\w{1,30}|docker|dockerd|podman|containerd|conmon|crun|runc|buildah"
        rb"|apptainer|singularity|kubelet|mount|umount)(?:\[\d{1,9}\])?: |^Error from server \("
        rb"|^\[ERROR\] (?:[Ff]ailed to |Could not |Invalid (?:image|arg)"
        rb"|No such file or dir|Command not found|Unsupported |Unknown (?:NVIDIA|MELLANOX) |Checksum )",
    ),
    Signature(
        "scheduler",
        None,
        rb"\b(?:slurmstepd|srun|slurmd|sbatch|salloc)(?:\.service|\[\d{1,9}\]|-[\w.-]{1,60})?: "
        rb"|\bslurm_load_\w{1,20} error",
    ),
    Signature(
        "nccl",
        "A network adapter of this node or its driver reports an error. Read the kernel log, check link, firmware and "
        "driver, and compare with a node that works.",
        _KERNEL + rb"(?:mlx[45]_\w{1,9}|bnxt_\w{1,9}|ionic\w{0,9}|irdma|efa|infiniband|ib_\w{1,20}|rdma_\w{1,20})\b"
        rb"|\b(?:net_ib|net_socket|p2p_plugin|ibvwrap|ib_device|nccl)"
        + _FILE
        + rb"|\b(?:socket[A-Z]\w{3,30}|nccl[A-Z]\w{2,40}|ibv_\w{2,40}|fi_[a-z]\w{2,40}): ",
    ),
    Signature(
        "io_error",
        None,
        _KERNEL + rb"(?:nvme\d|sd[a-z]|EXT4|XFS|BTRFS|nfs4?|NFS|Lustre|LNet|ceph|libceph|beegfs|FS-Cache|fuse|mmfs"
        rb"|blk_update_request|md\d|device-mapper)\b"
        rb"|^(?:gcsfuse|s3fs|goofys|mount-s3|mmfsd|blobfuse2?|juicefs|mount\.\w{2,9})(?:\[\d{1,9}\])?: ",
    ),
    Signature(
        "rendezvous_timeout",
        None,
        rb"\b(?:TCPStore|socket|FileStore|HashStore|dynamic_rendezvous|distributed_runtime_client)" + _FILE,
    ),
    Signature(
        "peer_died",
        "A service or another process of the job no longer answers. Check its log for the cause.",
        rb"\b(?:coordination_|preemption_sync|grpc_|distributed_runtime)" + _FILE,
    ),
    Signature(
        "watchdog",
        "A collective did not finish. Find the rank that did not arrive; its log has the cause.",
        rb"\b(?:ProcessGroup|NCCLUtils|collective|rendezvous)" + _FILE,
    ),
    Signature(
        "gpu_error",
        "A GPU, its driver or one of its libraries reports an error. Read the line and this node's kernel log, and "
        "compare with another node.",
        rb"\b(?:cuda_|rocm_|hip_|gpu_|hip[A-Z]|hsa_|cudnn|cublas|CUDA|HIP|stream_executor|pjrt_|tpu_)"
        + _FILE
        + rb"|"
        + _KERNEL
        + rb"(?:nvidia\S{0,20}|NVRM|nvswitch|nv-\w{1,20}|kfd|drm|amdgpu)\b"
        rb"|^(?:nvidia-smi|rocm-smi|amd-smi|dcgmi?|nv-hostengine|nvidia-fabricmanager)\b",
    ),
)

# By a noun and its verb.
WORDS = (
    Signature(
        "name_resolution",
        None,
        rb"(?i)(?:could ?n[o']t|unable to|failed to|cannot) resolve|name or service not known"
        rb"|failure in name resolution|no such host|unknown host",
    ),
    Signature(
        "access_denied",
        "A service denies access. Give this node a token or credentials for the resource in the message.",
        rb"(?i)\b40[13]\b.{0,60}(?:forbidden|unauthori[sz]ed|permission|denied)|http ?error 40[13]\b"
        rb"|not authori[sz]ed|(?:invalid|missing|no|expired|wrong) (?:\w{1,20} )?(?:credentials?|token|api key)",
    ),
    Signature(
        "hub_unreachable",
        None,
        rb"(?i)(?:connection broken|retrying|failed|error|unable|timed? ?out|refused).{0,200}(?:\bhttps?://|/simple/)"
        rb"|\bhttps?://.{0,300}(?:failed|error|time[d-]? ?out|refused|unreachable|reset)|internet connection",
    ),
    Signature(
        "host_memory",
        "The host ran out of memory. Use fewer data workers or a smaller cache, or request more memory; the node's "
        "kernel log shows the process that used too much.",
        rb"(?i)(?!.{0,300}(?:\bgpu|\bhbm|\bvram|\bcuda|\bhip\b|\bdevice))"
        rb".{0,300}(?:\boom[- ]?kill|\bmem(?:ory)?\b.{0,60}exceed|exceed.{0,60}\bmemory|memory ?pressure"
        rb"|low on (?:resource: )?memory|cannot allocate memory)",
    ),
    Signature(
        "preempted",
        None,
        rb"(?i)\bpreempted\b|maintenance event|\bspot\b.{0,40}(?:interrupt|terminat|reclaim)",
    ),
    Signature(
        "nan",
        None,
        rb"(?i)\b(?:loss|grad\w{0,10}|norm)\b.{0,60}\b(?:nan|inf|infinite|not finite|non-finite)\b"
        rb"|\b(?:nan|inf|infinite|non-finite)\b.{0,60}\b(?:loss|grad)",
    ),
    Signature(
        "data_corrupt",
        None,
        rb"(?i)unexpected (?:end of file|eof)|checksum|\bcrc\b.{0,40}(?:error|mismatch)|(?:file|archive|record) is "
        rb"(?:corrupt|truncated|damaged)",
    ),
    Signature(
        "compile",
        "A kernel could not be compiled for this device. Try another image or other sizes, or disable the fused "
        "kernel.",
        rb"(?i)register allocation|ran out of registers|\btensorizer\b",
    ),
    Signature(
        "settings_refused",
        "A launch script or program rejects its input. Correct the variable or option in the line.",
        rb"unbound variable|[Ss]yntax error|[Ii]llegal option|[Ii]nvalid option|[Uu]nrecogni[sz]ed option"
        rb"|bad substitution|\binvalid choice: |error: (?:argument |unrecognized arguments|the following arguments)",
    ),
    Signature(
        "import_error",
        "A library is missing or older than the program needs. Use the image that the program was built for.",
        rb"^(?!.{0,300}[Ww]arning).{0,300}(?:cannot open shared object file|undefined symbol|wrong ELF class)",
    ),
    Signature(
        "not_found",
        None,
        rb"module\(s\) are unknown|(?:environment|interpreter) [^\r\n]{0,99}not found|No such file or directory",
    ),
    Signature(
        "killed",
        None,
        _ENDED + rb"(?:137|-9)\b|(?i:\bsignal)[\s`'\":=(]{1,4}9\b",
    ),
    Signature(
        "segmentation_fault",
        None,
        _ENDED + rb"(?:139|-11)\b|(?i:\bsignal)[\s`'\":=(]{1,4}11\b",
    ),
    Signature(
        "sigterm",
        None,
        _ENDED + rb"(?:143|-15)\b|(?i:\bsignal)[\s`'\":=(]{1,4}15\b",
    ),
    Signature(
        "child_failed",
        None,
        rb"(?i)(?:exit ?code|error code|with code|raising signal)[\s`'\":=(]{1,4}-?[1-9]",
    ),
    Signature(
        "child_failed",
        "A training process crashed. The line shows it; earlier output may have the cause.",
        rb"panicked at |^panic: |terminated abnormally with signal|\bgoroutine \d|\bcore dumped\b",
    ),
)


# The class if nothing else is known.
NOUNS = (
    Signature(
        "gpu_error",
        "A GPU or one of its links is reported unhealthy. Read this node's kernel log, and compare with another node.",
        rb"(?i)\b(?:gpus?|nvlinks?|nvswitch|xgmi|hbm|accelerators?|tpus?|chip\w{0,20})\b.{0,60}\b(?:unhealthy|lost"
        rb"|missing|hung|dead|died|degraded|disappeared|health check|not respond\w{0,4}|inactive|too hot"
        rb"|overheat\w{0,4}|session error)\b|chip_driver_error",
    ),
    Signature(
        "container",
        "The container engine or its orchestrator failed. The line says where; check its events and log.",
        rb"(?i)\bcontainers?\b|\bpods?\b|\bimage\b",
    ),
    Signature(
        "nccl",
        "This node's network reports an error. Check cable, switch port, driver and firmware.",
        rb"(?i)\b(?:nic|link|port|switch|adapter|hca)\b.{0,60}\b(?:down|lost|flap\w{0,5}|error|failed|unreachable)\b"
        rb"|(?-i:\b(?:QPs?|CQs?|MR|SRQ|XRC|AH|DMAH|GID|HCA|RDMA|rdma_cm|ibv_\w{1,40})\b)|\bmkey\b|\binfiniband\b",
    ),
)


def sentence_class(line: bytes) -> Signature | None:
    """Return the signature of a line that sounds like a failure, or None if its words suggest no class."""
    line = line[:_LINE_BYTES]
    said = chain(
        ((signature, signature.pattern) for signature in (*SOURCES, *WORDS)),
        ((topic.signature, topic.words) for topic in TOPICS),
        ((signature, signature.pattern) for signature in NOUNS),
    )
    return next((signature for signature, pattern in said if compiled(pattern).search(line)), None)
