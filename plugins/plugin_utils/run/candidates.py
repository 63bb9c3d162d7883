# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts a run gets: without the spares, and with a spare in the place of each host in quarantine."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from ..contracts import Finding
from .retry import left_out, without

if t.TYPE_CHECKING:
    from .quarantine import Quarantine


class Candidates(t.NamedTuple):
    """The hosts that may take part in a run, without its spares, and the spares among the hosts of the play."""

    hosts: list[str]
    spares: list[str]
    faults: list[Finding]


class Chosen(t.NamedTuple):
    """The hosts of a plan, the rank order that the user wants, and messages about both."""

    hosts: list[str]
    rank_order: t.Any
    warnings: list[Finding]
    faults: list[Finding]


def candidates_of(
    group: str, groups: Mapping[str, Sequence[str]], hosts: Sequence[str], of_play: Sequence[str]
) -> Candidates:
    """Return the candidates; a fault if ``group``, the group of spares, does not exist or has no hosts.

    ``groups`` are the inventory's, ``of_play`` all hosts of the play.
    """
    if not group:
        return Candidates(list(hosts), [], [])
    if not groups.get(group):
        known = ", ".join(sorted(name for name in groups if name not in ("all", "ungrouped"))) or "none"
        message = f"The inventory has no group {group} with hosts in it."
        remedy = f"Set it to one of the inventory's groups: {known}."
        fault: Finding = {"key": "training_spares", "value": group, "message": message, "remedy": remedy}
        return Candidates(list(hosts), [], [fault])
    of_group = groups[group]
    return Candidates([host for host in hosts if host not in of_group], [one for one in of_group if one in of_play], [])


def chosen_of(candidates: Candidates, quarantine: Quarantine | None, rank_order: t.Any) -> Chosen:
    """Return the hosts of a plan; a host that is left out is left out of the rank order as well."""
    try:
        held = quarantine.hosts() if quarantine else {}
    except ValueError as error:
        fault: Finding = {"key": "quarantine", "value": None, "message": f"{error}.", "remedy": ""}
        return Chosen(candidates.hosts, rank_order, [], [fault])
    hosts, taken = without(candidates.hosts, held, candidates.spares)
    if taken and isinstance(rank_order, list):
        rank_order = [host for name in rank_order if (host := taken.get(name, name))]
    return Chosen(hosts, rank_order, left_out(held, taken), [])
