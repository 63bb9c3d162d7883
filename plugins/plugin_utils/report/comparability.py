# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether two runs measure the same, and what has to be said before their numbers are."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..contracts import Reason
from ..text.comparison import comparison_finding

SIZES: t.Final = (
    *("gpu", "nnodes", "gpus_per_node", "precision"),
    *("global_batch_size", "micro_batch_size", "sequence_length"),
)


def incomparable(before: Mapping[str, t.Any], after: Mapping[str, t.Any]) -> Reason | None:
    """Return why the numbers of two runs cannot be compared, None where they can."""
    rehearsals = [run["run_id"] for run in (before, after) if run["rehearsal"]]
    if len(rehearsals) == 1:
        of = {"model": after["model"], "gpu": after["gpu"]}
        return comparison_finding("not_comparable", "rehearsal", run_id=rehearsals[0], **of)
    if before["model"] != after["model"]:
        return comparison_finding("not_comparable", "models", models=[before["model"], after["model"]])
    return None


def caveats_of(before: Mapping[str, t.Any], after: Mapping[str, t.Any]) -> list[Reason]:
    """Return what has to be known of the numbers of two runs that can be compared."""
    caveats = []
    if before["rehearsal"] and after["rehearsal"]:
        caveats.append(comparison_finding("rehearsals"))
    else:
        recorded = [run["run_id"] for run in (before, after) if run["record_only"] and not run["rehearsal"]]
        if recorded:
            caveats.append(comparison_finding("recorded_only", run_ids=recorded))
    pairs = {name: [before.get(name), after.get(name)] for name in SIZES}
    different = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    if different and not before["rehearsal"] and not after["rehearsal"]:
        caveats.append(comparison_finding("sizes_differ", sizes=different))
    if before["started_at"] and after["started_at"] and after["started_at"] < before["started_at"]:
        caveats.append(comparison_finding("older", run_id=after["run_id"]))
    return caveats


def verdict_of(run: Mapping[str, t.Any]) -> str:
    """Return the verdict of a run, with what kind of run it was unless it was judged by thresholds."""
    kind = " (rehearsal)" if run.get("rehearsal") else " (recorded only)" if run.get("record_only") else ""
    return f"{run['verdict']}{kind}"
