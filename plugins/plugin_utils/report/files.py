# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a report in the run's folder; who only reads them needs no pandas for it."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

RECORDS, SUMMARY, PAGE = "records.csv", "summary.json", "report.html"
SUMMARY_ROW, METRICS_TABLE = "summary.csv", "metrics.csv"
HISTORY, TELEMETRY = "history.json", "telemetry.csv"


def json_text(value: t.Any) -> str:
    """Return a value as the text of a JSON file, which has no NaN."""
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def says(path: Path, text: str) -> bool:
    """Return whether a file says this already."""
    return path.exists() and path.read_text(encoding="utf-8") == text
