# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds failures in a training log."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from operator import itemgetter

from .find import Find, Piece, finder
from .grammars.known import HELPER_FILES
from .literals import literals_of
from .pattern import compiled, later
from .signature import LINE_CHARACTERS, Failure, Signature
from .signatures.exceptions import ALONE, EXCEPTION, PYTHON_ERROR, TRACEBACK, exception_class
from .signatures.known import NEEDLES, SIGNATURES
from .text import distinct_lines, line_end, line_start, without_digits

_FEW = 3
# Anything below this score is a machine fault or a non-finite number.
_FIRST_OF_PROGRAM = 40
_LONGEST_WORD = {needle: max(needle.split(), key=len) for needle in NEEDLES}

# torchrun's and Primus' prefixes: "[rank3]: ", "[rank-7/8]".
_OWN_RANK = later(rb"\[rank-?(\d{1,9})[\]/]")

_LINE = later(rb"[^\r\n]+")
# A traceback shows the line of the program that raised; its message is at the end. A shell shows the command before it
# runs it.
_SOURCE = later(
    rb"(?:\[[^\]\r\n]{1,40}\]:?|\d{1,7}:)?[ \t]{2,40}(?:raise|assert) [A-Za-z]|(?:\[[^\]\r\n]{1,40}\]:? ?)?\+{1,9} \S"
)
_FRAME = later(rb'\s+File "([^"\r\n]*)", line')
_INDENTED = later(rb"(?:\[[^\]\r\n]{1,60}\][: ]|\d{1,7}:)?[ \t]{2}")
# Launch scripts ask the system in Python, among others for RDMA links, which fails without harm.
_HELPER_FILE = later(b"|".join((rb"<string>$", rb"/json/", *HELPER_FILES)))
_TRACEBACK_LINES = 300
_MOST_AT_ONCE = 16
_PREFIX_BYTES = 99
_NEAR_BYTES = 4096
_MESSAGE_BYTES = 300
# The message of huggingface_hub begins two lines after the name, with at most the request's number in between. XLA's
# message about another process begins two lines after the process that reports it.
_BELOW = rb": ?(?:\((?:\w{1,9} ){1,2}ID: [^)\r\n]{0,99}\)|[\w ]{1,40}: From /job:\S{1,99}:)?\r?$"
_MESSAGE_BELOW = later(_BELOW)
_CAUGHT = b"During handling of the above exception"
_CAUGHT_IMPORT = later(
    rb"(?:ModuleNotFoundError|ImportError): [^\r\n]{0,400}[\r\n](?:\s|\[rank\d{1,9}\]:){1,20}" + _CAUGHT
)
# PyTorch raises a worker's exception again, and prints the worker's own traceback below that line.
_RAISED_AGAIN = b"Original Traceback (most recent call last):"
_CAUGHT_IN_A_WORKER = later(
    rb": Caught \w{1,99} in [^\r\n]{1,200}[\r\n](?:\s|\[rank\d{1,9}\]:){0,20}" + re.escape(_RAISED_AGAIN)
)
# Errors while an object is deleted or the process ends: Python and wandb print them and go on.
_GOES_ON = (b"Exception ignored ", b"Error in atexit._run_exitfuncs:", b"wandb: ERROR Problem finishing run")
_IGNORED = rb"(?:" + b"|".join(map(re.escape, _GOES_ON)) + rb")"
_TRACEBACK = re.escape(TRACEBACK) + rb"\r?\n(?:(?P=prefix)[ \t][^\n]*\n){0,300}(?P=prefix)\S[^\n]*\n?"
IGNORED = later(
    _IGNORED
    + rb"[^\n]*\n(?P<prefix>[^\n]{0,99}?)"
    + _TRACEBACK
    + rb"(?:(?:(?P=prefix)?(?:(?:During|The above exception) [^\n]*)?\s?\n){3}(?P=prefix)"
    + _TRACEBACK
    + rb"){0,9}"
)
# Those of them that find their modules, files and processes gone.
_GONE = later(
    rb"\b(?:(?:Import|Attribute|Type|Name|Key|Value|Assertion|FileNotFound)Error\b|OSError: \[Errno (?:9|39)\])"
)

