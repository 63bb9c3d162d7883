# SPDX-License-Identifier: GPL-3.0-or-later
"""The thresholds of a run: ``result_dict`` of a CVS training config."""

from __future__ import annotations

import typing as t

from ....module_utils.logs.record import METRICS, canonical_metric
from ...contracts import Bound
from ...text.words import key_path
from ..config.fields import ConfigSection
from ..config.findings import Findings
from ..config.key_tables import read_tables, with_keys
from .reading import ConfigReading


@with_keys(read_tables(__file__)["result_dict"])
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
