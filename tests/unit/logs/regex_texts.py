"""Texts made from a regular expression: some that match each of its alternatives, and the worst to search through."""

from __future__ import annotations

import re._constants as ops
import re._parser as parser
from collections.abc import Iterator
from typing import Any

REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT)
LONG = 400


def _of_class(items: list[Any]) -> str:
    negated = items[0][0] is ops.NEGATE
    if not negated:
        op, value = items[0]
        if op is ops.CATEGORY:
            return {ops.CATEGORY_DIGIT: "1", ops.CATEGORY_SPACE: " "}.get(value, "x")
        return chr(value if op is ops.LITERAL else value[0])
    return "x"


def examples(pattern: Any, longest: bool = False) -> list[str]:
    """Return texts that match: each alternative is in one, and each repeat is as short, or as long, as it may be.

    An assertion before or after a match is taken for a part of it.
    """
    texts = [""]
    for op, value in pattern:
        parts = _parts(op, value, longest)
        texts = [texts[0] + part for part in parts] + [text + parts[0] for text in texts[1:]]
    return texts


def _parts(op: Any, value: Any, longest: bool) -> list[str]:
    if op in (ops.BRANCH, ops.SUBPATTERN, ops.ASSERT):
        inner = value[1] if op is ops.BRANCH else [value[3] if op is ops.SUBPATTERN else value[1]]
        return [text for branch in inner for text in examples(branch, longest)]
    if op in REPEATS:
        least, most, inner = value
        count = min(most, LONG) if longest else least
        return [text * count for text in examples(inner, longest)] if count else [""]
    if op is ops.IN:
        return [_of_class(value)]
    return [chr(value) if op is ops.LITERAL else "" if op in (ops.AT, ops.ASSERT_NOT) else "x"]


def parsed(pattern: bytes) -> Any:
    return parser.parse(pattern)


def repeats(pattern: Any) -> Iterator[tuple[int, int, Any]]:
    """Yield the repeats of a pattern, nested ones too: least, most, and the repeated part."""
    for op, value in pattern:
        if op in REPEATS:
            yield value
            yield from repeats(value[2])
        elif op is ops.BRANCH:
            for branch in value[1]:
                yield from repeats(branch)
        elif op is ops.SUBPATTERN:
            yield from repeats(value[3])
        elif op in (ops.ASSERT, ops.ASSERT_NOT):
            yield from repeats(value[1])


def worst_texts(pattern: bytes) -> list[bytes]:
    """Return lines that begin a match over and over and never end one, or end one only after the longest repeats.

    Each is longer than the longest match, or has 2,000 characters if a match has no end.
    """
    texts = [*examples(parsed(pattern)), *examples(parsed(pattern), longest=True)]
    size = min(2_000, 200 + parsed(pattern).getwidth()[1])
    heads = {text[: len(text) * part // 4].replace("\n", " ") for text in texts for part in (1, 2, 3, 4)} - {""}
    return [(head * (size // len(head) + 1))[:size].encode("latin-1") for head in heads]
