from __future__ import annotations

import json

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.essence import essence
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.catalogue import VERDICT
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.sentences import sentence

SUMMARY = {
    "run_id": "r1",
    "framework": "megatron",
    "mode": "multi_node",
    "model": "llama3",
    "gpu": "mi300x",
    "rehearsal": False,
    "verdict": "FAIL",
    "started_at": 1.0,
    "ended_at": 2.0,
    "mfu": 0.41,
    "reasons": [{"message": f"Reason {place}.", "evidence": ["a line"] * 50} for place in range(99)],
    "metrics": {
        "loss": {"value": 3.1, "unit": "", "statistic": "last", "threshold": 4.5, "direction": "max", "met": True},
    },
    "first_failure": {
        "node": "gpu07",
        "node_rank": 7,
        "class": "out_of_memory",
        "message": "It broke.",
        "remedy": "Mend it.",
        "evidence": ["x" * 1000] * 20,
        "echoes": [{"node": f"gpu{place}"} for place in range(128)],
    },
    "nodes": [{"node": f"gpu{place}", "state": "exited", "last_lines": ["x" * 200] * 20} for place in range(128)],
}


def test_the_essence_tells_what_became_of_the_run() -> None:
    found = essence(SUMMARY, "/runs/r1/report.html")
    assert found["verdict"] == "FAIL"
    assert found["nodes"] == 128
    assert found["metrics"]["loss"] == SUMMARY["metrics"]["loss"]
    assert found["first_failure"]["node"] == "gpu07"
    assert found["report"] == "/runs/r1/report.html"


def test_the_essence_stays_small_however_many_nodes_and_reasons_there_are() -> None:
    assert len(json.dumps(essence(SUMMARY, "/runs/r1/report.html"))) < 4000


def test_the_essence_has_the_codes_cases_nodes_and_values_of_the_reasons() -> None:
    nodes = [f"gpu{place:02}" for place in range(40)]
    reasons = [
        {
            "code": "node_unreachable",
            "case": "timeout",
            "node": node,
            "verdict": "ERROR",
            "values": {"said": "timed out"},
        }
        for node in nodes
    ]
    told = [{**reason, "message": sentence(VERDICT, reason)} for reason in reasons]
    (found,) = essence({**SUMMARY, "reasons": told}, "page")["findings"]
    assert (found["verdict"], found["code"], found["case"]) == ("ERROR", "node_unreachable", "timeout")
    assert (found["nodes"], found["node_count"], found["values"]) == (nodes[:16], 40, {"said": "timed out"})
    assert found["message"] == essence({**SUMMARY, "reasons": told}, "page")["reasons"][0]


def test_long_values_are_left_out_of_the_essence() -> None:
    reason = {"code": "unknown", "message": "Long.", "verdict": "FAIL", "values": {"line": "x" * 1000}}
    (found,) = essence({**SUMMARY, "reasons": [reason]}, "page")["findings"]
    assert (found["code"], found["values"]) == ("unknown", {})


def test_the_essence_has_the_case_and_values_of_a_failure() -> None:
    hung = SUMMARY["first_failure"] | {"class": "stalled", "case": "held_up", "values": {"node": "gpu07", "rank": 3}}
    found = essence({**SUMMARY, "first_failure": hung}, "page")["first_failure"]
    assert (found["class"], found["case"], found["values"]["rank"]) == ("stalled", "held_up", 3)


def test_a_run_without_a_failure_has_none() -> None:
    assert essence({**SUMMARY, "first_failure": None}, "page")["first_failure"] is None


def test_a_hang_of_which_nothing_shows_the_origin_names_no_node_that_one_could_react_to() -> None:
    hung = SUMMARY["first_failure"] | {"class": "stalled", "origin": "unknown", "message": "It hung."}
    found = essence({**SUMMARY, "first_failure": hung}, "page")["first_failure"]
    assert "node" not in found
    assert found["class"] == "stalled"
