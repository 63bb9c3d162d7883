# SPDX-License-Identifier: GPL-3.0-or-later
"""The sentences of a comparison: how a metric changed, whether runs can be compared, their differences, and the tests.

Codes are public.
"""

from __future__ import annotations

import typing as t

from ..contracts import Reason
from .sentences import Form, filled, sentence

_REHEARSAL = "a rehearsal, in which a toy model trains on CPUs"
_JUDGED = "judged from {runs} runs of the same kind"
_PREDICTION = (
    "noise is where {what} would fall with 95 % probability, "
    + _JUDGED
    + "{together} (prediction interval, Student's t)"
)
_WHAT = {"": "one more run", "second_run": "a second run"}
_RANKS = "Mann–Whitney test, by {method}, of {before} and {after} runs, p = {p:.2g}"
_METHODS = {"": "permutation", "approximation": "normal approximation"}

_FROM_TO = ": {after} against {before}"
# ``{than}`` is the other side of the comparison. Sentences about speed omit the name of the metric.
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


COMPARISON: t.Final[dict[str, dict[str, Form]]] = {
    # Why the numbers of two runs cannot be compared.
    "not_comparable": {
        "rehearsal": Form(
            f"{{run_id}} is {_REHEARSAL}: it says nothing about {{model}} on {{gpu}}, and its numbers cannot be "
            "compared."
        ),
        "models": Form("The two trained different models, {models:and}: their numbers cannot be compared."),
    },
    # Two runs can be compared, but a reader has to know this about their numbers.
    "rehearsals": {"": Form("Both are rehearsals, in which a toy model trains on CPUs.")},
    "recorded_only": {"": Form("{run_ids:and} had no thresholds: the speed was recorded, not judged.")},
    "sizes_differ": {"": Form("The two differ in {sizes:size_pairs}.")},
    "older": {"": Form("{run_id} is the older one.")},
    # How a change was tested.
    "too_few_runs": {
        "": Form("{runs:count earlier run} of the same kind; {needed} are needed to know the usual spread of runs"),
        "none": Form("no earlier run of the same kind; {needed} are needed to know the usual spread of runs"),
    },
    "prediction_interval": {
        "_".join(filter(None, (case, together))): Form(_PREDICTION.replace("{what}", what).replace("{together}", more))
        for case, what in _WHAT.items()
        for together, more in (("", ""), ("together", " and {tests} metrics together"))
    },
    "too_few_to_differ": {"": Form("{before} and {after} runs: even the clearest difference would be within noise")},
    "mann_whitney": {
        "_".join(filter(None, (case, together))): Form(_RANKS.replace("{method}", method) + more)
        for case, method in _METHODS.items()
        for together, more in (("", ""), ("together", ", corrected for {tests} tests at once"))
    },
    # A setting of the nodes.
    "setting": {
        kind + places: Form(text + where)
        for kind, text in (
            ("added", "+ {name}={after}"),
            ("removed", "− {name}={before}"),
            ("changed", "{name}: {before} → {after}"),
        )
        for places, where in (
            ("", ""),
            ("_in_place", " (place {places:all_listed})"),
            ("_in_places", " (places {places:all_listed})"),
        )
    },
}
# Whether a change is real, by its outcome.
OUTCOMES: t.Final = {
    "real change": "This is a real change, not noise.",
    "within noise": "This is within noise.",
    "not known": "Not known to be real: {test}.",
}


def comparison_finding(code: str, case: str = "", **values: t.Any) -> Reason:
    """Return a finding of a comparison with its sentence."""
    finding: Reason = {"code": code, "message": "", "values": values}
    if case:
        finding["case"] = case
    return {**finding, "message": sentence(COMPARISON, finding)}


def outcome_in_words(outcome: str, test: str) -> str:
    """Return whether a change is real, as a sentence."""
    return filled(OUTCOMES[outcome], {"test": test})
