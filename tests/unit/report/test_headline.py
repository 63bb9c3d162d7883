# SPDX-License-Identifier: GPL-3.0-or-later
"""The outcome of a run in one sentence, and what a reader must know next."""

from __future__ import annotations

import typing as t

import pytest
from judged_runs import FAILURE

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.failures import others_in_words
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.headline import (
    fleet,
    headline,
    numbers,
    open_reasons,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.leads import leads_of, notes_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.thresholds import threshold_rows
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.tiles import tiles_of

Run = dict[str, t.Any]
RATE = "tokens_per_sec_per_gpu"


def reason(code: str, message: str, verdict: str = "FAIL", **more: str) -> Run:
    return {"code": code, "message": message, "verdict": verdict, **more}


@pytest.fixture
def fast(summary: Run) -> Run:
    """Return the summary of a run whose throughput is above its threshold."""
    rate = {**summary["metrics"]["step_time_ms"], "value": 9_263.4}
    bound = {**summary["thresholds"][0], "metric": RATE, "measured": 9_263.4, "kind": "min"}
    bound |= {"value": 9_000.0, "least": 9_000.0, "greatest": None}
    summary["metrics"] = {RATE: rate, **summary["metrics"]}
    return summary | {"thresholds": [bound], "workload": {"gpus": 16}, "mfu": 0.342}


def test_a_run_that_passed_says_how_fast_it_was_on_what_and_by_how_much_it_met_its_threshold(fast: Run) -> None:
    told = headline(fast)
    for part in ("2 nodes × 8 MI300X", "llama3_1_8b", "9,263 tokens/s per GPU", "2.9 %", "9,000"):
        assert part in told
    assert not any("tokens/s" in text for text in numbers(fast))
    assert "MFU 34.2 %" in numbers(fast)


def test_a_threshold_that_is_met_many_times_over_is_told_as_a_factor(fast: Run) -> None:
    fast["thresholds"][0] |= {"least": 16.1, "value": 16.1}
    assert headline(fast).endswith("9,263 tokens/s per GPU, 575 times the required 16.1")
    (row,) = threshold_rows(fast)
    (tile, *_others) = tiles_of(fast | {"mfu": None})
    assert row["margin"] == "575 times"
    assert "575 times the required 16.1" in tile.lines


def test_a_value_many_times_what_is_allowed_has_no_margin_of_many_thousand_percent(summary: Run) -> None:
    summary["thresholds"][0] |= {"measured": 5_750.0, "greatest": 10.0, "met": False}
    (row,) = threshold_rows(summary)
    assert row["margin"] == "575 times"


def test_a_run_without_a_throughput_is_told_by_its_step_time_and_one_without_any_by_its_steps(summary: Run) -> None:
    assert "10,123 ms" in headline(summary)
    assert "20 steps" in headline(summary | {"metrics": {}})


def test_a_log_without_model_and_gpu_has_a_headline(summary: Run) -> None:
    assert headline(summary | {"model": "", "gpu": ""}).startswith("2 nodes trained")


def test_a_rehearsal_is_told_by_what_it_trained_on_and_not_by_the_config(fast: Run) -> None:
    told = headline(fast | {"rehearsal": True})
    assert told.startswith("2 nodes on their CPUs trained a toy model at 9,263")
    assert not any(part in told for part in ("MI300X", "llama3_1_8b"))


def test_a_failure_is_told_with_node_rank_and_step_and_what_follows_from_it_is_not_repeated(summary: Run) -> None:
    reasons = [
        reason("node_failed", "gpu1 ended with exit status 1.", row="exit status"),
        reason("last_step_missing", "gpu1 reached only step 9 of 20.", row="steps"),
        reason("evidence_missing", "No evidence.", "INCONCLUSIVE", row="loss"),
        reason("not_finite", "A loss is NaN.", row="numbers"),
    ]
    failed = summary | {"verdict": "FAIL", "reasons": reasons, "first_failure": FAILURE | {"node": "node-001"}}
    assert headline(failed) == "Out of memory on node-001, rank 9, at step 20 of 20"
    assert open_reasons(failed) == [("A loss is NaN.", "not_finite")]


def test_a_failure_of_all_nodes_alike_names_none_of_them(summary: Run) -> None:
    failed = summary | {"verdict": "FAIL", "first_failure": FAILURE | {"origin": "run"}}
    assert "on both nodes" in headline(failed)
    assert FAILURE["node"] not in headline(failed)
    assert others_in_words(failed) == ""


def test_a_node_that_prints_no_steps_failed_at_that_of_its_job(summary: Run) -> None:
    first, second = summary["nodes"]
    second["last_step"] = None
    failed = summary | {"verdict": "FAIL", "first_failure": FAILURE | {"node": "node-001"}}
    assert headline(failed) == "Out of memory on node-001, rank 9, at step 20 of 20"
    assert "before the first step" in headline(failed | {"mode": "single_node"})
    first["last_step"] = None
    assert "before the first step" in headline(failed)


def test_nodes_that_ended_early_with_exit_status_0_are_told_by_how_far_they_came(summary: Run) -> None:
    reasons = [reason("last_step_missing", "node-001 reached only step 9 of 20.", row="steps")]
    early = FAILURE | {"class": "exit_status", "exit_code": 0}
    failed = summary | {"verdict": "FAIL", "reasons": reasons, "first_failure": early}
    assert headline(failed) == "node-001 reached only step 9 of 20"


def test_a_verdict_that_nothing_proves_keeps_its_reasons_beside_a_failure_in_the_log(summary: Run) -> None:
    reasons = [reason("failure_at_end", "The log of node-001 ends oddly.", "INCONCLUSIVE", row="failures")]
    found = summary | {"verdict": "INCONCLUSIVE", "reasons": reasons, "first_failure": FAILURE}
    assert open_reasons(found) == [("The log of node-001 ends oddly.", "failure_at_end")]


def test_a_missed_threshold_is_the_headline_and_stands_there_once(summary: Run) -> None:
    reasons = [reason("threshold_missed", "Too slow."), reason("threshold_missed", "Too much memory.")]
    missed = summary | {"verdict": "FAIL", "reasons": reasons}
    assert headline(missed) == "Too slow"
    assert [message for message, _code in open_reasons(missed)] == ["Too much memory."]


@pytest.mark.parametrize(
    ("failed", "slow", "parts"),
    [
        ([], [], ["2 nodes passed", "10,123 ms"]),
        (["node-001"], [], ["1 of 2 nodes passed", "node-001"]),
        (["node-000", "node-001"], [], ["node-[000-001] failed"]),
        ([], [("node-000", 0.08)], ["2 nodes passed", "node-000 is 8.0 % slower"]),
        ([], [("node-001", 0.2), ("node-000", 0.08)], ["2 nodes passed", "node-[000-001]", "node-001", "20.0 %"]),
        (["node-000"], [("node-000", 0.08)], ["1 of 2 nodes passed", "1 failed (node-000"]),
        (["node-000"], [("node-001", 0.08)], ["1 of 2 nodes passed", "1 failed (node-000", "node-001 is 8.0 % slower"]),
    ],
)
def test_of_nodes_that_train_by_themselves_it_is_told_how_many_passed(
    summary: Run, failed: list[str], slow: list[tuple[str, float]], parts: list[str]
) -> None:
    reasons = [reason("node_failed", f"{node} failed.", node=node) for node in failed]
    summary["stragglers"]["nodes"] = [{"node": node, "value": 1.0, "slower": by} for node, by in slow]
    told = headline(summary | {"mode": "single_node", "verdict": "FAIL" if failed else "PASS", "reasons": reasons})
    assert all(part in told for part in parts), told


def test_of_nodes_that_train_by_themselves_one_without_proof_has_not_failed(summary: Run) -> None:
    open_one = reason("no_end_seen", "node-001 has no end.", "INCONCLUSIVE", node="node-001")
    told = headline(summary | {"mode": "single_node", "verdict": "INCONCLUSIVE", "reasons": [open_one]})
    assert told.startswith("1 of 2 nodes passed")
    assert "failed" not in told
    assert "(node-001)" in told


def test_of_nodes_that_train_by_themselves_one_that_is_too_slow_for_the_threshold_has_not_passed(summary: Run) -> None:
    summary["thresholds"][0] |= {"met": False, "node": "node-001", "measured": 12_000.0, "greatest": 11_000.0}
    summary["stragglers"]["nodes"] = [{"node": "node-001", "value": 12_000.0, "slower": 0.2}]
    told = headline(summary | {"mode": "single_node", "verdict": "FAIL", "reasons": []})
    assert told.startswith("1 of 2 nodes passed")
    assert told.count("node-001") == 1
    assert "20.0 %" in told


def test_a_node_that_meets_a_threshold_which_another_has_no_value_for_has_passed(fast: Run) -> None:
    fast["thresholds"][0] |= {"met": False, "node": "node-001", "missing": ["node-000"]}
    failed = reason("node_failed", "node-000 failed.", node="node-000")
    found = fast | {
        "mode": "single_node",
        "verdict": "FAIL",
        "reasons": [failed],
        "first_failure": FAILURE,
        "mfu": None,
    }
    assert headline(found) == "1 of 2 nodes passed, 1 failed (node-000, out of memory)"
    (row,) = threshold_rows(found)
    assert row["lacking"] == "node-000"
    assert not any(tile.tone for tile in tiles_of(found))


def test_the_gpus_of_nodes_that_train_by_themselves_are_those_of_each(fast: Run) -> None:
    assert fleet(fast | {"mode": "single_node", "workload": {"gpus": 8}}) == "2 nodes × 8 MI300X"


def never_begun(summary: Run, reasons: list[Run], failure: Run | None, ready: str = "staged") -> Run:
    """Return the summary of a run in which no node began to train."""
    at_fault = {one["node"] for one in reasons if one["code"] == "node_unreachable"}
    for node in summary["nodes"]:
        node |= {"state": "unreachable" if node["node"] in at_fault else ready, "last_step": None}
    return summary | {"verdict": "ERROR", "first_failure": failure, "reasons": reasons, "started_at": None}


@pytest.mark.parametrize("ready", ["staged", "stopped"])
def test_nodes_that_could_start_are_not_said_to_have_failed(summary: Run, ready: str) -> None:
    summary["nodes"][1]["node"] = "node-001"
    failure = FAILURE | {"class": "not_ready", "node": "node-001", "rank": None, "message": "no image."}
    refused = reason("node_not_started", "node-001 did not start training: no image.", "ERROR", node="node-001")
    never = never_begun(summary, [refused], failure, ready)
    never["nodes"][1]["state"] = "not_started"
    assert headline(never) == "node-001 did not start training: no image"
    assert others_in_words(never) == "node-000 could have started."
    assert open_reasons(never) == []


def test_nodes_that_cannot_be_reached_are_named_together_by_cause_and_the_first_failure_comes_first(
    summary: Run,
) -> None:
    summary["nodes"] = [{**summary["nodes"][0], "node": f"gpu{number}"} for number in range(6)]
    said = {f"gpu{n}": f"nothing listens (host 10.0.0.{n}: Connection refused)" for n in range(4)}
    said["gpu4"] = "no such host name"
    reasons = [
        reason("node_unreachable", f"{node} could not be reached: {why}.", "ERROR", node=node)
        for node, why in said.items()
    ]
    echoes = [{"node": node, "class": "unreachable", "message": why} for node, why in list(said.items())[1:]]
    failure = FAILURE | {"class": "unreachable", "node": "gpu0", "message": said["gpu0"], "echoes": echoes}
    never = never_begun(summary, reasons, failure)
    assert headline(never).startswith("gpu[0-3] could not be reached: nothing listens")
    assert open_reasons(never) == [("gpu4 could not be reached: no such host name.", "node_unreachable")]
    assert others_in_words(never) == "gpu5 could have started."


def test_peers_that_follow_are_told_apart_from_nodes_that_were_stopped(summary: Run) -> None:
    summary["nodes"] = [
        {**summary["nodes"][0], "node": f"gpu{number}", "state": "stopped", "exit_code": None} for number in range(8)
    ]
    summary["nodes"][5] |= {"state": "exited", "exit_code": 1}
    echo = {"node": "gpu5", "class": "nccl", "message": "remote process exited"}
    told = others_in_words(summary | {"first_failure": FAILURE | {"node": "gpu3", "echoes": [echo]}})
    assert told == "gpu[0-2,4,6-7] were stopped because gpu3 failed. Followed by gpu5 (NCCL error)."


def test_a_slow_node_is_told_with_what_it_costs(summary: Run) -> None:
    slow = {"node": "node-001", "value": 440.8, "slower": 0.05}
    summary["stragglers"] |= {"nodes": [slow], "median": 419.9, "throughput_cost": 0.047}
    ((kind, strong, rest),) = leads_of(summary)
    assert (kind, "4.7 %" in strong) == ("slow", True)
    assert "node-001 is 5.0 % slower" in rest
    assert "440.8 against 419.9 ms" in rest


def test_a_slow_node_does_not_cost_what_the_others_cost_without_it(summary: Run) -> None:
    slow = {"node": "node-001", "value": 425.8, "slower": 0.014}
    costs = {"step_time_cost": 0.40, "throughput_cost": 0.286, "values": {"cost": 0.40, "without": 0.386}}
    summary["stragglers"] |= {"nodes": [slow], "median": 419.9, **costs}
    (lead,) = leads_of(summary)
    assert "1.0 %" in lead.strong


def test_a_node_that_is_slow_now_and_then_is_told_so(summary: Run) -> None:
    slow = {"node": "node-001", "value": 420.0, "slower": 0.0002, "slow_steps": 0.2, "slower_then": 0.25}
    summary["stragglers"] |= {"nodes": [slow], "median": 419.9, "throughput_cost": 0.047}
    (lead,) = leads_of(summary)
    assert "25.0 % slower in 20.0 % of its steps" in lead.rest


def test_faults_that_a_run_survived_lead_to_their_table(summary: Run) -> None:
    notes = [{"code": "survived_fault", "message": "", "node": f"gpu{n}", "values": {"class": "nccl"}} for n in (1, 2)]
    (lead,) = leads_of(summary | {"notes": notes})
    assert "2 faults on gpu[1-2]" in lead.strong
    assert lead.rest == "NCCL error"


def test_a_note_that_few_steps_are_few_is_no_news_after_a_failure(summary: Run) -> None:
    summary["notes"] = [{"code": code, "message": f"Of {code}."} for code in ("loss_not_judged", "node_outage")]
    assert notes_of(summary) == ["Of loss_not_judged.", "Of node_outage."]
    assert notes_of(summary | {"first_failure": FAILURE}) == ["Of node_outage."]


def test_the_noise_of_a_threshold_is_no_news_after_a_job_failed(summary: Run) -> None:
    summary |= {
        "notes": [{"code": "threshold_in_noise", "message": "Another run could miss."}],
        "first_failure": FAILURE,
    }
    assert notes_of(summary) == []
    assert notes_of(summary | {"mode": "single_node"})


def test_a_run_that_an_earlier_version_judged_has_a_headline(summary: Run) -> None:
    note = {
        "code": "taken_up",
        "message": "The training finished.",
        "evidence": {"ended_at": "2026-11-26 10:00:00 UTC"},
    }
    assert headline(summary | {"notes": [note]}) == headline(summary)
