# SPDX-License-Identifier: GPL-3.0-or-later
"""Stragglers: nodes that are slower than the others, and what the slowest costs a job over all nodes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..contracts import Statistics, Straggler, Stragglers
from ..inventory.folded_names import folded
from ..plan.config.words import all_of
from .intervals import robust_deviation

DEFAULT_DEVIATIONS = 5.0

_METRIC = "step_time_ms"
_MIN_NODES = 3
# Nodes that agree to the last digit have no deviation: less than this part of the median is never a straggler.
_NEGLIGIBLE = 0.01


def stragglers_of(by_node: Mapping[str, Mapping[str, Statistics]], deviations: float, *, together: bool) -> Stragglers:
    """Return which nodes are slower than the others by more than so many median absolute deviations.

    ``by_node`` are the statistics of each node, ``together`` says that all nodes run one job. Returned are the
    ``metric`` that was compared, the ``deviations`` asked for, the ``nodes_compared``, their ``median`` (ms), and
    ``nodes``, slowest first: ``node``, ``value`` (ms), ``deviations`` and ``slower`` (a fraction of the median).
    ``step_time_cost`` and ``throughput_cost`` are what the slowest node costs a job whose nodes wait for each other, as
    fractions, of its step time and of its throughput; None where fewer than 2 nodes can be compared. ``message`` says
    all this in words.

    The deviations are scaled by 1.4826 to standard deviations of a normal distribution; a node less than 1 % slower
    than the median is no straggler. Nor is a node that trains by itself, where the median lies within the interval of
    its own: its steps differ more from each other than it does from the others. In one job the nodes wait for each
    other in every step, so that all of them show the pace of the slowest: what differs there is only where the time
    is taken.
    """
    times = {
        node: found[_METRIC]["median"]
        for node, found in by_node.items()
        if _METRIC in found and found[_METRIC]["median"] > 0
    }
    found: Stragglers = {
        "metric": _METRIC,
        "deviations": deviations,
        "nodes_compared": len(times),
        "median": None,
        "nodes": [],
        "step_time_cost": None,
        "throughput_cost": None,
        "message": "",
    }
    if len(times) < 2:
        where = f"only {next(iter(times))}" if times else "no node"
        return {**found, "message": f"Nodes cannot be compared: {where} has counted step times."}
    median = float(np.median(list(times.values())))
    deviation = robust_deviation(np.array(list(times.values())))
    band = max(deviations * deviation, _NEGLIGIBLE * median)
    far: list[Straggler] = [
        {
            "node": node,
            "value": value,
            "deviations": (value - median) / deviation if deviation else None,
            "slower": value / median - 1,
        }
        for node, value in sorted(times.items(), key=lambda item: -item[1])
        if len(times) >= _MIN_NODES and value - median > band
    ]
    intervals = {one["node"]: by_node[one["node"]][_METRIC]["interval"] for one in far}
    slow = [one for one in far if together or ((own := intervals[one["node"]]) and own["low"] > median)]
    slowest = max(times.values())
    found |= {
        "median": median,
        "nodes": slow,
        "step_time_cost": slowest / median - 1,
        "throughput_cost": 1 - median / slowest,
    }
    noisy = [one["node"] for one in far if one not in slow]
    return {**found, "message": _message(found, times, noisy, together=together)}


def _message(found: Stragglers, times: dict[str, float], noisy: list[str], *, together: bool) -> str:
    median, slow = found["median"], found["nodes"]
    if slow:
        named = ", ".join(f"{one['node']} ({one['slower']:.1%} slower)" for one in slow)
        cost = (
            f"{found['step_time_cost']:.1%} of step time and {found['throughput_cost']:.1%} of throughput"
            f"{'' if together else ' in a job over all of these nodes'}"
        )
        return f"Stragglers: {named}, against a median of {median:.6g} ms on {len(times)} nodes. Cost: {cost}."
    spread = max(times.values()) / min(times.values()) - 1
    if together and spread <= _NEGLIGIBLE:
        return (
            f"{all_of(len(times), 'node')} show the same step time, within {spread:.2%}: in one job nodes wait for "
            "each other, so this does not show which one is slow."
        )
    if len(times) < _MIN_NODES:
        return f"Two nodes differ by {spread:.1%} in step time; it takes three to identify the slow one."
    limit = f"No node of {len(times)} is slower than the others by more than {found['deviations']:g} deviations"
    return f"{limit}, except {folded(noisy)}, whose steps vary too much or are too few." if noisy else f"{limit}."
