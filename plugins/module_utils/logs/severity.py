# SPDX-License-Identifier: GPL-3.0-or-later
"""The severity of a line, according to the program that printed it. Its words do not matter here.

A line reports no failure if its program calls it information or a warning, whatever words follow: "Guessing device ID …
This can cause a hang" stands in the log of every healthy run that calls ``barrier()``.
"""

from __future__ import annotations

import typing as t

from .pattern import later

Severity = t.Literal["", "info", "warning", "error"]

INFO: t.Final = "info"
WARNING: t.Final = "warning"
ERROR: t.Final = "error"
UNMARKED: t.Final = ""


class Mark(t.NamedTuple):
    """How a program marks its lines: the meaning of each of its words, a sample line of each, and who prints it.

    ``pattern`` has one group, the word. It is searched in the first bytes of a line.
    """

    pattern: bytes
    means: t.Mapping[bytes, Severity]
    samples: t.Mapping[Severity, str]
    source: str


# glog, absl, c10 and XLA mark a line with the first letter of its severity. F is fatal.
_LETTERS: dict[bytes, Severity] = {b"I": INFO, b"V": INFO, b"W": WARNING, b"E": ERROR, b"F": ERROR}
_WORDS: dict[bytes, Severity] = {
    b"debug": INFO,
    b"trace": INFO,
    b"info": INFO,
    b"notice": INFO,
    b"warn": WARNING,
    b"warning": WARNING,
    b"err": ERROR,
    b"error": ERROR,
    b"critical": ERROR,
    b"fatal": ERROR,
}
# In lower case it is a mark only at the beginning of a line and in brackets; elsewhere it is a word of a sentence.
_WORD = rb"DEBUG|TRACE|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|CRITICAL|FATAL"
_MARK = rb"((?:" + _WORD + rb")|(?:(?<=\[)|^)(?i:" + _WORD + rb"))"
# How many bytes of a line may contain its mark; torchrun, Primus and srun add prefixes.
_FIRST_BYTES = 240

