from __future__ import annotations

import json

import pytest
from training_configs import DISTRIBUTED, example, filled, only, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.json_config import read_json


def test_documentation_keys_are_left_out_at_any_depth() -> None:
    text = '{"_comment": 1, "$schema": "x.json", "a": {"_example_b": 2, "__c": 3, "b": [{"_d": 4, "e": 5}]}}'
    findings = Findings()
    assert read_json(text, "f", findings) == {"a": {"b": [{"e": 5}]}}
    assert not findings.faults


@pytest.mark.parametrize(
    ("text", "place", "found"),
    [
        ('{\n  "nnodes": "4"\n  "log_dir": "/x"\n}', "line 3, column 3", '"log_dir": "/x"'),
        ('{"a": "1" "b": 2}', "line 1, column 11", '{"a": "1" "b": 2}'),
        ("", "line 1, column 1", ""),
        ('{"a": "x\ty"}', "line 1, column 9", '{"a": "x\\ty"}'),
    ],
)
def test_broken_json_is_a_fault_with_line_and_column(text: str, place: str, found: str) -> None:
    findings = Findings()
    assert read_json(text, "my.json", findings) is None
    [fault] = findings.faults
    assert fault["key"] == "training_config"
    assert fault["value"] == found
    assert fault["message"].startswith(f"my.json, {place}: not valid JSON (")
    assert "commas" in fault["remedy"]


@pytest.mark.parametrize("depth", [51, 200, 450, 900, 10_000])
def test_brackets_without_end_are_a_fault(depth: int) -> None:
    for text in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
        plan = planned('{"config": ' + text + "}")
        assert only(plan["faults"])["message"] == (
            "config.json cannot be read: lists and objects are nested more than 50 deep."
        )


def test_a_config_of_usual_depth_is_read() -> None:
    findings = Findings()
    assert read_json('{"a": ' + "[" * 48 + "]" * 48 + "}", "my.json", findings) is not None
    assert not findings.faults


def test_a_number_that_python_cannot_take_in_is_a_fault() -> None:
    findings = Findings()
    assert read_json('{"a": ' + "9" * 5000 + "}", "my.json", findings) is None
    assert findings.faults[0]["message"].startswith("my.json cannot be read: Exceeds the limit")


@pytest.mark.parametrize(("text", "shown"), [("[]", "a list"), ('"x"', "'x'"), ("null", "null")])
def test_anything_but_an_object_is_a_fault(text: str, shown: str) -> None:
    findings = Findings()
    assert read_json(text, "my.json", findings) is None
    assert findings.faults[0]["message"] == f"my.json contains {shown}, not an object."


def test_a_key_that_stands_twice_is_a_fault_at_its_path() -> None:
    findings = Findings()
    text = '{"config": {"nnodes": "1", "nnodes": "2", "_n": 1, "_n": 2}, "list": [{"b": 1, "b": 1, "b": 1}]}'
    assert read_json(text, "f", findings) == {"config": {"nnodes": "2"}, "list": [{"b": 1}]}
    assert [(fault["key"], fault["value"]) for fault in findings.faults] == [("config.nnodes", "2"), ("list[0].b", 1)]


def test_what_is_no_json_number_stays_text() -> None:
    assert read_json('{"a": NaN, "b": -Infinity, "c": 1e999, "d": 1.5}', "f", Findings()) == {
        "a": "NaN",
        "b": "-Infinity",
        "c": "1e999",
        "d": 1.5,
    }


def test_odd_formatting_makes_no_difference() -> None:
    tidy = planned(filled(DISTRIBUTED))
    odd = json.dumps(filled(DISTRIBUTED), indent="\t\t").replace(":", "\t :\n\n").replace("\n", "\r\n")
    # Colons in values, such as the image's tag, are not formatting.
    odd = odd.replace("megatron-lm\t :\r\n\r\n", "megatron-lm:")
    assert "\t" in odd
    assert planned("\ufeff" + odd) == tidy


def test_the_examples_are_the_users_own_and_have_placeholders() -> None:
    assert example(DISTRIBUTED)["config"]["nnodes"] == "<changeme>"
