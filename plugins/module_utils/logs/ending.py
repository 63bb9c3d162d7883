# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of a log after its last steps: failures of a known class, unusual lines, and the end of the training.

Only a line that a signature knows, and that the program does not itself call a warning, is a failure here. A line that
merely sounds like one is unusual: it is shown, and decides nothing.
"""

from __future__ import annotations

import os
import re
import typing as t
from itertools import groupby
from operator import itemgetter

from .alarms import sounds_like_a_failure
from .failures import IGNORED, find_failures, is_of_exit
from .find import Piece
from .grammar import Grammar
from .grammars.known import grammar_of
from .pattern import later
from .signature import LINE_CHARACTERS, Failure, Signature, is_warning
from .signatures.sentences import sentence_class
from .text import line_start

# A failure that this many steps follow was survived. One is not enough: ranks still print after another one has failed.
STEPS_TO_SURVIVE = 3
# Failures further from the end are ignored.
_LAST_BYTES = 64 << 20
# The bytes at the end of a log, and of its lines, that are searched for the last steps first: parsing all is slow.
_FIRST_LOOK_BYTES = 64 << 10
_LAST_STEPS_BYTES = 8 << 10

UNNAMED = Signature(
    "unnamed",
    None,
)
_UNWRITTEN = Signature(
    "checkpoint",
    "This checkpoint was begun, but nothing says that it was written. Check its folder, the free space and the "
    "storage.",
)
_ITERATION = later(rb"\biteration +(\d+)")
# Good runs print these once their training is over. Rank 0 holds c10d's store and may end first; its own log shows
# whether it finished. A launch script ends its monitor, fails to deliver a message or to copy the output, and
# slurmstepd cleans up.
_OF_GOOD_RUNS = later(
    rb"(?:TCPStore|ProcessGroupNCCL)\.cpp:\d{1,5}\] "
    rb"(?:\[c10d\] (?:sendBytes|recv\w{1,30}) failed |.{0,99} Failed to check the \"should dump\" flag on TCPStore)"
    rb"|: line \d{1,9}: +\d{1,9} (?:Killed|Terminated) +\S{0,99}-smi |^curl: \(\d{1,3}\) |^tee: "
    rb"|^slurmstepd: error: Unable to unlink domain socket "
)
_WARNED_AT = later(rb"(\.py:\d{1,6}: \w{1,40}Warning: [^\n]*\n)[ \t]+\S[^\n]*")
_HELPER_TRACEBACK = later(rb"Traceback \(most recent call last\):\r?\n(?:[ \t][^\n]*\n)+[^\n]*")
_FILE = later(rb'\n[ \t]+File "([^"\r\n]*)"')
# How many bytes after the last step are searched for unusual lines, at the beginning and at the end.
_UNUSUAL_BYTES = 64 << 10
_UNUSUAL_LINES = 3
# How many bytes of a log are searched if nothing says when its rank began to train.
_CLOSING_BYTES = 4 << 10


class End(t.TypedDict):
    """The end of a log, as part of a node's answer.

    ``failures_at_end`` are failures of a known class, as from ``find_failures``. ``unusual_at_end`` are the first lines
    that sound like a failure, each with the class that its words suggest, or ``unnamed``. ``said_end`` tells whether
    the trainer printed that its training is over.
    """

    failures_at_end: list[Failure]
    unusual_at_end: list[Failure]
    said_end: bool


def end_of_training(path: str, framework: str) -> End:
    """Return how a log ends.

    Its failures are the ones with too few steps after them to count as survived; for a rank that prints no steps, the
    failures after its last sign of training. A log that does not exist gives nothing; raises OSError for one that
    cannot be read.
    """
    grammar = grammar_of(framework)
    size, text = _FIRST_LOOK_BYTES, end_of(path, _FIRST_LOOK_BYTES)
    while size < _LAST_BYTES and len(text) == size and _few_behind(text, 0, grammar, 1):
        size *= 4
        text = end_of(path, size)
    begin = begin_of_few(text, grammar, 1)
    glued = _behind_fields(text[line_start(text, begin - 1) : begin]) if begin else b""
    if begin == 0:
        begin = last_sign(grammar.under_way, Piece(text))
    if begin == 0 and _few_behind(text, 0, grammar, 1):
        # Nothing says when this rank began to train: at most its last lines are of interest.
        closing = text[-_CLOSING_BYTES:]
        met = last_sign(grammar.met, Piece(closing))
        return {
            "failures_at_end": [],
            "unusual_at_end": _unusual(closing[met:], grammar),
            "said_end": _says_end(text, grammar),
        }
    few = begin_of_few(text, grammar, STEPS_TO_SURVIVE)
    behind = glued + text[begin:]
    # Ranks print when their buffers are full: the end may be printed before another rank's last steps.
    failures = only_errors(find_failures(Piece(text[few or begin :])))
    return {
        "failures_at_end": failures or _unwritten(Piece(text), grammar),
        "unusual_at_end": _unusual(behind, grammar),
        "said_end": _says_end(text[few:], grammar),
    }


def only_errors(failures: t.Iterable[Failure]) -> list[Failure]:
    """Return the failures without warnings, and without the lines that good runs print as their processes end."""
    return [
        one
        for one in failures
        if not is_warning(one) and not is_of_exit(one) and not _OF_GOOD_RUNS.search(one["line"].encode())
    ]


def _says_end(text: bytes, grammar: Grammar) -> bool:
    return any(sign in text for sign in grammar.over) and not any(sign in text for sign in grammar.cut_short)


def _behind_fields(line: bytes) -> bytes:
    """Return the rest of a step's line after its fields. A progress bar ends only with the next thing printed."""
    rest = line[line.rfind(b"|") + 1 :]
    _before, opened, fields = rest.rpartition(b"[")
    return fields.partition(b"]")[2] if opened else rest


