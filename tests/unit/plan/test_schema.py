"""The JSON Schema says the same as the models that it is made from."""

from __future__ import annotations

import json
import typing as t

import jsonschema  # type: ignore[import-untyped]
import pytest
from pydantic import BaseModel
from training_configs import DISTRIBUTED, ROOT, SINGLE, SINGLE_MI35X, TINY, example, filled

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.model import typed
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.megatron.config import (
    MegatronConfig,
    MegatronModelParameters,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.container import ContainerConfig
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.thresholds import ExpectedResults
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.schema import schema

SCHEMA = schema("megatron")
CONFIG = SCHEMA["properties"]["config"]
BRANCH = SCHEMA["$defs"]["branch"]
MODELS: list[tuple[type[BaseModel], dict[str, t.Any]]] = [
    (MegatronConfig, CONFIG),
    (ContainerConfig, CONFIG["properties"]["container_config"]),
    (MegatronModelParameters, BRANCH),
    (ExpectedResults, BRANCH["properties"]["result_dict"]),
]
FIELDS = [(model, name, part["properties"][name]) for model, part in MODELS for name in model.model_fields]
VALUES: list[t.Any] = [
    *(None, True, False, 0, 1, -1, 8, 128, 0.5, 1.0, 1.5, -0.5, 70000),
    *(
        "",
        " ",
        "0",
        "00",
        "1",
        "08",
        "+8",
        "-1",
        "128",
        " 128 ",
        "1.5",
        "0.5",
        ".5",
        "0.0",
        "-3.5",
        "1e3",
        "1e-3",
        "0e5",
    ),
    *(
        "True",
        "FALSE",
        "yes",
        "off",
        "maybe",
        "TE_FP8",
        "te_bf16",
        "TE_FP4",
        "abc",
        "a b",
        "a/b",
        "/a/b",
        "a,b",
        "a, b",
    ),
    *(
        "/a:b",
        "/a,b",
        "a,,b",
        "-x",
        "a;b",
        "$(x)",
        "/home/{user-id}/x",
        "/home/{user}/x",
        "128G",
        "128X",
        "auto",
        "\u00e4",
    ),
    *("<changeme>", "/x/<ChangeMe>", "NousResearch/Meta-Llama-3-8B", "a\nb"),
    *([], [1], ["a"], ["/a"], ["/a", "b"], ["a b"], [[]], ["<changeme>"]),
    *(
        {},
        {"a": "b"},
        {"/a": "/b"},
        {"/a": "b"},
        {"a": "/b"},
        {"_note": 5},
        {"A": "1"},
        {"A-B": "1"},
        {"A": 1},
        {"A": []},
    ),
    *({"<changeme>": "/a"}, {"/a": "<changeme>"}),
]


def is_right(model: type[BaseModel], name: str, value: t.Any) -> bool:
    """Tell whether the model takes the value, or has nothing against it but that it is still to be filled in."""
    documented = {key: held for key, held in value.items() if key[0] != "_"} if isinstance(value, dict) else value
    findings = Findings()
    typed(model, {name: documented}, "", findings)
    own = [fault["message"] for fault in findings.faults if fault["key"].startswith(name)]
    # JSON Schema cannot check the size of a number that is written as text.
    excused = ("still contains <changeme>.", "is missing.", *(["is too large."] if isinstance(value, str) else []))
    return all(message.endswith(excused) for message in own)


@pytest.mark.parametrize(
    ("model", "name", "part"), FIELDS, ids=[f"{model.__name__}-{name}" for model, name, _ in FIELDS]
)
def test_an_editor_accepts_exactly_what_the_plan_accepts(
    model: type[BaseModel], name: str, part: dict[str, t.Any]
) -> None:
    if "properties" in part:
        return
    validator = jsonschema.Draft202012Validator({**part, "$defs": SCHEMA["$defs"]})
    differing = [value for value in VALUES if validator.is_valid(value) != is_right(model, name, value)]
    assert differing == []


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    with pytest.raises(ValueError, match=r"known: .*\bmegatron\b"):
        schema("pytorch")


@pytest.mark.parametrize(
    "config",
    [
        *(example(name) for name in (DISTRIBUTED, SINGLE, SINGLE_MI35X)),
        *(filled(name) for name in (DISTRIBUTED, SINGLE, SINGLE_MI35X)),
        json.loads(TINY.read_text("utf-8")),
        filled(
            DISTRIBUTED, {"$schema": "x.json", "_note": 1, "model_params/_note": [], "model_params/multi_node/_n": {}}
        ),
        filled(
            DISTRIBUTED,
            {"config/_note": 1, "config/container_config/_x": 1, "config/container_config/volume_dict/_x": 1},
        ),
    ],
)
def test_configs_that_are_right(config: dict[str, t.Any]) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(config)


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"config/batch_sise": "1"}, "$.config"),
        ({"config/nnodes": "four"}, "$.config.nnodes"),
        ({"config/container_config/devices": []}, "$.config.container_config"),
        ({"model_params/both": {}}, "$.model_params"),
        (
            {"model_params/multi_node/llama3_1_8b/mi300x/batch_size": "0"},
            "$.model_params.multi_node.llama3_1_8b.mi300x.batch_size",
        ),
        ({"unheard_of": 1}, "$"),
    ],
)
def test_an_editor_marks_the_place_of_what_is_wrong(changes: dict[str, t.Any], where: str) -> None:
    errors = list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(filled(DISTRIBUTED, changes)))
    assert [error.json_path for error in errors] == [where]


@pytest.mark.parametrize(
    ("model", "name", "part"), FIELDS, ids=[f"{model.__name__}-{name}" for model, name, _ in FIELDS]
)
def test_every_key_is_described_with_its_unit(model: type[BaseModel], name: str, part: dict[str, t.Any]) -> None:
    field = model.model_fields[name]
    extra = field.json_schema_extra
    assert field.description
    assert part["description"].startswith(field.description)
    if isinstance(extra, dict) and "unit" in extra:
        assert f"Unit: {extra['unit']}." in part["description"]
    if isinstance(extra, dict) and "variable" in extra:
        assert f"Becomes {extra['variable']}." in part["description"]


def test_required_keys_are_those_of_the_models() -> None:
    for model, part in MODELS:
        assert part["required"] == [name for name, field in model.model_fields.items() if field.is_required()]


def test_the_schema_in_docs_is_what_an_editor_would_find() -> None:
    assert json.loads((ROOT / "docs/schemas/megatron.schema.json").read_text("utf-8")) == SCHEMA
