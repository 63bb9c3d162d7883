"""docs/log_formats.md agrees with the tests that it lists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]
NODE = re.compile(r"tests/unit/logs/(\w+\.py)::(\w+)(?:\[(.*)\])?", re.DOTALL)
NAME = re.compile(r"`(test_\w+\.py)(?:::(\w+)|\[([^`]+)\])`")


class Collection:
    """A plugin of pytest that keeps the names of the collected tests."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.names = [item.nodeid for item in items]


def test_every_line_names_a_test_that_exists() -> None:
    document = (ROOT / "docs" / "log_formats.md").read_text(encoding="utf-8")
    lines = [line for line in document.splitlines() if line.startswith("| ") and not line.startswith("| -")]
    rows = [line for line in lines if not line.endswith("| Tested by |")]
    named = [NAME.search(row) for row in rows]
    assert [row for row, name in zip(rows, named, strict=True) if not name] == []
    files = sorted({str(FOLDER / name.group(1)) for name in named if name})
    collection = Collection()
    pytest.main(["--collect-only", "-qq", "--override-ini=addopts=", "-pno:cacheprovider", *files], [collection])
    collected = [NODE.fullmatch(name).groups("") for name in collection.names]
    known = {(file, test) for file, test, _ in collected}
    # A case may have further parameters after its name.
    cases = {(file, case) for file, _, full in collected for case in (full, full.rpartition("-")[0])}
    assert [
        name.group()
        for name in named
        if name and ((name.group(1), name.group(2)) not in known and (name.group(1), name.group(3)) not in cases)
    ] == []
