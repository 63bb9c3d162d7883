# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws small faults over all rooms of `plugins`, at least one from each, otherwise by lines of code.

Kinds: a comparison turned, `and` and `or` swapped, `not` removed, an integer one higher or lower, a branch or an early
return left out. Evident non-faults are left out: type annotations, raised exceptions, defaults of NamedTuples, and
lengths of waits, because no test measures time.
"""

from __future__ import annotations

import ast
import collections
import random
import re
import typing as t
from pathlib import Path

TURNED: t.Final = {
    "==": ("!=",),
    "!=": ("==",),
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "in": ("not in",),
    "not in": ("in",),
    "is": ("is not",),
    "is not": ("is",),
    "and": ("or",),
    "or": ("and",),
}
_OPERATOR: t.Final = re.compile(rb"(?<![\w<>=!])(?:not\s+in|is\s+not|in|is|and|or|[=!<>]=|[<>])(?![\w<>=])")
_OF_TIME: t.Final = re.compile(r"seconds|timeout|interval|maxsize|stacklevel", re.IGNORECASE)
_NOT_CODE: t.Final = re.compile(r"TYPE_CHECKING|__name__|version_info|__slots__|^(DOCUMENTATION|EXAMPLES|RETURN)\b")


class Fault(t.NamedTuple):
    """A change of one place in one line; ``first`` to ``last`` are the lines that a test which notices must reach."""

    file: str
    line: int
    kind: str
    start: int
    end: int
    before: str
    after: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.kind} `{self.before}` -> `{self.after}`"

    def applied(self, source: bytes) -> bytes:
        """Return the file with the fault."""
        assert source[self.start : self.end].decode() == self.before
        return source[: self.start] + self.after.encode() + source[self.end :]


class Finder:
    """Finds every fault that a file can have, and its lines of code."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file, self.source = file, source
        self.begins = [0, *(match.end() for match in re.finditer(rb"\n", source))]
        self.faults: list[Fault] = []
        self.lines: set[int] = set()
        self.search(ast.parse(source), (1, 1))

    def _at(self, line: int | None, column: int | None) -> int:
        return self.begins[(line or 1) - 1] + (column or 0)

    def _add(self, kind: str, start: int, end: int, after: str, reached: tuple[int, int]) -> None:
        before = self.source[start:end].decode()
        if "\n" not in before:
            line = self.source.count(b"\n", 0, start) + 1
            self.faults.append(Fault(self.file, line, kind, start, end, before, after, *reached))

    def search(self, node: ast.AST, reached: tuple[int, int]) -> None:
        """Look for faults in a part of the file, which a test reaches on some lines."""
        if isinstance(node, (ast.Raise, ast.JoinedStr)) or _is_no_code(node):
            return
        if isinstance(node, ast.stmt):
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                self.lines.add(node.lineno)
            inner = [part.lineno for name in ("body", "cases") for part in getattr(node, name, ())][:1]
            reached = (node.lineno, max(node.lineno, inner[0] - 1) if inner else node.end_lineno or node.lineno)
        self._look_at(node, reached)
        for name, value in ast.iter_fields(node):
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.AST) and name not in {"annotation", "returns"}:
                    self.search(part, reached)

    def _look_at(self, node: ast.AST, reached: tuple[int, int]) -> None:
        match node:
            case ast.Compare():
                for left, right in zip([node.left, *node.comparators], node.comparators, strict=False):
                    self._turn("comparison", left, right, reached)
            case ast.BoolOp():
                for left, right in zip(node.values, node.values[1:], strict=False):
                    self._turn("and/or", left, right, reached)
            case ast.UnaryOp(op=ast.Not()):
                start = self._at(node.lineno, node.col_offset)
                self._add("not", start, start + len(b"not "), "", reached)
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                start, end = self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)
                write = {b"0x": hex, b"0o": oct}.get(self.source[start : start + 2], str)
                for other in (value + 1, value - 1) if value else (1,):
                    self._add("number", start, end, write(other), reached)
            case ast.If() | ast.IfExp():
                body = node.body if isinstance(node, ast.If) else [node.body]
                if isinstance(body[-1], ast.Return):
                    self._replace("return", body[-1], "pass", (body[-1].lineno, body[-1].lineno))
                if not (isinstance(body[0], ast.Return) or isinstance(node.test, ast.Constant)):
                    taken = (body[0].lineno, body[0].lineno) if isinstance(node, ast.If) else reached
                    self._replace("branch", node.test, "False", taken)

    def _replace(self, kind: str, node: ast.expr | ast.stmt, after: str, reached: tuple[int, int]) -> None:
        start, end = self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)
        self._add(kind, start, end, after, reached)

    def _turn(self, kind: str, left: ast.expr, right: ast.expr, reached: tuple[int, int]) -> None:
        start, end = self._at(left.end_lineno, left.end_col_offset), self._at(right.lineno, right.col_offset)
        found = list(_OPERATOR.finditer(self.source, start, end))
        if len(found) == 1:
            for after in TURNED[" ".join(found[0][0].decode().split())]:
                self._add(kind, *found[0].span(), after, reached)


