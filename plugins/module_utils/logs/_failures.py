# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What failures look like in a training log.

The texts are those of the ROCm and CUDA runtimes, PyTorch (torchrun, c10d, gloo), NCCL/RCCL, Megatron, JAX/XLA and the
launch scripts. They are never looked for at the start of a line: they stand behind prefixes and progress bars.
"""

from __future__ import annotations

import re
import typing as t
from itertools import islice
from operator import itemgetter

from ansible_collections.trainops.cluster.plugins.module_utils.logs._text import line_end, line_start, plain

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FEW = 3
_LINE_CHARACTERS = 400


class Signature(t.NamedTuple):
    """How one class of failures shows in a log.

    ``pattern`` is looked for only where one of the ``marks`` stands: one of them is part of every text that it matches.
    Its groups ``rank`` (the rank or JAX task that the text blames) and ``exit_code`` are kept.

    ``blame`` is smaller the nearer a class is to the cause, whatever is printed first: fault of the GPU or the host 1x,
    out of memory 2x, NaN 3x, the program 4x, the network 5x, then what follows from a failure elsewhere. Those are
    marked as ``echo``: they stand in the logs of healthy nodes as well.
    """

    failure: str
    marks: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    blame: int
    echo: bool
    remedy: str


# Where two match in one line, the first one here counts.
SIGNATURES = (
    Signature(
        "gpu_hang",
        (b" by GPU",),
        re.compile(rb"HW Exception by GPU"),
        10,
        False,
        "A GPU of this node hung: drain the node, read its kernel log for amdgpu messages and reset the GPU.",
    ),
    Signature(
        "gpu_memory_fault",
        (b" by GPU",),
        re.compile(rb"Memory access fault by GPU"),
        10,
        False,
        "A kernel touched memory that is not its own: if other nodes run the same software well, suspect the GPU "
        "(kernel log, RAS counters); if not, the container image.",
    ),
    Signature(
        "no_gpu",
        (b"visible GPU", b"GPUs are available", b"call to hipInit", b"NOT_FOUND"),
        re.compile(
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
        (b"(exitcode: ",),
        re.compile(rb"failed \(exitcode: (?P<exit_code>-9)\)"),
        14,
        False,
        "A process was killed with SIGKILL, mostly by the kernel for want of host memory: read the kernel log.",
    ),
    Signature(
        "out_of_memory",
        (b"rror", b"RESOURCE_EXHAUSTED", b"OOM Debugging"),
        re.compile(
            rb"OutOfMemoryError: |(?:HIP|CUDA)(?: error:)? out of memory|RESOURCE_EXHAUSTED: Out of memory"
            rb"|failed: RESOURCE_EXHAUSTED|BufferAssignment OOM Debugging"
        ),
        20,
        False,
        "The GPU memory does not suffice: lower the micro batch size, recompute activations or split the model more.",
    ),
    Signature(
        "gpu_error",
        (b"rror",),
        re.compile(rb"(?:HIP|CUDA) error: "),
        16,
        False,
        "A GPU kernel failed: run again with AMD_SERIALIZE_KERNEL=3 to see which one, and read the node's kernel log.",
    ),
    Signature(
        "nan",
        (b"rror", b"Unexpected result", b"Aborting training"),
        re.compile(
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
        (b"rror",),
        re.compile(rb"(?:ModuleNotFoundError|ImportError): "),
        40,
        False,
        "A Python package is missing or does not fit: the container image is not the one that the trainer needs.",
    ),
    Signature(
        "data_cache",
        (b"rror",),
        re.compile(rb"FileNotFoundError: [^\r\n]*_index\.npy"),
        40,
        False,
        "The data index of the first rank cannot be seen here: the data cache path must be shared by all nodes.",
    ),
    Signature(
        "address_in_use",
        (b"ddress already in use",),
        re.compile(rb"[Aa]ddress already in use"),
        41,
        False,
        "Another process holds the port: stop what an earlier run left behind, or choose another master port.",
    ),
    Signature(
        "segmentation_fault",
        (b"Segmentation fault", b"SIG", b"(exitcode: "),
        re.compile(rb"Segmentation fault|SIGSEGV|failed \(exitcode: (?P<exit_code>-11)\)"),
        42,
        False,
        "A process crashed in native code: mostly libraries in the image that do not fit each other or the driver.",
    ),
    Signature(
        "rdma_abi_mismatch",
        (b"kernel ABI of",),
        re.compile(rb"Driver \S+ does not support the kernel ABI of"),
        48,
        False,
        "The RDMA library in the container is older than the host's driver: mount the host's library into it.",
    ),
    Signature(
        "gloo",
        (b"rror",),
        re.compile(rb"Gloo connectFullMesh failed"),
        50,
        False,
        "The ranks cannot reach each other: set GLOO_SOCKET_IFNAME to the interface of the cluster network.",
    ),
    Signature(
        "rendezvous_timeout",
        (b"imed out", b"rror", b"RegisterTask", b"cluster registration"),
        re.compile(
            rb"rendezvous timed out(?:[^\r\n]*missing: rank (?P<rank>\d+))?|api\.RendezvousTimeoutError"
            rb"|client socket has timed out after \S+ while trying to connect to"
            rb"|Timed out after \d+ seconds waiting for (?:clients|workers)"
            rb"|RegisterTask(?s:.{0,300}?)Deadline Exceeded|DEADLINE_EXCEEDED(?s:.{0,300}?)RegisterTask"
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
        re.compile(rb"(?:/task:(?P<rank>\d+) )?unexpectedly tried to connect with a different incarnation"),
        54,
        False,
        "A process of an earlier start still takes part: stop what is left over on all nodes, then start anew.",
    ),
    Signature(
        "nccl",
        (b"NCCL WARN", b"rror"),
        re.compile(
            rb"Got completion from peer|Call to ibv_modify_qp failed|nccl(?:Remote|System)Error: |NCCL error(?: in)?:"
        ),
        56,
        False,
        "The network between the nodes failed or a peer went away: check the links, NCCL_IB_HCA, NCCL_IB_GID_INDEX, "
        "NCCL_SOCKET_IFNAME and the logs of the other nodes.",
    ),
    Signature(
        "watchdog",
        (b"atchdog", b"rror"),
        re.compile(
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
        re.compile(
            rb"Root Cause \(first observed failure\):(?s:.{0,400}?)rank\s+: (?P<rank>\d+)(?s:.{0,200}?)"
            rb"exitcode\s+: (?P<exit_code>-?\d+)"
        ),
        62,
        True,
        "torchrun names the rank that failed first on this node: what that rank printed before is the cause.",
    ),
    Signature(
        "child_failed",
        (b"(exitcode: ", b"rror"),
        re.compile(rb"failed \(exitcode: (?P<exit_code>-?\d+)\)|errors\.ChildFailedError"),
        64,
        True,
        "torchrun ended because one of its processes failed: what that process printed before is the cause.",
    ),
    Signature(
        "training_script",
        (b"ERROR: training",),
        re.compile(rb"ERROR: training \([^)\r\n]*\) failed with exit code (?P<exit_code>\d+)"),
        66,
        True,
        "The launch script reports that the trainer failed: what the trainer printed before is the cause.",
    ),
    Signature(
        "peer_died",
        (b"heartbeat", b"lost the connection", b"rror"),
        re.compile(
            rb"(?:The following tasks are unhealthy \(stopped sending heartbeats\):\s*/job:\S+/task:"
            rb"|Task /job:\S+/task:(?=\d+ heartbeat timeout)|lost the connection to rank )(?P<rank>\d+)"
            rb"|gloo/transport/tcp/pair\.cc:\d+\][^\r\n]*(?:closed|reset) by peer|BarrierError"
        ),
        70,
        True,
        "Another rank went away: its log has the cause.",
    ),
    Signature(
        "coordinator_died",
        (b"to coordination service",),
        re.compile(rb"Failed to send RPC to coordination service"),
        70,
        True,
        "The process that coordinates the others, the first one, went away: its log has the cause.",
    ),
    Signature(
        "sigterm",
        (b"death signal", b"got signal: 15", b"SIG"),
        re.compile(
            rb"Received \S+ death signal, shutting down workers|got signal: 15|closing signal SIGTERM"
            rb"|Signal 15 \(SIGTERM\) received by PID|after receiving SIGTERM|SIGTERM caught"
        ),
        80,
        True,
        "The process was told to stop: by the launcher because another one failed, by a person or by a scheduler.",
    ),
)

_TRACEBACK = b"Traceback (most recent call last):"
PYTHON_ERROR = Signature(
    "python_error",
    (_TRACEBACK,),
    re.compile(
        rb"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*"
        rb"(?:Error|Exception|Exit|Expired|Failure|Group|Interrupt|Iteration|Timeout)(?::[^\r\n]*)?$"
    ),
    44,
    False,
    "The trainer raised an exception: read the traceback before this line.",
)

_MARKS = frozenset(mark for signature in SIGNATURES for mark in signature.marks)

# torchrun's and Primus' prefixes: "[rank3]: ", "[rank-7/8]".
_OWN_RANK = re.compile(rb"\[rank-?(\d+)[\]/]")
_RANK_PREFIX = re.compile(rb"\[rank\d+\]: ?$")
_LINE = re.compile(rb"[^\r\n]+")
_FRAME = re.compile(rb'\s+File "([^"\r\n]*)", line')
# The launch scripts of ROCm Megatron-LM ask for RDMA links and average at the end in Python; both fail without harm.
_HELPER_FILE = re.compile(rb"<string>$|/json/|mean_log_value\.py$")
_TRACEBACK_LINES = 300

# How messages of several lines begin, and what must have followed for them to be understood.
_MESSAGES = (
    (
        _TRACEBACK,
        re.compile(rb"^(?:\[[^\]\r\n]*\][: ]*)*(?:\w+\.)*\w+(?:Error|Exception|Exit|Interrupt)\b", re.MULTILINE),
    ),
    (b"Root Cause (first observed failure):", re.compile(rb"exitcode\s+: [^\r\n]*")),
    (b"(stopped sending heartbeats):", re.compile(rb"/task:\d+")),
)


def find_failures(chunk: bytes) -> list[dict[str, t.Any]]:
    """Return the failures that some lines of a log tell of, in their order, at most three of a class.

    Each is ``{"class", "blame", "echo", "remedy", "line", "rank", "exit_code"}``; the first four are those of its
    ``Signature``. ``line`` is the evidence, one line of at most 400 characters. ``rank`` is the rank or, of JAX, the
    task (process) that the text blames or, where it is no echo, that printed it; ``rank`` and ``exit_code`` are null
    where the text has none. A line is one failure, of the first signature that matches.
    """
    text = plain(chunk)
    claimed: set[int] = set()
    kept = []
    for signature, matches in _matches(text):
        count = 0
        for match in matches:
            start = line_start(text, match.start())
            if start not in claimed:
                claimed.add(start)
                count += 1
                if count <= _FEW:
                    kept.append((start, _failure(signature, text, match)))
    return [failure for _start, failure in sorted(kept, key=itemgetter(0))]


def few_of_each_class(failures: Iterable[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
    """Return the first three failures of each class, in the order given."""
    count: dict[str, int] = {}
    kept = []
    for failure in failures:
        count[failure["class"]] = count.get(failure["class"], 0) + 1
        if count[failure["class"]] <= _FEW:
            kept.append(failure)
    return kept


def open_message(chunk: bytes) -> int | None:
    """Return where the line begins with which a message of several lines began that has not ended yet, or None."""
    starts = []
    for opening, closing in _MESSAGES:
        start = chunk.rfind(opening)
        if start >= 0 and not closing.search(plain(chunk[start:])):
            starts.append(line_start(chunk, start))
    return min(starts, default=None)


def _matches(text: bytes) -> Iterator[tuple[Signature, Iterator[re.Match[bytes]]]]:
    present = {mark for mark in _MARKS if mark in text}
    for signature in SIGNATURES:
        if not present.isdisjoint(signature.marks):
            yield signature, signature.pattern.finditer(text)
    yield PYTHON_ERROR, _exceptions(text)


def _failure(signature: Signature, text: bytes, match: re.Match[bytes]) -> dict[str, t.Any]:
    start, end = line_start(text, match.start()), line_end(text, match.end())
    groups = match.groupdict()
    rank = groups.get("rank")
    if rank is None and not signature.echo:
        own = _OWN_RANK.search(text, start, end)
        rank = own.group(1) if own else None
    if end - start > _LINE_CHARACTERS:
        start = match.start()
    exit_code = groups.get("exit_code")
    return {
        "class": signature.failure,
        "blame": signature.blame,
        "echo": signature.echo,
        "remedy": signature.remedy,
        "line": " ".join(text[start:end].decode("utf-8", "replace").split())[:_LINE_CHARACTERS],
        "rank": None if rank is None else int(rank),
        "exit_code": None if exit_code is None else int(exit_code),
    }


def _exceptions(text: bytes) -> Iterator[re.Match[bytes]]:
    """Yield the last line of each traceback, but of those of the launch scripts' own helpers."""
    begin = text.find(_TRACEBACK)
    while begin >= 0:
        last = _last_line(text, begin)
        if last:
            yield last
        begin = text.find(_TRACEBACK, begin + len(_TRACEBACK))


def _last_line(text: bytes, begin: int) -> re.Match[bytes] | None:
    # Ranks that share a log print between each other's lines, so only lines with the same rank's prefix belong here.
    prefix = _RANK_PREFIX.search(text, line_start(text, begin), begin)
    files = []
    for line in islice(_LINE.finditer(text, begin + len(_TRACEBACK)), _TRACEBACK_LINES):
        start = line.start()
        if prefix:
            if not line.group().startswith(prefix.group()):
                continue
            start += len(prefix.group())
        frame = _FRAME.match(text, start, line.end())
        if frame:
            files.append(frame.group(1))
        elif text.startswith(_TRACEBACK, start):
            return None
        else:
            last = PYTHON_ERROR.pattern.match(text, start, line.end())
            if last:
                harmless = files and all(_HELPER_FILE.search(file) for file in files)
                return None if harmless else last
    return None
