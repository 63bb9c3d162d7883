# SPDX-License-Identifier: GPL-3.0-or-later
"""The model: two bytes of context, their embeddings, one tanh layer, a softmax over the 256 next bytes.

Parameters are one flat list of floats: this list is reduced between nodes, and Adam steps it. It contains, row by row::

    embedding  256 x 8         one row for each byte
    hidden      16 x (8+8+1)   the embeddings of the two bytes before, and 1 for the bias
    output     256 x (16+1)    the hidden layer, and 1 for the bias

Nothing here raises an arithmetic error: a training that diverges yields infinities and then NaN.
"""

from __future__ import annotations

import random
import typing as t
from math import exp, log, sqrt, tanh
from operator import mul

from .settings import CONTEXT

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    Matrix = list[list[float]]

VOCABULARY = 256
EMBEDDING = 8
HIDDEN = 16
_SHAPES = ((VOCABULARY, EMBEDDING), (HIDDEN, CONTEXT * EMBEDDING + 1), (VOCABULARY, HIDDEN + 1))

PARAMETERS = sum(rows * columns for rows, columns in _SHAPES)

FLOPS_PER_TOKEN = 3 * 2 * sum(rows * columns for rows, columns in _SHAPES[1:])
"""Floating point operations of training on one token: the two matrix products, a multiplication and an addition for
each element; backward takes twice the forward products (gradient of the input and of the matrix). The embedding is a
look-up."""


def initial_parameters(seed: int) -> list[float]:
    """Uniform around 0, with a variance of 1 / (3 x columns) in the layers; the same for a seed everywhere."""
    draw = random.Random(f"{seed}: parameters").random
    return [(2 * draw() - 1) / sqrt(columns) for rows, columns in _SHAPES for _cell in range(rows * columns)]


def loss_and_gradient(parameters: Sequence[float], samples: Sequence[bytes]) -> tuple[float, list[float]]:
    """Cross entropy (nats) summed over all predicted bytes of the samples, and its gradient (as ``parameters``)."""
    embedding, hidden, output = _matrices(parameters)
    hidden_columns = list(zip(*hidden))[:-1]
    output_columns = list(zip(*output))[:-1]
    embedding_gradient = [[0.0] * EMBEDDING for _row in range(VOCABULARY)]
    inputs, activations, hidden_errors, output_errors = [], [], [], []
    loss = 0.0
    for sample in samples:
        for before, last, target in zip(sample, sample[1:], sample[2:]):
            x = [*embedding[before], *embedding[last], 1.0]
            h = [tanh(sum(map(mul, row, x))) for row in hidden]
            h.append(1.0)
            logits = [sum(map(mul, row, h)) for row in output]
            highest = max(logits)
            weights = [exp(logit - highest) for logit in logits]
            total = sum(weights)
            loss += log(total) - (logits[target] - highest)

            output_error = [weight / total for weight in weights]
            output_error[target] -= 1.0
            hidden_error = [
                sum(map(mul, column, output_error)) * (1.0 - value * value) for column, value in zip(output_columns, h)
            ]
            input_error = [sum(map(mul, column, hidden_error)) for column in hidden_columns]
            _add_to(embedding_gradient[before], input_error[:EMBEDDING])
            _add_to(embedding_gradient[last], input_error[EMBEDDING:])

            inputs.append(x)
            activations.append(h)
            hidden_errors.append(hidden_error)
            output_errors.append(output_error)
    gradients = (embedding_gradient, _products(hidden_errors, inputs), _products(output_errors, activations))
    return loss, [value for matrix in gradients for row in matrix for value in row]


def _matrices(parameters: Sequence[float]) -> list[Matrix]:
    matrices = []
    start = 0
    for rows, columns in _SHAPES:
        end = start + rows * columns
        matrices.append([list(parameters[at : at + columns]) for at in range(start, end, columns)])
        start = end
    return matrices


def _products(errors: Matrix, inputs: Matrix) -> Matrix:
    """The gradient of a layer: for each output and input, the sum over all tokens of error times input."""
    columns = list(zip(*inputs))
    return [[sum(map(mul, error, column)) for column in columns] for error in zip(*errors)]


def _add_to(row: list[float], values: Sequence[float]) -> None:
    row[:] = [a + b for a, b in zip(row, values)]
