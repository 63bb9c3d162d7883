"""The faults that `tools/try_small_faults.py` puts into the code: of each kind, in one place, the same for a seed."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from small_faults import Finder, draw, room_of

SOURCE = '''"""A text with 1 number."""
from typing import Literal, NamedTuple
DOCUMENTATION = "if 1 < 2"
WAIT_SECONDS = 30
class Row(NamedTuple):
    width: int = 3
def size(given: Literal[4], *, mode: int = 0o17) -> Literal[5]:
    """Return 6."""
    if "é" not in given and not mode:
        return 7
    if given is None or len(given) >= 8:
        print("9")
        given = f"{10}"
    if TYPE_CHECKING or 11 == 12:
        import os
    if 13 > given:
        raise ValueError(14 if given else 15)
    call(timeout=16)
'''.encode()


def test_each_fault_changes_its_place_and_nothing_else():
    found = {(fault.line, fault.kind, fault.before, fault.after) for fault in Finder("a.py", SOURCE).faults}
    assert found == {
        (7, "number", "0o17", "0o20"),
        (7, "number", "0o17", "0o16"),
        (9, "comparison", "not in", "in"),
        (9, "and/or", "and", "or"),
        (9, "not", "not ", ""),
        (10, "return", "return 7", "pass"),
        (10, "number", "7", "8"),
        (10, "number", "7", "6"),
        (11, "comparison", "is", "is not"),
        (11, "and/or", "or", "and"),
        (11, "comparison", ">=", ">"),
        (11, "comparison", ">=", "<"),
        (11, "number", "8", "9"),
        (11, "number", "8", "7"),
        (11, "branch", "given is None or len(given) >= 8", "False"),
        (16, "comparison", ">", ">="),
        (16, "comparison", ">", "<="),
        (16, "number", "13", "14"),
        (16, "number", "13", "12"),
        (16, "branch", "13 > given", "False"),
    }
    for fault in Finder("a.py", SOURCE).faults:
        changed = fault.applied(SOURCE)
        ast.parse(changed)
        pairs = zip(SOURCE.splitlines(), changed.splitlines(), strict=True)
        assert [number for number, (old, new) in enumerate(pairs, 1) if old != new] == [fault.line]


def test_a_test_must_reach_the_branch_that_is_left_out_or_the_line_that_is_changed():
    reached = {fault.kind: (fault.first, fault.last) for fault in Finder("a.py", SOURCE).faults if fault.line == 11}
    assert reached == {"branch": (12, 12), "comparison": (11, 11), "and/or": (11, 11), "number": (11, 11)}


@pytest.fixture
def rooms(tmp_path: Path) -> Path:
    for name, lines in {"action/a.py": 1, "plugin_utils/b.py": 1, "plugin_utils/plan/job/c.py": 20}.items():
        path = tmp_path / "plugins" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"x{number} = {number}\n" for number in range(lines)))
    return tmp_path


def test_every_room_has_a_fault_and_a_large_one_more(rooms: Path):
    drawn = draw(rooms, 8, 49)
    assert sorted(room_of(fault.file) for fault in drawn) == ["action", "plugin_utils", *["plugin_utils/plan"] * 6]
    assert len({(fault.file, fault.line) for fault in drawn}) == 8
    assert draw(rooms, 8, 49) == drawn
    assert draw(rooms, 8, 50) != drawn
