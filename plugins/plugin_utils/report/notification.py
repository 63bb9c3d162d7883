# SPDX-License-Identifier: GPL-3.0-or-later
"""What a notification says about a run that has ended."""

from __future__ import annotations

import typing as t
from pathlib import Path
from urllib.parse import quote

from ..run.sweep import summary_of
from .essence import essence
from .files import PAGE
from .headline import numbers, open_reasons, telling_failure
from .leads import leads_of
from .text import title_line


def notification(run_dir: Path, problem: str, runs_url: str) -> dict[str, t.Any]:
    """Return the body of a notification: the essence of the summary, with ``text`` and ``report_url`` on top.

    ``text`` is the message for people: verdict and headline, a proven regression or a slow node, what to do after a
    failure or the reasons, and where the report is. ``problem`` is why there is no new report, if so; then the verdict
    is ERROR. ``report_url`` is None without ``runs_url``.
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
