# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a message by who reports it alone, where no other signature has it."""

from __future__ import annotations

from ..signature import Signature
from .linux import ENDED

SIGNATURES = (
    Signature(
        "scheduler",
        "Slurm reports an error: the words after it say what; look at the job (scontrol show job), the nodes "
        "(sinfo -R) and slurmd's log.",
        rb"(?:srun|slurmstepd|slurmd): error: (?![^\r\n]{0,200}(?:[Ii]gnor|[Dd]uplicate|Setting TMPDIR|ropagate"
        rb"|getpeername|xauth|X11|x11|[Ww]arning|_get_pss|cgroup))[^\r\n*]",
    ),
    Signature(
        "child_failed",
        "A process ended itself, as a check in native code failed: the line says which, and what was printed "
        "before may be the cause.",
        rb":\d{1,6}: [^\r\n]{0,900}: Assertion `[^\r\n]{0,400}' failed|\] Check fail(?:ed|ure): "
        rb"|Check failure stack trace|terminate called without|pure virtual method called",
    ),
    Signature(
        "child_failed",
        "A program that the training is made of ended with an error: what it printed before is the cause.",
        ENDED + rb"(?P<exit_code>-\d{1,9}|[1-9]\d{0,8})\b",
    ),
    Signature(
        "container",
        "The container engine reports an error: the words after msg say what; look at the engine's own log, too.",
        rb"\blevel=(?:error|fatal) msg=",
    ),
)
