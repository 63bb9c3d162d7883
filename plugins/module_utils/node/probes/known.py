# SPDX-License-Identifier: GPL-3.0-or-later
"""The probes that there are: whether each is of a node or of a pair, and how many seconds it takes at most."""

from __future__ import annotations

import typing as t


class Probe(t.NamedTuple):
    """A probe by its name."""

    name: str
    of_pairs: bool
    seconds: float


PROBES = (
    Probe("cpu", of_pairs=False, seconds=5),
    Probe("memory", of_pairs=False, seconds=10),
    Probe("tcp", of_pairs=True, seconds=10),
)
NAMES = tuple(probe.name for probe in PROBES)
