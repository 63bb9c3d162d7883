# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether two runs measure the same, and what has to be said before their numbers are."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..text.words import listed

_SIZES = {
    "gpu": "GPU",
    "nnodes": "nodes",
    "gpus_per_node": "GPUs per node",
    "precision": "precision",
    "global_batch_size": "global batch size",
    "micro_batch_size": "micro batch size",
    "sequence_length": "sequence length",
}


def incomparable(before: Mapping[str, t.Any], after: Mapping[str, t.Any]) -> str:
    """Return why the numbers of two runs cannot be compared, as a sentence; empty where they can."""
    rehearsals = [run["run_id"] for run in (before, after) if run["rehearsal"]]
    if len(rehearsals) == 1:
        return (
            f"{rehearsals[0]} is a rehearsal, in which a toy model trains on CPUs: it says nothing about "
            f"{after['model']} on {after['gpu']}, and its numbers cannot be compared."
        )
    if before["model"] != after["model"]:
        models = f"{before['model']} and {after['model']}"
        return f"The two trained different models, {models}: their numbers cannot be compared."
    return ""


def caveats_of(before: Mapping[str, t.Any], after: Mapping[str, t.Any]) -> list[str]:
    """Return what has to be known of the numbers of two runs that can be compared."""
    caveats = []
    if before["rehearsal"] and after["rehearsal"]:
        caveats.append("Both are rehearsals, in which a toy model trains on CPUs.")
    else:
        recorded = [run["run_id"] for run in (before, after) if run["record_only"] and not run["rehearsal"]]
        if recorded:
            caveats.append(f"{' and '.join(recorded)} had no thresholds: the speed was recorded, not judged.")
    different = [
        f"{words} ({before[name]} and {after[name]})" for name, words in _SIZES.items() if _differ(name, before, after)
    ]
    if different and not before["rehearsal"] and not after["rehearsal"]:
        caveats.append(f"The two differ in {listed(different)}.")
    if before["started_at"] and after["started_at"] and after["started_at"] < before["started_at"]:
        caveats.append(f"{after['run_id']} is the older one.")
    return caveats


def _differ(name: str, before: Mapping[str, t.Any], after: Mapping[str, t.Any]) -> bool:
    return before.get(name) != after.get(name)


def verdict_of(run: Mapping[str, t.Any]) -> str:
    """Return the verdict of a run, with what kind of run it was unless it was judged by thresholds."""
    kind = " (rehearsal)" if run.get("rehearsal") else " (recorded only)" if run.get("record_only") else ""
    return f"{run['verdict']}{kind}"
