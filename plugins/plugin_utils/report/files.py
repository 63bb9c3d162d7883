# SPDX-License-Identifier: GPL-3.0-or-later
"""What the files of a report are called in the run's folder; who only reads them needs no pandas for it."""

from __future__ import annotations

RECORDS, SUMMARY, PAGE = "records.csv", "summary.json", "report.html"
SUMMARY_ROW, METRICS_TABLE = "summary.csv", "metrics.csv"
HISTORY = "history.json"
