# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys that NxDT alone reads: the table that they stand in, and what a plan refuses by it."""

from __future__ import annotations

import typing as t

import pytest
from nxdt_configs import HF, REMOVED, planned_nxdt
from pydantic import BaseModel, create_model
from training_configs import only

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.fields import nested_model
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.model import typed
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks.nxdt.config import NxdtConfig
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks.nxdt.keys import SECTIONS, with_keys_of

ALLOWED = {"description", "default", "examples", "optional", "required", "since", "type", "unit", "variable"}
OF_TYPE: dict[str, set[str]] = {
    "integer": {"minimum", "maximum"},
    "number": {"minimum", "above", "maximum"},
    "boolean": set(),
    "text": {"choices"},
    "list": {"items", "words"},
    "any": {"words"},
}


def test_the_table_is_well_formed() -> None:
    for section, told in SECTIONS.items():
        for key, of_key in told.items():
            if of_key is not None:
                assert set(of_key) <= ALLOWED | OF_TYPE[of_key["type"]], (section, key)
                assert of_key["description"].endswith(".")
                assert not {"required", "default"} <= set(of_key)


@pytest.mark.parametrize("section", SECTIONS)
def test_defaults_and_examples_are_right(section: str) -> None:
    model: type[BaseModel] | None = NxdtConfig
    for key in filter(None, section.split(".")):
        assert model
        model = nested_model(model.model_fields[key])
    assert model
    for key, told in SECTIONS[section].items():
        values = [] if told is None else [*told.get("examples", []), *([told["default"]] if "default" in told else [])]
        for value in values:
            findings = Findings()
            typed(model, {key: value}, "", findings)
            assert [fault.value for fault in findings.faults if fault.key == key] == (
                [value] if "${" in str(value) else []
            )


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"seed": 0}, "seed", "is too small"),
        ({"trainer.num_nodes": REMOVED}, "trainer.num_nodes", "is missing"),
        ({"trainer.accumulate_grad_batches": 2}, "trainer.accumulate_grad_batches", "is too large"),
        ({"exp_manager.save_xser": "true"}, "exp_manager.save_xser", "is text, not a truth value"),
        ({"data.dataloader_type": "random"}, "data.dataloader_type", "is not known here"),
        ({"data.num_workers": 1.5}, "data.num_workers", "is not a whole number"),
        ({"model.hidden_dropout": 1.5}, "model.hidden_dropout", "is too large"),
        ({"model.optim.lr": "3e-4"}, "model.optim.lr", "is text, not a number"),
        ({"model.optim.lr": 0}, "model.optim.lr", "is too small"),
        ({"model.optim.betas": [0.9, 2]}, "model.optim.betas[1]", "is too large"),
        ({"model.fuse_qkv": None}, "model.fuse_qkv", "is neither true nor false"),
        ({"model.transformer_block_type": 5}, "model.transformer_block_type", "is not text; quotes make it that"),
    ],
)
def test_a_key_that_a_plan_does_not_read_is_checked_all_the_same(
    changes: dict[str, t.Any], key: str, words: str
) -> None:
    fault = only(planned_nxdt(HF, changes)["faults"])
    assert fault["key"] == key
    assert words in fault["message"]


def test_a_key_of_a_model_is_left_to_it_by_the_table() -> None:
    with pytest.raises(ValueError, match="does not leave packing of 'model_alignment_strategy.sft' to the model"):
        with_keys_of("model_alignment_strategy.sft")(create_model("Sft", packing=(bool, False)))
