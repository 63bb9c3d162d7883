# SPDX-License-Identifier: GPL-3.0-or-later
"""Sentences are output: outside of the room for text nothing decides by what one says."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLUGIN_UTILS = ROOT / "plugins/plugin_utils"
# What holds sentences: fields of findings, ledger rows and failures.
SENTENCES = {"message", "evidence", "remedy"}
LOOKS = {"startswith", "endswith", "removesuffix", "removeprefix", "partition", "split"}
# A line of somebody else's log is looked for in other lines of it; nobody wrote these sentences here.
LINES = {"report/text.py": {"decisive_lines"}}


def is_sentence(node: ast.expr) -> bool:
    """Tell whether an expression is a sentence, or one that was stripped."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value in SENTENCES


def decisions(tree: ast.AST) -> Iterator[int]:
    """Yield the lines in which a sentence is compared, searched or cut."""
    for node in ast.walk(tree):
        looked_at: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            nothing = any(isinstance(one, ast.Constant) and one.value is None for one in node.comparators)
            looked_at = [] if nothing else [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            whose = node.func.value
            looked_at = [whose] if node.func.attr in LOOKS else []
            looked_at += node.args if isinstance(whose, ast.Name) and whose.id == "re" else []
        if any(map(is_sentence, looked_at)):
            yield node.lineno  # type: ignore[attr-defined]


def found() -> list[str]:
    places = []
    for path in sorted(PLUGIN_UTILS.rglob("*.py")):
        name = path.relative_to(PLUGIN_UTILS).as_posix()
        if name.startswith("text/"):
            continue
        tree = ast.parse(path.read_text("utf-8"))
        allowed = {
            line
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef) and function.name in LINES.get(name, ())
            for line in range(function.lineno, (function.end_lineno or function.lineno) + 1)
        }
        places += [f"{name}:{line}" for line in decisions(tree) if line not in allowed]
    return places


def test_nothing_decides_by_what_a_sentence_says() -> None:
    assert found() == []


def test_a_decision_by_a_sentence_is_found() -> None:
    code = 'a = "ssh" in reason["message"] or re.search("x", row["evidence"]) or one["remedy"].strip().endswith(".")'
    assert len(list(decisions(ast.parse(code)))) == 3
