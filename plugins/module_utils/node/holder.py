# SPDX-License-Identifier: GPL-3.0-or-later
"""By which other runs a machine is held."""

from __future__ import annotations

from .claim import claimed_by_other
from .engines import Engine, NoContainer


def holder_problems(engine: Engine, run_id: str) -> list[str]:
    """Return by which other runs the machine is held, as sentences."""
    holders = {claimed_by_other(run_id), engine.holder(run_id), NoContainer().holder(run_id)} - {None}
    return [
        f"the node is held by run {holder}; wait for its end, or stop it: "
        f"ansible-playbook playbooks/stop.yml -e training_run_id={holder}"
        for holder in sorted(map(str, holders))
    ]
