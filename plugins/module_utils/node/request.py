# SPDX-License-Identifier: GPL-3.0-or-later
"""What every phase is asked with."""

from __future__ import annotations

import typing as t

# What the node has written down when it was staged, and does not need again.
_ONLY_STAGED = ("files",)


def request_of(plan: t.Mapping[str, t.Any], node: t.Mapping[str, t.Any], phase: str) -> dict[str, t.Any]:
    """Return the request of a phase on a node of a plan, without what else the phase needs."""
    return {
        "phase": phase,
        "run_id": plan["run_id"],
        "framework": plan.get("log_framework", plan["framework"]),
        "container_engine": plan["container_engine"],
        "tokens_per_step_per_gpu": plan["tokens_per_step_per_gpu"],
        "tokens_per_sequence_per_gpu": plan["tokens_per_sequence_per_gpu"],
        "node": {name: value for name, value in node.items() if name not in _ONLY_STAGED},
    }
