"""Which hosts a run failed on, by its summary."""

from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.blame import (
    blame_of_red,
    blame_of_verdict,
)

HOSTS = ("node0", "node1", "node2")


def summary(verdict: str, reasons: list[dict], first: dict | None = None, slower: float = 1.0) -> dict:
    """A summary whose node2 takes this much longer than the others, as a fraction."""
    slow = [{"node": "node2", "slower": slower}]
    return {
        "verdict": verdict,
        "reasons": reasons,
        "first_failure": first,
        "stragglers": {"nodes": slow},
        "nodes": [{"node": name} for name in HOSTS],
    }


def missed(metric: str, measured: float, *, least: float | None = None, greatest: float | None = None) -> dict:
    bound = {"metric": metric, "measured": measured, "least": least, "greatest": greatest, "node": "node2"}
    return {"code": "threshold_missed", "message": "Too slow.", "verdict": "FAIL", "values": {"bound": bound}}


def of_node(code: str, node: str, verdict: str = "FAIL") -> dict:
    return {"code": code, "message": f"{node}: {code}.", "verdict": verdict, "node": node}


FIRST = {"node": "node1", "class": "unreachable", "message": "gone", "echoes": []}
ECHO = {"node": "node0", "class": "nccl", "message": "a peer is gone"}
OWN = {"node": "node2", "class": "gpu_ecc", "message": "a bit"}


@pytest.mark.parametrize(
    ("found", "together", "blamed"),
    [
        (summary("PASS", []), True, {}),
        (summary("INCONCLUSIVE", [of_node("evidence_missing", "node0", "INCONCLUSIVE")]), True, {}),
        (summary("FAIL", [missed("step_time_ms", 20, greatest=11)]), True, {"node2": "failed"}),
        (summary("FAIL", [missed("step_time_ms", 20, greatest=9)]), True, {}),
        (summary("FAIL", [missed("tokens_per_sec_per_gpu", 50, least=90)]), True, {"node2": "failed"}),
        (summary("FAIL", [missed("tokens_per_sec_per_gpu", 50, least=110)]), True, {}),
        (summary("FAIL", [missed("loss", 20, greatest=11)]), True, {}),
        (summary("ERROR", [], FIRST | {"echoes": [ECHO, OWN]}), True, {"node1": "unreachable", "node2": "failed"}),
        (summary("FAIL", [of_node("node_failed", "node0")], FIRST), True, {"node1": "unreachable"}),
        (
            summary("FAIL", [of_node("node_failed", "node0"), of_node("node_stopped", "node2", "ERROR")], FIRST),
            False,
            {"node0": "failed", "node1": "unreachable"},
        ),
        (summary("ERROR", [], FIRST | {"node": "of Slurm"}), True, {}),
        (summary("FAIL", [], FIRST | {"class": "stalled", "origin": "unknown", "message": "It hung."}), True, {}),
        (summary("FAIL", [of_node("node_failed", "node0")], FIRST | {"class": "sizes", "origin": "run"}), True, {}),
        (
            summary("FAIL", [], FIRST | {"class": "stalled", "origin": "node", "message": "It is rank 8."}),
            True,
            {"node1": "failed"},
        ),
        (summary("FAIL", [], FIRST | {"class": "stalled", "message": "judged by an earlier version"}), True, {}),
    ],
)
def test_hosts_on_which_a_run_failed(found: dict, together: bool, blamed: dict[str, str]) -> None:
    result = blame_of_verdict(found, HOSTS, {}, together=together)
    assert {name: blame["state"] for name, blame in result.items()} == blamed
    assert all(blame["reason"] for blame in result.values())


@pytest.mark.parametrize(
    ("refused", "blamed"), [(("node1",), {"node1"}), (HOSTS, set())], ids=["some", "all: the run is at fault"]
)
def test_nodes_that_refuse_to_start_are_at_fault(refused: tuple[str, ...], blamed: set[str]) -> None:
    found = summary("ERROR", [of_node("node_not_started", name, "ERROR") for name in HOSTS])
    assert set(blame_of_verdict(found, HOSTS, dict.fromkeys(refused, "held"), together=True)) == blamed


def test_the_cause_of_an_unreachable_node_is_a_code() -> None:
    first = FIRST | {"case": "unknown_host", "echoes": [FIRST | {"node": "node0", "case": "said"}]}
    assert blame_of_verdict(summary("ERROR", [], first), HOSTS, {}, together=True)["node1"]["cause"] == "unknown_host"
    refused = of_node("node_unreachable", "node0", "ERROR") | {"case": "timeout"}
    other = of_node("node_unreachable", "node2", "ERROR") | {"case": "said"}
    blamed = blame_of_verdict(summary("ERROR", [refused, other]), HOSTS, {}, together=False)
    assert {name: blame["cause"] for name, blame in blamed.items()} == {"node0": "timeout", "node2": ""}


def test_the_red_nodes_of_a_preflight_are_blamed_and_no_others() -> None:
    red = [{"node": "node1", "check": check, "code": code} for check, code in (("gpus", "few"), ("numa", "numa_on"))]
    red.append({"node": "node2", "check": "reached", "code": "unreachable"})
    blamed = blame_of_red(red)
    assert {name: blame["state"] for name, blame in blamed.items()} == {"node1": "failed", "node2": "unreachable"}
    assert all(check in blamed["node1"]["reason"] for check in ("gpus", "numa"))
