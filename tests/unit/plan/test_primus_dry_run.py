# SPDX-License-Identifier: GPL-3.0-or-later
"""The command of a plan that shows Primus' dry run, as a shell runs it beside the plan's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from primus_configs import IMAGE, LLAMA, planned_primus

from ansible_collections.trainops.cluster.plugins.module_utils.node.container import ContainerEngine
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.environment_variables import recording
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan_text import plan_text
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.trainers.known import TRAINERS

SPY = f"""#!{sys.executable}
import json, os, sys
config = sys.argv[sys.argv.index("--config") + 1] if "--config" in sys.argv else "/dev/null"
said = {{"argv": sys.argv[1:], "env": dict(os.environ), "config": open(config).read(), "folder": os.getcwd()}}
print(json.dumps(said))
"""
RUNNER = '#!/bin/bash\nexec "$(dirname "$0")/spy" "$@"\n'


def command_of(plan: dict[str, t.Any]) -> str:
    return TRAINERS["primus_cli"].dry_run(plan)


def run(command: str, folder: Path, plan: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return the arguments of a program that a shell starts, with the staged files of a plan at hand."""
    for name, text in plan["nodes"][0]["files"].items():
        (folder / name).write_text(text, "utf-8")
    path = {"PATH": f"{folder}:{os.environ['PATH']}", "HF_TOKEN": "mine"}
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=path, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def spy(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SPY, "utf-8")
    path.chmod(0o755)


def test_without_a_container_it_is_the_nodes_own_command_on_the_same_file(tmp_path: Path) -> None:
    root = tmp_path / "Primus"
    spy(root / "runner/spy")
    (root / "runner/primus-cli").write_text(RUNNER, "utf-8")
    plan = planned_primus(
        LLAMA,
        container_engine="none",
        training_image=None,
        training_primus_root=str(root),
        training_run_id=tmp_path.name,
    )
    node = plan["nodes"][0]
    said = run(command_of(plan), tmp_path, plan)
    runner, _separator, trained = " ".join(node["argv"][2:]).partition(" -- ")
    its_runner, _separator, its_trained = " ".join(said["argv"]).partition(" -- ")
    assert its_runner.split()[:2] == runner.split()[:2]
    assert its_runner.endswith(" --dry-run")
    assert its_trained.split()[:3] == trained.split()[:3]
    assert (said["config"], said["folder"]) == (node["files"]["experiment.yaml"], str(root))
    # It is not a process of the run, whose folder does not exist yet.
    assert node["run_folder"] not in str(said["argv"])
    assert {name for name in node["env"] if name not in said["env"]} == {
        "HF_TOKEN_PATH",
        "TRAINOPS_NODE",
        "TRAINOPS_RUN_ID",
        *recording({}),
    }
    given = {name: value for name, value in node["env"].items() if name in said["env"]}
    assert given.items() <= said["env"].items()


@pytest.mark.parametrize("engine", ["auto", "podman"])
@pytest.mark.parametrize("profile", ["privileged", "hardened"])
def test_the_container_sees_what_the_trainings_own_does_but_for_the_runs_folder(
    tmp_path: Path, engine: str, profile: str
) -> None:
    name = "docker" if engine == "auto" else engine
    spy(tmp_path / name)
    plan = planned_primus(LLAMA, container_engine=engine, container_profile=profile)
    node = plan["nodes"][0]
    mounts = [mount for mount in node["mounts"] if not mount.get("staged")]
    assert len(mounts) < len(node["mounts"])
    argv = run(command_of(plan), tmp_path, plan)["argv"]
    shown = ContainerEngine(name).container_arguments(node["container_options"], node["devices"], mounts)
    assert argv[: 3 + len(shown)] == ["run", "--rm", "--interactive", *shown]
    assert argv[argv.index("--entrypoint") :][:4] == ["--entrypoint", "bash", IMAGE, "-c"]
    assert "--dry-run -- train pretrain" in argv[-1]
    # A token is never part of a command.
    assert [word for word in argv if "HF_TOKEN" in word] == ["HF_TOKEN"]


def test_the_plan_shows_it_where_a_node_can_run_it() -> None:
    plan = planned_primus(LLAMA)
    assert command_of(plan).splitlines()[0] in plan_text(plan)
    assert "--dry-run" in plan_text(plan)
    for options in ({"training_rehearsal": True}, {"training_launcher": "slurm", "training_slurm_nodes": 2}):
        other = planned_primus(LLAMA, **options)
        assert other["faults"] == []
        assert "--dry-run" not in plan_text(other)
