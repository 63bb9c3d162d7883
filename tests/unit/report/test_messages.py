# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages of a summary about many nodes."""

from __future__ import annotations

import typing as t

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.failures import messages_of, reasons_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.reasons import Reasons


def reason(message: str, node: str | None = None, code: str = "time_note", verdict: str = "PASS") -> dict[str, t.Any]:
    return {"code": code, "message": message, "verdict": verdict} | ({"node": node} if node else {})


def findings(reasons: Reasons) -> list[str]:
    return messages_of([*reasons.decisive(), *reasons.notes()])


def test_what_differs_between_nodes_in_numbers_only_is_one_message_with_their_ranges() -> None:
    reasons = Reasons()
    for n in range(16):
        reasons.remark("clock_back", f"gpu{n}", seconds=60.0 + n)
    assert findings(reasons) == [
        "The timestamps of gpu[0-15] jump back by 60 – 75 s: its lines are out of order, or from two runs."
    ]


def test_numbers_that_nobody_measured_are_listed_and_not_a_range() -> None:
    reasons = Reasons()
    for node, status in {"gpu0": 1, "gpu1": 139, "gpu2": 134, "gpu3": 137, "gpu4": 1}.items():
        reasons.argue("FAIL", "node_failed", node, exit_status=status)
    assert findings(reasons) == ["gpu[0-4] ended with exit status 1, 134, 137 and 139."]


def test_the_odd_node_of_many_stays_by_itself() -> None:
    steps = {node: 3 if node == 5 else 7 for node in range(8)}
    notes = [reason(f"gpu{node} reached only step {step} of 10.", f"gpu{node}") for node, step in steps.items()]
    assert messages_of(notes) == ["gpu5 reached only step 3 of 10.", "gpu[0-4,6-7] reached only step 7 of 10."]


def test_other_codes_verdicts_and_messages_of_no_node_stay_apart() -> None:
    found = reasons_of(
        [
            reason("gpu0 reached only step 7 of 20.", "gpu0", "last_step_missing", "FAIL"),
            reason("gpu1 reached only step 9 of 20.", "gpu1", "last_step_missing", "FAIL"),
            reason("gpu2 reached only step 9 of 20.", "gpu2", "last_step_missing", "INCONCLUSIVE"),
            reason("At least 8 steps.", verdict="INCONCLUSIVE"),
            reason("At least 9 steps.", verdict="INCONCLUSIVE"),
        ]
    )
    assert found == [
        ("gpu0 reached only step 7 of 20.", "last_step_missing"),
        ("gpu1 reached only step 9 of 20.", "last_step_missing"),
        ("gpu2 reached only step 9 of 20.", "last_step_missing"),
        ("At least 8 steps.", "time_note"),
        ("At least 9 steps.", "time_note"),
    ]
