"""The words of the project: what its pages, messages and docstrings say as an operations engineer would."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What is never written, and what is written instead.
EVERYWHERE = {
    r"\banew\b(?!``)": "again",
    r"\bbesides\b": "as well, in addition to",
    r"\bmend(s|ed|ing)?\b": "fix, repair",
    r"\bfor want of\b": "without",
    r"\ball that is (wrong|missing|needed)\b": "every error, everything that is missing",
    r"\bof which only\b": "and only",
    r"\bSay (-e|for instance|[a-z]+_[a-z_]+)": "Set",
    r"\btells? of\b": "reports, shows",
    r"\bstands? behind\b": "after",
}
# A log, a node and a table report; only people and processes are told to do something.
IN_MESSAGES = {r"\btell(s|ing)?\b(?! them apart)|(?<![.\"'])\btold\b(?! (to|apart)\b|[\"}])": "say, report, show"}
PAGES = ("*.md", "*.yml", "*.yaml", "*.j2", "Makefile")
SOURCES = ("plugins/*.py", "tools/*.py", "benchmarks/*.py")
# Other people's words, those of licences, and those that a run of tests saw.
NOT_OURS = (
    "docs/maxtext_keys.md",
    "docs/machine_facts.md",
    "docs/faults.md",
    "docs/schemas/",
    "tests/",
    "collections/",
    ".github/",
    "changelogs/",
)


def tracked(*patterns: str) -> list[str]:
    done = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("git does not know this folder, as in an unpacked archive")
    names = [name for name in done.stdout.splitlines() if not name.startswith(NOT_OURS)]
    return [name for name in names if (ROOT / name).is_file() and not (ROOT / name).is_symlink()]


def lines_of_pages() -> Iterator[tuple[str, str, bool]]:
    for name in tracked(*PAGES):
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1):
            yield f"{name}:{number}", line, not line.lstrip().startswith(("#", "{#"))


def lines_of_sources() -> Iterator[tuple[str, str, bool]]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for name in tracked(*SOURCES):
        tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
        docstrings = {
            node.body[0].value
            for node in ast.walk(tree)
            if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
                for number, line in enumerate(node.value.split("\n"), node.lineno):
                    yield f"{name}:{number}", line, node not in docstrings


@pytest.mark.parametrize("lines", [lines_of_pages, lines_of_sources])
def test_words_are_those_of_an_operations_engineer(lines):
    found = [
        f"{place}: {line.strip()} (write: {better})"
        for place, line, is_message in lines()
        for word, better in (EVERYWHERE | (IN_MESSAGES if is_message else {})).items()
        if re.search(word, line)
    ]
    assert not found, "\n".join(found)
