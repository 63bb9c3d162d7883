# SPDX-License-Identifier: GPL-3.0-or-later
"""What the nodes of a run are made of, as rows of the page: nodes that are alike share one."""

from __future__ import annotations

import json
import typing as t
from collections import Counter
from collections.abc import Mapping, Sequence

from ..inventory.folded_names import folded

Row = dict[str, t.Any]


def hardware_rows(statuses: Sequence[Mapping[str, t.Any]]) -> list[Row]:
    """Return a row for each kind of node among those of which something is known, most nodes first.

    ``nodes`` are their names in short, ``accelerators``, ``driver``, ``firmware``, ``nics`` (a list), ``system`` and
    ``image`` (the digest that was started) what they have, in words, or None.
    """
    alike: dict[str, list[Mapping[str, t.Any]]] = {}
    for status in statuses:
        if status.get("hardware") or status.get("image_id"):
            made_of = json.dumps([status.get("hardware"), status.get("image_id")], sort_keys=True)
            alike.setdefault(made_of, []).append(status)
    groups = sorted(alike.values(), key=len, reverse=True)
    return [_row(group) for group in groups]


def _row(group: Sequence[Mapping[str, t.Any]]) -> Row:
    hardware = group[0].get("hardware") or {}
    gpus = hardware.get("accelerators") or {}
    firmware = (gpus.get("firmware") or {}).items()
    return {
        "nodes": folded([status["node"] for status in group]),
        "accelerators": f"{gpus['count']} × {gpus['name'] or 'unknown'}" if gpus else None,
        "driver": _joined(gpus.get("driver"), gpus.get("driver_version")),
        "firmware": ", ".join(f"{name} {version}" for name, version in firmware) or None,
        "nics": _nics(hardware.get("nics") or []),
        "system": _joined(hardware.get("os"), f"kernel {hardware['kernel']}" if hardware.get("kernel") else None, ", "),
        "cpu": hardware.get("cpu"),
        "image": group[0].get("image_id"),
    }


def _nics(nics: Sequence[Mapping[str, t.Any]]) -> list[str]:
    """Return the RDMA devices in words, those that are alike counted."""
    kinds = Counter(
        _joined(_joined(nic["driver"], nic["driver_version"]), f"firmware {nic['firmware']}, {nic['rate']}", ", ")
        for nic in nics
    )
    return [f"{count} × {kind}" for kind, count in kinds.items()]


def _joined(first: str | None, second: str | None, between: str = " ") -> str | None:
    return between.join(part for part in (first, second) if part) or None
