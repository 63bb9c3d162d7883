# SPDX-License-Identifier: GPL-3.0-or-later
"""Training text: byte sequences, each fixed by the seed and its place in the run.

Sample i is the same on whichever node it is computed, so the global batch of an iteration does not depend on the
number of nodes. Only ``Random.random()`` is drawn from, whose sequence Python keeps the same in all its versions.
"""

from __future__ import annotations

import random
import typing as t
from itertools import accumulate

from .settings import CONTEXT

if t.TYPE_CHECKING:
    from collections.abc import Callable

Corpus = t.Callable[[int], bytes]
"""Gives sample i, as ``SEQ_LENGTH + CONTEXT`` bytes."""

_SYMBOLS = b"abcdefghijklmnopqrstuvwxyz .,;:\n"
# Among the possible next symbols, the first is the likeliest.
_PROBABILITIES = (0.6, 0.2, 0.12, 0.08)


def synthetic_corpus(seed: int, seq_length: int) -> Corpus:
    """Text of a Markov chain of order 1 over 32 symbols, drawn anew for each sample.

    A symbol has four next symbols, of probability 0.6, 0.2, 0.12 and 0.08; so a mean loss near 1.08 nats, the entropy
    of these, is as good as a model can get.
    """
    draw = random.Random(f"{seed}: transitions").random
    transitions = [[_pick(draw) for _follower in _PROBABILITIES] for _symbol in _SYMBOLS]
    limits = list(accumulate(_PROBABILITIES))

    def sample(index: int) -> bytes:
        draw = random.Random(f"{seed}: sample {index}").random
        state = _pick(draw)
        text = bytearray()
        for _token in range(seq_length + CONTEXT):
            text.append(_SYMBOLS[state])
            choice = draw()
            # The sum of the probabilities may be a rounding error below 1.
            state = next((s for s, limit in zip(transitions[state], limits) if choice < limit), transitions[state][-1])
        return bytes(text)

    return sample


def file_corpus(path: str, seed: int, seq_length: int) -> Corpus:
    """Pieces of a file's bytes, at places drawn from the seed; OSError when it cannot be read."""
    length = seq_length + CONTEXT
    with open(path, "rb") as file:
        starts = file.seek(0, 2) - length + 1

    def sample(index: int) -> bytes:
        with open(path, "rb") as file:
            file.seek(int(random.Random(f"{seed}: sample {index}").random() * starts))
            return file.read(length)

    return sample


def sample_indices(
    iteration: int, rank: int, nnodes: int, micro_batch_size: int, micro_batches: int
) -> list[list[int]]:
    """The samples that a node computes in an iteration (from 1), as one list for each of its micro batches.

    As in Megatron's sampler, micro batch m of all nodes together is one block of the stream, cut into one part per
    node.
    """
    block = micro_batch_size * nnodes
    first = (iteration - 1) * block * micro_batches + rank * micro_batch_size
    return [list(range(first + m * block, first + m * block + micro_batch_size)) for m in range(micro_batches)]


def _pick(draw: Callable[[], float]) -> int:
    """One of the chain's states, each as likely."""
    return int(draw() * len(_SYMBOLS))
