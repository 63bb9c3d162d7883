# SPDX-License-Identifier: GPL-3.0-or-later
"""What several measurements of a node say together: all its readings in a test, and all its tests.

Healthy nodes differ, and in each reading another one is the last. So the means of nodes lie nearer to each other than
their single readings do, while a node that is slow in all of them is as far off as before. If the same nodes are last
in all readings, their means differ as much as the readings do, and prove as little.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .measured import Measured, Stage, Unit
from .robust import spread

MEAN = "mean_of_readings"
_PART = "all readings"
_LEAST_READINGS = 2


def with_means(measured: Sequence[Measured]) -> list[Measured]:
    """Return the measurements, and for each test of a node by itself the mean of its readings.

    The less good nodes differ in a reading, the more it counts.
    """
    singles = [one for one in measured if len(one.nodes) == 1 and one.samples]
    costs: dict[str, list[float]] = {}
    for one in singles:
        if one.stage == "sweep":
            costs.setdefault(one.probe, []).append(one.cost)
    if len(costs) < _LEAST_READINGS:
        return list(measured)
    usual = {probe: statistics.median(found) for probe, found in costs.items()}
    weight = {probe: 1 / spread(np.array(found)) for probe, found in costs.items()}
    done: Counter[tuple[str, Unit, Stage]] = Counter()
    tests: dict[tuple[str, Stage, int], list[tuple[float, float]]] = {}
    for one in singles:
        reading = (one.probe, one.link, one.stage)
        if one.probe in usual:
            # The same reading of a node comes once in each of its tests.
            test = tests.setdefault((one.nodes[0], one.stage, done[reading]), [])
            test.append((weight[one.probe], one.cost - usual[one.probe]))
        done[reading] += 1
    means = {test: sum(by * w for w, by in found) / sum(w for w, _by in found) for test, found in tests.items()}
    return [
        *measured,
        *(Measured(MEAN, _PART, (node,), (math.exp(mean),), stage) for (node, stage, _number), mean in means.items()),
    ]


def over_tests(measured: Sequence[Measured]) -> tuple[list[Measured], set[str]]:
    """Return the measurements, and the readings that all nodes repeated alike; there the mean stands for the sweep.

    What all nodes take more in one of the tests is no part of it.
    """
    costs: dict[str, dict[Unit, list[float]]] = {}
    for one in measured:
        if len(one.nodes) == 1 and one.samples:
            costs.setdefault(one.probe, {}).setdefault(one.link, []).append(one.cost)
    means: dict[tuple[str, Unit], float] = {}
    for probe, of_probe in costs.items():
        counts = {len(tests) for tests in of_probe.values()}
        if len(counts) == 1 and counts != {1}:
            table = np.array(list(of_probe.values()))
            usual = np.median(table, axis=0)
            of_units = (table - usual).mean(axis=1) + usual[0]
            means.update(((probe, unit), float(mean)) for unit, mean in zip(of_probe, of_units, strict=True))
    found = [
        replace(one, samples=(math.exp(means[one.probe, one.link]),))
        if one.stage == "sweep" and (one.probe, one.link) in means
        else one
        for one in measured
    ]
    return found, {probe for probe, _unit in means}
