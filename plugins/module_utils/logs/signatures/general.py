# SPDX-License-Identifier: GPL-3.0-or-later
"""The class of a message judged only by who reports it, if no other signature matches."""

from __future__ import annotations

from ..signature import Signature
from .linux import ENDED

SIGNATURES = (
    Signature(
        "scheduler",
        None,
        rb"(?:srun|slurmstepd|slurmd): error: (?![^\r\n]{0,200}(?:[Ii]gnor|[Dd]uplicate|Setting TMPDIR|ropagate"
        rb"|getpeername|xauth|X11|x11|[Ww]arning|_get_pss|cgroup))[^\r\n*]",
        name="any error of Slurm",
        sample="srun: error: Job allocation 77 has been revoked",
    ),
    Signature(
        "child_failed",
        "A process aborted because a check in native code failed. The line shows the check; earlier output may have "
        "the cause.",
        rb":\d{1,6}: [^\r\n]{0,900}: Assertion `[^\r\n]{0,400}' failed|\] Check fail(?:ed|ure): "
        rb"|Check failure stack trace|terminate called without|pure virtual method called",
        sample="F0102 03:04:05.1 77 x.cc:12] Check failed: a == b",
    ),
    Signature(
        "child_failed",
        None,
        ENDED + rb"(?P<exit_code>-\d{1,9}|[1-9]\d{0,8})\b",
        name="any exit code",
        sample="Exit code -1",
    ),
    Signature(
        "container",
        "The container engine reports an error. Read the text after msg and the engine's own log.",
        rb"\blevel=(?:error|fatal) msg=",
        sample='time="2026-01-02T03:04:05Z" level=error msg="error waiting for container: unexpected EOF"',
    ),
)
