"""The message of each finding of a comparison."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.compare_write import SIZES
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.history import NOISE, REAL, UNKNOWN
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.comparison import (
    COMPARISON,
    OUTCOMES,
    comparison_finding,
    outcome_in_words,
)

_TWO = {"before": 5, "after": 4}
_SETTING = {"name": "X", "before": "1", "after": "2", "places": [1, 3]}
_NOISE = (
    "noise is where {} would fall with 95 % probability, judged from 7 runs of the same kind{} (prediction interval, "
)
_NOISE += "Student's t)"
_NEEDED = "5 are needed to know the usual spread of runs"
ROWS: tuple[tuple[str, str, dict[str, t.Any], str], ...] = (
    (
        "not_comparable",
        "rehearsal",
        {"run_id": "toy", "model": "llama", "gpu": "mi300x"},
        "toy is a rehearsal, in which a toy model trains on CPUs: it says nothing about llama on mi300x, and its "
        "numbers cannot be compared.",
    ),
    (
        "not_comparable",
        "models",
        {"models": ["llama", "mixtral"]},
        "The two trained different models, llama and mixtral: their numbers cannot be compared.",
    ),
    ("rehearsals", "", {}, "Both are rehearsals, in which a toy model trains on CPUs."),
    (
        "recorded_only",
        "",
        {"run_ids": ["a", "b"]},
        "a and b had no thresholds: the speed was recorded, not judged.",
    ),
    (
        "sizes_differ",
        "",
        {"sizes": {"gpu": ["mi300x", "h100"], "nnodes": [2, None]}},
        "The two differ in GPU (mi300x and h100), nodes (2 and unknown).",
    ),
    ("older", "", {"run_id": "b"}, "b is the older one."),
    ("too_few_runs", "", {"runs": 1, "needed": 5}, f"1 earlier run of the same kind; {_NEEDED}"),
    ("too_few_runs", "none", {"runs": 0, "needed": 5}, f"no earlier run of the same kind; {_NEEDED}"),
    ("prediction_interval", "", {"runs": 7}, _NOISE.format("one more run", "")),
    ("prediction_interval", "second_run", {"runs": 7}, _NOISE.format("a second run", "")),
    (
        "prediction_interval",
        "together",
        {"runs": 7, "tests": 3},
        _NOISE.format("one more run", " and 3 metrics together"),
    ),
    (
        "prediction_interval",
        "second_run_together",
        {"runs": 7, "tests": 3},
        _NOISE.format("a second run", " and 3 metrics together"),
    ),
    ("too_few_to_differ", "", _TWO, "5 and 4 runs: even the clearest difference would be within noise"),
    ("mann_whitney", "", {**_TWO, "p": 0.0286}, "Mann–Whitney test, by permutation, of 5 and 4 runs, p = 0.029"),
    (
        "mann_whitney",
        "together",
        {**_TWO, "p": 0.0286, "tests": 2},
        "Mann–Whitney test, by permutation, of 5 and 4 runs, p = 0.029, corrected for 2 tests at once",
    ),
    (
        "mann_whitney",
        "approximation",
        {**_TWO, "p": 0.0286},
        "Mann–Whitney test, by normal approximation, of 5 and 4 runs, p = 0.029",
    ),
    (
        "mann_whitney",
        "approximation_together",
        {**_TWO, "p": 0.0286, "tests": 2},
        "Mann–Whitney test, by normal approximation, of 5 and 4 runs, p = 0.029, corrected for 2 tests at once",
    ),
    *(
        ("setting", kind + suffix, {**_SETTING, "places": places}, said + where)
        for kind, said in (("added", "+ X=2"), ("removed", "− X=1"), ("changed", "X: 1 → 2"))
        for suffix, places, where in (
            ("", None, ""),
            ("_in_place", [3], " (place 3)"),
            ("_in_places", [1, 3], " (places 1, 3)"),
        )
    ),
)


@pytest.mark.parametrize(("code", "case", "values", "said"), ROWS)
def test_what_a_finding_says(code: str, case: str, values: dict[str, t.Any], said: str) -> None:
    assert comparison_finding(code, case, **values)["message"] == said


def test_each_finding_is_shown() -> None:
    assert {row[:2] for row in ROWS} == {(code, case) for code, cases in COMPARISON.items() for case in cases}


def test_each_size_has_a_name() -> None:
    finding = comparison_finding("sizes_differ", sizes={name: [1, 2] for name in SIZES})
    assert finding["message"].count("(1 and 2)") == len(SIZES)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (REAL, "This is a real change, not noise."),
        (NOISE, "This is within noise."),
        (UNKNOWN, "Not known to be real: 2 earlier runs."),
    ],
)
def test_whether_a_change_is_real(outcome: str, said: str) -> None:
    assert outcome in OUTCOMES
    assert outcome_in_words(outcome, "2 earlier runs") == said
