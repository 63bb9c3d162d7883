# SPDX-License-Identifier: GPL-3.0-or-later
"""Stragglers: nodes and ranks that are slower than the others, always or now and then, and what that costs a job."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

import numpy as np
from scipy.special import bdtrc

from ..contracts import Statistics, Straggler, Stragglers
from ..text.catalogue import VERDICT
from ..text.sentences import filled
from .intervals import CONFIDENCE, robust_deviation, sign_interval
from .reasons import as_json
from .seen import Seen

if t.TYPE_CHECKING:
    import pandas as pd

    from .reasons import Reasons


# A step is slow if its node takes longer than the median node in the same step, by at least so many standard deviations
# of all nodes and by this share.
_DEVIATIONS, _SLOW = 4.0, 0.05
# A node is slow now and then if at least this share of its steps, and at least this number, are slow, if they cost this
# share of its time, and if the chance that a normal node has as many is below this, for any number of nodes.
_LEAST_SHARE, _LEAST_STEPS, _COSTS, _CHANCE = 0.10, 3, 0.01, 0.002
# A single stretch of fewer steps may be a hiccup.
_LONG_STRETCH = 10


class SlowSteps(t.NamedTuple):
    """The share of a node's steps that are slow, how much slower these are (a fraction, in the median; None without
    any), and whether that is more than chance.
    """

    share: float
    slower: float | None
    unusual: bool


def slow_steps(times: np.ndarray) -> list[SlowSteps]:
    """Return the slow steps of each node, given the step times of all, a row each step and a column each node.

    NaN is a step that a node did not report. Steps that are slow on most nodes, for example with a checkpoint, do not
    count as slow. The other nodes' slow steps, in stretches of consecutive steps, show how many any node may have by
    chance.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        off = times / np.nanmedian(times, axis=1, keepdims=True) - 1.0
    # A node that is always slower is not slow now and then.
    off -= np.maximum(0.0, np.nanmedian(off, axis=0))
    there = np.isfinite(off)
    band = max(_SLOW, _DEVIATIONS * robust_deviation(off[there])) if there.any() else _SLOW
    slow = there & (off > band)
    reported, slows = there.sum(axis=0), slow.sum(axis=0)
    stretches = [_stretches(column) for column in slow.T]
    squares = np.array([float((own**2).sum()) for own in stretches])
    nodes = times.shape[1]
    found = []
    for node, own in enumerate(stretches):
        count, every = int(slows[node]), max(1, int(reported[node]))
        others = float(slows.sum() - count)
        usual = (others + 1.0) / (float(reported.sum() - reported[node]) + 1.0)
        # A stretch of slow steps is one chance event, so there are that many fewer events.
        in_a_row = float(squares.sum() - squares[node]) / others if others else 1.0
        chance = float(
            bdtrc(max(0.0, np.floor(count / in_a_row) - 1.0), max(1, int(every / in_a_row)), min(1.0, usual))
        )
        delays = off[slow[:, node], node]
        unusual = (
            count >= max(_LEAST_STEPS, _LEAST_SHARE * every)
            and float(delays.sum()) > _COSTS * every
            and (own.size > 1 or count >= _LONG_STRETCH)
            and chance * nodes < _CHANCE
        )
        found.append(SlowSteps(count / every, float(np.median(delays)) if count else None, unusual))
    return found


