#!/usr/bin/env python3
"""Check the style of the documentation's pages: words, length and structure of sentences; and count weak patterns.

No page is exempt. Text in backticks or in a code block is quoted, and is not checked. Some patterns are good English
now and then, and a habit here. They are counted in pages, messages and comments, and no count may rise above the one
in `prose_counts.json`; `--record` writes lower counts there. Vale and similar tools were not taken: their packages
download a program when they start, which needs internet access.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
# Left: never written. Right: written instead.
WORDS = {
    r"\banew\b": "again",
    r"\bbesides\b": "as well, in addition to",
    r"\bmend(s|ed|ing)?\b": "fix, repair",
    r"\bfor want of\b": "without",
    r"\ball that is (wrong|missing|needed)\b": "every error, everything that is missing",
    r"\bof which only\b": "and only",
    r"\bSay (-e|for instance|[a-z]+_[a-z_]+)": "Set",
    r"\btells? of\b": "reports, shows",
    r"\bstands? behind\b": "after",
}
# Only pages are checked for these, because code uses the same words with another meaning.
PAGE_WORDS = {
    r"(?<!\bthere )(?<!\bcontainer_engine )\b(is|are) none\b(?! of)": "say what there is, or is not",
    r"\b(where|which|that) (none|nothing) (is|are)\b": "if there is no …",
    r"\bany ?more\b(?! than)": "no longer",
    r"\bheld against\b": "compared with",
    r"\b(of|by) (his|hers)\b|\b(his|her) own\b": "their",
    r"\bwill do for\b": "may be",
    r"\bstands? (in(?! for)|among|at|below|above|between|there|here)\b": "is, is explained, is listed",
    r"\bstands? higher\b": "is higher, comes first",
    r"\bsays of\b|\bsaid of\b": "says about, reports about",
    r"\btakes? its time\b": "is slow, takes long",
    r"\bis nothing\b": "is ignored, does not count",
    r"\bhinders?\b": "prevents, stops",
    r"\bas (good|well) as never\b": "practically never",
    r"\bthereof\b|\bwhereof\b|\bhereby\b|\bherein\b": "a plain word",
    r"\bgoes on without\b": "continues without",
    r"\bin case of\b": "if",
    r"\bin order to\b": "to",
    r"\b(utili[sz]e[sd]?|utili[sz]ing)\b": "use",
    r"\bplease\b": "leave it out",
    r"\b(simply|obviously|just a|of course|basically|easily)\b": "leave it out",
    r"\b(very|quite)\b(?!-)": "leave it out",
    r"\bNone here\b": "no Python words",
    r"\b(\w+) \1\b(?!-)(?<!that that)": "the word once",
    r"(?<![\w.])\.\.\.(?!\w)": "…",
    r" ,| ;": "no blank before a comma or semicolon",
}
# Each pattern that is counted, and what to write instead.
PATTERNS = {
    "what-clause as a noun": (
        r"\bwhat (the|an?|its?|they|this|these|those|is|was|are|were|each|every|no|all|one|you|your|CODE|\{\})(?!\w)",
        "name the thing",
    ),
    "names, for mentions or sets": (
        r"\bnames? (the|an?|no|one|each|every|its|both|what|who|which|it|them|that|nothing|nobody|CODE|\{\})(?!\w)"
        r"|\b(that|which|it|line|log|config|report) names\b",
        "sets, lists, mentions, shows",
    ),
    "the log of": (r"\b[Tt]he logs? of\b", "NODE's log, or quote the line"),
    "hold, held": (r"\b(holds?|held)\b", "contains, has, is busy with, applies"),
    "Whether … is unknown": (
        r"\bWhether\b[^.;]*\b(un|not )known\b",
        "begin with what is known, or with what to do",
    ),
    "preposition and which": (
        r"\b(of|by|with|in|to|from|for|on|at|under|after|before|through|against|without|over|into) which\b",
        "two sentences",
    ),
    "that of, those of": (r"\b(that|those) of\b", "repeat the noun"),
    "causal as": (
        r", as (?!(well|with|in|if|for|do|does|did|is|are|of|on|at|by|soon|long|far|before|such|data|always|usual|to"
        r"|under|from|opposed|the module|an?|CODE)\b)",
        "because, so",
    ),
}
COUNTS = Path(__file__).with_name("prose_counts.json")
SOURCES = ("plugins/*.py", "plugins/*.j2", "roles/*.py", "tools/*.py", "benchmarks/*.py")
MOST_WORDS = 50
MOST_SEMICOLONS = 1
_CODE = re.compile(r"(`+)(?:(?!\1).)+?\1|<[^>]+>|\]\([^)]*\)|https?://\S+")
_BLOCK = re.compile(r"^\s*(```|~~~|:::)")
_NEW_PARAGRAPH = re.compile(r"^\s*([-*+] |\d+\. |#|\||>|<|\{)")
_MARKUP = re.compile(r"\{[#%].*?[#%]\}|<[^>]*>")
_COMMENT = re.compile(r"(?:^\s*|  )# ?(.*)")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_END = re.compile(r"(?<=[.!?:])[\"')*_]*\s+(?=[\"'(*_\[]*[A-Z…])")


class Text(NamedTuple):
    """A piece of text, and where it is: a page, a message (a string of a program), or a comment or docstring."""

    file: str
    line: int
    kind: str
    text: str


def tracked(*patterns: str) -> list[str]:
    """Return the files that git knows, but no links."""
    done = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file() and not (ROOT / name).is_symlink()]


def pages() -> list[Path]:
    """Return every page that git knows, but links to one."""
    return [ROOT / name for name in tracked("*.md")]


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield each paragraph, item, heading or row of a table, without quotations, with its first line."""
    begin, lines, is_code = 0, [], False
    for number, line in enumerate(text.splitlines(), 1):
        if _BLOCK.match(line):
            is_code = not is_code
        is_text = not is_code and not _BLOCK.match(line) and bool(line.strip())
        if lines and (not is_text or _NEW_PARAGRAPH.match(line)):
            yield begin, _CODE.sub("CODE", " ".join(lines))
            lines = []
        if is_text:
            begin = number if not lines else begin
            lines.append(line.strip())
    if lines:
        yield begin, _CODE.sub("CODE", " ".join(lines))


