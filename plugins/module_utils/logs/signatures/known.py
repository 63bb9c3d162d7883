# SPDX-License-Identifier: GPL-3.0-or-later
"""All signatures of failures, and the texts that find the lines with one."""

from __future__ import annotations

from ..grammars.known import FAILURES
from . import (
    amd,
    codes,
    container,
    exceptions,
    fabric,
    general,
    hub,
    jax,
    kubernetes,
    linux,
    nccl,
    neuron,
    nvidia,
    own,
    python,
    slurm,
    storage,
    torch,
)

# If two match in one line, the first one here counts: messages of a single program come before common ones. It lists
# the others in ``more_specific_than``.
PYTHON_ERROR = exceptions.PYTHON_ERROR
SIGNATURES = (
    tuple(
        signature
        for source in (own, slurm, kubernetes, container, neuron, codes, nvidia, amd, nccl, fabric, jax)
        for signature in source.SIGNATURES
    )
    + FAILURES
    + tuple(signature for source in (storage, linux, hub) for signature in source.SIGNATURES)
    + jax.STATUSES
    + tuple(signature for source in (torch, python, general) for signature in source.SIGNATURES)
)


# Lines that may report a failure are found by these, so the sample of each signature contains one. They contain no
# digits, and many texts share them: "rror" is in every Python exception, "ABORT" in ABORTED. They should begin with
# two bytes that are rare in logs, such as "hdog" of "watchdog", because strstr looks for these two first.
_SHARED = (
    b"rror|RROR|ailed|xception|WARN |by GPU|amdgpu|kfd|neuron-cc|low on resource|docker: |Tensile host|NVRM|Xid|XID"
    b"|NRT_|nrt_|neuronx-cc|visible GPU|Duplicate |ncorrect|NOT_FOUND|emapping|s not member of|bad TPU"
    b"|st be compiling|OOM |oom_|oom-|of memory|Killed|pace left|xceed|tale |nexpected|NaN in|Aborting training"
    b"|No module named|gated repo|flag|Illegal |uch file|ot found|ot support|annot |n't |nable to|face found|AF_INET"
    b"|n use|egmentation fault|SIG|srun: |CANCELLED|RDMA devices: |ImagePull|imed out|imeout|stuck|hdog|ignal| peer"
    b"|(core dumped)|ernel panic|eyboardInterrupt|mpirun |MPI_ABORT|RTE has lost|lockup|unplugged|_core |bnxt_en"
    b"|NETDEV|Unres|Unreach|oison|DPC: |stall on CPU|blocked for more| was lost|ler is down|nsupported"
    b"| compiled with|is required for a|IMPLEMENTED|UNAVAILABLE|ABORTED|_ARGUMENT|OUT_OF_RANGE|Y_EXISTS|UNKNOWN: "
    b"|StatusCode.|level=|eturn code|xit status|xits with|xited with|xit with|GPUassert|Too many |ing programs"
    b"|prov_errno|device func|undefined sym|device pointer|launch failure|resource handle|misaligned|make: *|lushed"
    b"|retry counter|emote aborted|curl: (|not load the|libtpu |ABORT  : |libfabric:|efa_|EFA_IO_COMP|NET/OFI"
    b"|Multiple Ranks|No valid |NOT loaded|call failure|segfault at|general protection|EDAC|xit code|xit Code"
    b"|ompatible with|incarnation|too old|has already checked|mismatch|ncompatible|nfs: server |FATAL: |FATAL "
    b"|devices were|Terminated|Hangup|Memory failure|kernel BUG|(): |orrupt|smashing|ssh: |BrokenProcess|abruptly"
    b"|fatal|terminate called|Check fail|method called|UNAUTH|_DENIED|vailable|Errno|o device|Got |nsufficient|FATA["
    b"|RMA state|preempt|TERM_|DUE TO |STATUS_|hipSuccess|fault (src|INTERNAL: |NIC Link|efinitely down|anifest"
    b"|denied|toomany|rate limit|ot ready|runcat|ollectives|onnection abort|was aborted|s canceled|ENOSPC|EDQUOT|ESTALE"
    b"|ead-only|has stopped|BadZip|BadGzip|httpx.|httpcore.|OfflineMode|does not |endpoint|HTTPS|Forbidden|NoSuch"
    b"|SlowDown|AccessDenied|Cuda failure|wave fronts|Neuron|NERR|IBV_WC|BUG: |NCC_|Compiler status|docker.io"
    b"|GIL within|prterun |lost from|before the end|ATHUB|VersionConflict|NotFound: |page threshold|LOCKUP|SMU: "
    b"|Host is down|mixed local|nvalid|EADDRINUSE|fallen off|is lost|-capable|NVIDIA driver|locked memory|MEMLOCK"
    b"|gloo/|ancdata|many open|ELF |too short|FATAL-RT|ENOMEM|etcd.|torch._|TooMany|authorized|side assert"
    b"|HIP failure|MLIR|cudnn|BAD TERM|Abort(|halted |Port number|: Assertion `|_PRECONDITION|ource exh|required pos"
    b"|e objects found|CO for these|rily unav|ot overri|not in str|Preempt|vict|NodeNotReady|posting node|PodGC: "
    b"|NoExecute|rebooted, boot|Pressure]|interruption w|imminent|scale down|ified deadline|ackoff limit|CrashLoop"
    b"|NeverPull|is inactive|is stopped|matches for k|InstanceCap|OutOf|NodeShut|PLEG |IsReadOnly|size reached"
    b"|violates Pod|unbound imm|StatusUnknown|admission check|POOL_EX|more capacity|non-zero exit c|run as root"
    b"|direct launched|binding more|was unable|in the hostf|current alloc|ecognized opt|missing-checkp"
    b"|Slice down event "
)
# This many bytes after such a line may belong to it.
_WITH_NEXT_LINES = {
    b"E_EX": 600,
    b"efused": 400,
    b"RegisterTask": 600,
    b"Root Cause (first": 1000,
    b"tbeat": 200,
}
_IN_LINE = (*_SHARED.split(b"|"), exceptions.TRACEBACK)

# text -> how many of the bytes that follow its line may belong to it
NEEDLES = {**dict.fromkeys(_IN_LINE, 0), **_WITH_NEXT_LINES}
