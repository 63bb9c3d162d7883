# SPDX-License-Identifier: GPL-3.0-or-later
"""A verdict for people: the lines for a terminal at the end of a run, and the text of a notification."""

from __future__ import annotations

import json
import re
import textwrap
import typing as t
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from ..contracts import FirstFailure, Summary
from ..run.blame import nobody_is_blamed, origin_of
from ..run.sweep import summary_of
from ..text.failures import named_in_words
from .essence import essence
from .failures import causes_of_no_start, echoes_of, messages_of, never_began, others_in_words, remedy_of_all
from .files import HELP, HISTORY, PAGE, SUMMARY
from .headline import fleet, headline, headline_of, numbers, open_reasons, telling_failure
from .leads import leads_of, notes_of, survived_faults, unusual_lines
from .node_rows import ledger_lines, whole_in_words
from .readable import duration, retry_label

_WIDTH = 118
# As many log lines as a reader takes in at a glance; the page has more.
_EVIDENCE_LINES, _ALL_LINES = 3, 20
_STEP = re.compile(r"\b(?:iteration|step)\b\W*\d+.*\bloss\b", re.IGNORECASE)


class Line(t.NamedTuple):
    """A line for a terminal, and its kind: ``verdict`` is the first line, ``warning`` must not be missed."""

    text: str
    tone: t.Literal["verdict", "warning", ""] = ""


def verdict_lines(page: str, *, verbose: bool = False) -> list[Line]:
    """Return the verdict of a report, given by its page, most important lines first.

    The first line has the verdict, and the cause or the achievement. Then come a failure and its remedy, a proven
    regression or slow nodes, the reasons, the numbers, the evidence in a line, help unless the run passed, and last the
    page. ``verbose`` adds the reasons of a PASS, the evidence by row, and all last lines of the logs.
    """
    folder = Path(page).parent
    summary: Summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    history = json.loads((folder / HISTORY).read_text(encoding="utf-8")) if (folder / HISTORY).exists() else {}
    lines = [Line(title_line(summary), "verdict")]
    if failure := telling_failure(summary):
        lines += map(Line, _failure(summary, failure, verbose=verbose))
    elif remedy := remedy_of_all(summary):
        lines.append(Line(f"  What to do: {remedy}"))
    lines += [Line(f"  {lead.strong} {lead.rest}".rstrip(), "warning") for lead in leads_of(summary)]
    lines += [Line(f"  {message}") for message, _code in open_reasons(summary)]
    lines += [Line(f"  {text}") for text in _numbers(summary)]
    notes = [*notes_of(summary), *([] if never_began(summary) else history.get("notes", ()))]
    lines += [Line(f"  · {message}") for message in notes]
    if verbose:
        lines += map(Line, _more(summary))
    elif summary["ledger"] and not never_began(summary):
        lines.append(Line(f"  {whole_in_words(summary)}."))
    if summary["verdict"] != "PASS":
        lines.append(Line(f"Help: {HELP}"))
    return [*lines, Line(f"Report: {page}")]


def title_line(summary: Summary) -> str:
    """Return the verdict, the run and its headline in one line."""
    rehearsal = "REHEARSAL " if summary["rehearsal"] else ""
    retry = summary.get("retry")
    attempt = f" ({retry_label(retry)})" if retry else ""
    return f"{rehearsal}{summary['verdict']}{attempt}  {summary['run_id']}: {headline(summary)}"


def _numbers(summary: Summary) -> list[str]:
    where = fleet(summary)
    found = [*numbers(summary), *([] if "fleet" in headline_of(summary).tells else [where])]
    lasted = duration(summary["started_at"], summary["ended_at"])
    return [", ".join([*found, *([lasted] if lasted else [])])]


