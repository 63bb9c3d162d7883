# SPDX-License-Identifier: GPL-3.0-or-later
"""How many steps a run needs at least to be judged, and how long its sequences are at least."""

from __future__ import annotations

from ...text.words import counted
from ..config.findings import Findings

# A mean of fewer says nothing.
MIN_SAMPLES = 3
# What does not count of a run that is too short to find its steady pace.
ASSUMED_WARM_UP = 2
_FEWEST = ASSUMED_WARM_UP + MIN_SAMPLES
# Kernels of attention work on blocks of so many tokens; MaxText itself chooses none for less (attention_op.py).
_SHORTEST = 128


def warn_of_few_steps(steps: int | None, key: str, findings: Findings) -> None:
    """Warn of a run that cannot PASS, because too few steps would be left after the warm-up."""
    if steps is None or steps >= _FEWEST:
        return
    left = max(0, steps - ASSUMED_WARM_UP)
    findings.warn(
        key,
        steps,
        f"This run can never PASS: of {counted(steps, 'step')} {left or 'none'} would be left after a warm-up of "
        f"{ASSUMED_WARM_UP}, and at least {MIN_SAMPLES} have to count.",
        f"Train {_FEWEST} steps or more, ideally 30.",
    )


def warn_of_short_sequences(length: int | None, key: str, findings: Findings) -> None:
    """Warn of sequences that are shorter than what an accelerator's kernels work on at once."""
    if length is None or length >= _SHORTEST:
        return
    findings.warn(
        key,
        length,
        f"No model is trained with sequences of {counted(length, 'token')}: the attention kernels of accelerators work "
        f"on blocks of {_SHORTEST}.",
        "Choose a power of 2, such as 4096 or 8192.",
    )
