# SPDX-License-Identifier: GPL-3.0-or-later
"""The format, trainer and grammar of a plan for a training config, and the options that override them."""

from __future__ import annotations

import json
import typing as t

import maxtext_configs
import pytest
from nxdt_configs import HF, text_of
from training_configs import DISTRIBUTED, filled, nodes, only

from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.known import grammar_name
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan

FILES = {
    "megatron": ("c.json", json.dumps(filled(DISTRIBUTED)), ("cvs1", "rocm_scripts", "megatron")),
    "maxtext": ("c.json", json.dumps(maxtext_configs.filled()), ("cvs1", "maxtext", "maxtext")),
    "nxdt": ("c.yaml", text_of(HF), ("nxdt_yaml", "nxdt", "nxdt")),
}


def plan_of(name: str, **options: str) -> dict[str, t.Any]:
    source, text, _names = FILES[name]
    return make_plan(text, source, options, nodes(2), "now")


@pytest.mark.parametrize("name", FILES)
def test_a_plan_says_what_was_chosen_and_why(name: str) -> None:
    plan = plan_of(name)
    chosen = plan["chosen"]
    assert tuple(chosen[seam]["name"] for seam in ("format", "trainer", "log_grammar")) == FILES[name][2]
    assert all(choice["why"].endswith(".") for choice in chosen.values())
    assert plan["framework"] == name
    assert "log_grammar" not in plan


@pytest.mark.parametrize("name", FILES)
def test_a_trainer_can_be_named(name: str) -> None:
    plan = plan_of(name, training_trainer=FILES[name][2][1])
    assert plan["chosen"]["trainer"]["why"] == "training_trainer sets it."
    assert plan["faults"] == plan_of(name)["faults"]


def test_a_trainer_that_cannot_take_the_file_is_refused() -> None:
    fault = only(plan_of("megatron", training_trainer="nxdt")["faults"])
    assert (fault["key"], fault["value"]) == ("training_trainer", "nxdt")
    assert "Megatron-LM" in fault["message"]


def test_another_grammar_can_be_named_for_the_log() -> None:
    plan = plan_of("megatron", training_log_grammar="maxtext")
    assert (plan["framework"], plan["log_grammar"], grammar_name(plan)) == ("megatron", "maxtext", "maxtext")
    assert plan["chosen"]["log_grammar"]["why"] == "training_log_grammar sets it."


@pytest.mark.parametrize("option", ["training_trainer", "training_log_grammar"])
def test_an_unknown_name_is_a_fault(option: str) -> None:
    assert option in [fault["key"] for fault in plan_of("megatron", **{option: "nothing"})["faults"]]