def _is_no_code(node: ast.AST) -> bool:  # noqa: PLR0911
    """Whether a change there is not a fault: in a type, or where no test can notice it."""
    match node:
        case ast.Subscript():
            return ast.unparse(node.value).endswith("Literal")
        case ast.If():
            return bool(_NOT_CODE.search(ast.unparse(node.test)))
        case ast.Assign():
            return bool(_NOT_CODE.search(ast.unparse(node.targets[0])) or _is_time(node.targets[0], node.value))
        case ast.AnnAssign():
            return _is_time(node.target, node.value)
        case ast.keyword():
            return bool(_OF_TIME.search(node.arg or "")) and isinstance(node.value, ast.Constant)
        case ast.ClassDef():
            return any("NamedTuple" in ast.unparse(base) for base in node.bases) and not _methods(node)
    return False


def _is_time(target: ast.expr, value: ast.expr | None) -> bool:
    return isinstance(value, (ast.Constant, ast.BinOp)) and bool(_OF_TIME.search(ast.unparse(target)))


def _methods(node: ast.ClassDef) -> list[ast.stmt]:
    """Let only the methods of a NamedTuple be searched."""
    node.body = [part for part in node.body if isinstance(part, ast.FunctionDef)]
    return node.body


def room_of(file: str) -> str:
    """Return the room of a file: its folder below `plugins`, or below `plugin_utils` or `module_utils`."""
    parts = Path(file).parts
    return "/".join(parts[1 : 3 if parts[1].endswith("_utils") and len(parts) > 3 else 2])


def draw(root: Path, number: int, seed: int) -> list[Fault]:
    """Return faults from all rooms, in the same order for the same code and seed."""
    by_room: dict[str, list[Fault]] = collections.defaultdict(list)
    lines: dict[str, int] = collections.Counter()
    for path in sorted((root / "plugins").rglob("*.py")):
        file = str(path.relative_to(root))
        finder = Finder(file, path.read_bytes())
        by_room[room_of(file)] += finder.faults
        lines[room_of(file)] += len(finder.lines)
    rooms = sorted(room for room, faults in by_room.items() if faults)
    chosen = dict.fromkeys(rooms, 1)
    for _each in range(number - len(rooms)):  # the room that has the fewest for its lines
        chosen[max(rooms, key=lambda room: (lines[room] / (chosen[room] + 0.5), room))] += 1
    generator = random.Random(seed)
    drawn = []
    for room in rooms:
        by_line: dict[tuple[str, int], list[Fault]] = collections.defaultdict(list)
        for fault in by_room[room]:
            by_line[fault.file, fault.line].append(fault)
        places = generator.sample(sorted(by_line), min(chosen[room], len(by_line)))
        drawn += [generator.choice(by_line[place]) for place in places]
    generator.shuffle(drawn)
    return drawn
