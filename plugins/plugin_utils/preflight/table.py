# SPDX-License-Identifier: GPL-3.0-or-later
"""A preflight for people: one table, node × check, and below it what is red, why, and what fixes it."""

from __future__ import annotations

import textwrap
import typing as t

from ..text.nodes import alike, folded, nameless
from ..text.words import counted
from .cells import GREEN, GREY, RED
from .check_processors import NO_GPU
from .checks import CHECKS

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..contracts import Preflight, PreflightRow

    Paint = Callable[[str, str], str]
    _Key = t.Literal["check", "found", "reason", "command"]

_WIDTH = 118
_LABEL_WIDTH = 32
_VALUE_WIDTH = 56
_SHOWN_OF_A_CHECK = 8
_MARKS = {GREEN: "ok", RED: "RED", GREY: "–"}


def preflight_text(of: str, result: Preflight, paint: Paint = lambda text, _: text) -> str:
    """Return rows and proposals of a preflight as lines of text; ``of`` names what it is of.

    Nodes that are alike stand in one line. ``paint`` is given a word and the status that it reports, and returns
    it with a colour.
    """
    rows = result["rows"]
    blocks = [
        f"Preflight of {of}",
        _table(rows, paint),
        _reds(rows, paint),
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


def _reds(rows: Sequence[PreflightRow], paint: Paint) -> str:
    groups = _alike_reds(rows)
    lines: list[str] = []
    shown: dict[str, int] = {}
    for check, reason, command, nodes in sorted(groups, key=lambda group: CHECKS.index(group[0])):
        shown[check] = shown.get(check, 0) + 1
        if shown[check] > _SHOWN_OF_A_CHECK:
            continue
        lines += [
            f"{paint(check, RED)} on {folded(nodes)}",
            *_wrapped(reason if reason.endswith((".", "?", "!")) else f"{reason}."),
            *_wrapped(f"→ {command}"),
        ]
    for check, count in shown.items():
        if count > _SHOWN_OF_A_CHECK:
            lines.append(f"{paint(check, RED)} on other nodes: {count - _SHOWN_OF_A_CHECK} more reasons")
    return "\n".join(lines)


def _alike_reds(rows: Sequence[PreflightRow]) -> list[tuple[str, str, str, list[str]]]:
    """Return check, reason, command and nodes of what is red, once for nodes that differ only in what is their own."""
    groups: dict[tuple[str, ...], list[PreflightRow]] = {}
    for row in rows:
        if row["status"] == RED:
            texts = (nameless(row[key], row["node"]) for key in ("reason", "command"))
            groups.setdefault((row["check"], *map(alike, texts)), []).append(row)
    found = []
    for first, *others in groups.values():
        nodes = [first["node"], *(row["node"] for row in others)]
        reason = first["reason"]
        if any(row["reason"] != reason for row in others):
            reason = f"{reason.rstrip('.')} (on {first['node']}, and alike on the others)"
        found.append((first["check"], reason, first["command"], nodes))
    return found


def _grouped(rows: Sequence[PreflightRow], status: str, *keys: _Key) -> dict[tuple[str, ...], list[str]]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        if row["status"] == status:
            groups.setdefault(tuple(row[key] for key in keys), []).append(row["node"])
    return groups


def _in_common(rows: Sequence[PreflightRow]) -> str:
    """Return what all nodes have, of the checks that are green everywhere."""
    count = len(_nodes(rows))
    groups = _grouped(rows, GREEN, "check", "found")
    parts = [f"{check}: {_shortened(found, _VALUE_WIDTH)}" for (check, found), on in groups.items() if len(on) == count]
    return _paragraph("The same on all nodes", parts) if count > 1 else ""


def _greys(rows: Sequence[PreflightRow]) -> str:
    nodes = _nodes(rows)
    by_reason: dict[tuple[str, str], list[str]] = {}
    for (check, found), on in _grouped(rows, GREY, "check", "found").items():
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
    gpus = [row for row in rows if row["check"] == "gpus"]
    if not reds and any(row["found"] == NO_GPU for row in gpus):
        bare = folded(row["node"] for row in gpus if row["found"] == NO_GPU)
        return (
            f"Nothing is red on {counted(len(nodes), 'node')}, but no GPU was found on {bare}, and nothing says how "
            "many there should be. To have that checked, set training_gpus_per_node and training_gpu in the inventory, "
            "or give a training config."
        )
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
