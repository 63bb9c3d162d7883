#!/usr/bin/env python3
"""Check the style of every page of the documentation: the words, the length of sentences, and how they are built.

No page is exempt. What stands in backticks or in a code block is quoted, and is not checked. Vale and its like were not
taken: their packages download a program as they start, which a machine without a way out cannot do.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

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
# Only pages are checked for these, as code uses the same words with another meaning.
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
MOST_WORDS = 50
MOST_SEMICOLONS = 1
_CODE = re.compile(r"(`+)(?:(?!\1).)+?\1|<[^>]+>|\]\([^)]*\)|https?://\S+")
_BLOCK = re.compile(r"^\s*(```|~~~|:::)")
_NEW_PARAGRAPH = re.compile(r"^\s*([-*+] |\d+\. |#|\||>|<|\{)")
_END = re.compile(r"(?<=[.!?:])[\"')*_]*\s+(?=[\"'(*_\[]*[A-Z…])")


def pages() -> list[Path]:
    """Return every page that git knows, but links to one."""
    done = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for name in done.stdout.splitlines() if not (path := ROOT / name).is_symlink() and path.is_file()]


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield each paragraph, item, heading or row of a table, without what is quoted, with the line it begins in."""
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
    """Yield what is wrong with the style of a page."""
    for line, paragraph in paragraphs(text):
        for word, better in (WORDS | PAGE_WORDS).items():
            for found in re.finditer(word, paragraph):
                around = paragraph[max(0, found.start() - 30) : found.end() + 30]
                yield f'{name}:{line}: {found[0].strip()!r} in "…{around}…"; write: {better}'
        # A cell of a table is no sentence, but often a list.
        for sentence in [] if paragraph.startswith("|") else _END.split(paragraph):
            if (words := len(sentence.split())) > MOST_WORDS:
                yield f'{name}:{line}: a sentence of {words} words: "{sentence[:80]}…"; at most {MOST_WORDS}'
            if (count := sentence.count(";")) > MOST_SEMICOLONS:
                yield f'{name}:{line}: {count} semicolons in one sentence: "{sentence[:80]}…"; make it two'


def main() -> int:
    """Print each fault, and return 1 if there is any."""
    found = [fault for path in pages() for fault in faults(str(path.relative_to(ROOT)), path.read_text("utf-8"))]
    print(*found, sep="\n", end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
