from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.reasons import Reasons


@pytest.mark.parametrize(
    ("argued", "verdict"),
    [
        (["PASS", "INCONCLUSIVE", "ERROR", "FAIL"], "FAIL"),
        (["PASS", "INCONCLUSIVE", "ERROR"], "ERROR"),
        (["PASS", "INCONCLUSIVE"], "INCONCLUSIVE"),
        (["PASS"], "PASS"),
        ([], "INCONCLUSIVE"),
    ],
)
def test_the_gravest_verdict_counts_and_nothing_is_no_pass(argued, verdict):
    reasons = Reasons()
    for one in argued:
        reasons.argue(one, "node_failed", "gpu00", exit_status=1)
    assert reasons.verdict() == verdict


def test_a_pass_tells_what_it_rests_on_and_any_other_verdict_what_is_against_it_gravest_first():
    reasons = Reasons()
    reasons.argue("PASS", "nodes", nodes=2)
    (passed,) = reasons.decisive()
    assert (passed["code"], passed["verdict"], passed["values"]) == ("nodes", "PASS", {"nodes": 2})
    reasons.argue("INCONCLUSIVE", "last_step_missing", "gpu00", step=3, goal=8)
    reasons.argue("FAIL", "node_failed", "gpu01", exit_status=1)
    assert [reason["code"] for reason in reasons.decisive()] == ["node_failed", "last_step_missing"]
    assert (reasons.decisive()[1]["node"], reasons.decisive()[1]["values"]) == ("gpu00", {"step": 3, "goal": 8})


def test_notes_argue_for_nothing_and_are_told_with_any_verdict():
    reasons = Reasons()
    reasons.remark("taken_up", ended_at="2026-11-28 10:00:00 UTC")
    assert (reasons.verdict(), reasons.decisive()) == ("INCONCLUSIVE", [])
    (note,) = reasons.notes()
    assert (note["code"], note["values"]) == ("taken_up", {"ended_at": "2026-11-28 10:00:00 UTC"})
