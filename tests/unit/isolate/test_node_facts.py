"""Facts about nodes that no probe measures: missing parts, foreign processes, faults that they reported."""

from __future__ import annotations

import pytest
from answering_nodes import NODES, Answer, changed, healthy, isolated, there

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.judge import Judged
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.measured import Unproved
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.node_facts import (
    missing_parts,
    reported_faults,
    with_facts,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.outcome import (
    blame_of,
    failing_nodes,
    findings_against,
    findings_of,
    headline_of,
    verdict_of,
)

_FOREIGN = {"pid": 4711, "command": "python3 other.py", "user": "bob", "run_id": None}
_MODELS = dict.fromkeys(NODES, "EPYC, MI300X")


@pytest.mark.parametrize(
    ("bad", "found"),
    [
        (there(gpus=7), [("others_at", {"gpus": 7, "usual": 8, "others": 7, "missing": ["0000:07:00.0"]})]),
        ({**there(gpus=7), "gpus": list("abcdefg")}, [("others", {"gpus": 7, "usual": 8, "others": 7})]),
        (there(on_bus=10), [("driver", {"gpus": 8, "on_bus": 10})]),
        (there(gpus=16), []),
        (there(mlx5_1="DOWN"), [("link", {"port": "mlx5_1/1", "state": "DOWN", "others": 7})]),
        (there(mlx5_1="ACTIVE at 100"), [("rate", {"port": "mlx5_1/1", "rate": 100, "usual": 400, "others": 7})]),
        (there(mlx5_1="ACTIVE at unknown"), []),
        (there(mlx5_1=""), [("port", {"port": "mlx5_1/1", "others": 7})]),
    ],
)
def test_a_node_lacks_what_the_others_have(bad: Answer, found: list[tuple[str, dict[str, object]]]) -> None:
    present = {node: bad if node == "n3" else there() for node in NODES}
    lacking = missing_parts(present, _MODELS, {})
    values = [{name: value for name, value in one["values"].items() if name != "part"} for one in lacking]
    assert [(one["case"], one["node"]) for one in lacking] == [(case, "n3") for case, _values in found]
    assert values == [of_case for _case, of_case in found]


def test_nodes_of_other_models_differ_and_one_without_gpus_is_of_the_model_of_its_processors() -> None:
    present = {node: there(gpus=4 if node in "n0 n1 n2" else 0 if node == "n7" else 8) for node in NODES}
    models = {node: "Xeon, L40S" if node in "n0 n1 n2" else "EPYC" if node == "n7" else "EPYC, H100" for node in NODES}
    assert [(one["node"], one["values"]["usual"]) for one in missing_parts(present, models, {})] == [("n7", 8)]


def test_the_inventory_counts_where_the_others_say_nothing_but_not_on_nodes_without_any_gpu() -> None:
    asked = dict.fromkeys(NODES, 8)
    found = missing_parts({"n0": there(gpus=7), "n1": there()}, {}, asked)
    assert [(one["node"], one["case"], one["values"]["asked"]) for one in found] == [("n0", "inventory", 8)]
    assert missing_parts({node: there(gpus=0) for node in NODES}, {}, asked) == []


def test_a_missing_gpu_is_said_before_any_probe_and_makes_its_node_broken_and_red() -> None:
    said: list[str] = []
    found = isolated(said=said, present=lambda node: there(gpus=7 if node == "n3" else 8))
    before = said.index(next(line for line in said if "n3" in line))
    assert before < next(place for place, line in enumerate(said) if line.startswith("Round 1"))
    assert [(one["node"], one["part"], one["verdict"]) for one in found["suspects"]] == [("n3", "GPUs", "broken")]
    assert (headline_of(found)["code"], verdict_of(found)) == ("missing", "suspects")
    assert (failing_nodes(found), list(blame_of(found)), list(findings_against(found))) == 3 * (["n3"],)
    assert found["nodes"]["n3"]["verdict"] == "broken"
    assert found["nodes"]["n3"]["reason"] == headline_of(found)["message"]


def test_a_missing_port_that_a_probe_finds_dead_as_well_is_one_suspect() -> None:
    found = isolated(present=lambda node: there(mlx5_1="DOWN" if node == "n3" else "ACTIVE at 400"))
    assert [(one["node"], one["part"], one["probe"]) for one in found["suspects"]] == [("n3", "HCA mlx5_1", "missing")]


def logged(fact: str, device: str = "0000:03:00.0") -> Answer:
    """Return what the kernel said about a device 20 s after its node was reserved."""
    return {
        "fact": fact,
        "device": device,
        "seconds": 20.0,
        "count": 1,
        "recovered": False,
        "line": f"kernel: {device}: {fact}",
    }


def slow(node: str, asked: Answer) -> Answer:
    """Answer as nodes of which n3 computes at half speed."""
    answer = healthy(node, asked)
    for one in answer["measured"] if node == "n3" else []:
        one["samples"] = [2 * sample for sample in one["samples"]]
    return answer


@pytest.mark.parametrize(
    ("changes", "suspects", "facts"),
    [
        (changed(), [], []),
        (changed(logged("pcie_fatal", "0000:c1:00.0")), [("n3", "0000:c1:00.0", "broken")], [("pcie_fatal", True)]),
        (changed(links_down=["mlx5_1/1"]), [("n3", "mlx5_1/1", "broken")], [("port_down", True)]),
        # Not a port that a training would use.
        (changed(links_down=["eno1"]), [], [("link_gone", False)]),
        (changed(mlx5_1__symbol_error=7), [], [("port_errors", False)]),
        (changed(mlx5_1__link_downed=1), [], [("link_back", False)]),
        # All counters begin at zero after a boot, and congestion is no fault.
        (changed(mlx5_1__link_downed=1, booted=True), [], []),
        (changed(mlx5_1__np_cnp_sent=1000), [], []),
    ],
)
def test_what_a_machine_reports_of_its_tests_is_said_and_a_lost_link_of_the_training_is_broken(
    changes: Answer, suspects: list[tuple[str, str, str]], facts: list[tuple[str, bool]]
) -> None:
    found = isolated(present=lambda _node: there(), changes=lambda node: changes if node == "n3" else None)
    assert [(one["node"], one["part"], one["verdict"]) for one in found["suspects"]] == suspects
    assert [(one["values"]["fact"], one["values"]["fails"]) for one in found["facts"]] == facts
    assert verdict_of(found) == ("suspects" if suspects else "good")


@pytest.mark.parametrize(
    ("changes", "proved"),
    [
        (changed(mlx5_1__symbol_error=7), True),
        (changed(logged("xid_63")), True),
        # A program caused it.
        (changed(logged("xid_31")), False),
        (changed(), False),
    ],
)
def test_faults_of_the_hardware_prove_a_node_that_was_slow_both_times_without_proof(
    changes: Answer, proved: bool
) -> None:
    slow_twice: Unproved = {
        "node": "n3", "other": None, "part": "GPU 3", "probe": "torch", "slower_by": 0.04, "proof": 0.05,
        "tested_again": True,
    }  # fmt: skip
    found = with_facts(Judged([], [slow_twice]), [], [], reported_faults({"n3": changes}, {}))
    assert ({one["node"] for one in found.suspects}, found.unproved) == (
        ({"n3"}, []) if proved else (set(), [slow_twice])
    )


@pytest.mark.parametrize(
    ("here", "occupied"),
    [
        ({"busy": [{**_FOREIGN, "cores": 90.0}], "busy_cores": 90.0}, True),
        # Those of GPUs do not slow a processor, and a quarter of all cores disturbs no test.
        ({"on_gpus": [_FOREIGN]}, False),
        ({"busy": [{**_FOREIGN, "cores": 20.0}], "busy_cores": 20.0}, False),
    ],
)
def test_a_node_that_others_use_is_not_left_out_for_being_slow(here: Answer, occupied: bool) -> None:
    said: list[str] = []
    found = isolated(slow, said=said, present=lambda node: {**there(), **(here if node == "n3" else {})})
    assert {one["node"] for one in found["suspects"]} == {"n3"}
    assert {one.get("occupied", False) for one in found["suspects"]} == {occupied}
    assert failing_nodes(found) == ([] if occupied else ["n3"])
    if occupied or "on_gpus" in here:
        before = next(place for place, line in enumerate(said) if "4711" in line)
        assert before < next(place for place, line in enumerate(said) if line.startswith("Round 1"))


def test_a_node_that_lacks_all_adapters_is_compared_like_the_others() -> None:
    def present(node: str) -> Answer:
        said = there()
        ports = {port: {**one, "model": "0x15b3:0x1021"} for port, one in said["ports"].items()}
        return {**said, "ports": {} if node == "n3" else ports}

    found = isolated(present=present)
    assert found["links_without_peers"] == {}
    assert {(one["node"], one["fact"]["case"]) for one in found["suspects"]} == {("n3", "port")}


def test_a_node_whose_adapters_no_other_has_is_compared_in_all_but_its_links() -> None:
    def present(node: str) -> Answer:
        said = there()
        model = "0x15b3:0xa2dc" if node == "n3" else "0x15b3:0x1021"
        return {**said, "ports": {port: {**one, "model": model} for port, one in said["ports"].items()}}

    found = isolated(present=present)
    assert found["links_without_peers"] == {"n3": "0x15b3:0xa2dc"}
    assert found["without_peers"] == {}
    codes = [(one["code"], one.get("case"), one.get("node")) for one in findings_of(found)]
    assert [one for one in codes if one[0] == "without_peers"] == [("without_peers", "links", "n3")]