def last_sign(signs: t.Iterable[bytes], piece: Piece) -> int:
    """Return the end of the line with the last of the texts in a piece, or 0 if there is none."""
    last = max((piece.text.rfind(sign) for sign in signs if piece.find(sign, 0) >= 0), default=-1)
    return last + 1 if last < 0 else (piece.text.find(b"\n", last) + 1 or len(piece.text))


def _unusual(text: bytes, grammar: Grammar) -> list[Failure]:
    """Return the first lines that sound like a failure, with the class that their words suggest."""
    if not text or text.isspace():
        return []
    if len(text) > 2 * _UNUSUAL_BYTES:
        text = text[:_UNUSUAL_BYTES] + b"\n" + text[-_UNUSUAL_BYTES:]
    text = _HELPER_TRACEBACK.sub(lambda found: b"" if _is_of_helpers(found.group(), grammar) else found.group(), text)
    text = IGNORED.sub(b"", _WARNED_AT.sub(rb"\1", text))
    lines = (line for line in re.split(rb"[\r\n]+", text) if not line.startswith(grammar.closing))
    found: list[Failure] = []
    for line in filter(sounds_like_a_failure, lines):
        signature = sentence_class(line) or UNNAMED
        found.append(signature.failure_in(line[:LINE_CHARACTERS]))
        if len(found) == _UNUSUAL_LINES:
            break
    return found


def _unwritten(piece: Piece, grammar: Grammar) -> list[Failure]:
    """Return the last checkpoint that the process began to write, if nothing says that it was written."""
    if grammar.saves is None:
        return []
    begin, ends = grammar.saves
    begun = last_sign((begin,), piece)
    if begun <= last_sign((printed.needle for printed in grammar.world_size), piece):
        return []
    line = piece.text[line_start(piece.text, begun - 1) : begun]
    if _is_written(line, piece.text[begun:], ends):
        return []
    return [_UNWRITTEN.failure_in(line)]


def _is_written(begun: bytes, behind: bytes, ends: t.Iterable[bytes]) -> bool:
    """Tell whether the following text says that it was written, for the same iteration if both give theirs."""
    of_which = _ITERATION.search(begun)
    written = re.findall(rb"(?:" + b"|".join(map(re.escape, ends)) + rb")[^\r\n]*", behind)
    said = [found.group(1) for found in map(_ITERATION.search, written) if found]
    return bool(written) and (not of_which or len(said) < len(written) or of_which.group(1) in said)


def _is_of_helpers(traceback: bytes, grammar: Grammar) -> bool:
    files = _FILE.findall(traceback)
    helper = re.compile(rb"<string>$" + (b"|" + grammar.helper_files if grammar.helper_files else b""))
    return bool(files) and all(helper.search(file) for file in files)


def end_of(path: str, size: int = _LAST_BYTES) -> bytes:
    """Return the last bytes of a log, empty if it does not exist; raises OSError for one that cannot be read."""
    try:
        with open(path, "rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - size))
            return log.read()
    except FileNotFoundError:
        return b""


def begin_of_few(text: bytes, grammar: Grammar, steps: int) -> int:
    """Return the position in some lines of a log after which fewer than ``steps`` steps follow."""
    size = _LAST_STEPS_BYTES
    while size < len(text) and _few_behind(text, len(text) - size, grammar, steps):
        size *= 4
    many, few = max(0, len(text) - size), len(text)
    if _few_behind(text, many, grammar, steps):
        return many
    # The more lines are left off, the fewer steps follow: so the first line with few after it can be bisected. A list
    # of all lines would take more memory than the text, which may be nothing but line ends.
    while many < few:
        middle = (many + few) // 2
        if _few_behind(text, middle, grammar, steps):
            few = middle
        else:
            many = middle + 1
    return few


def _few_behind(text: bytes, place: int, grammar: Grammar, steps: int) -> bool:
    """Return whether fewer than ``steps`` steps are in the line at the position and after it."""
    found = grammar.parse(Piece(text[line_start(text, place) :]), {})
    return sum(1 for _step in groupby(found, itemgetter("step"))) < steps
