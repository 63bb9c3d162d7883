"""The JSON Schema of NxDT's configs says the same as the models that it is made from."""

from __future__ import annotations

import json
import typing as t

import jsonschema  # type: ignore[import-untyped]
import pytest
from nxdt_configs import EXAMPLES, FOLDER, changed, text_of
from omegaconf import OmegaConf
from training_configs import ROOT, keys

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.field_types import OneLine
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.model import key_of, nested_model, typed
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.nxdt_yaml.config import NxdtConfig
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.schema import schema

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

SCHEMA = schema("nxdt")
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
VALUES: tuple[t.Any, ...] = (
    *(None, True, False, 0, 1, -1, 8, 0.5, 1.5, -0.5, 10**13, "", " ", "a", "a b", "1", "0.5", "true", "hf", "a\nb"),
    *([], ["a"], [1], {}, {"a": 1}),
)


def data_of(text: str) -> t.Any:
    """Return a config as an editor sees it, with its interpolations."""
    return OmegaConf.to_container(OmegaConf.create(text))


def sections(model: type[BaseModel], part: dict[str, t.Any]) -> Iterator[tuple[type[BaseModel], dict[str, t.Any]]]:
    yield model, part
    for name, field in model.model_fields.items():
        nested = nested_model(field)
        if nested:
            yield from sections(nested, part["properties"][key_of(name, field)])


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_are_right_filled_in_or_not(name: str) -> None:
    VALIDATOR.validate(data_of(text_of(name)))
    VALIDATOR.validate(data_of((FOLDER / f"{name}.yaml").read_text("utf-8")))


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"trainer.max_steps": "ten"}, "$.trainer.max_steps"),
        ({"trainer.max_stepz": 10}, "$.trainer"),
        ({"precision.type": "mixed_precisionSR"}, "$.precision.type"),
        ({"model.optim.lr": "3e-4"}, "$.model.optim.lr"),
        ({"distributed_strategy.zero1": "True"}, "$.distributed_strategy.zero1"),
        ({"model_alignment_strategy.sft.packing": 1}, "$.model_alignment_strategy.sft.packing"),
        ({"trainops.instance_type": "trn9"}, "$.trainops.instance_type"),
    ],
)
def test_an_editor_marks_the_place_of_what_is_wrong(changes: dict[str, t.Any], where: str) -> None:
    errors = VALIDATOR.iter_errors(data_of(changed("hf_llama3_8b_sft", changes)))
    assert [error.json_path for error in errors] == [where]


def test_an_editor_accepts_exactly_what_the_plan_accepts() -> None:
    differing = []
    for model, part in sections(NxdtConfig, SCHEMA):
        for name, field in model.model_fields.items():
            key = key_of(name, field)
            kind = (field.metadata or [None])[0]
            if not (isinstance(kind, OneLine) or getattr(kind, "strict", False)):
                continue
            validator = jsonschema.Draft202012Validator({**part["properties"][key], "$defs": SCHEMA["$defs"]})
            for value in VALUES:
                findings = Findings()
                typed(model, {key: value}, "", findings)
                right = not [fault for fault in findings.faults if fault["key"] == key]
                if validator.is_valid(value) is not right:
                    differing.append((key, value))
    assert differing == []


def test_what_omegaconf_resolves_may_stand_for_any_value() -> None:
    data = data_of(changed("hf_llama3_8b_sft", {"trainer.max_steps": "${multiply:2,50}"}))
    assert data["trainer"]["max_steps"] == "${multiply:2,50}"
    VALIDATOR.validate(data)


def test_a_note_is_no_key_of_nxdt_for_plan_and_editor() -> None:
    findings = Findings()
    typed(NxdtConfig, {"_note": 1}, "", findings)
    noted = "_note" in keys(findings.faults)
    assert VALIDATOR.is_valid({**data_of(text_of("hf_llama3_8b_sft")), "_note": 1}) is not noted


def test_the_schema_in_docs_is_what_an_editor_would_find() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert json.loads((ROOT / "docs/schemas/nxdt.schema.json").read_text("utf-8")) == SCHEMA
