# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes of several models of processor and GPU: each is compared with nodes of its own model.

Measurements are scaled as if all models were as fast as the commonest one, and the result says how fast they are. A
pair or group counts as the models of its nodes together. What has too few peers is not compared.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from typing_extensions import TypedDict

from .measured import Measured

# Of fewer nearly nothing is known about how they differ.
_LEAST_PEERS = 3
_Kind = tuple[str, tuple[str, ...]]


class SlowerModel(TypedDict):
    """A model of node that takes longer than the commonest one (``than``), by a fraction in some probes."""

    model: str
    than: str
    slower_by: dict[str, float]


def model_of(processor: str | None, accelerator: str | None) -> str:
    """Return the model of a node: no counts, because a node that lacks a GPU or a socket is no model of its own."""
    return ", ".join(filter(None, ((processor or "").rpartition(" × ")[2], accelerator)))


def without_peers(models: Mapping[str, str]) -> dict[str, str]:
    """Return the nodes with too few others of their model, each with the model; none if all have the same."""
    counts = Counter(models.values())
    return {node: model for node, model in models.items() if len(counts) > 1 and counts[model] < _LEAST_PEERS}


def within_models(measured: Sequence[Measured], models: Mapping[str, str]) -> list[Measured]:
    """Return the measurements without the differences between models, and without those that have too few peers."""
    if len(set(models.values())) < 2:
        return list(measured)
    usual = _usual(measured, models)
    commonest: dict[str, float] = {}
    for (probe, _models), cost in usual.items():
        commonest.setdefault(probe, cost)
    found = []
    for one in measured:
        kind = _kind(one, models)
        if not one.samples:
            found.append(one)
        elif kind in usual:
            by = math.exp(commonest[one.probe] - usual[kind])
            found.append(replace(one, samples=tuple(by * sample for sample in one.samples)))
    return found


def slower_models(measured: Sequence[Measured], models: Mapping[str, str], least: float) -> list[SlowerModel]:
    """Return the models whose nodes usually take longer by themselves, by at least a fraction of the commonest one."""
    usual = _usual([one for one in measured if len(one.nodes) == 1], models)
    if not usual or len(set(models.values())) < 2:
        return []
    than = Counter(models.values()).most_common(1)[0][0]
    found: dict[str, dict[str, float]] = {}
    for (probe, (model,)), cost in usual.items():
        by = math.expm1(cost - usual.get((probe, (than,)), math.inf))
        if by >= least:
            found.setdefault(model, {})[probe] = by
    return [SlowerModel(model=model, than=than, slower_by=by) for model, by in found.items()]


def _usual(measured: Sequence[Measured], models: Mapping[str, str]) -> dict[_Kind, float]:
    """Return the usual cost of each probe with each kind of node in the sweep, the commonest kind first."""
    costs: dict[_Kind, list[float]] = {}
    peers: dict[_Kind, set[tuple[str, ...]]] = {}
    for one in measured:
        if one.samples and one.stage == "sweep":
            costs.setdefault(_kind(one, models), []).append(one.cost)
            peers.setdefault(_kind(one, models), set()).add(one.nodes)
    known = sorted((kind for kind in costs if len(peers[kind]) >= _LEAST_PEERS), key=lambda kind: -len(peers[kind]))
    return {kind: statistics.median(costs[kind]) for kind in known}


def _kind(one: Measured, models: Mapping[str, str]) -> _Kind:
    """Return the probe and the models of its nodes: of a pair in their order, of a group each of them once."""
    of_nodes = [models.get(node, "") for node in one.nodes]
    return one.probe, tuple(of_nodes) if one.one_way else tuple(sorted(of_nodes if len(of_nodes) < 3 else {*of_nodes}))
