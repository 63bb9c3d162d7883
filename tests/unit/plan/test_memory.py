# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory of a training on each GPU, compared with published numbers."""

from __future__ import annotations

import json
import typing as t

import pytest
from maxtext_configs import BRANCH as MAXTEXT_BRANCH
from maxtext_configs import filled as filled_maxtext
from maxtext_configs import planned as planned_maxtext
from primus_configs import LLAMA, planned_primus
from primus_configs import changed as changed_primus
from torchtitan_configs import planned as planned_titan
from training_configs import BRANCH, DISTRIBUTED, ROOT, filled, only, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.architecture import KNOWN_MODELS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.memory import Estimate, Keeping, estimated

PUBLISHED = json.loads((ROOT / "tests/data/published_memory.json").read_text("utf-8"))
# docs/memory.md promises these.
LOWEST, HIGHEST = 0.65, 1.1
Plan = dict[str, t.Any]


def estimate_of(row: dict[str, t.Any]) -> Estimate:
    narrow = row["precision"] == "fp8"
    return estimated(KNOWN_MODELS[row["model"]], row["parameters"], Keeping(**row["keeping"]), narrow=narrow)


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: f"{row['framework']}: {row['training']}")
def test_estimates_are_near_what_is_published(row: dict[str, t.Any]) -> None:
    found, published = estimate_of(row), row["published_gib"]
    assert LOWEST * published < found.total < HIGHEST * published, found


def test_the_page_shows_each_published_training_with_its_estimate() -> None:
    page = (ROOT / "docs/memory.md").read_text("utf-8")
    for row in PUBLISHED:
        found, published = estimate_of(row).total, row["published_gib"]
        line = f"| {row['framework']} | {row['training']} | {found:.1f} | {published:.1f} | {found / published:.2f} |"
        assert line in page, line


@pytest.mark.parametrize("framework", ["Megatron-LM", "MaxText", "Primus", "TorchTitan"])
def test_three_trainings_of_each_framework_are_compared(framework: str) -> None:
    assert sum(row["framework"] == framework for row in PUBLISHED) >= 3


def megatron(micro: int, **changes: str) -> Plan:
    given = {"micro_batch_size": str(micro), "batch_size": str(32 * micro), **changes}
    return planned(filled(DISTRIBUTED, {f"{BRANCH}/{key}": value for key, value in given.items()}))


def maxtext(micro: int) -> Plan:
    return planned_maxtext(filled_maxtext(changes={f"{MAXTEXT_BRANCH}/per_device_batch_size": str(micro)}))


def primus(micro: int) -> Plan:
    sizes = {"micro_batch_size": micro, "global_batch_size": 16 * micro}
    return planned_primus(changed_primus(LLAMA, {"modules.pre_trainer.overrides": sizes}), training_gpu="mi300x")


def titan(micro: int) -> Plan:
    return planned_titan({"training.local_batch_size": micro}, training_gpu="h100")


def memory_warnings(plan: Plan) -> list[Plan]:
    assert plan["faults"] == []
    return [warning for warning in plan["warnings"] if "will not fit" in warning["message"]]


@pytest.mark.parametrize("plan_with", [megatron, maxtext, primus, titan])
def test_a_micro_batch_of_64_is_a_warning_with_its_numbers_and_one_of_1_says_nothing(
    plan_with: t.Callable[[int], Plan],
) -> None:
    warning = only(memory_warnings(plan_with(64)))
    assert "GiB on each GPU" in warning["message"]
    assert "micro batch size" in warning["remedy"]
    assert memory_warnings(plan_with(1)) == []


@pytest.mark.parametrize(("recompute", "proposed"), [("0", True), ("1", False)])
def test_only_what_is_not_yet_done_is_proposed(recompute: str, proposed: bool) -> None:
    warning = only(memory_warnings(megatron(512, recompute=recompute)))
    assert ("recompute" in warning["remedy"]) is proposed
