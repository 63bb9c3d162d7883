# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys that only NxDT reads: their table, and the keys that a plan refuses because of it."""

from __future__ import annotations

import typing as t

import pytest
from nxdt_configs import HF, REMOVED, planned_nxdt
from pydantic import BaseModel, create_model
from training_configs import only

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.key_tables import with_keys
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.model import nested_model, typed
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.nxdt_yaml.config import NxdtConfig
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.nxdt_yaml.keys import KEYS

ALLOWED = {"after", "default", "description", "examples", "nullable", "required", "since", "unit", "variable"}


def test_the_table_is_well_formed() -> None:
    for section, rows in KEYS.items():
        for key, row in rows.items():
            assert len({"kind", "choices"} & set(row)) == 1, (section, key)
            assert set(row) <= ALLOWED | {"kind", "choices"}
            assert not {"required", "default"} <= set(row)
            assert row["description"].endswith(".")


@pytest.mark.parametrize("section", KEYS)
def test_defaults_and_examples_are_right(section: str) -> None:
    model: type[BaseModel] | None = NxdtConfig
    for key in filter(None, section.split(".")):
        assert model
        model = nested_model(model.model_fields[key])
    assert model
    for key, row in KEYS[section].items():
        for value in (*row.get("examples", ()), *([row["default"]] if "default" in row else ())):
            findings = Findings()
            typed(model, {key: value}, "", findings)
            assert [fault["value"] for fault in findings.faults if fault["key"] == key] == (
                [value] if "${" in str(value) else []
            )


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"seed": 0}, "seed", "is too small"),
        ({"trainer.num_nodes": REMOVED}, "trainer.num_nodes", "is missing"),
        ({"trainer.accumulate_grad_batches": 2}, "trainer.accumulate_grad_batches", "is too large"),
        (
            {"exp_manager.save_xser": "true"},
            "exp_manager.save_xser",
            "is text, not a boolean; remove the quotes.",
        ),
        ({"exp_manager.save_xser": "1"}, "exp_manager.save_xser", "is text, not a boolean."),
        ({"data.dataloader_type": "random"}, "data.dataloader_type", "is not one of the allowed values"),
        ({"data.num_workers": 1.5}, "data.num_workers", "is not a whole number"),
        ({"model.hidden_dropout": 1.5}, "model.hidden_dropout", "is too large"),
        ({"model.optim.lr": "3e-4"}, "model.optim.lr", "is text, not a number; remove the quotes."),
        ({"model.optim.lr": "small"}, "model.optim.lr", "is text, not a number."),
        ({"model.optim.lr": 0}, "model.optim.lr", "is too small"),
        ({"model.optim.betas": [0.9, 2]}, "model.optim.betas[1]", "is too large"),
        ({"model.fuse_qkv": None}, "model.fuse_qkv", "is neither true nor false"),
        ({"model.transformer_block_type": 5}, "model.transformer_block_type", "is not text; put it in quotes"),
    ],
)
def test_a_key_that_a_plan_does_not_read_is_checked_all_the_same(
    changes: dict[str, t.Any], key: str, words: str
) -> None:
    fault = only(planned_nxdt(HF, changes)["faults"])
    assert fault["key"] == key
    assert words in fault["message"]


def test_rows_stand_between_the_fields_of_their_model() -> None:
    rows = {
        "b": {"kind": "Count", "after": "a", "description": "B."},
        "d": {"kind": "Count", "after": "c", "description": "D."},
    }
    fields: dict[str, t.Any] = {"a": (int, 1), "c": (int, 1), "e": (int, 1)}
    assert [*with_keys(rows)(create_model("Letters", **fields)).model_fields] == ["a", "b", "c", "d", "e"]
    with pytest.raises(ValueError, match="Letters has a field that is a row"):
        with_keys(rows)(create_model("Letters", b=(int, 1), **fields))