# The first lines of messages with several lines, each with the pattern that must follow for the message to be
# understood. Few logs contain any, so few of the patterns are ever compiled.
_MESSAGES = (
    (
        TRACEBACK,
        rb"(?m)^(?:\[[^\]\r\n]{0,99}\][: ]{0,9}){0,9}"
        + EXCEPTION
        + rb"\b(?:(?!"
        + _BELOW
        + rb")|[^\n]*\n[^\n]*\n[^\n]*\n)",
    ),
    *((text, rb"\n[^\n]*\n") for text in _GOES_ON),
    (b"Root Cause (first observed failure):", rb"exitcode\s{1,9}: "),
    # The line after next says whether the program goes on without the package.
    (b"ModuleNotFoundError: ", rb"(?:\n[^\n]*){3}"),
    (b"ImportError: ", rb"(?:\n[^\n]*){3}"),
    (b"(stopped sending heartbeats):", rb"/task:\d+|\n[^\n]*\n"),
    (b"nothing was started:", rb"\n[^\r\n]+[\r\n]"),
    # After one of these two, the other may follow within a few lines.
    (b"DEADLINE_EXCEEDED", rb"RegisterTask|(?:[^\n]*\n){4}"),
    (b"/RegisterTask:", rb"Deadline Exceeded|(?:[^\n]*\n){4}"),
)


def find_failures(piece: Piece) -> list[Failure]:
    """Return the failures that some lines of a log report, in their order, at most three of a class.

    Each is a `Failure`; its class, blame, echo and remedy come from its ``Signature``. ``line`` is the evidence, one
    line of at most 400 characters. ``rank`` is the rank (in JAX, the task or process) that the text blames, or the rank
    that printed the text if it is not an echo; ``rank`` and ``exit_code`` are null if the text gives none. ``severity``
    is the level that the program gave the line, see `severity_of`. A line is one failure, of the first signature that
    matches. A missing package is not a failure if the code went on without it and another exception followed.
    """
    return [failure for _start, failure in failures_with_places(piece)]


def failures_with_places(piece: Piece) -> list[tuple[int, Failure]]:
    """Return the failures of `find_failures`, each with the position in the piece where its line begins."""
    text = piece.text
    excerpt, begins = _excerpt(piece)
    if not excerpt:
        return []
    # beginning of a line in the text -> its failure, or None beyond the first few of a class
    ignored = _ignored(text, piece.find)
    found_at: dict[int, Failure | None] = dict.fromkeys(_caught(text, piece.find, ignored))
    for signature, matches in _matches(excerpt):
        lines = ((line_start(excerpt, match.start()), match) for match in matches)
        said = ((_place(begins, start), excerpt, match) for start, match in lines if not _SOURCE.match(excerpt, start))
        _add_found(found_at, signature, said)
    raised: dict[Signature, list[tuple[int, bytes, re.Match[bytes]]]] = {}
    if TRACEBACK in excerpt:
        for last, files in _exceptions(text, piece.find):
            start = line_start(text, last.start())
            if (files and all(map(_HELPER_FILE.search, files))) or start in ignored:
                found_at.setdefault(start, None)
            elif start not in found_at:
                raised.setdefault(exception_class(last.group(), files), []).append((start, text, last))
    of_tracebacks = {start for lines in raised.values() for start, _text, _last in lines}
    for alone in ALONE.finditer(excerpt):
        start = _place(begins, alone.start())
        # Ray puts an exception's name before its frames too: RayTaskError(KeyError).
        of_ray = excerpt.startswith(b"(", alone.end("name")) and _FRAME.match(text, line_end(text, start))
        if not of_ray and start not in found_at and start not in of_tracebacks:
            line = excerpt[alone.start("name") : alone.end()]
            raised.setdefault(exception_class(line, _files_above(text, start)), []).append((start, excerpt, alone))
    _leave_to_next_lines(found_at, text, raised)
    for signature, said_of_class in raised.items():
        _add_found(found_at, signature, sorted(said_of_class, key=itemgetter(0)))
    for start in ignored:
        failure = found_at.get(start)
        if failure:
            failure["line"] = f"{ignored[start]} {failure['line']}"[:LINE_CHARACTERS]
    return [(start, failure) for start, failure in sorted(found_at.items(), key=itemgetter(0)) if failure]


def few_of_each_class(failures: Iterable[Failure]) -> list[Failure]:
    """Return the first three failures of each class, in the order given."""
    count: dict[str, int] = {}
    kept = []
    for failure in failures:
        count[failure["class"]] = count.get(failure["class"], 0) + 1
        if count[failure["class"]] <= _FEW:
            kept.append(failure)
    return kept


