# SPDX-License-Identifier: GPL-3.0-or-later
"""The thresholds of a config as bounds, and the detection of bounds that no run can meet.

Bounds: the expected performance of a run, as stored in the plan.

A bound is a mapping of ``metric`` (canonical), ``kind`` and ``value``::

    {"metric": "tflops_per_gpu", "kind": "min", "value": 300.0}
    {"metric": "step_time_ms", "kind": "max", "value": 500.0, "statistic": "p95"}
    {"metric": "tokens_per_sec_per_gpu", "kind": "within", "value": 12000.0, "tolerance_pct": 5.0}
    {"metric": "tokens_per_sec_per_gpu", "kind": "ratio", "value": 0.95, "reference": 12500.0}

``min`` is at least the value, ``max`` at most, ``within`` no further from the value than the given percentage,
``ratio`` at least this fraction of a reference, which is a number or a metric of the same node, and ``info`` is
reported but never judged. ``statistic`` replaces the metric's own (mean, p05, p95); an ``optional`` metric may be
missing.
"""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Iterator, Mapping

from ....module_utils.logs.record import METRICS
from ...contracts import Bound, Workload
from ...metrics import ROWS, canonical_metric
from ...text.bounds import wanted
from ...text.numbers import exact, name_of, number, unit_of
from ...text.words import key_path
from ..config.findings import Findings
from ..config.key_tables import Row, with_keys
from ..config.model import ConfigSection
from .reading import ConfigReading

KINDS = ("min", "max", "within", "ratio", "info")


def limits(bound: Bound | Mapping[str, t.Any], reference: float | None = None) -> tuple[float | None, float | None]:
    """Return the lowest and the highest value that meet a bound; None if that side is open.

    ``reference`` is the measured value of the metric that a ratio refers to. Without it, neither side is known.
    """
    value, kind = bound["value"], bound["kind"]
    if kind == "min":
        return value, None
    if kind == "max":
        return None, value
    if kind == "within":
        off = abs(value) * bound["tolerance_pct"] / 100
        return value - off, value + off
    if kind == "ratio":
        given = bound["reference"]
        of = reference if isinstance(given, str) else given
        return (None if of is None else value * of), None
    return None, None


def bound_in_words(bound: Bound | Mapping[str, t.Any]) -> str:
    """Return a bound in short words: ``TFLOP/s per GPU ≥ 300``, ``step time (p95) ≤ 500 ms``."""
    kind, statistic = bound["kind"], bound.get("statistic")
    name = name_of(bound["metric"]) + (f" ({statistic})" if statistic else "")
    sign = {"min": "≥ ", "max": "≤ ", "ratio": "≥ "}.get(kind, "")
    return f"{name} {sign}{wanted(bound)}"


def _keys() -> Iterator[tuple[str, Row]]:
    for metric, row in ROWS.items():
        if row.expected:
            unit = "fraction of the whole, 0 to 1" if row.as_percent else unit_of(metric).strip()
            common = {"kind": "Fraction" if row.as_percent else "Number", **({"unit": unit} if unit else {})}
            first, *others = (*row.aliases, metric)
            yield first, {**common, "description": row.expected}
            yield from ((other, {**common, "description": f"The same as {first}."}) for other in others)


@with_keys(dict(_keys()))
class ExpectedResults(ConfigSection):
    """Thresholds of the verdict. Each metric has CVS's name, and the collection's own."""


def expected_in(reading: ConfigReading[t.Any, t.Any], path: str) -> list[Bound]:
    """Return the thresholds at a path as ``metric`` (canonical), ``kind`` (min or max) and ``value``.

    There are none if the run is only recorded, or a thresholds file replaces them. Errors are reported.
    """
    results: ExpectedResults | None = reading.get(path)
    if not reading.options.is_judged:
        return []
    expected: dict[str, Bound] = {}
    for key, value in (results.model_dump(exclude_none=True) if results else {}).items():
        metric = str(canonical_metric(key))
        if metric in expected and expected[metric]["value"] != value:
            reading.findings.fault(
                key_path(reading.key(path), key),
                value,
                f"{key} is {value:g}, but another key for the same metric is {expected[metric]['value']:g}.",
                "Keep one of the two.",
            )
        kind = "min" if METRICS[metric].better == "higher" else "max"
        expected[metric] = {"metric": metric, "kind": kind, "value": value}
    return list(expected.values())


def warn_of_nothing_expected(path: str, findings: Findings) -> None:
    """Warn that a run has no threshold to be judged by."""
    findings.warn(
        path,
        None,
        "NO THRESHOLD IS SET: the run is only recorded; no threshold can fail it, however slow it is.",
        "Set one, for example tokens_per_gpu; if you want none, set training_record_only=true.",
    )


def tflops_behind(metric: str, value: float, workload: Workload) -> float | None:
    """Return the TFLOP/s per GPU that a metric's value implies, or None if unknown.

    Tokens/s and step times are converted with the model FLOPs per token.
    """
    flops, tokens, gpus = workload["model_flops_per_token"], workload["tokens_per_step"], workload["gpus"]
    if metric == "tflops_per_gpu":
        return value
    if metric == "tokens_per_sec_per_gpu" and flops:
        return float(flops * value / 1e12)
    if metric == "step_time_ms" and flops and tokens and value > 0:
        return float(flops * tokens / gpus / (value / 1e3) / 1e12)
    return None


def warn_of_impossible(expected: Iterable[Bound], key: str, workload: Workload, gpu: str, findings: Findings) -> None:
    """Warn of each bound above the peak of the accelerators in the precision of the run.

    ``key`` is the key of the bounds.
    """
    peak = workload["peak_tflops_per_gpu"]
    for bound in expected:
        least, greatest = limits(bound)
        asked = greatest if bound["metric"] == "step_time_ms" else least
        needed = tflops_behind(bound["metric"], asked, workload) if asked is not None else None
        if peak and needed is not None and needed > peak:
            behind = ":" if bound["metric"] == "tflops_per_gpu" else f". It takes {number(needed)} TFLOP/s per GPU, and"
            findings.warn(
                key_path(key, bound["metric"]),
                bound["value"],
                f"{bound_in_words(bound)} is impossible{behind} the peak of {gpu} in {workload['precision']} is "
                f"{exact(peak)} TFLOP/s.",
                "Fix the threshold or the precision.",
            )
