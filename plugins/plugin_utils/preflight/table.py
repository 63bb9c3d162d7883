# SPDX-License-Identifier: GPL-3.0-or-later
"""A preflight for people: one table, node × check, and below it every red or yellow check, its reason and its fix."""

from __future__ import annotations

import textwrap
import typing as t

from ..text.folding import told
from ..text.nodes import alike, folded, nameless
from ..text.preflight import REASONS
from ..text.sentences import MOST_PAIRS
from ..text.words import as_sentence, counted
from .cells import GREEN, GREY, RED, YELLOW
from .check_settings import SETTINGS
from .checks import CHECKS

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..contracts import Preflight, PreflightRow, Reason

    Paint = Callable[[str, str], str]
    _Key = t.Literal["check", "found"]

_WIDTH = 118
_LABEL_WIDTH = 32
_VALUE_WIDTH = 56
_SHOWN_OF_A_CHECK = 8
# The code of a node without GPUs if no setting says how many there should be.
_NO_GPU = "no_gpu"
# The code of a setting that is for other hardware; there is nothing to judge.
_NOT_USED = "setting_not_used"
_MARKS = {GREEN: "ok", YELLOW: "slow", RED: "RED", GREY: "–"}


def preflight_text(of: str, result: Preflight, paint: Paint = lambda text, _: text) -> str:
    """Return rows and proposals of a preflight as lines of text; ``of`` is its subject.

    Nodes with the same results share a line. ``paint`` takes a word and the status that it reports, and returns it
    coloured.
    """
    rows = result["rows"]
    blocks = [
        f"Preflight of {of}",
        _table(rows, paint),
        _reasons(rows, RED, paint),
        _reasons(rows, YELLOW, paint),
        _in_common(rows),
        _greys(rows),
        _proposals(result["proposals"]),
        _sentence(rows, paint),
    ]
    return "\n\n".join(block for block in blocks if block)


def _nodes(rows: Sequence[PreflightRow]) -> list[str]:
    return list(dict.fromkeys(row["node"] for row in rows))


def _table(rows: Sequence[PreflightRow], paint: Paint) -> str:
    # What is grey everywhere is reported below; a column of it would only widen the table.
    checks = [check for check in CHECKS if any(row["status"] != GREY for row in rows if row["check"] == check)]
    status = {(row["node"], row["check"]): row["status"] for row in rows}
    alike: dict[tuple[str | None, ...], list[str]] = {}
    for node in _nodes(rows):
        alike.setdefault(tuple(status.get((node, check)) for check in checks), []).append(node)
    labels = {marks: _shortened(folded(nodes), _LABEL_WIDTH) for marks, nodes in alike.items()}
    label_width = max(map(len, labels.values()))
    lines: list[str] = []
    # In as many parts as it takes for each to fit the width.
    for header in textwrap.wrap("  ".join(checks), _WIDTH - label_width - 2) or [""]:
        lines += ["", f"{'':<{label_width}}  {header}"] if lines else [f"{'':<{label_width}}  {header}"]
        for marks, label in labels.items():
            found = dict(zip(checks, marks, strict=True))
            cells = (_mark(found[check], len(check), paint) for check in header.split())
            lines.append(f"{label:<{label_width}}  {'  '.join(cells)}".rstrip())
    return "\n".join(lines)


def _mark(status: str | None, width: int, paint: Paint) -> str:
    if status is None:
        return " " * width
    mark = _MARKS[status]
    return paint(mark, status) + " " * (width - len(mark))


def _reasons(rows: Sequence[PreflightRow], status: str, paint: Paint) -> str:
    """Return why cells have a status, red or yellow, and what to do about each."""
    lines: list[str] = []
    for check in CHECKS:
        of_check = [row for row in rows if row["status"] == status and row["check"] == check]
        reasons = _folded_reasons(of_check)
        for reason, remedies, nodes in reasons[:_SHOWN_OF_A_CHECK]:
            lines += [
                f"{paint(check, status)} on {folded(nodes)}",
                *_wrapped(as_sentence(reason)),
                *(line for remedy in remedies for line in _wrapped(f"→ {remedy}")),
            ]
        if more := len(reasons) - _SHOWN_OF_A_CHECK:
            lines += [f"{paint(check, status)} on other nodes: {more} more reasons"] if more > 0 else []
    return "\n".join(lines)


