"""The table of `make test-faults`: each row shows a test's observations."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import yaml

_PATH = os.environ.get("TRAINOPS_FAULTS")
IS_WRITTEN = bool(_PATH)
NONE: Mapping[str, object] = {}
_MOST_CHARACTERS = 180
_PAGE = """# What you see when something breaks

One run of `make test-faults FAULTS=docs/faults.md` wrote this page on {day}, on a machine with {processors} processors.
Each row is from one test on nodes of that machine: the seconds until the message came, the message, the verdict, the
leftovers, and the settings that the test changed. All others had their defaults. With the defaults, a hang is noticed
and a lost node is given up later than here. Long messages are cut.

| fault | seconds until noticed | message | verdict | left behind | settings |
|---|---|---|---|---|---|
{rows}"""
_DEFAULTS = Path(__file__).resolve().parents[1] / "roles/training/defaults/main.yml"


def settings_in_words(settings: Mapping[str, object]) -> str:
    """Return the options of a run that a test set, each with its default."""
    defaults = yaml.safe_load(_DEFAULTS.read_text(encoding="utf-8"))
    changed = [(name, value, defaults[name]) for name, value in settings.items() if value != defaults[name]]
    return ", ".join(f"`{name}` {value} (default: {default})" for name, value, default in changed) or "the defaults"


def add_row(
    fault: str, seconds: float, said: str, verdict: str, left: str = "nothing", settings: Mapping[str, object] = NONE
) -> None:
    """Add a row, if the table is written: the seconds until each message, the leftovers, and the settings."""
    if _PATH:
        words = " ".join(said.split()).replace("|", "/")
        if len(words) > _MOST_CHARACTERS:
            words = f"{words[:_MOST_CHARACTERS]} …"
        with open(_PATH, "a", encoding="utf-8") as table:
            table.write(f"| {fault} | {seconds:.1f} | {words} | {verdict} | {left} | {settings_in_words(settings)} |\n")


def page(rows: str) -> str:
    """Return the page with the rows that tests added, in the order of their faults."""
    ordered = "".join(sorted(rows.splitlines(keepends=True), key=str.lower))
    return _PAGE.format(day=time.strftime("%Y-%m-%d"), processors=os.cpu_count(), rows=ordered)


if __name__ == "__main__":
    print(page(Path(sys.argv[1]).read_text(encoding="utf-8")), end="")
