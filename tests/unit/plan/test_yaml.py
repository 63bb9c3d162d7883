# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.yaml_config import read_yaml, values_of


def values(text: str, overrides: dict[str, t.Any] | None = None) -> tuple[dict[str, t.Any], Findings]:
    findings = Findings()
    config = read_yaml(text, "my.yaml", findings)
    assert config is not None, findings
    assert config.text == text
    return values_of(config.config, overrides or {}, findings), findings


def test_numbers_and_interpolations_are_those_of_omegaconf() -> None:
    text = "a: {b: 3e-4, c: '${.b}', d: '${e}--{step}'}\ne: x\nf: ${a}\ng: [1, '${e}']\n"
    found, findings = values(text)
    assert found == {
        "a": {"b": 0.0003, "c": 0.0003, "d": "x--{step}"},
        "e": "x",
        "f": {"b": 0.0003, "c": 0.0003, "d": "x--{step}"},
        "g": [1, "x"],
    }
    assert findings.faults == []


def test_an_override_is_seen_by_interpolations() -> None:
    assert values("a: {b: 1}\nc: ${a.b}\n", {"a.b": 2})[0] == {"a": {"b": 2}, "c": 2}


def test_what_cannot_be_resolved_is_told_with_its_key_and_hides_no_other() -> None:
    found, findings = values("a: ${none}\nb: {c: '${unknown:1}', d: '???', e: 1}\nf: [1, '${no}']\n")
    assert found == {"b": {"e": 1}, "f": [1]}
    assert [(fault["key"], fault["value"]) for fault in findings.faults] == [
        ("a", "${none}"),
        ("b.c", "${unknown:1}"),
        ("b.d", "???"),
        ("f[1]", "${no}"),
    ]


@pytest.mark.parametrize("text", ["a: ${a}", "a: {b: '${a}'}", "a: {b: '${c}'}\nc: {d: '${a}'}"])
def test_a_circle_is_a_fault(text: str) -> None:
    assert values(text)[1].faults


def test_interpolations_that_make_a_config_too_large_are_one_fault() -> None:
    doubled = "".join(f"a{level}: ['${{a{level - 1}}}', '${{a{level - 1}}}']\n" for level in range(1, 11))
    found, findings = values(f"a0: {list(range(200))}\n{doubled}")
    assert found is None
    assert [fault["message"] for fault in findings.faults] == [
        "With interpolations resolved, it has more than 3,000 values."
    ]


def test_what_json_has_no_number_for_is_text() -> None:
    assert values("a: .inf\nb: .nan\n")[0] == {"a": "inf", "b": "nan"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: [\n", "my.yaml, line 2, column 1: not valid YAML"),
        ("a: 1\na: 2\n", "found duplicate key a"),
        ("a: b: c", "line 1, column 5"),
        ("- 1", "contains a list"),
        ("5", "cannot be read"),
        ("a: \x00", "cannot be read"),
        ("a: !!python/name:os.system", "line 1"),
    ],
)
def test_what_is_no_yaml_object(text: str, words: str) -> None:
    findings = Findings()
    assert read_yaml(text, "my.yaml", findings) is None
    [fault] = findings.faults
    assert fault["key"] == "training_config"
    assert words in fault["message"]


def test_a_line_with_a_secret_is_not_shown() -> None:
    findings = Findings()
    read_yaml("hf_token: [x", "my.yaml", findings)
    assert "x" not in str(findings.faults[0]["value"])
