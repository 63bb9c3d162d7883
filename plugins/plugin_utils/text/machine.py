# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of a machine in words: facts from its kernel log, and from counters, links and sensors."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping

from ...module_utils.node.machine_facts import ROW_OF
from .numbers import duration

_MEASURED = {
    "booted": "the node rebooted",
    "port_down": "an RDMA port that the run uses lost its link and did not get it back",
    "link_gone": "an interface lost its link and did not get it back",
    "link_back": "a link went down and came back",
    "port_errors": "errors on network ports, which the transport repeated",
    "ecc_uncorrected": "uncorrectable ECC errors that no rank died of",
    "ecc_corrected": "corrected ECC errors",
    "thermal": "slowed down by temperature",
    "power_brake": "slowed down by the power supply",
}
_NAMED = 4


def fact_in_words(name: str) -> str:
    """Return the meaning of a fact of `machine_facts`, or of a measured one."""
    return ROW_OF[name].means if name in ROW_OF else _MEASURED[name]


def details_in_words(details: Iterable[Mapping[str, t.Any]], *, brackets: bool = False) -> str:
    """Return the details of a fact, after a colon or in brackets; if there are more than 4, the first ones.

    Without details, the text is empty.
    """
    known = [_detail(one) for one in details]
    more = [f"{len(known) - _NAMED} more"] if len(known) > _NAMED else []
    text = "; ".join([*known[:_NAMED], *more])
    return "" if not known else f" ({text})" if brackets else f": {text}"


def _detail(one: Mapping[str, t.Any]) -> str:
    """Return a detail in words: a device (with time, count and step), a link, a counter, or a GPU."""
    if "link" in one:
        return str(one["link"])
    if "counter" in one:
        return f"{one['counter']} +{one['grown']}"
    if "gpu" in one and "errors" in one:
        return f"GPU {one['gpu']}: {one['errors']}"
    if "gpu" in one:
        return f"GPU {one['gpu']} in {one['samples']} of {one['samples_taken']} samples"
    parts = [one["device"], f"{duration(one['seconds'])} after the start"]
    parts += [f"about step {one['step']}"] if one["step"] is not None else []
    parts += [f"{one['count']} times"] if one["count"] > 1 else []
    parts += ["recovered"] if one["recovered"] else []
    return ", ".join(filter(None, parts))
