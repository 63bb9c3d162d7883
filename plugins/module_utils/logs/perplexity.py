# SPDX-License-Identifier: GPL-3.0-or-later
"""Perplexities that a trainer prints beside the loss that they are made of, and evaluations."""

from __future__ import annotations

import math
import re

from .find import Piece, Printed

WORD = rb"([^\s|,]{1,60})"
NUMBER = rb"([-+]?(?:(?i:nan|inf(?:inity)?)|\d{1,40}(?:\.\d{0,40})?(?:[eE][-+]?\d{1,4})?))"
# Losses may have three decimals.
_TOLERANCE = 0.01
# Megatron-LM takes larger losses for this one. To guess among the words of any vocabulary has less.
_LARGEST_LOSS = 20.0


def impossible_evaluations(printed: Printed | None, piece: Piece) -> int:
    """Return how many evaluations of a piece are of no tokens, or have a finite loss that no trained model has.

    Printed are the loss and the number of tokens.
    """
    found = (map(float, match.groups()) for match in (printed.matches(piece) if printed else ()))
    return sum(math.isfinite(loss) and not (0 <= loss <= _LARGEST_LOSS and tokens) for loss, tokens in found)


def wrong_perplexities(printed: Printed | None, of_trained: bool, piece: Piece) -> int:
    """Return how many perplexities of a piece are not the exponential of a loss that can be; that of NaN is none.

    Printed are the loss and the perplexity, a word that need not be a number, as a value that is none is no good sign.
    ``of_trained`` says that they are of evaluations, in which a model has learned something already.
    """
    found = (match.groups() for match in (printed.matches(piece) if printed else ()))
    largest = _LARGEST_LOSS if of_trained else math.inf
    return sum(not (0 <= float(loss) <= largest and _fits(float(loss), word)) for loss, word in found)


def _fits(loss: float, word: bytes) -> bool:
    perplexity = float(word) if re.fullmatch(NUMBER, word) else math.nan
    if not math.isfinite(loss) or not 0 < perplexity < math.inf:
        return False
    logarithm = math.log(perplexity)
    return abs(logarithm - loss) <= _TOLERANCE or abs(logarithm - min(loss, _LARGEST_LOSS)) <= _TOLERANCE
