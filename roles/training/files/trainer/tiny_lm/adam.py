# SPDX-License-Identifier: GPL-3.0-or-later
"""The Adam optimiser (Kingma and Ba, 2015, algorithm 1), with the decay rates that train_llama3.sh passes."""

from __future__ import annotations

import typing as t
from math import sqrt

if t.TYPE_CHECKING:
    from collections.abc import Sequence

_BETA1 = 0.9
_BETA2 = 0.95
_EPSILON = 1e-8


class Adam:
    """The state of the optimiser for this many parameters.

    It computes with + - x / and square root only, which are exact everywhere, so that nodes with different Pythons or
    C libraries keep identical parameters.
    """

    def __init__(self, parameters: int) -> None:
        """Begin with both moments at 0."""
        self._first = [0.0] * parameters
        self._second = [0.0] * parameters
        self._beta1_power = 1.0
        self._beta2_power = 1.0

    def step(self, parameters: Sequence[float], gradient: Sequence[float], learning_rate: float) -> list[float]:
        """Give the parameters after one step against the gradient."""
        self._beta1_power *= _BETA1
        self._beta2_power *= _BETA2
        self._first = [_BETA1 * m + (1 - _BETA1) * g for m, g in zip(self._first, gradient)]
        self._second = [_BETA2 * v + (1 - _BETA2) * (g * g) for v, g in zip(self._second, gradient)]
        first_scale = 1 - self._beta1_power
        second_scale = 1 - self._beta2_power
        return [
            p - learning_rate * (m / first_scale) / (sqrt(v / second_scale) + _EPSILON)
            for p, m, v in zip(parameters, self._first, self._second)
        ]