def _failure(summary: Summary, failure: FirstFailure, *, verbose: bool) -> list[str]:
    evidence = failure["evidence"]
    blamed, is_known = not nobody_is_blamed(failure), origin_of(failure) != "unknown"
    shown = evidence[-_ALL_LINES:] if verbose else decisive_lines(failure) if is_known else []
    lines = [f"  | {textwrap.shorten(line, _WIDTH)}" for line in shown]
    if not causes_of_no_start(summary) and not is_shown_by(shown, failure):
        lines.insert(0, f"  {failure['message']}")
    lines += [f"  {named}"] if (named := named_in_words(failure.get("named", {}))) else []
    lines.append(f"  What to do: {failure['remedy']}")
    others = others_in_words(summary)
    lines += [f"  {others}"] if others else []
    if verbose and blamed and not never_began(summary):
        lines += [f"  Followed by: {nodes}, {name}: {text}" for nodes, name, text in _echoes(failure)]
    return lines


def is_shown_by(lines: Sequence[str], failure: FirstFailure) -> bool:
    """Return whether lines of a log show everything known about a failure: its line, with nothing inferred."""
    return "case" not in failure and any(_has(line, failure) for line in lines)


def _has(line: str, failure: FirstFailure) -> bool:
    """Return whether a log line contains a failure's line, even with different whitespace."""
    shown = failure.get("line")
    return bool(shown) and str(shown).rstrip(".") in " ".join(line.split())


def decisive_lines(failure: FirstFailure, most: int = _EVIDENCE_LINES) -> list[str]:
    """Return the few lines of a log that show a failure: its line and the lines around it.

    Steps before the failure are left out, and so are blank lines.
    """
    lines = [line for line in failure["evidence"] if line.strip()]
    at = next((place for place, line in enumerate(lines) if _has(line, failure)), None)
    if at is None:
        telling = [line for line in lines if not _STEP.search(line)]
        # If a run only went silent, the last step is the only evidence.
        return telling[-most:] if lines and telling and telling[-1] == lines[-1] else lines[-1:]
    end = min(len(lines), max(at + 2, most))
    begin = max(0, end - most)
    before = [line for line in lines[begin:at] if not _STEP.search(line)]
    return before + lines[max(at, begin) : end]


def _echoes(failure: FirstFailure) -> list[tuple[str, ...]]:
    return echoes_of(failure["echoes"], "class", "message")


def _more(summary: Summary) -> list[str]:
    if never_began(summary):
        return []
    lines = [f"  {message}" for message in messages_of(summary["reasons"])]
    lines += [f"  Survived: {row['node']}, {row['class']}: {row['line']}" for row in survived_faults(summary)]
    for nodes, last in unusual_lines(summary):
        lines += [f"  Unusual last lines of {nodes}:", *(f"  | {textwrap.shorten(line, _WIDTH)}" for line in last)]
    return lines + ledger_lines(summary["ledger"])


def notification(run_dir: Path, problem: str, runs_url: str) -> dict[str, t.Any]:
    """Return the body of a notification: the essence of the summary, with ``text`` and ``report_url`` on top.

    ``text`` is the message for people: verdict and headline, a proven regression or a slow node, what to do after a
    failure or the reasons, and where the report is. ``problem`` says why there is no new report, if so; then the
    verdict is ERROR. ``report_url`` is None without ``runs_url``.
    """
    summary = None if problem else summary_of(run_dir)
    if summary is None:
        said = problem or "the run was not judged"
        return {"text": f"ERROR  {run_dir.name}\n{said}", "run_id": run_dir.name, "verdict": "ERROR", "reasons": [said]}
    url = f"{runs_url.rstrip('/')}/{quote(f'{run_dir.name}/{PAGE}')}" if runs_url else None
    report = str(run_dir / PAGE)
    failure = telling_failure(summary)
    lines = [title_line(summary)]
    if failure:
        lines += [failure["message"], f"What to do: {failure['remedy']}"]
    lines += [f"{lead.strong} {lead.rest}".rstrip() for lead in leads_of(summary)]
    lines += [message for message, _code in open_reasons(summary)]
    if found := numbers(summary):
        lines.append(", ".join(found))
    return {
        "text": "\n".join([*lines, f"Report: {url or report}"]),
        **essence(summary, report),
        "report_url": url,
    }
