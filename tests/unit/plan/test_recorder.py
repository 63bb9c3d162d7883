# SPDX-License-Identifier: GPL-3.0-or-later
"""PyTorch's flight recorder is on in plans of trainers that use it, and writes to the folder of the run."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

import bridge_configs
import maxtext_configs
import pytest
import torchtitan_configs
from nxdt_configs import HF, planned_nxdt
from primus_configs import experiment, planned_primus
from training_configs import DISTRIBUTED, filled, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.holding import held_nodes
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.trainers.known import TRAINERS

SIZE, DUMP = "TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_NCCL_DUMP_ON_TIMEOUT"
FILES, PIPES = "TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"
SIZES = {"train_iters": 50, "micro_batch_size": 2, "global_batch_size": 128, "seq_length": 8192}
VARIABLES = "config/container_config/env_dict"


def recorder_of(plan: dict[str, t.Any]) -> dict[str, str]:
    """Return the variables of the recorder on the second node, with {folder} for its run's folder."""
    assert plan["faults"] == []
    node = plan["nodes"][1]
    return {
        name: value.replace(node["run_folder"], "{folder}")
        for name, value in node["env"].items()
        if name.startswith(("TORCH_FR", "TORCH_NCCL"))
    }


@pytest.mark.parametrize(
    "plan",
    [
        lambda: planned(filled(DISTRIBUTED)),
        bridge_configs.planned,
        lambda: planned_primus(experiment("megatron", SIZES)),
    ],
    ids=["scripts", "bridge", "primus"],
)
def test_it_is_switched_on_and_can_be_asked(plan: Callable[[], dict[str, t.Any]]) -> None:
    prefix = "{folder}/nccl_trace_rank_"
    assert recorder_of(plan()) == {SIZE: "2000", DUMP: "1", FILES: prefix, PIPES: prefix}


@pytest.mark.parametrize(
    ("folder", "files"),
    [(None, "{folder}/outputs/comm_traces/rank_"), ("/shared/out/", "/shared/out/comm_traces/rank_")],
)
def test_where_the_trainer_switches_it_on_the_plan_knows_its_files(folder: str | None, files: str) -> None:
    changes = {"job.dump_folder": folder} if folder else None
    assert recorder_of(torchtitan_configs.planned(changes)) == {FILES: files, PIPES: "{folder}/nccl_trace_rank_"}


def test_without_pytorch_and_nccl_there_is_none() -> None:
    assert recorder_of(maxtext_configs.planned(maxtext_configs.filled())) == {}
    assert recorder_of(planned_nxdt(HF)) == {}


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({SIZE: "0"}, {DUMP, FILES, PIPES}),
        ({"TORCH_FR_BUFFER_SIZE": "50"}, {DUMP, FILES, PIPES}),
        ({"TORCH_FR_DUMP_TEMP_FILE": "/shared/dump_"}, {SIZE, DUMP, PIPES}),
        ({PIPES: ""}, {SIZE, DUMP, FILES}),
    ],
)
def test_what_the_user_sets_wins_by_each_of_its_names(given: dict[str, str], left: set[str]) -> None:
    plan = planned(filled(DISTRIBUTED, {VARIABLES: given}))
    assert plan["warnings"] == []
    found = recorder_of(plan)
    assert given.items() <= found.items()
    assert found.keys() - given.keys() == left


def test_what_runs_elsewhere_with_the_same_environment_does_not_record() -> None:
    # A pipe in a folder that is not there keeps PyTorch from starting.
    users = {"NCCL_PROTO": "Simple", "TORCH_FR_BUFFER_SIZE": "50"}
    plan = planned(filled(DISTRIBUTED, {VARIABLES: users}))
    _held, parts = held_nodes("night", {"gpu0": "10.0.0.10", "gpu9": "10.0.0.19"}, "/tmp/isolate", 60, plan)
    for part in parts:
        assert {name for name in part["env"] if name.startswith("TORCH")} == {"TORCH_FR_BUFFER_SIZE"}
        assert users.items() <= part["env"].items()
    command = TRAINERS["primus_cli"].dry_run(planned_primus(experiment("megatron", SIZES)))
    assert command
    assert "TORCH_NCCL" not in command
