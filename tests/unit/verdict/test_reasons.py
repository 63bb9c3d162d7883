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
        reasons.add(one, one.lower(), one)
    assert reasons.verdict() == verdict


def test_a_pass_tells_what_it_rests_on_and_any_other_verdict_what_is_against_it_gravest_first():
    reasons = Reasons()
    reasons.add("PASS", "samples", "Enough.")
    assert reasons.decisive() == [{"code": "samples", "message": "Enough.", "verdict": "PASS"}]
    reasons.add("INCONCLUSIVE", "no_steps", "None.", "gpu00", steps=0)
    reasons.add("FAIL", "node_failed", "Failed.", "gpu01")
    assert [reason["code"] for reason in reasons.decisive()] == ["node_failed", "no_steps"]
    assert (reasons.decisive()[1]["node"], reasons.decisive()[1]["evidence"]) == ("gpu00", {"steps": 0})


def test_notes_argue_for_nothing_and_are_told_with_any_verdict():
    reasons = Reasons()
    reasons.note("warm_up", "Two steps.", steps=2)
    assert (reasons.verdict(), reasons.decisive()) == ("INCONCLUSIVE", [])
    assert reasons.notes() == [{"code": "warm_up", "message": "Two steps.", "evidence": {"steps": 2}}]
