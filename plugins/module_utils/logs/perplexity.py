# SPDX-License-Identifier: GPL-3.0-or-later
"""Perplexities that a trainer prints beside the loss that they are made of, and evaluations."""

from __future__ import annotations

import math
import re
import typing as t

from .find import Piece

WORD = rb"([^\s|,]{1,60})"
NUMBER = rb"([-+]?(?:(?i:nan|inf(?:inity)?)|\d{1,40}(?:\.\d{0,40})?(?:[eE][-+]?\d{1,4})?))"
# Losses may have three decimals.
_TOLERANCE = 0.01
# Megatron-LM takes larger losses for this one. To guess among the words of any vocabulary has less.
_LARGEST_LOSS = 20.0


class Perplexity(t.NamedTuple):
    """How a trainer prints both: a piece without the ``needle`` has none, and ``pattern`` has the loss first.

    The perplexity is a word that need not be a number, as a value that is none is no good sign. ``of_trained`` says
    that they are of evaluations, in which a model has learned something already.
    """

    needle: bytes
    pattern: bytes
    of_trained: bool = False


class Evaluation(t.NamedTuple):
    """How a trainer prints an evaluation: ``pattern`` has its loss and the number of its tokens."""

    needle: bytes
    pattern: bytes


def impossible_evaluations(printed: Evaluation | None, piece: Piece) -> int:
    """Return how many evaluations of a piece are of no tokens, or have a finite loss that no trained model has."""
    if printed is None or piece.find(printed.needle, 0) < 0:
        return 0
    found = (map(float, match.groups()) for match in re.finditer(printed.pattern, piece.text))
    return sum(math.isfinite(loss) and not (0 <= loss <= _LARGEST_LOSS and tokens) for loss, tokens in found)


def wrong_perplexities(printed: Perplexity | None, piece: Piece) -> int:
    """Return how many perplexities of a piece are not the exponential of a loss that can be; that of NaN is none."""
    if printed is None or piece.find(printed.needle, 0) < 0:
        return 0
    found = (match.groups() for match in re.finditer(printed.pattern, piece.text))
    largest = _LARGEST_LOSS if printed.of_trained else math.inf
    return sum(not (0 <= float(loss) <= largest and _fits(float(loss), word)) for loss, word in found)


def _fits(loss: float, word: bytes) -> bool:
    perplexity = float(word) if re.fullmatch(NUMBER, word) else math.nan
    if not math.isfinite(loss) or not 0 < perplexity < math.inf:
        return False
    logarithm = math.log(perplexity)
    return abs(logarithm - loss) <= _TOLERANCE or abs(logarithm - min(loss, _LARGEST_LOSS)) <= _TOLERANCE
