# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan that is made before Slurm has chosen the nodes, and its changes once Slurm has."""

from __future__ import annotations

import re
import typing as t

# The plan as it was made, beside the one for the nodes that were chosen.
MADE_NAME = "made_plan.json"
_NAME, _ADDRESS = "slurm-node-{:04}", "slurm-address-{:04}"
_STAND_IN = re.compile("slurm-(node|address)-([0-9]{4,})")


def name_before(rank: int) -> str:
    """Return the stand-in for the node name of a rank in a plan."""
    return _NAME.format(rank)


def address_before(rank: int) -> str:
    """Return the stand-in for the node address of a rank in a plan."""
    return _ADDRESS.format(rank)


def is_before(name: str) -> bool:
    """Tell whether a name is the stand-in for a node before Slurm has chosen it."""
    return bool(_STAND_IN.fullmatch(name))


def placed(plan: t.Any, names: t.Sequence[str], addresses: t.Sequence[str]) -> t.Any:
    """Return a plan, or any part of one, with the names and addresses of the nodes in rank order in their places."""
    chosen = {"node": names, "address": addresses}
    if isinstance(plan, str):
        return _STAND_IN.sub(lambda match: chosen[match.group(1)][int(match.group(2))], plan)
    if isinstance(plan, dict):
        return {key: placed(value, names, addresses) for key, value in plan.items()}
    if isinstance(plan, list):
        return [placed(value, names, addresses) for value in plan]
    return plan
