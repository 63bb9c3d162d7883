"""An isolation's requests to Slurm and the obstacles, with programs that print Slurm's output."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.answers import PROBE, START
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.holding import held_nodes
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.left_behind import LeftBehind
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.training import training_plan
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import typed_options
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.isolation import (
    UnderSlurm,
    command_of,
    options_of_job,
    under_slurm,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.isolation_nodes import Chosen
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.isolation_step import Step
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.plan_run import plan_run

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = {
    "scontrol": """\
case "$*" in
  *"show partition"*)
    echo "PartitionName=gpu Default=YES MaxTime=UNLIMITED State=UP Nodes=gpu[01-04]"
    echo "PartitionName=short Default=NO MaxTime=00:05:00 State=UP Nodes=gpu[01-04]" ;;
  *"show job 7"*) echo "JobId=7 JobState=RUNNING NodeList=gpu[01-04]" ;;
  *"show job"*) echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1 ;;
  *"show node"*) for n in 1 2 3 4; do echo "NodeName=gpu0$n NodeAddr=10.0.0.$n State=IDLE"; done ;;
esac
""",
    "squeue": 'echo "12:30"',
    "sinfo": "",
    "srun": "",
    "sbatch": 'grep -q partition=closed && { echo "sbatch: error: closed" >&2; exit 1; }; exit 0',
}


@pytest.fixture(autouse=True)
def _programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in PROGRAMS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)


def asked(left: LeftBehind | None = None, budget: float = 10.0, **options: Any) -> tuple[UnderSlurm, list[str]]:
    found = Findings()
    given = {name: value for name, value in options.items() if name.startswith("training_")}
    settings = typed_options({"training_launcher": "slurm", **given}, found)
    assert not found.faults
    arguments = {"budget": budget, "quarantine_days": 0, "slurm_nodes": "", **options}
    return under_slurm(settings, left or LeftBehind(), arguments)


def test_a_partition_a_list_a_run_or_an_allocation_says_which_nodes() -> None:
    of_run = LeftBehind("r1", ["gpu04", "gpu01", "gpu02"], {"gpu04": "slow"})
    for given, names in (
        (asked(), ["gpu01", "gpu02", "gpu03", "gpu04"]),
        (asked(slurm_nodes="gpu[02-04]"), ["gpu02", "gpu03", "gpu04"]),
        (asked(of_run), ["gpu04", "gpu01", "gpu02"]),
        (asked(of_run, slurm_nodes="gpu[02-04]"), ["gpu02", "gpu03", "gpu04"]),
        (asked(training_launcher="srun", training_slurm_job="7", budget=3), ["gpu01", "gpu02", "gpu03", "gpu04"]),
    ):
        under, problems = given
        assert problems == []
        assert list(under.addresses) == names


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"training_slurm_partition": "nosuch"}, "training_slurm_partition is nosuch, but the cluster has gpu, short"),
        ({"training_slurm_partition": "short"}, "isolate_budget: Partition short ends jobs after 00:05:00"),
        ({"training_slurm_time_limit": "00:15:00"}, "training_slurm_time_limit is 00:15:00, but the tests need up to"),
        ({"training_launcher": "srun", "training_slurm_job": "7"}, "Job 7 of Slurm has 12:30 left, but the tests need"),
        ({"training_launcher": "srun"}, "There is no allocation"),
        ({"slurm_nodes": "gpu[01-02]"}, "2 nodes of the cluster can be tested, but"),
        ({"slurm_nodes": "gpu[01-"}, "isolate_slurm_nodes: 'gpu[01-' is not a hostlist"),
        ({"training_spares": "spare"}, "training_spares has no effect with training_launcher=slurm"),
        ({"quarantine_days": 3}, "isolate_quarantine_days has no effect under Slurm"),
    ],
)
def test_what_cannot_work_names_its_variable(options: dict[str, Any], said: str) -> None:
    _under, problems = asked(**options)
    assert any(said in problem for problem in problems), problems


@pytest.mark.parametrize("budget", [math.nan, math.inf])
def test_a_budget_that_is_no_number_leaves_its_refusal_to_the_plan(budget: float) -> None:
    under, problems = asked(budget=budget)
    assert (len(under.addresses), problems) == (4, [])


def test_all_problems_come_at_once() -> None:
    wrong = {"slurm_nodes": "gpu[01-03],nosuch", "training_slurm_time_limit": "5", "training_spares": "spare"}
    assert len(asked(**wrong, quarantine_days=3)[1]) == 4


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
    """Names and addresses are the nodes', not the stand-ins of a plan."""
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
    training = under.training(training_plan(*given, plan_run))
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
