# SPDX-License-Identifier: GPL-3.0-or-later
"""A workload on GKE: the ``xpk workload create`` line of a run, where Google's XPK starts what the nodes run.

Source: the option parser of XPK 1.16 (xpk/parser/workload.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...contracts import GkeLaunch

LONGEST_NAME = 40
_NOT_IN_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class GkeWorkload:
    """What XPK starts: ``options`` as they follow ``xpk workload create``, all but the workload's name."""

    options: tuple[str, ...]

    def for_run(self, run_id: str) -> GkeLaunch:
        """Return ``workload`` (its name) and ``argv`` of a run."""
        name = workload_name(run_id)
        return {"workload": name, "argv": ["xpk", "workload", "create", "--workload", name, *self.options]}


def workload_name(run_id: str) -> str:
    """Return a run's name as XPK takes one: small letters, digits and ``-``, a letter in front, 40 at most."""
    name = _NOT_IN_NAME.sub("-", run_id.casefold()).strip("-")
    if not name[:1].isalpha():
        name = f"run-{name}"
    return name[:LONGEST_NAME].rstrip("-")