# The first that matches decides.
MARKS = (
    Mark(
        rb"\bNCCL (INFO|TRACE|WARN)\b",
        {b"INFO": INFO, b"TRACE": INFO, b"WARN": ERROR},
        {
            INFO: "gpu01:705:705 [0] NCCL INFO Comm config Blocking set to 1",
            ERROR: "gpu01:77:99 [0] transport/net_ib.cc:94 NCCL WARN NET/IB : mlx5_2:1 Got async event : port error",
        },
        "nccl/src/debug.cc: failures are printed with WARN, because NCCL has no level above it",
    ),
    Mark(
        rb"\[([IWEF])\d{3,4} \d\d:\d\d:\d\d\.\d+ [^\]\r\n]{1,120}\]",
        _LETTERS,
        {
            WARNING: "[rank0]:[W1126 20:08:32.397 ProcessGroupNCCL.cpp:5188] Guessing device ID based on global rank.",
            ERROR: "[rank0]:[E1103 02:07:08.408 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective timeout",
        },
        "pytorch/c10/util/Logging.cpp, since PyTorch 2.3",
    ),
    Mark(
        rb"\[([IWEF]) [\w./-]{1,60}\.(?:cpp|h):\d{1,6}\]",
        _LETTERS,
        {WARNING: "[W socket.cpp:464] [c10d] The server socket cannot be initialized on [::]:29500 (errno: 97)."},
        "pytorch/c10/util/Logging.cpp, until PyTorch 2.2",
    ),
    Mark(
        rb"(?:^|[\s:|\]])([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [^\]\r\n]{1,160}\]",
        _LETTERS,
        {
            INFO: "I0203 04:05:21.000001 78 preemption_sync_manager.cc:115] Preemption sync protocol cancelled",
            WARNING: "W1103 02:14:02.158000 92046 torch/distributed/elastic/multiprocessing/api.py:1010] Sending",
            ERROR: "E0203 04:05:06.000000 77 client.h:80] Polled an error from coordination service",
        },
        "abseil/base/log_severity.h, absl-py's logging and torch/_logging, which print the same head",
    ),
    Mark(
        rb"\d\d:\d\d:\d\d\.\d+: ([IWEF]) [\w./-]{1,120}:\d{1,6}\]",
        _LETTERS,
        {WARNING: "2026-01-02 03:04:05.123456: W external/xla/xla/service/gpu/nvptx_compiler.cc:930] Falling back"},
        "tensorflow/tsl/platform/default/logging.cc, of TensorFlow and XLA",
    ),
    Mark(
        rb"\.py:\d{1,6}: \w{0,40}(Warning): ",
        {b"Warning": WARNING},
        {WARNING: "/opt/venv/lib/torch/distributed/c10d_logger.py:83: UserWarning: barrier(): using the device"},
        "warnings.formatwarning() of Python",
    ),
    Mark(
        rb"(?:^|[\]:] ?)wandb: (?:\x1b\[\d{1,3}m)?(WARNING|ERROR|)",
        {b"WARNING": WARNING, b"ERROR": ERROR, b"": INFO},
        {
            INFO: "wandb: Network error (ConnectTimeout), entering retry loop.",
            WARNING: "wandb: WARNING Step cannot be set when using tensorboard syncing.",
            ERROR: "wandb: ERROR Unable to read the run's files.",
        },
        "wandb/sdk/lib/printer.py; what has no word is information",
    ),
    Mark(
        rb"\blevel=(\w{4,8})\b",
        _WORDS,
        {
            WARNING: 'time="2026-01-02T03:04:05Z" level=warning msg="Path is shared"',
            ERROR: 'time="2026-01-02T03:04:05Z" level=error msg="failed to start"',
        },
        "logrus, of podman, docker and containerd",
    ),
    Mark(
        rb"(?:^|[\]:] ?)(?:srun|sbatch|salloc|slurmd|slurmstepd)(?:-[\w.-]{1,60})?: (error|fatal|warning|info)\b",
        _WORDS,
        {
            ERROR: "srun: error: gpu01: task 3: Exited with exit code 1",
            WARNING: "srun: warning: can't honor --ntasks-per-node set to 8",
        },
        "slurm/src/common/log.c",
    ),
    Mark(
        rb"\blibibverbs: (Warning): ",
        {b"Warning": WARNING},
        {WARNING: "libibverbs: Warning: couldn't load driver 'libbnxt_re-rdmav34.so'"},
        "rdma-core/libibverbs/init.c",
    ),
    Mark(
        rb"\bMIOpen\(HIP\): (Info|Warning|Error)\b",
        {b"Info": INFO, b"Warning": WARNING, b"Error": ERROR},
        {WARNING: "MIOpen(HIP): Warning [IsEnoughWorkspace] Solver <GemmFwdRest>, workspace required: 1, provided"},
        "MIOpen/src/logger.cpp",
    ),
    Mark(
        # "[2026-01-02 03:04:05][rank-7/8][INFO ] ", "2026-01-02 03:04:05,678 - WARNING - ", "INFO:root:",
        # "2026-Jan-02 03:04:05.6789 77:99 ERROR  NRT:nrt_infodump", "[WARNING] ", "[NeMo W 2026-01-02"
        rb"(?:^|[\s\[(|\]])" + _MARK + rb" {0,3}(?:[\])|:]|- |  ?[A-Z]{3,5}:|\d{1,4}[-:/ ])",
        _WORDS,
        {
            INFO: "[20260102 03:04:05][rank-7/8][INFO ] [trainer.py:425] : error rate of the data: 0.1",
            WARNING: "2026-01-02 03:04:05,678 - WARNING - retrying",
            ERROR: "2026-Jan-02 03:04:05.6789 77:99 ERROR  NRT:nrt_execute failed with status=101",
        },
        "logging of Python as most trainers set it up, and the Neuron runtime",
    ),
    Mark(
        rb"\[NeMo ([IWE]) \d{4}-",
        _LETTERS,
        {WARNING: "[NeMo W 2026-01-02 03:04:05 nemo_logging:349] /opt/x.py: the config has no optimizer"},
        "nemo/utils/nemo_logging.py",
    ),
)
_COMPILED = tuple((later(mark.pattern), mark.means) for mark in MARKS)


def severity_of(line: bytes) -> Severity:
    """Return the severity that the program gave to a line: `INFO`, `WARNING`, `ERROR`, or `UNMARKED` for none."""
    head = line[:_FIRST_BYTES]
    for pattern, means in _COMPILED:
        found = pattern.search(head)
        if found:
            word = found.group(1)
            return means.get(word) or means.get(word.lower(), UNMARKED)
    return UNMARKED
