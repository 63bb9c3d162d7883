# SPDX-License-Identifier: GPL-3.0-or-later
"""A workload on GKE: the ``xpk workload create`` command line with which Google's XPK starts a run.

Source: the option parser of XPK 1.16 (xpk/parser/workload.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...contracts import GkeLaunch

LONGEST_NAME = 40
_NOT_IN_NAME = re.compile(r"[^a-z0-9]+")


def launch_of(run_id: str, options: Sequence[str]) -> GkeLaunch:
    """Return ``workload`` (its name) and ``argv`` of a run; ``options`` of XPK are all but that name."""
    name = workload_name(run_id)
    return {"workload": name, "argv": ["xpk", "workload", "create", "--workload", name, *options]}


def workload_name(run_id: str) -> str:
    """Return a run's name as XPK accepts it: at most 40 lowercase letters, digits and ``-``, starting with a letter."""
    name = _NOT_IN_NAME.sub("-", run_id.casefold()).strip("-")
    if not name[:1].isalpha():
        name = f"run-{name}"
    return name[:LONGEST_NAME].rstrip("-")
