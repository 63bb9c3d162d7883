"""The keys of MaxText that a branch may set: the facts about them, and their effect on a plan."""

from __future__ import annotations

import json
import typing as t

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml
from maxtext_configs import BRANCH, PATH, filled, later_shape, planned
from training_configs import ROOT, keys, only

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.kinds import OrWord
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.secret_names import is_secret_name
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.maxtext.keys import KEYS, missing_in
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.maxtext.kinds import (
    NOTHING,
    ListOf,
    Structure,
    real,
    whole,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.schema import schema

NEW_IMAGE, OLD_IMAGE = "rocm/jax-training:maxtext-v26.4", "rocm/jax-training:maxtext-v25.5"


def with_keys(values: dict[str, t.Any], image: str = NEW_IMAGE) -> dict[str, t.Any]:
    changes = {f"{BRANCH}/{key}": value for key, value in values.items()}
    return planned(filled(changes={"config/container_image": image, **changes}))


def test_every_key_takes_the_default_that_maxtext_gives_it() -> None:
    for key in KEYS.values():
        if key.default:
            key.kind.read(json.loads(key.default))
    assert len(KEYS) > 900


def test_keys_reach_the_yaml_with_the_types_of_maxtext() -> None:
    plan = with_keys(
        {
            "learning_rate": "3e-5",
            "num_experts": "8",
            "checkpoint_period": "10_000",
            "sparse_matmul": "FALSE",
            "profiler": "",
            "train_data_columns": "prompt,answer",
            "eval_data_columns": ["text"],
            "mesh_axes": ["data", "fsdp"],
            "max_num_checkpoints_to_keep": "None",
            "decoder_layer_input": "Offload",
            "run_name": "mine",
        }
    )
    assert plan["faults"] == []
    found = yaml.safe_load(plan["nodes"][0]["files"]["maxtext.yml"])
    expected = {
        "learning_rate": 3e-5,
        "num_experts": 8,
        "checkpoint_period": 10000,
        "sparse_matmul": False,
        "profiler": "",
        "train_data_columns": ["prompt", "answer"],
        "eval_data_columns": ["text"],
        "mesh_axes": ["data", "fsdp"],
        "max_num_checkpoints_to_keep": "None",
        "decoder_layer_input": "offload",
        "run_name": "mine",
    }
    assert {key: found[key] for key in expected} == expected
    assert {key: type(found[key]) for key in expected} == {key: type(value) for key, value in expected.items()}


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("learning_rate", "fast", "is not a number"),
        ("learning_rate", "-1", "is too small"),
        ("num_experts", "8.5", "is not a whole number"),
        ("sparse_matmul", "maybe", "is neither true nor false"),
        ("mesh_axes", {}, "is not a list"),
        ("decoder_layer_input", "disk", "is not one of the allowed values"),
        ("vllm_hf_overrides", [], "is not an object"),
        ("dcn_context_autoregressive_parallelism", "0", "is too small"),
    ],
)
def test_a_wrong_type_is_a_fault_that_says_what_would_be_right(key: str, value: t.Any, reason: str) -> None:
    fault = next(fault for fault in with_keys({key: value})["faults"] if fault["key"] == f"{PATH}.{key}")
    assert reason in fault["message"]
    assert str(KEYS[key].kind) in fault["remedy"]


def test_an_unknown_key_is_a_fault_with_the_nearest_one() -> None:
    fault = only(with_keys({"learning_rat": "1"})["faults"])
    assert fault["key"] == f"{PATH}.learning_rat"
    assert fault["remedy"].startswith("Did you mean learning_rate?")


@pytest.mark.parametrize(
    ("key", "place"), [("steps", "config, as training_steps"), ("hf_access_token", "config, as hf_token_file")]
)
def test_a_key_whose_place_is_elsewhere_is_told_where(key: str, place: str) -> None:
    plan = with_keys({key: "hf_abcdefghijkl0123"})
    assert place in only(plan["faults"])["remedy"]
    assert "hf_abcdefghijkl0123" not in json.dumps(plan)


def test_no_key_holds_a_secret() -> None:
    words = {"reasoning_start_token", "reasoning_end_token", "solution_start_token", "solution_end_token"}
    assert {name for name in KEYS if is_secret_name(name)} == words


def test_keys_that_the_maxtext_of_an_image_does_not_have_are_told() -> None:
    newer = {"muon_beta": "0.9"}
    gone = {"tile_batch_seq": "512"}
    old = with_keys(newer | gone, OLD_IMAGE)
    assert old["faults"] == []
    told = [finding for finding in old["warnings"] if "is not known to have" in finding["message"]]
    assert keys(told) == [f"{PATH}.muon_beta"]
    assert "it came with MaxText 0.2.0" in told[0]["message"]
    told = [finding for finding in with_keys(newer | gone)["warnings"] if "is not known to have" in finding["message"]]
    assert keys(told) == [f"{PATH}.tile_batch_seq"]
    assert "it was removed after MaxText 0.1.0" in told[0]["message"]
    assert missing_in("rocm/jax-training:maxtext-v25.11", [*newer, *gone]) == {}
    assert missing_in("my/image:latest", [*newer, *gone]) == {}


def test_the_examples_set_no_key_that_their_image_lacks() -> None:
    assert "is not known to have" not in json.dumps(planned(filled())["warnings"])


@pytest.mark.parametrize("config", [filled(), filled("4_nodes_mi300x_llama_3_1_405b"), later_shape()])
def test_the_schema_accepts_what_is_right(config: dict[str, t.Any]) -> None:
    jsonschema.Draft202012Validator(schema("maxtext")).validate(config)


def test_the_schema_in_docs_is_what_an_editor_would_find() -> None:
    assert json.loads((ROOT / "docs/schemas/maxtext.schema.json").read_text("utf-8")) == schema("maxtext")


@pytest.mark.parametrize(
    ("key", "value"),
    [("learning_rat", 1), ("learning_rate", "fast"), ("num_experts", 1.5), ("scan_layers", 2), ("profiler", "x")],
)
def test_the_schema_marks_what_is_wrong(key: str, value: t.Any) -> None:
    errors = list(
        jsonschema.Draft202012Validator(schema("maxtext")).iter_errors(filled(changes={f"{BRANCH}/{key}": value}))
    )
    assert len(errors) == 1


VALUES = [
    *(0, 1, -1, 1.0, 1.5, -0.5, True, None, [], [1], {}, "", "0", "00", "1", "+1", "-1", "-0", "1_000", "_1", "1_"),
    *("0_0", "0_1", "-1_0", "1.5", "1.", ".5", "-.5", "1e3", "-1e-3", "1_0.5", "0e5", "-0.0", "nan", "inf", "None"),
    *("a", " 5 ", 10**19, -(10**19)),
]


@pytest.mark.parametrize(
    "kind",
    [whole(), whole(0), whole(1), real(), real(0), OrWord(whole(), NOTHING), Structure((list, str))],
    ids=str,
)
def test_an_editor_accepts_exactly_what_a_kind_reads(kind: t.Any) -> None:
    editor = jsonschema.Draft202012Validator({"anyOf": kind.schemas()})
    for value in VALUES:
        try:
            kind.read(value)
            right = True
        except ValueError:
            right = False
        assert editor.is_valid(value) is right, value


def test_a_list_is_read_from_a_text_with_commas() -> None:
    assert ListOf(whole()).read("1, 2_000") == [1, 2000]
    assert ListOf(whole()).read([]) == ListOf(whole()).read("") == []
    with pytest.raises(ValueError, match="not a whole number"):
        ListOf(whole()).read("1,x")
