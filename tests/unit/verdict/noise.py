# SPDX-License-Identifier: GPL-3.0-or-later
"""Noise in which each value resembles the one before it."""

from __future__ import annotations

import numpy as np


def correlated(series: int, size: int, rho: float) -> np.ndarray:
    """Return series of normal values, a row each, of deviation 1 and with so much correlation from step to step."""
    fresh = np.random.default_rng(size).normal(size=(series, size + 100)) * np.sqrt(1 - rho**2)
    for step in range(1, size + 100):
        fresh[:, step] += rho * fresh[:, step - 1]
    return fresh[:, 100:]
