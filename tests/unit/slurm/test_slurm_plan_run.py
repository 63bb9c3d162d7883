"""A plan that Slurm starts: the job's script, the nodes to come, and the refusals."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import maxtext_configs
import pytest
from not_run import need
from nxdt_configs import planned_nxdt
from training_configs import DISTRIBUTED, filled, planned

from ansible_collections.trainops.cluster.plugins.module_utils.slurm.placement import placed
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan_text import plan_text
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm import plan_run as module
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.plan_run import next_job


def on_slurm(changes: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    config = filled(DISTRIBUTED, {"config/master_address": "auto", **(changes or {})})
    return planned(config, 1, **{"training_launcher": "slurm", **options})


def test_slurm_chooses_as_many_nodes_as_the_config_asks_for() -> None:
    plan = on_slurm()
    assert plan["faults"] == []
    assert [node["node"] for node in plan["nodes"]] == [f"slurm-node-000{rank}" for rank in range(4)]
    assert {node["master_address"] for node in plan["nodes"]} == {"slurm-address-0000"}
    assert "#SBATCH --nodes=4\n" in plan["slurm"]["script"]
    assert "Slurm chooses the nodes and runs this job:\n  #!/usr/bin/env bash\n" in plan_text(plan)


def test_the_nodes_of_the_job_take_the_places_of_their_stand_ins_everywhere() -> None:
    plan = on_slurm(training_run_id="r")
    names, addresses = [f"gpu{rank}" for rank in (7, 3, 12, 5)], [f"10.0.0.{rank}" for rank in (7, 3, 12, 5)]
    found = placed(plan, names, addresses)
    assert [node["node"] for node in found["nodes"]] == names
    assert [node["node_rank"] for node in found["nodes"]] == [0, 1, 2, 3]
    assert {node["env"]["MASTER_ADDR"] for node in found["nodes"]} == {"10.0.0.7"}
    assert found["nodes"][1]["env"]["TRAINOPS_NODE"] == "gpu3"
    assert "slurm-node" not in json.dumps(found)
    assert "slurm-address" not in json.dumps(found)


def test_what_the_site_asks_for_stands_in_the_script() -> None:
    plan = on_slurm(
        training_slurm_partition="gpu",
        training_slurm_account="llm",
        training_slurm_time_limit="1-12",
        training_slurm_constraint="mi300x&rack1",
        training_slurm_exclude="gpu[03,07]",
        training_slurm_gres="gpu:8",
        training_slurm_exclusive=False,
        training_slurm_options=["--mail-type=END", "--comment=acceptance test"],
    )
    assert plan["faults"] == []
    lines = [line.removeprefix("#SBATCH ") for line in plan["slurm"]["script"].splitlines() if "SBATCH" in line]
    assert {*lines} >= {
        "--partition=gpu",
        "--account=llm",
        "--time=1-12",
        "--constraint=mi300x&rack1",
        "--exclude=gpu[03,07]",
        "--gres=gpu:8",
        "--mail-type=END",
        "--comment=acceptance test",
    }
    assert "--exclusive" not in lines


def test_a_job_begins_once_and_has_its_nodes_alone() -> None:
    script = on_slurm()["slurm"]["script"]
    assert {"#SBATCH --no-requeue", "#SBATCH --exclusive"} <= {*script.splitlines()}
    assert "--no-kill" not in script


def test_somebody_has_to_say_how_many_nodes_a_job_takes() -> None:
    plan = on_slurm({"config/nnodes": None})
    assert "training_slurm_nodes" in [fault["key"] for fault in plan["faults"]]
    assert "training_slurm_nodes" not in [
        fault["key"] for fault in on_slurm({"config/nnodes": None}, training_slurm_nodes=4)["faults"]
    ]


@pytest.mark.parametrize(
    ("options", "key", "told"),
    [
        ({"training_slurm_partition": "gpu\n#SBATCH --wrap=x"}, "training_slurm_partition", "is not one word"),
        ({"training_slurm_account": 'a"b'}, "training_slurm_account", "is not one word"),
        ({"training_slurm_time_limit": "two hours"}, "training_slurm_time_limit", "is not a time limit"),
        ({"training_slurm_options": ["--a\nrm -rf /"]}, "training_slurm_options", "is not an option of sbatch"),
        ({"training_slurm_options": ["rm -rf /"]}, "training_slurm_options", "is not an option of sbatch"),
        ({"training_slurm_nodes": "-1"}, "training_slurm_nodes", "-1"),
        ({"training_spares": "spares"}, "training_spares", "has no effect"),
        ({"training_launcher": "pbs"}, "training_launcher", "pbs"),
        ({"training_platform": "gke"}, "training_launcher", "cannot start anything on gke"),
        ({"training_slurm_job": "7"}, "training_slurm_job", "has no effect"),
        (
            {"training_launcher": "srun", "training_slurm_job": "7;x"},
            "training_slurm_job",
            "is not a job ID",
        ),
        ({"training_launcher": "srun", "training_slurm_qos": "q"}, "training_slurm_qos", "has no effect"),
        ({"training_launcher": "srun", "training_slurm_options": ["--mail-type=END"]}, "training_slurm_options", "no"),
    ],
)
def test_what_would_be_another_script_is_a_fault(options: dict[str, Any], key: str, told: str) -> None:
    config = filled(DISTRIBUTED, {"config/master_address": "auto"})
    plan = planned(config, 1, **{"training_launcher": "slurm", **options})
    (fault,) = [fault for fault in plan["faults"] if fault["key"] == key]
    assert told in fault["message"]
    assert plan["nodes"] == []


def test_a_launch_by_ssh_has_no_job() -> None:
    assert "slurm" not in planned(filled(DISTRIBUTED))


def of_megatron(**options: Any) -> dict[str, Any]:
    return on_slurm(**options)


def of_maxtext(**options: Any) -> dict[str, Any]:
    return maxtext_configs.planned(maxtext_configs.filled(), 1, **{"training_launcher": "slurm", **options})


def of_nxdt(**options: Any) -> dict[str, Any]:
    engine = {"container_engine": options.pop("container_engine", "none")}
    return planned_nxdt("hf_llama3_8b_pretraining", hosts=1, **{"training_launcher": "slurm", **engine, **options})


@pytest.mark.parametrize("plan_of", [of_megatron, of_maxtext, of_nxdt])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"training_slurm_pyxis": True},
        {"training_slurm_preflight": False, "training_slurm_gres": "gpu:8"},
        {"training_launcher": "srun", "training_slurm_exclude": "gpu[03,07]"},
    ],
)
def test_the_script_of_each_framework_is_clean_shell(
    plan_of: Callable[..., dict[str, Any]], options: dict[str, Any]
) -> None:
    plan = plan_of(training_run_id="r", **options)
    assert plan["faults"] == []
    check_shell(plan["slurm"]["script"])


def check_shell(script: str) -> None:
    need("shellcheck")
    done = subprocess.run(["shellcheck", "-"], input=script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_inside_an_allocation_the_same_script_runs_beside_srun_and_nodes_need_nothing_of_its_folder() -> None:
    job = on_slurm(training_run_id="r")["slurm"]
    step = on_slurm(training_run_id="r", training_launcher="srun", training_slurm_exclude="gpu02")["slurm"]
    assert ("allocation" in job, step["allocation"]) == (False, "")
    begins = "on_each_node stage\nstaged=$?\n"
    assert step["script"].partition(begins)[1:] == job["script"].partition(begins)[1:]
    assert "#SBATCH" not in step["script"]
    assert "--job-name=trainops-r --exclude=gpu02 " in step["script"]
    (line,) = [line for line in step["script"].splitlines() if "--nodelist" in line]
    assert "--nodes=4 --ntasks=4 --overlap --chdir=/ " in line
    options = {**PYXIS, "training_launcher": "srun", "container_engine": "auto"}
    script = on_slurm({"config/container_image": "a/b"}, training_run_id="r", **options)["slurm"]["script"]
    assert "$PWD:$PWD" not in script
    assert "--container-workdir=/ " in script


PYXIS = {"training_slurm_pyxis": True, "container_engine": "auto"}


def test_pyxis_takes_the_container_of_the_plan_for_the_ranks_alone() -> None:
    plan = on_slurm({"config/container_image": "ghcr.io/rocm/megatron-lm:v26.1"}, training_run_id="r", **PYXIS)
    assert plan["faults"] == []
    assert plan["container_engine"] == "pyxis"
    script = plan["slurm"]["script"]
    (line,) = [line for line in script.splitlines() if "--container-image" in line]
    assert line.startswith("on_each_node train --container-image='ghcr.io#rocm/megatron-lm:v26.1' --container-mounts=")
    for mount in plan["nodes"][0]["mounts"]:
        assert mount.get("staged") or f"{mount['source']}:{mount['target']}" in line
    assert '"$PWD:$PWD"' in line
    assert "slurm-node" not in line
    assert '--container-workdir="$PWD"' in line


def test_apptainer_is_a_command_around_the_tasks_of_the_ranks_alone() -> None:
    image = {"config/container_image": "ghcr.io/rocm/megatron-lm:v26.1"}
    plan = on_slurm(image, training_run_id="r", container_engine="apptainer")
    assert plan["faults"] == []
    (line,) = [line for line in plan["slurm"]["script"].splitlines() if "apptainer" in line]
    assert line.startswith("on_each_node train apptainer exec --writable-tmpfs --no-home --bind ")
    for mount in plan["nodes"][0]["mounts"]:
        assert mount.get("staged") or f"{mount['source']}:{mount['target']}" in line
    check_shell(plan["slurm"]["script"])
    assert line.endswith(',"$PWD:$PWD" --pwd "$PWD" docker://ghcr.io/rocm/megatron-lm:v26.1')
    (fault,) = planned(filled(DISTRIBUTED), container_engine="apptainer")["faults"]
    assert fault["message"] == "Apptainer works only in a Slurm job."


def test_another_engine_that_is_asked_for_goes_before_pyxis() -> None:
    plan = on_slurm(**{**PYXIS, "container_engine": "podman"})
    assert plan["container_engine"] == "podman"
    assert "--container-image" not in plan["slurm"]["script"]


@pytest.mark.parametrize(("left", "nodes"), [(3, 3), (2, 2), (None, 3)])
def test_the_next_attempt_excludes_the_node_at_fault_and_asks_for_another_one(
    monkeypatch: pytest.MonkeyPatch, left: int | None, nodes: int
) -> None:
    monkeypatch.setattr(module, "nodes_for", lambda _job, _excluded: left)
    asked: list[tuple[dict[str, Any], list[str]]] = []

    def make(options: Any, hosts: Any) -> Any:
        asked.append((dict(options), list(hosts)))
        return {"faults": []}

    plan: Any = {"run_id": "r", "slurm": {}, "nodes": [{"node": node} for node in "abc"]}
    again = next_job(plan, {"b": "it broke"}, {"training_slurm_exclude": "old"}, make)
    assert again["retry"]["nodes"] == nodes
    given = {"training_run_id": "r-2", "training_slurm_exclude": "old,b", "training_slurm_nodes": nodes}
    assert asked == [(given, [])]
