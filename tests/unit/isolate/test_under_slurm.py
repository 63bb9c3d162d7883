"""Which nodes of Slurm are tested, and what srun is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.answers import PROBE, START
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.holding import held_nodes
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.slurm.asking import (
    Chosen,
    UnderSlurm,
    Wanted,
    chosen_nodes,
    command_of,
    options_of_job,
    shown_nodes,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.slurm.step import Step
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.training import training_plan
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import typed_options

ROOT = Path(__file__).resolve().parents[3]

SHOWN = """\
NodeName=gpu01 Arch=x86_64 CoresPerSocket=48 ActiveFeatures=mi300x,rack1 NodeAddr=10.0.0.1 State=ALLOCATED Owner=N/A
NodeName=gpu02 Arch=x86_64 CoresPerSocket=48 ActiveFeatures=mi300x,rack2 NodeAddr=10.0.0.2 State=IDLE Owner=N/A
NodeName=gpu03 ActiveFeatures=mi300x,rack1 NodeAddr=10.0.0.3 State=IDLE+DRAIN Reason=bad HCA [root@2026-11-27T09:15:04]
NodeName=gpu04 ActiveFeatures=(null) NodeAddr=gpu04 State=DOWN* Reason=Not responding [slurm@2026-11-26T01:00:00]
NodeName=gpu05 ActiveFeatures=mi300x,rack2 NodeAddr=gpu05 State=IDLE+CLOUD+POWERED_DOWN NextState=N/A
NodeName=gpu06 ActiveFeatures=mi300x,rack1 NodeAddr=gpu06 State=MIXED+PLANNED Owner=N/A
"""


def chosen(**wanted: Any) -> Chosen:
    return chosen_nodes(shown_nodes(SHOWN), "partition gpu", Wanted(**wanted))


def test_nodes_out_of_service_are_left_out_with_slurms_reason() -> None:
    nodes, out, problems = chosen()
    assert nodes == {"gpu01": "10.0.0.1", "gpu02": "10.0.0.2", "gpu05": "gpu05", "gpu06": "gpu06"}
    assert out == {
        "gpu03": "Slurm has it as IDLE+DRAIN: bad HCA (root)",
        "gpu04": "Slurm has it as DOWN*: Not responding (slurm)",
    }
    assert problems == []


def test_a_node_that_does_not_respond_is_left_out_before_slurm_has_it_down() -> None:
    (node,) = shown_nodes("NodeName=gpu07 NodeAddr=gpu07 State=IDLE* Owner=N/A")
    assert node.out == "Slurm has it as IDLE*"


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ({"named": ["gpu06", "gpu01"]}, ["gpu06", "gpu01"]),
        ({"excluded": {"gpu01", "gpu03"}}, ["gpu02", "gpu05", "gpu06"]),
        ({"count": 3}, ["gpu01", "gpu02", "gpu05"]),
        ({"count": 2}, ["gpu02", "gpu05"]),
        ({"constraint": "mi300x&rack2"}, ["gpu02", "gpu05"]),
    ],
)
def test_names_exclusions_numbers_and_features_choose(wanted: dict[str, Any], names: list[str]) -> None:
    nodes, _out, problems = chosen(**wanted)
    assert list(nodes) == names
    assert problems == []


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"named": ["gpu01", "gpu99"], "named_by": "Run r1"}, "Run r1 names gpu99, not in partition gpu"),
        ({"count": 5}, "training_slurm_nodes is 5, but of partition gpu 4 nodes"),
        ({"constraint": "[rack1|rack2]"}, "name the nodes in isolate_slurm_nodes"),
    ],
)
def test_what_cannot_be_chosen_is_a_problem(wanted: dict[str, Any], said: str) -> None:
    (problem,) = chosen(**wanted).problems
    assert said in problem


def command(container: str = "", **options: Any) -> list[str]:
    found = Findings()
    settings = typed_options(options, found)
    assert not found.faults
    return command_of("sweep", settings, options_of_job(settings, ["gpu01", "gpu02", "gpu04"], 19), container)


def test_srun_takes_nodes_as_a_training_does() -> None:
    given = {
        "training_slurm_partition": "gpu",
        "training_slurm_account": "llm",
        "training_slurm_exclude": "gpu03",
        "training_slurm_options": ["--mail-type=END"],
    }
    srun = command(training_launcher="slurm", **given)
    asked = {"--nodelist=gpu[01-02,04]", "--nodes=3", "--time=19", "--exclusive", "--partition=gpu", "--account=llm"}
    assert asked | {"--mail-type=END", "--job-name=trainops-sweep"} <= set(srun)
    assert not [word for word in srun if word.startswith("--exclude")]
    assert "--time=01:00:00" in command(training_launcher="slurm", training_slurm_time_limit="01:00:00")


def test_in_an_allocation_srun_takes_nothing_of_its_own() -> None:
    srun = command(training_launcher="srun")
    assert {"--nodelist=gpu[01-02,04]", "--nodes=3", "--overlap"} <= set(srun)
    assert not [word for word in srun if word.startswith(("--time", "--exclusive", "--partition"))]


def test_a_container_goes_around_what_runs_on_the_nodes() -> None:
    srun = command(" --container-image='rocm/megatron:v1' --container-workdir=/", training_launcher="slurm")
    assert srun.index("--container-image=rocm/megatron:v1") < srun.index("python3")


def test_nodes_are_held_as_the_training_that_slurm_would_start_in_its_container() -> None:
    """Names and addresses are those of the nodes, not the stand-ins of a plan."""
    text = (ROOT / "inventories/local/tiny_llama.json").read_text()
    options = {
        "training_launcher": "slurm",
        "training_slurm_pyxis": True,
        "training_overrides": {"nnodes": 2, "master_address": "auto", "batch_size": 64},
        "training_megatron_release": "v26.1",
        "training_megatron_root": "/opt/megatron",
        "training_gpus_per_node": 8,
        "training_image": "rocm/megatron-lm:v26.1",
    }
    settings = typed_options(options, Findings())
    nodes = {"gpu01": "10.0.0.1", "gpu02": "10.0.0.2", "gpu03": "10.0.0.3"}
    under = UnderSlurm(settings, Chosen(nodes, {"gpu04": "it is drained"}, []), 19, [])
    given = (text, "tiny.json", None, options, [Node("login", "login", "ops")])
    training = under.training(training_plan(*given, by_slurm=True))
    plan, parts = held_nodes("sweep", under.addresses, "/var/tmp/trainops", 600, training)
    assert plan["container_engine"] == "pyxis"
    assert [part["node"] for part in parts] == [*nodes, "gpu04"]
    assert "slurm-node" not in json.dumps(parts)
    assert "slurm-address" not in json.dumps(parts)


def test_a_node_may_take_as_long_as_its_tests_before_its_task_is_given_up() -> None:
    waits: dict[str, float | None] = {}

    def answer(_node: str, request: Any, patience: float | None) -> dict[str, Any]:
        waits[request["phase"]] = patience
        return {"failed": False, "changed": False, "status": "running", "measured": [], "problems": {}}

    plan, _parts = held_nodes("sweep", {"gpu01": "10.0.0.1"}, "/var/tmp/trainops", 600)
    under = UnderSlurm(typed_options({}, Findings()), Chosen({"gpu01": "10.0.0.1"}, {}, []), 19, [])
    ask = under.asks(cast("Step", SimpleNamespace(answer=answer)), plan, "0" * 32, {})["gpu01"]
    ask(START)
    ask(PROBE, probe={}, wait_seconds=600.0)
    assert waits["probe"] == waits["start"] + 600
