# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a failure's signature."""

from __future__ import annotations

import typing as t

from .failure_classes import CLASSES, FIRST_ECHO
from .severity import INFO, UNMARKED, WARNING, Severity, severity_of
from .tokens import without_tokens

LINE_CHARACTERS = 400

# "class" is a keyword of Python.
Failure = t.TypedDict(
    "Failure",
    {
        "class": str,
        "blame": int,
        "echo": bool,
        "remedy": str,
        "line": str,
        "rank": "int | None",
        "exit_code": "int | None",
        "severity": Severity,
        "step": "int | None",
    },
)
Failure.__doc__ = "A failure in a log; see `failures.find_failures`."


class Signature(t.NamedTuple):
    """How a failure of one class shows in the output of one source, and its remedy.

    ``failure`` is one of the `CLASSES`, and ``own_remedy`` replaces the remedy of the class. ``pattern`` is a regular
    expression. Every line with the beginning of a match contains one of the ``NEEDLES``. It is compiled only if the
    text contains one of its literals, which is rare. All of its repeats are bounded, so its cost grows with the length
    of a line and no faster. Its groups ``rank`` (the rank or JAX task that the text blames) and ``exit_code`` are kept.
    ``nearness`` replaces the ``blame`` of the class if the text often follows from a failure of another class.
    ``sample`` is a line that it matches, and its test; the module says who prints it.

    If a line matches several signatures, the first one in ``known.SIGNATURES`` counts, and it lists all others in
    ``more_specific_than``. A signature has a ``name`` if another one is more specific. It has a ``severity`` if its
    program marks a fault as mere information.
    """

    failure: str
    own_remedy: t.Optional[str]
    pattern: bytes = b""
    nearness: t.Optional[int] = None
    sample: str = ""
    name: str = ""
    more_specific_than: t.Tuple[str, ...] = ()
    severity: Severity = UNMARKED

    @property
    def blame(self) -> int:
        """Return how near the text is to the cause; see `failure_classes`."""
        return CLASSES[self.failure].blame if self.nearness is None else self.nearness

    @property
    def remedy(self) -> str:
        """Return the remedy."""
        return self.own_remedy or CLASSES[self.failure].remedy

    @property
    def echo(self) -> bool:
        """Return whether the class follows from a failure elsewhere."""
        return self.blame >= FIRST_ECHO

    def failure_in(self, line: bytes, rank: int | None = None, exit_code: int | None = None) -> Failure:
        """Return the failure that a line shows, see ``find_failures``."""
        words = line[: 4 * LINE_CHARACTERS].decode("utf-8", "replace").split()
        return {
            "class": self.failure,
            "blame": self.blame,
            "echo": self.echo,
            "remedy": self.remedy,
            "line": without_tokens(" ".join(words))[:LINE_CHARACTERS],
            "rank": rank,
            "exit_code": exit_code,
            "severity": self.severity or severity_of(line),
            "step": None,
        }


def is_warning(failure: Failure) -> bool:
    """Return whether the program itself calls the line a warning or information: then it reports no failure."""
    return failure["severity"] in (WARNING, INFO)
