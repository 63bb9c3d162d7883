from __future__ import annotations

import json

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.essence import essence

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
    assert len(json.dumps(essence(SUMMARY, "/runs/r1/report.html"))) < 2000


def test_a_run_without_a_failure_has_none() -> None:
    assert essence({**SUMMARY, "first_failure": None}, "page")["first_failure"] is None


def test_a_hang_of_which_nothing_shows_the_origin_names_no_node_that_one_could_react_to() -> None:
    hung = SUMMARY["first_failure"] | {"class": "stalled", "origin": "unknown", "message": "It hung."}
    found = essence({**SUMMARY, "first_failure": hung}, "page")["first_failure"]
    assert "node" not in found
    assert found["class"] == "stalled"
