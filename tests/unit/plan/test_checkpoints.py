"""The folder from which the same command resumes, for each framework's configs."""

from __future__ import annotations

import typing as t

import maxtext_configs
import pytest
from maxtext_configs import BRANCH as MAXTEXT
from nxdt_configs import HF, planned_nxdt
from training_configs import BRANCH, DISTRIBUTED, filled, planned

MOUNTED = {"config/container_config/volume_dict": {"/shared": "/shared"}}
SAVES = {**MOUNTED, f"{BRANCH}/save_checkpoint_path": "/shared/ckpt"}


@pytest.mark.parametrize(
    ("changes", "folder"),
    [
        ({}, None),
        (SAVES, None),
        ({**SAVES, "config/container_config/env_dict": {"LOAD_CKPT_PATH": "/shared/ckpt"}}, "/shared/ckpt"),
        ({**SAVES, "config/container_config/env_dict": {"LOAD_CKPT_PATH": "/shared/other"}}, None),
    ],
)
def test_megatron_goes_on_where_it_loads_what_it_saves(changes: dict[str, t.Any], folder: str | None) -> None:
    plan = planned(filled(DISTRIBUTED, changes), training_megatron_release="v26.1")
    assert plan["faults"] == []
    assert plan.get("checkpoints") == folder


@pytest.mark.parametrize(
    ("enabled", "directory", "folder"),
    [("True", "/shared/out", "/shared/out"), ("False", "/shared/out", None)],
)
def test_maxtext_goes_on_in_an_output_folder_of_its_own(enabled: str, directory: str, folder: str | None) -> None:
    changes = {"config/enable_checkpointing": enabled, f"{MAXTEXT}/base_output_directory": directory}
    plan = maxtext_configs.planned(maxtext_configs.filled(changes=changes))
    assert plan["faults"] == []
    assert plan.get("checkpoints") == folder


def test_a_rehearsal_keeps_none() -> None:
    assert "checkpoints" in planned_nxdt(HF)
    assert "checkpoints" not in planned_nxdt(HF, training_rehearsal=True)
