# SPDX-License-Identifier: GPL-3.0-or-later
"""How much slower something is, in words: never a percentage above 1,000, which nobody can picture."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping, Sequence

_MINUS = "\N{MINUS SIGN}"
# As a fraction; beyond this, only the order of magnitude matters.
_MOST = 10.0
_AT_MOST = "more than 1,000 %"
_TEN_TIMES = "more than ten times"
_PROBES = {"mean_of_readings": "the mean of all readings"}


def probe_in_words(probe: str) -> str:
    """Return a probe's name in a sentence: the mean of all readings is one, too."""
    return _PROBES.get(probe, probe)


def slower(by: float, digits: int = 1) -> str:
    """Return a fraction as ``31.0 % slower``."""
    return f"{_TEN_TIMES} slower" if by > _MOST else f"{100 * by:.{digits}f} % slower"


def longer(by: float) -> str:
    """Return a fraction after "took": ``31.0 % longer``."""
    return f"{_TEN_TIMES} as long" if by > _MOST else f"{100 * by:.1f} % longer"


def times(by: float) -> str:
    """Return a factor: ``1.31 times``."""
    return f"{_TEN_TIMES}" if by > _MOST else f"{by:.3g} times"


def bounds(interval: Sequence[float]) -> str:
    """Return the interval of such a fraction in brackets: `` (30.0 to 33.0 %)``.

    It is empty for an interval that is entirely too large, or that is a single number as printed.
    """
    low, high = (f"{100 * by:.1f}" for by in interval)
    if interval[0] > _MOST or low == high:
        return ""
    return f" (at least {low} %)" if interval[1] > _MOST else f" ({low} to {high} %)"


def at_most(by: float, digits: int = 0) -> str:
    """Return a fraction in percent: ``45 %``."""
    return _AT_MOST if by > _MOST else f"{100 * by:.{digits}f} %"


def signed(by: float) -> str:
    """Return a change in percent with its sign: ``+2.1 %``."""
    if by > _MOST:
        return _AT_MOST
    text = f"{100 * by:+.1f}"
    return f"{'0.0' if text == '-0.0' else text.replace('-', _MINUS)} %"


def sizes_in_words(sizes: Iterable[Mapping[str, float | None]]) -> str:
    """Return how much longer groups of other sizes take than the smallest groups: ``8 nodes +2.1 %``."""
    return ", ".join(f"{one['nodes']} nodes {_size(one['slower_by'])}" for one in sizes)


def _size(by: float | None) -> str:
    return "failed" if by is None else longer(by) if by > _MOST else f"{100 * by:+.1f} %".replace("-", _MINUS)


def percents_in_words(fractions: Mapping[str, float]) -> str:
    """Return a fraction for each probe in percent, to one digit: ``0.5 % (cpu), 1.2 % (memory)``."""
    return ", ".join(f"{at_most(by, 1)} ({probe_in_words(probe)})" for probe, by in fractions.items())


def last_in_words(last: Iterable[Mapping[str, t.Any]]) -> str:
    """Return by how much the last node is slower than usual in each probe: ``gpu07 +1.2 % (cpu)``."""
    return ", ".join(f"{one['node']} {signed(one['slower_by'])} ({probe_in_words(one['probe'])})" for one in last)


def proofs_in_words(proofs: Mapping[str, float]) -> str:
    """Return the smallest fraction of each probe that proves a node slow: ``3 % (cpu), 5 % (memory)``."""
    return ", ".join(f"{at_most(by)} ({probe_in_words(probe)})" for probe, by in proofs.items())


def failed_probes(probes: Iterable[Mapping[str, str]]) -> str:
    """Return which probes failed, on all nodes or between them."""
    return ", ".join(f"{one['probe']} failed {'on' if one['of'] == 'nodes' else 'between'} all nodes" for one in probes)
