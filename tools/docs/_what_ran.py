# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of real runs of each trainer, for a page and for the README."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import yaml

DATA: dict[str, t.Any] = yaml.safe_load(Path(__file__).with_name("what_ran.yml").read_text("utf-8"))
_HEADS = ("trainer and release", "hardware", "engine", "launcher", "how far it ran", "when")
_MARKED = re.compile(r"(?<=<!-- what ran: tools/docs/what_ran.yml -->\n).*?(?=<!-- what ran ends -->)", re.DOTALL)


def values() -> dict[str, t.Any]:
    """Return the table of the page, with a link to the test of each row."""
    return {"table": _table("../")}


def with_table(readme: str) -> str:
    """Return the README with the table in its marked place."""
    return _MARKED.sub(lambda _: f"\n{_table('')}\n\n", readme)


def _table(root: str) -> str:
    """Return the rows as a Markdown table; links to tests begin with ``root``."""
    rows = [_HEADS, ("---",) * len(_HEADS)]
    for row in DATA["rows"]:
        level = DATA["levels"][row["level"]]
        ran = f"[{level}]({root}{row['test']})" if "test" in row else level
        shown = (row["what"], *(_or_dash(row[part]) for part in ("hardware", "engine", "launcher")), ran)
        rows.append((*shown, _or_dash(row.get("when", "none"))))
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def _or_dash(value: t.Any) -> str:
    return "–" if value == "none" else str(value)
