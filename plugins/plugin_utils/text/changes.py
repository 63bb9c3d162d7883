# SPDX-License-Identifier: GPL-3.0-or-later
"""What a change of a metric says: against earlier runs of the same kind, or against another run."""

from __future__ import annotations

import typing as t

from .sentences import Form

_FROM_TO = ": {after} against {before}"
# ``{than}`` is the other side of the comparison. Sentences about speed do not repeat the name of the metric.
CHANGES: t.Final[dict[str, Form]] = {
    "slower": Form("{size} slower than {than}" + _FROM_TO),
    "faster": Form("{size} faster than {than}" + _FROM_TO),
    "as_fast": Form("as fast as {than}" + _FROM_TO),
    "higher": Form("{metric} {size} higher than in {than}" + _FROM_TO),
    "lower": Form("{metric} {size} lower than in {than}" + _FROM_TO),
    "same": Form("{metric} as in {than}" + _FROM_TO),
    "from_nothing": Form("{metric} {after} against {before} in {than}"),
}
OF_SPEED: t.Final = frozenset({"slower", "faster", "as_fast"})
EARLIER_RUNS: t.Final = "the last {runs:count run} of this kind"
