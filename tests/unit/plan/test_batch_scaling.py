"""A batch tuned for some number of nodes, scaled to the actual nodes, for each framework."""

from __future__ import annotations

import maxtext_configs
import pytest
from nxdt_configs import HF, planned_nxdt
from training_configs import BRANCH, DISTRIBUTED, SINGLE, filled, keys, only, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan_text import plan_text

KEY = BRANCH.replace("/", ".")
SENTENCE = "The global batch size is scaled with the nodes"
SCALED = {"training_scale_batch": "reference_nodes"}


def scaling_notes(plan: dict) -> list[str]:
    return [note for note in plan["notes"] if "scaled" in note]


@pytest.mark.parametrize(("hosts", "batch", "data"), [(2, 64, 16), (8, 256, 64), (1, 32, 8), (3, 96, 24), (4, 128, 32)])
def test_megatron_gets_the_batch_for_the_nodes_at_hand(hosts: int, batch: int, data: int) -> None:
    plan = planned(filled(DISTRIBUTED), hosts, **SCALED)
    assert (plan["faults"], plan["parameters"]["global_batch_size"]) == ([], batch)
    assert plan["parameters"]["data_parallelism"] == data
    # Each GPU has as much to do as on the four nodes that the config is for.
    assert plan["tokens_per_step_per_gpu"] == 128 * 8192 / 32
    for node in plan["nodes"]:
        assert (node["env"]["BS"], node["env"]["NNODES"]) == (str(batch), str(hosts))
        assert f"BS={batch}" in node["argv"]
    told = (
        f"The global batch size is scaled with the nodes: 128 for 4 nodes (config.nnodes) becomes {batch} for {hosts}."
    )
    assert scaling_notes(plan) == ([] if hosts == 4 else [told])
    assert hosts == 4 or f"{batch} for {hosts}." in " ".join(plan_text(plan).split())


def test_without_it_the_number_of_nodes_has_to_agree() -> None:
    fault = only(planned(filled(DISTRIBUTED), 2)["faults"])
    assert fault["key"] == "config.nnodes"
    assert "training_scale_batch=reference_nodes" in fault["remedy"]


@pytest.mark.parametrize(
    ("batch", "micro", "hosts", "becomes", "at_once", "choose"),
    [
        # 130 × 3 / 4 is not a whole number of sequences.
        ("130", "1", 3, "97.5", 24, "128 or 160"),
        # 96 of 48 at once is fine, 120 is not.
        ("160", "2", 3, "120", 48, "128 or 192"),
        ("64", "2", 1, "16", 16, None),
        ("32", "2", 1, "8", 16, "64"),
    ],
)
def test_what_cannot_be_divided_is_a_fault_with_batches_that_can(
    batch: str, micro: str, hosts: int, becomes: str, at_once: int, choose: str | None
) -> None:
    config = filled(DISTRIBUTED, {f"{BRANCH}/batch_size": batch, f"{BRANCH}/micro_batch_size": micro})
    plan = planned(config, hosts, **SCALED)
    if choose is None:
        assert plan["faults"] == []
        return
    fault = only(plan["faults"])
    assert (fault["key"], fault["value"]) == (f"{KEY}.batch_size", int(batch))
    assert fault["message"] == (
        f"Scaled from 4 nodes to {hosts}, the global batch size {batch} becomes {becomes}, not a multiple of micro "
        f"batch size × data parallelism = {at_once}."
    )
    assert fault["remedy"].startswith(f"Choose {choose} for 4 nodes")
    for near in choose.split(" or "):
        config = filled(DISTRIBUTED, {f"{BRANCH}/batch_size": near, f"{BRANCH}/micro_batch_size": micro})
        assert planned(config, hosts, **SCALED)["faults"] == []


def test_in_single_node_mode_there_is_nothing_to_scale() -> None:
    plan = planned(filled(SINGLE), **SCALED)
    assert plan["faults"] == []
    assert only(plan["warnings"])["message"] == (
        "training_scale_batch has no effect: in single-node mode every node runs its own job."
    )


def test_a_wrong_number_of_nodes_is_the_only_thing_told() -> None:
    plan = planned(filled(DISTRIBUTED, {"config/nnodes": "many"}), **SCALED)
    assert keys(plan["faults"]) == ["config.nnodes"]


@pytest.mark.parametrize(("hosts", "batch"), [(1, 256), (4, 1024), (2, 512)])
def test_nxdt_gets_it_as_an_argument_beside_its_file(hosts: int, batch: int) -> None:
    plan = planned_nxdt(HF, hosts=hosts, **SCALED)
    assert (plan["faults"], plan["warnings"]) == ([], [])
    assert plan["parameters"]["global_batch_size"] == batch
    for node in plan["nodes"]:
        assert (f"data.global_batch_size={batch}" in node["argv"]) is (hosts != 2)
        assert f"trainer.num_nodes={hosts}" in node["argv"]
    told = f"{SENTENCE}: 512 for 2 nodes (trainer.num_nodes) becomes {batch} for {hosts}."
    assert plan["notes"] == ([] if hosts == 2 else [told])


def test_nxdt_refuses_what_it_would_cut_off() -> None:
    plan = planned_nxdt(HF, {"data.global_batch_size": 1001}, hosts=3, **SCALED)
    fault = only([fault for fault in plan["faults"] if fault["key"] == "data.global_batch_size"])
    assert "becomes 1501.5" in fault["message"]


def test_an_nxdt_config_that_does_not_say_its_nodes_gives_nothing_to_scale_by() -> None:
    plan = planned_nxdt(HF, {"trainer.num_nodes": "${oc.env:NTASKS,2}"}, **SCALED)
    assert any(warning["key"] == "training_scale_batch" for warning in plan["warnings"])


def test_maxtexts_batch_grows_with_the_nodes_in_any_case() -> None:
    config = maxtext_configs.filled()
    plain = maxtext_configs.planned(config)["parameters"]["global_batch_size"]
    plan = maxtext_configs.planned(config, 4, **SCALED)
    assert plan["faults"] == []
    assert plan["parameters"]["global_batch_size"] == 2 * plain
    assert f"makes {2 * plain} on 4 nodes (tuned for 2, config.nnodes)" in only(scaling_notes(plan))