def _stretches(slow: np.ndarray) -> np.ndarray:
    """Return the length of each stretch of consecutive slow steps."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], slow, [False]))))
    return (edges[1::2] - edges[::2]).astype(float)


_FEWEST_LINES = 10
# If all ranks are equally fast, each is reported now and then.
_SHARE = 0.5


def note_slow_rank(seen: Seen, reasons: Reasons) -> None:
    """Note a rank that was the slowest in more than half of the trainer's lines, if there are at least 10.

    Pipeline stages have different work, so one is always the slowest: with pipeline parallelism, no rank is noted. A
    rehearsal has one rank on each node, and no pipeline.
    """
    rehearsal = seen.plan.get("rehearsal", False)
    parameters = {"gpus_per_node": 1} if rehearsal else seen.plan["parameters"]
    gpus = parameters.get("gpus_per_node")
    split = parameters.get("pipeline_parallelism")
    if seen.plan["mode"] != "multi_node" or not isinstance(gpus, int) or split not in (None, 1):
        return
    for status in seen.statuses:
        rank, lead, lines = (*status["trainer"]["settings"].get("slowest_rank", ()), 0.0, 0.0, 0.0)[:3]
        if not (lines >= _FEWEST_LINES and lead > _SHARE * lines):
            continue
        node = next((one["node"] for one in seen.statuses if one["node_rank"] == rank // gpus), None)
        if node:
            values = {"rank": int(rank), "gpu": int(rank % gpus), "lines": int(lines), "share": _SHARE}
            reasons.remark("slow_rank", node, case="rehearsal" if rehearsal else "", **values)


DEFAULT_DEVIATIONS = 5.0

_METRIC = "step_time_ms"
_MIN_NODES = 3
# Nodes that agree to the last digit have no deviation: less than this part of the median is never a straggler.
_NEGLIGIBLE = 0.01
_HALF = 0.5


def stragglers_of(
    steps: pd.DataFrame, by_node: Mapping[str, Mapping[str, Statistics]], deviations: float, *, together: bool
) -> Stragglers:
    """Return which nodes are slower than the others, and the cost to a job whose nodes wait for each other.

    ``steps`` is a frame of `steps_frame`, ``by_node`` the statistics of each node, ``together`` says that all nodes run
    one job. Returned are the ``metric`` that was compared, the ``deviations`` asked for, the ``nodes_compared``, their
    ``median`` (ms), and ``nodes``, slowest first: ``node``, ``value`` (its median), ``mean`` and ``p95`` (ms),
    ``deviations``, ``slower`` (a fraction of the median), ``slow_steps`` (the share of its steps that is slow) and
    ``slower_then`` (how much slower these are, a fraction; None without any). ``case`` and ``values`` belong to the
    finding "stragglers", and ``message`` is its sentence.

    A node is always slower if its median exceeds the median of all nodes by more than so many median absolute
    deviations (scaled by 1.4826 to standard deviations of a normal distribution) and by 1 %. A node that trains by
    itself must also exceed it by more than its noise, and may be slow in some steps only, see `slow_steps`. In one job,
    the nodes wait for each other in every step, so all of them show the slowest node's pace; their times only differ
    because each measures at another point.

    ``step_time_cost`` and ``throughput_cost`` are fractions of the step time and of the throughput: in each step, a job
    takes as long as its slowest node, compared with its median node. They are None if fewer than 2 nodes can be
    compared.
    """
    known = {node: found[_METRIC] for node, found in by_node.items() if _METRIC in found}
    medians = {node: one["median"] for node, one in known.items() if one["median"] > 0}
    found: Stragglers = {
        "metric": _METRIC,
        "deviations": deviations,
        "nodes_compared": len(medians),
        "median": None,
        "nodes": [],
        "step_time_cost": None,
        "throughput_cost": None,
        "case": "",
        "values": {},
        "message": "",
    }
    if len(medians) < 2:
        return (
            _with_finding(found, "one_node", only=next(iter(medians))) if medians else _with_finding(found, "no_node")
        )
    times = _times_of_steps(steps, list(medians))
    median = float(np.median(list(medians.values())))
    deviation = robust_deviation(np.array(list(medians.values())))
    band = max(deviations * deviation, _NEGLIGIBLE * median)
    enough, columns = len(medians) >= _MIN_NODES, dict(zip(medians, times.T, strict=True))
    far = [node for node, value in medians.items() if enough and value - median > band]
    always = [node for node in far if together or _is_always_above(columns[node], median, len(medians))]
    slow_of = dict.fromkeys(medians, SlowSteps(0.0, None, unusual=False))
    if enough and not together:
        slow_of = dict(zip(medians, slow_steps(times), strict=True))
    slow = [node for node in medians if node in always or slow_of[node].unusual]
    nodes: list[Straggler] = [
        {
            "node": node,
            "value": medians[node],
            "mean": known[node]["mean"],
            "p95": known[node]["p95"],
            "deviations": (medians[node] - median) / deviation if deviation else None,
            "slower": medians[node] / median - 1,
            "slow_steps": slow_of[node].share,
            "slower_then": slow_of[node].slower,
        }
        for node in sorted(slow, key=lambda node: -known[node]["mean"])
    ]
    cost = _cost(times)
    found |= {"median": median, "nodes": nodes, "step_time_cost": cost, "throughput_cost": 1 - 1 / (1 + cost)}
    if not nodes:
        noisy = [node for node in far if node not in always]
        return _none_slow(found, medians, noisy, together=together)
    others = [place for place, node in enumerate(medians) if node not in slow]
    return _with_finding(
        found,
        "slow" if together else "slow_by_itself",
        slow=[_slower(one, slow_of[one["node"]]) for one in nodes],
        compared=len(medians),
        median=median,
        cost=cost,
        without=_cost(times[:, others]) if len(others) > 1 else None,
    )


def _with_finding(found: Stragglers, case: str, **values: t.Any) -> Stragglers:
    message = filled(VERDICT["stragglers"][case].one, values)
    return {**found, "case": case, "values": as_json(values), "message": message}


def _times_of_steps(steps: pd.DataFrame, nodes: list[str]) -> np.ndarray:
    """Return the step times of the counted steps, a row each step that any node has and a column each node."""
    counted = steps.loc[steps["counted"], ["node", "step", _METRIC]]
    numbers, rows = np.unique(counted["step"].to_numpy(), return_inverse=True)
    places = {node: place for place, node in enumerate(nodes)}
    columns = counted["node"].map(places).to_numpy(float)
    there = ~np.isnan(columns)
    times = np.full((numbers.size, len(nodes)), np.nan)
    times[rows[there], columns[there].astype(int)] = counted[_METRIC].to_numpy()[there]
    times[~np.isfinite(times) | (times <= 0)] = np.nan
    reported: np.ndarray = np.isfinite(times).any(axis=1)
    return np.compress(reported, times, axis=0)


def _cost(times: np.ndarray) -> float:
    """Return how much longer the slowest nodes of each step take than the median nodes, as a fraction."""
    together = times[np.isfinite(times).sum(axis=1) > 1]
    if not together.size:
        # The nodes have no step in common.
        together = np.nanmedian(times, axis=0, keepdims=True)
    return float(np.nanmax(together, axis=1).sum() / np.nanmedian(together, axis=1).sum()) - 1.0


def _is_always_above(times: np.ndarray, median: float, nodes: int) -> bool:
    """Tell whether the steps of a node exceed the median of all nodes by more than their noise.

    The interval of the node's median is valid together with all other nodes' intervals (Bonferroni). Its lower end must
    exceed the median of all by half as much as the node does: a few long steps, which any node may have, are not
    enough.
    """
    own = times[np.isfinite(times)]
    interval = sign_interval(own, 1.0 - (1.0 - CONFIDENCE) / nodes)
    return interval is not None and interval["low"] - median > _HALF * (float(np.median(own)) - median)


def _slower(one: Straggler, slow: SlowSteps) -> dict[str, t.Any]:
    """Return how much slower a node is (a fraction), and in what share of its steps; None for all of them."""
    if not slow.unusual or slow.slower is None:
        return {"node": one["node"], "slower": one["slower"], "in_steps": None}
    return {"node": one["node"], "slower": slow.slower, "in_steps": slow.share}


def _none_slow(found: Stragglers, medians: Mapping[str, float], noisy: list[str], *, together: bool) -> Stragglers:
    spread, nodes = max(medians.values()) / min(medians.values()) - 1, len(medians)
    if together and spread <= _NEGLIGIBLE:
        return _with_finding(found, "same_pace", nodes=nodes, spread=spread)
    if nodes < _MIN_NODES:
        return _with_finding(found, "two_nodes", spread=spread)
    return (
        _with_finding(found, "none_for_certain", nodes=nodes, noisy=noisy)
        if noisy
        else _with_finding(found, "none", nodes=nodes)
    )