def open_message(piece: Piece) -> int | None:
    """Return where, in the text, an unfinished message of several lines begins."""
    excerpt, _begins = _excerpt(piece)
    starts = []
    for opening, closing in _MESSAGES:
        if opening in excerpt:
            start = piece.text.rfind(opening)
            if not re.compile(closing).search(piece.text, start):
                starts.append(line_start(piece.text, start))
    return min(starts, default=None)


# Both who look for failures and who look for open messages of a piece ask for this, one right after the other.
@lru_cache(maxsize=1)
def _excerpt(piece: Piece) -> tuple[bytes, list[tuple[int, int]]]:
    """Return the lines of the piece that may report a failure, and where parts of it begin: in it, in the piece."""
    text, find = piece.text, piece.find
    spans = []
    for needle, reach in _needles_in(text):
        position = find(needle, 0)
        while position >= 0:
            end = line_end(text, position)
            spans.append((line_start(text, position), line_end(text, end + reach) if reach else end))
            position = find(needle, end)
    parts: list[bytes] = []
    begins: list[tuple[int, int]] = []
    size = behind = 0
    for line, end in sorted(spans):
        if end > behind:
            start = max(line, behind)
            begins.append((size, start))
            parts.append(text[start:end] + b"\n")
            size, behind = size + end + 1 - start, end + 1
    return b"".join(parts), begins


def _needles_in(text: bytes) -> list[tuple[bytes, int]]:
    """Return the needles that the text contains, with their reach; no needle contains a digit.

    Different lines share few words, so a needle is searched only where its longest word occurs.
    """
    lines = distinct_lines(without_digits(text))
    words = b" ".join(set(lines.split())) if len(lines) < len(text) else lines
    find, find_word = finder(lines), finder(words)
    return [it for it in NEEDLES.items() if find_word(_LONGEST_WORD[it[0]], 0) >= 0 and find(it[0], 0) >= 0]


def _place(begins: list[tuple[int, int]], position: int) -> int:
    """Return the position in the text of a position in the excerpt."""
    in_excerpt, in_text = begins[bisect_right(begins, (position, sys.maxsize)) - 1]
    return in_text + position - in_excerpt


def _matches(excerpt: bytes) -> Iterator[tuple[Signature, Iterator[re.Match[bytes]]]]:
    find = finder(distinct_lines(without_digits(excerpt.lower())))
    for signature in SIGNATURES:
        if any(find(literal, 0) >= 0 for literal in literals_of(signature.pattern)):
            yield signature, _first_of_lines(compiled(signature.pattern), excerpt)


def _first_of_lines(pattern: re.Pattern[bytes], text: bytes) -> Iterator[re.Match[bytes]]:
    """Yield the first match that begins in each line."""
    match = pattern.search(text)
    while match:
        yield match
        match = pattern.search(text, max(line_end(text, match.start()), match.start() + 1))


def _add_found(
    found_at: dict[int, Failure | None],
    signature: Signature,
    matches: Iterable[tuple[int, bytes, re.Match[bytes]]],
) -> None:
    """Add a failure for each match on a line without one. A match has the line's position and the searched text."""
    count = 0
    for start, text, match in matches:
        if start not in found_at:
            count += 1
            found_at[start] = _failure(signature, text, match) if count <= _FEW else None