def faults(name: str, text: str) -> Iterator[str]:
    """Yield the faults of style on a page."""
    for line, paragraph in paragraphs(text):
        for word, better in (WORDS | PAGE_WORDS).items():
            for found in re.finditer(word, paragraph):
                around = paragraph[max(0, found.start() - 30) : found.end() + 30]
                yield f'{name}:{line}: {found[0].strip()!r} in "…{around}…"; write: {better}'
        # A cell of a table is not a sentence, but often a list.
        for sentence in [] if paragraph.startswith("|") else _END.split(paragraph):
            if (words := len(sentence.split())) > MOST_WORDS:
                yield f'{name}:{line}: a sentence of {words} words: "{sentence[:80]}…"; at most {MOST_WORDS}'
            if (count := sentence.count(";")) > MOST_SEMICOLONS:
                yield f'{name}:{line}: {count} semicolons in one sentence: "{sentence[:80]}…"; make it two'


def written_texts() -> Iterator[Text]:
    """Yield all texts that people wrote: pages, templates of generated pages, and the texts of sources."""
    templates = set(tracked("tools/docs/*.md.j2"))
    for name in sorted({*tracked("*.md"), *templates} - {"CHANGELOG.md"}):
        if f"tools/docs/{Path(name).name}.j2" not in templates:
            yield from (Text(name, line, "pages", text) for line, text in paragraphs((ROOT / name).read_text("utf-8")))
    for name in tracked(*SOURCES):
        yield from texts_of(name, (ROOT / name).read_text("utf-8"))


