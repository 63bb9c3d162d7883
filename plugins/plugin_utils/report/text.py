# SPDX-License-Identifier: GPL-3.0-or-later
"""A verdict for people: what a terminal shows at the end of a run."""

from __future__ import annotations

import json
import textwrap
import typing as t
from pathlib import Path

from .files import HISTORY, SUMMARY
from .ledger_rows import ledger_lines
from .messages import echoes_of, messages_of
from .readable import retry_label

_WIDTH = 118
_EVIDENCE_LINES = 5


def verdict_lines(page: str) -> list[str]:
    """Return the verdict of the report whose page is given, its reasons, the ledger, the first failure, the page."""
    folder = Path(page).parent
    summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    history = json.loads((folder / HISTORY).read_text(encoding="utf-8")) if (folder / HISTORY).exists() else {}
    rehearsal = "REHEARSAL " if summary["rehearsal"] else ""
    attempt = f" ({retry_label(summary['retry'])})" if summary.get("retry") else ""
    lines = [f"{rehearsal}{summary['verdict']}{attempt}  {summary['run_id']}"]
    lines += [f"  {message}" for message in messages_of(summary["reasons"])]
    lines += [f"  · {message}" for message in (*messages_of(summary["notes"]), *history.get("notes", ()))]
    lines += ledger_lines(summary["ledger"])
    if summary["first_failure"]:
        lines += _failure(summary["first_failure"])
    return [*lines, f"Report: {page}"]


def _failure(failure: dict[str, t.Any]) -> list[str]:
    rank = "" if failure["node_rank"] is None else f" (node rank {failure['node_rank']})"
    lines = [f"First failure: {failure['node']}{rank}, {failure['class']}", f"  {failure['message']}"]
    if failure["evidence"]:
        lines += ["  Last seen:"]
        lines += [f"  | {textwrap.shorten(line, _WIDTH)}" for line in failure["evidence"][-_EVIDENCE_LINES:]]
    lines += [f"  What to do: {failure['remedy']}"]
    return lines + [f"  Followed by: {nodes}, {name}" for nodes, name in echoes_of(failure["echoes"], "class")]