def _failure(signature: Signature, text: bytes, match: re.Match[bytes]) -> Failure:
    start, end = line_start(text, match.start()), line_end(text, match.end())
    groups = match.groupdict()
    rank = groups.get("rank")
    if rank is None and not signature.echo:
        own = _OWN_RANK.search(text, start, end)
        rank = own.group(1) if own else None
    if end - start > LINE_CHARACTERS:
        # The word at the start of the text is part of it, such as the script's name before ": line 33: 4711 Killed".
        begin = match.start()
        word = re.search(rb"\S*\Z", text[max(start, begin - LINE_CHARACTERS // 4) : begin])
        start = begin - len(word.group()) if word else begin
    exit_code = groups.get("exit_code")
    return signature.failure_in(
        text[start:end],
        None if rank is None else int(rank),
        None if exit_code is None else int(exit_code),
    )


def _leave_to_next_lines(
    found_at: dict[int, Failure | None],
    text: bytes,
    raised: dict[Signature, list[tuple[int, bytes, re.Match[bytes]]]],
) -> None:
    """Leave out the exceptions whose message begins on a line after their name, if a signature knows that line."""
    told = [start for start, failure in found_at.items() if failure]
    for signature, lines in raised.items():
        raised[signature] = []
        for line in lines:
            end = line_end(text, line[0])
            has_message = any(end <= start < end + _MESSAGE_BYTES for start in told)
            if has_message and _MESSAGE_BELOW.search(text, line[0], end):
                found_at[line[0]] = None
            else:
                raised[signature].append(line)


def is_of_exit(failure: Failure) -> bool:
    """Return whether a failure occurred as the process ended, and is not the machine's."""
    return failure["blame"] >= _FIRST_OF_PROGRAM and bool(re.match(_IGNORED, failure["line"].encode()))


def _ignored(text: bytes, find: Find) -> dict[int, str]:
    """Return the beginnings of the lines that fail as an object is deleted or the process ends, with the line above."""
    above: dict[int, str] = {}
    for block in IGNORED.finditer(text) if any(find(mark, 0) >= 0 for mark in _GOES_ON) else ():
        heading = block.group().partition(b"\n")[0].decode("utf-8", "replace").strip()
        above.update((line.start(), heading) for line in _LINE.finditer(text, block.start("prefix"), block.end()))
    return above


def _caught(text: bytes, find: Find, ignored: Iterable[int]) -> Iterator[int]:
    """Yield the beginnings of lines whose exception is not the cause: the program went on, or another line has it."""
    for mark, pattern in ((_CAUGHT, _CAUGHT_IMPORT), (_RAISED_AGAIN, _CAUGHT_IN_A_WORKER)):
        if find(mark, 0) >= 0:
            for match in pattern.finditer(text):
                yield line_start(text, match.start())
    yield from (start for start in ignored if _GONE.search(text, start, line_end(text, start)))


def _exceptions(text: bytes, find: Find) -> Iterator[tuple[re.Match[bytes], list[bytes]]]:
    """Yield the last line of each traceback, and its files, the innermost last."""
    begin = find(TRACEBACK, 0)
    while begin >= 0:
        lasts = list(_last_lines(text, begin))
        yield from lasts
        end = lasts[-1][0].end() if lasts else begin + len(TRACEBACK)
        # Once as many have ended as have begun, none is looked at again.
        all_ended = text.count(TRACEBACK, begin, end) == len(lasts)
        begin = find(TRACEBACK, end if all_ended else begin + len(TRACEBACK))


def _files_above(text: bytes, start: int) -> list[bytes]:
    """Return the files of the frames right above a line, the innermost last, if the traceback's head is missing."""
    files: list[bytes] = []
    end = start - 1
    while end > max(0, start - _NEAR_BYTES):
        begin = line_start(text, end)
        line = text[begin:end]
        frame = _FRAME.search(line)
        if frame:
            files.append(frame.group(1))
        elif not _INDENTED.match(line):
            break
        end = begin - 1
    return files[::-1]


def _last_lines(text: bytes, begin: int) -> Iterator[tuple[re.Match[bytes], list[bytes]]]:
    """Yield the last line of a traceback, and of tracebacks that began before it: ranks print between each other."""
    # So only lines with the same prefix belong here.
    prefix = text[max(line_start(text, begin), begin - _PREFIX_BYTES) : begin]
    if b"\n" + prefix not in text[begin : begin + _NEAR_BYTES]:
        prefix = b""
    files: list[bytes] = []
    missing, found = 1, False
    for line in islice(_LINE.finditer(text, begin + len(TRACEBACK)), _TRACEBACK_LINES):
        start = line.start()
        if prefix:
            if not line.group().startswith(prefix):
                continue
            start += len(prefix)
        frame = _FRAME.match(text, start, line.end())
        last = None if frame else compiled(PYTHON_ERROR.pattern).match(text, start, line.end())
        if frame:
            files.append(frame.group(1))
        elif text.startswith(TRACEBACK, start):
            missing += 1
        elif last:
            yield last, [*files]
            missing, found = missing - 1, True
        elif found and not text.startswith(b"  ", start):
            return
        if not missing or missing > _MOST_AT_ONCE:
            return