def texts_of(name: str, source: str) -> Iterator[Text]:
    """Yield the messages of a source, and its comments and docstrings. A value in a string reads `{}`."""
    lines = source.splitlines()
    if not name.endswith(".py"):
        for number, line in enumerate(lines, 1):
            yield Text(name, number, "messages", re.sub(r"\{\{.*?\}\}", "{}", _MARKUP.sub(" ", line)))
        return
    nodes = list(ast.walk(ast.parse(source)))
    docstrings = {n.body[0].value for n in nodes if isinstance(n, _DOCUMENTED) and isinstance(n.body[0], ast.Expr)}
    parts = {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    quoted: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            text = node.value
        else:
            continue
        quoted.update(range(node.lineno, (node.end_lineno or 0) + 1) if node.end_lineno != node.lineno else ())
        yield Text(name, node.lineno, "comments" if node in docstrings else "messages", text)
    begin, block = 0, ""
    for number, line in enumerate([*lines, ""], 1):
        found = None if number in quoted else _COMMENT.search(line)
        if block and not (found and line.lstrip().startswith("#")):
            yield Text(name, begin, "comments", block)
            block = ""
        if found:
            begin = begin if block else number
            block += f"{found[1]}\n"
    if block:
        yield Text(name, begin, "comments", block)


def hits(texts: Iterable[Text]) -> dict[str, list[str]]:
    """Return where each pattern was found, by pattern and kind of text, such as "causal as: pages"."""
    found: dict[str, list[str]] = {
        f"{name}: {kind}": [] for name in PATTERNS for kind in ("pages", "messages", "comments")
    }
    patterns = {name: re.compile(pattern.replace(" ", r"\s++")) for name, (pattern, _) in PATTERNS.items()}
    for file, line, kind, text in texts:
        for name, pattern in patterns.items():
            for hit in pattern.finditer(text) if " " in text else ():
                around = " ".join(text[max(0, hit.start() - 40) : hit.end() + 40].split())
                found[f"{name}: {kind}"].append(f'{file}:{line + text.count(chr(10), 0, hit.start())}: "…{around}…"')
    return found


def too_many(found: Mapping[str, list[str]], recorded: Mapping[str, int], changed: Iterable[str] = ()) -> Iterator[str]:
    """Yield each pattern that was found more often than recorded, with its hits: those in changed files, if any."""
    files = set(changed)
    for what, places in found.items():
        if len(places) > (most := recorded.get(what, 0)):
            instead = PATTERNS[what.rpartition(": ")[0]][1]
            yield f"{what}: {len(places)} hits, but only {most} are recorded; write: {instead}"
            yield from [f"  {place}" for place in places if place.split(":")[0] in files] or [f"  {p}" for p in places]


def lowered(found: Mapping[str, list[str]], recorded: Mapping[str, int]) -> dict[str, int]:
    """Return the counts to record: each as found, but not above the recorded one."""
    return {what: min(len(places), recorded.get(what, len(places))) for what, places in found.items()}


def changed_files() -> list[str]:
    """Return the files that differ from the main branch; none if git does not know it."""
    command = ["git", "diff", "--name-only", "--merge-base", "main"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()


def main() -> int:
    """Print each fault, and return 1 if there is any."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write the counts that have fallen to prose_counts.json")
    record = parser.parse_args().record
    found = hits(written_texts())
    recorded = json.loads(COUNTS.read_text("utf-8")) if COUNTS.is_file() else {}
    counts = lowered(found, recorded)
    if record:
        COUNTS.write_text(json.dumps(counts, indent=2, ensure_ascii=False) + "\n", "utf-8")
    elif counts != recorded:
        print("Some patterns are rarer than recorded, or new. To record that: python tools/prose.py --record")
    wrong = [fault for path in pages() for fault in faults(str(path.relative_to(ROOT)), path.read_text("utf-8"))]
    wrong += too_many(found, counts, changed_files())
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