def _folded_reasons(red: Sequence[PreflightRow]) -> list[tuple[str, list[str], tuple[str, ...]]]:
    """Return reason, remedies and nodes of cells of a check; nodes with the same reason share one."""
    of_node = {row["node"]: row for row in red}
    reasons = told(REASONS, [_finding(row) for row in red])
    return [(one.message, _remedies([of_node[node] for node in one.nodes]), one.nodes) for one in reasons]


def _finding(row: PreflightRow) -> Reason:
    finding: Reason = {"code": row["code"], "node": row["node"], "values": row["values"], "message": row["reason"]}
    return {**finding, "case": row["case"]} if row["case"] else finding


def _remedies(red: Sequence[PreflightRow]) -> list[str]:
    """Return the fixes for cells; if they differ, each with its nodes."""
    same: dict[str, list[PreflightRow]] = {}
    for row in red:
        same.setdefault(alike(nameless(row["command"], row["node"])), []).append(row)
    if len(same) == 1:
        return [red[0]["command"]]
    remedies = [f"on {folded(row['node'] for row in rows)}: {rows[0]['command']}" for rows in same.values()]
    more = len(remedies) - MOST_PAIRS
    return remedies[:MOST_PAIRS] + ([f"and so on for {more} more"] if more > 0 else [])


def _grouped(rows: Sequence[PreflightRow], status: str, *keys: _Key) -> dict[tuple[str, ...], list[str]]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        if row["status"] == status:
            groups.setdefault(tuple(row[key] for key in keys), []).append(row["node"])
    return groups


def _in_common(rows: Sequence[PreflightRow]) -> str:
    """Return the findings of the checks that are green on all nodes, but for settings, which are as they should be."""
    count = len(_nodes(rows))
    groups = _grouped([row for row in rows if row["check"] not in SETTINGS], GREEN, "check", "found")
    parts = [f"{check}: {_shortened(found, _VALUE_WIDTH)}" for (check, found), on in groups.items() if len(on) == count]
    return _paragraph("The same on all nodes", parts) if count > 1 else ""


def _greys(rows: Sequence[PreflightRow]) -> str:
    nodes = _nodes(rows)
    by_reason: dict[tuple[str, str], list[str]] = {}
    judged = [row for row in rows if row["code"] != _NOT_USED]
    for (check, found), on in _grouped(judged, GREY, "check", "found").items():
        where = "" if on == nodes else f" on {_shortened(folded(on), _LABEL_WIDTH)}"
        by_reason.setdefault((found, where), []).append(check)
    parts = [f"{', '.join(checks)}{where}: {found}" for (found, where), checks in by_reason.items()]
    return _paragraph("Not judged (–)", parts)


def _proposals(proposals: Mapping[str, str | int]) -> str:
    return _paragraph("Proposed for the config", [f"{key}: {value}" for key, value in proposals.items()])


def _paragraph(title: str, parts: Sequence[str]) -> str:
    return "\n".join([title, *(line for part in parts for line in _wrapped(part))]) if parts else ""


def _sentence(rows: Sequence[PreflightRow], paint: Paint) -> str:
    nodes = _nodes(rows)
    reds = [row for row in rows if row["status"] == RED]
    bare = [row["node"] for row in rows if row["check"] == "gpus" and row["code"] == _NO_GPU]
    if bare and not reds:
        return (
            f"Nothing is red on {counted(len(nodes), 'node')}, but no GPU was found on {folded(bare)}, and nothing "
            "says how many there should be. To have that checked, set training_gpus_per_node and training_gpu in the "
            "inventory, or give a training config."
        )
    slow = [row for row in rows if row["status"] == YELLOW]
    if not reds and slow:
        settings = ", ".join(dict.fromkeys(row["check"] for row in slow))
        where = f"{len(_nodes(slow))} of {counted(len(nodes), 'node')}"
        return paint(f"Ready: nothing is red, but these settings cost speed on {where}: {settings}.", YELLOW)
    if not reds:
        return paint(f"Ready: nothing is red on {counted(len(nodes), 'node')}.", GREEN)
    on = len(_nodes(reds))
    return paint(f"Not ready: {counted(len(reds), 'red cell')} on {on} of {counted(len(nodes), 'node')}.", RED)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent="    ", subsequent_indent="      ", break_long_words=False, break_on_hyphens=False
    )


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
