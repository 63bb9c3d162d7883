# SPDX-License-Identifier: GPL-3.0-or-later
"""By which other runs a machine is held."""

from __future__ import annotations

from ..claim import claimed_by_other
from ..engines import Engine, NoContainer
from .phase import HeldError


def held_by_others(engine: Engine, run_id: str) -> HeldError | None:
    """Return what keeps a run off the machine, where another one holds it."""
    engines: list[Engine] = [engine] if isinstance(engine, NoContainer) else [engine, NoContainer()]
    running = {one.holder(run_id) for one in engines} - {None}
    claim, was_started = claimed_by_other(run_id) or (None, False)
    holders = sorted(map(str, {claim, *running} - {None}))
    if not holders:
        return None
    held = [
        f"the node is held by run {holder}; wait for its end, or stop it: "
        f"ansible-playbook playbooks/stop.yml -e training_run_id={holder}"
        for holder in holders
    ]
    return HeldError("; ".join(held), holders, running=was_started or bool(running))
