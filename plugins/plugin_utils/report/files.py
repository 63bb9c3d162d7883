# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a report in the run's folder; reading them needs no pandas."""

from __future__ import annotations

import csv
import io
import json
import re
import typing as t
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

RECORDS, SUMMARY, PAGE = "records.csv", "summary.json", "report.html"
SUMMARY_ROW, METRICS_TABLE = "summary.csv", "metrics.csv"
HISTORY, TELEMETRY = "history.json", "telemetry.csv"
# In the folder of all runs.
INDEX, NODES_PAGE = "index.html", "nodes.html"
# The folder of all isolations there, and in it the folder of their measurements.
ISOLATIONS, PROBES = "isolation", "history"
# The page for everybody whose run did not pass.
HELP = "https://github.com/trainops/cluster/blob/main/docs/howto_failed_run.md"
_FORMULA = re.compile(r"[=@]|[+-](?![\d.]+$)")


def json_text(value: t.Any) -> str:
    """Return a value as the text of a JSON file, which has no NaN."""
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def csv_text(columns: Collection[str], rows: Iterable[Mapping[str, t.Any]]) -> str:
    """Return rows as the text of a CSV file with a header; None and missing values are empty.

    A text that a spreadsheet would take for a formula gets a leading apostrophe.
    """
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({column: _no_formula(value) for column, value in row.items()} for row in rows)
    return stream.getvalue()


def _no_formula(value: t.Any) -> t.Any:
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def says(path: Path, text: str) -> bool:
    """Return whether a file has this content already."""
    return path.exists() and path.read_text(encoding="utf-8") == text
