"""The words of the project: its pages, messages and docstrings read as an operations engineer writes."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from prose import PATTERNS, WORDS, Text, faults, hits, lowered, pages, texts_of, too_many

ROOT = Path(__file__).resolve().parents[2]
# A log, a node and a table report; only people and processes are told to do something.
IN_MESSAGES = {
    r"\btell(s|ing)?\b(?! (them apart|whether|which)\b)|(?<![.\"'])\btold\b(?! (to|apart)\b|[\"}])": "say, report, show"
}
PAGES = ("*.md", "*.yml", "*.yaml", "*.j2", "Makefile")
SOURCES = ("plugins/*.py", "tools/*.py", "benchmarks/*.py")
# Other people's words, and licences. `prose.py` checks every page, these as well.
NOT_OURS = (
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
    # Most lines have none, which one search shows.
    any_word = re.compile("|".join(f"(?:{word})" for word in WORDS | IN_MESSAGES))
    found = [
        f"{place}: {line.strip()} (write: {better})"
        for place, line, is_message in lines()
        if any_word.search(line)
        for word, better in (WORDS | (IN_MESSAGES if is_message else {})).items()
        if re.search(word, line)
    ]
    assert not found, "\n".join(found)


def test_every_page_is_in_the_style_of_the_project():
    found = [fault for path in pages() for fault in faults(str(path.relative_to(ROOT)), path.read_text("utf-8"))]
    assert not found, "\n".join(found)


PAGE = """# A heading

- `besides` in backticks is quoted.

```
an anew in a block, too
```
{}
"""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("A node is held\nby a run; besides, it is off.", "8: 'besides'"),
        ("| a run of his | it is none |", "8: 'is none'"),
        ("It is the the node.", "8: 'the the'"),
        ("The key stands in the file.", "8: 'stands in'"),
        (f"A node {'or a node ' * 20}is off.", "8: a sentence of 64 words"),
        ("One; two; three.", "8: 2 semicolons in one sentence"),
    ],
)
def test_a_fault_of_style_is_found(text, fault):
    found = list(faults("page.md", PAGE.format(text)))
    assert any(row.startswith(f"page.md:{fault}") for row in found), found


def test_what_is_quoted_is_not_checked():
    assert not list(
        faults("page.md", PAGE.format("Two processes stand in for nodes; `of his; is; none` is a command."))
    )


WEAK = """It is slow, as the disk
holds the log of node0."""


@pytest.mark.parametrize(
    ("recorded", "reported"),
    [(0, ["a.md:3"]), (1, []), (2, [])],
    ids=["one more than recorded", "as recorded", "one less"],
)
def test_a_pattern_may_not_become_more_frequent(recorded, reported):
    found = hits([Text("a.md", 2, "pages", WEAK)])
    counts = dict.fromkeys(found, 1) | {"hold, held: pages": recorded}
    lines = list(too_many(found, counts))
    assert [line.strip().split(': "')[0] for line in lines[1:]] == reported
    assert all(PATTERNS["hold, held"][1] in line for line in lines[:1])
    assert lowered(found, counts)["hold, held: pages"] == min(recorded, 1)


def test_the_hits_of_changed_files_are_shown_first():
    found = hits([Text("a.md", 1, "pages", WEAK), Text("b.md", 1, "pages", WEAK)])
    shown = "\n".join(too_many(found, {}, ["b.md", "c.py"]))
    assert "b.md:2" in shown
    assert "a.md" not in shown


def test_messages_comments_and_docstrings_of_a_source_are_counted_with_their_lines():
    source = '''"""A module that
holds nothing."""
key = "a # of what the"
# Two lines, as the
# text is long.
text = f"The log of {key}"  # held here
'''
    found = {
        what: [place.split(": ")[0] for place in places] for what, places in hits(texts_of("a.py", source)).items()
    }
    assert {what: places for what, places in found.items() if places} == {
        "hold, held: comments": ["a.py:2", "a.py:6"],
        "what-clause as a noun: messages": ["a.py:3"],
        "causal as: comments": ["a.py:4"],
        "the log of: messages": ["a.py:6"],
    }
