# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes of several models of processor, GPU and network adapter: each is compared with nodes of its own model.

Measurements are scaled as if all models were as fast as the commonest one, and the result says how fast they are. A
pair or group counts as the models of its nodes together. What has too few peers is not compared. The models of adapters
count only where adapters are used.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from typing_extensions import TypedDict

from .measured import Measured

# Of fewer nearly nothing is known about how they differ.
_LEAST_PEERS = 3
_Kind = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class Models:
    """The models of nodes: their processors and GPUs (``of_nodes``), and their network adapters (``of_nics``)."""

    of_nodes: Mapping[str, str] = field(default_factory=dict)
    of_nics: Mapping[str, str] = field(default_factory=dict)

    @property
    def are_mixed(self) -> bool:
        """Return whether nodes differ in any of that."""
        return len({*self.of_nodes.values()}) > 1 or len({*self.of_nics.values()}) > 1

    def with_nic(self, node: str) -> str:
        """Return the model of a node with its adapters."""
        return ", ".join(filter(None, (self.of_nodes.get(node), self.of_nics.get(node))))

    def kind(self, one: Measured) -> _Kind:
        """Return the probe and the models of its nodes: of a pair in their order, of a group each of them once."""
        uses_nics = len(one.nodes) > 1 or one.part.startswith("HCA")
        of_nodes = [self.with_nic(node) if uses_nics else self.of_nodes.get(node, "") for node in one.nodes]
        kinds = of_nodes if one.one_way else sorted(of_nodes if len(of_nodes) < 3 else {*of_nodes})
        return one.probe, tuple(kinds)


class SlowerModel(TypedDict):
    """A model of node that takes longer than the commonest one (``than``), by a fraction in some probes."""

    model: str
    than: str
    slower_by: dict[str, float]


def model_of(processor: str | None, accelerator: str | None) -> str:
    """Return the model of a node: no counts, because a node that lacks a GPU or a socket is no model of its own."""
    return ", ".join(filter(None, ((processor or "").rpartition(" × ")[2], accelerator)))


def model_of_nics(models: Iterable[str | None]) -> str:
    """Return the model of a node's adapters: each model once, because a node that lacks one is no model of its own."""
    return ", ".join(sorted({*filter(None, models)}))


def without_peers(models: Mapping[str, str]) -> dict[str, str]:
    """Return the nodes with too few others of their model, each with the model; none if all have the same."""
    counts = Counter(models.values())
    return {node: model for node, model in models.items() if len(counts) > 1 and counts[model] < _LEAST_PEERS}


def pairs_without_peers(measured: Sequence[Measured], models: Models) -> dict[str, int]:
    """Return how many pairs of two models have too few others like them, by the names of the models."""
    pairs: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for one in measured if models.are_mixed else ():
        if len(one.nodes) == 2 and one.stage == "sweep" and one.samples:
            kind = tuple(sorted(map(models.with_nic, one.nodes)))
            pairs.setdefault(kind, set()).add(tuple(sorted(one.nodes)))
    return {" – ".join(kind): len(found) for kind, found in pairs.items() if len(found) < _LEAST_PEERS}


def within_models(measured: Sequence[Measured], models: Models) -> list[Measured]:
    """Return the measurements without the differences between models, and without those that have too few peers."""
    if not models.are_mixed:
        return list(measured)
    usual = _usual(measured, models)
    commonest: dict[str, float] = {}
    for (probe, _models), cost in usual.items():
        commonest.setdefault(probe, cost)
    found = []
    for one in measured:
        kind = models.kind(one)
        if not one.samples:
            found.append(one)
        elif kind in usual:
            by = math.exp(commonest[one.probe] - usual[kind])
            found.append(replace(one, samples=tuple(by * sample for sample in one.samples)))
    return found


def slower_models(measured: Sequence[Measured], models: Mapping[str, str], least: float) -> list[SlowerModel]:
    """Return the models whose nodes usually take longer by themselves, by at least a fraction of the commonest one."""
    usual = _usual([one for one in measured if len(one.nodes) == 1], Models(models))
    if not usual or len(set(models.values())) < 2:
        return []
    than = Counter(models.values()).most_common(1)[0][0]
    found: dict[str, dict[str, float]] = {}
    for (probe, (model,)), cost in usual.items():
        by = math.expm1(cost - usual.get((probe, (than,)), math.inf))
        if by >= least:
            found.setdefault(model, {})[probe] = by
    return [SlowerModel(model=model, than=than, slower_by=by) for model, by in found.items()]


def _usual(measured: Sequence[Measured], models: Models) -> dict[_Kind, float]:
    """Return the usual cost of each probe with each kind of node in the sweep, the commonest kind first."""
    costs: dict[_Kind, list[float]] = {}
    peers: dict[_Kind, set[tuple[str, ...]]] = {}
    for one in measured:
        if one.samples and one.stage == "sweep":
            costs.setdefault(models.kind(one), []).append(one.cost)
            peers.setdefault(models.kind(one), set()).add(one.nodes)
    known = sorted((kind for kind in costs if len(peers[kind]) >= _LEAST_PEERS), key=lambda kind: -len(peers[kind]))
    return {kind: statistics.median(costs[kind]) for kind in known}
