from __future__ import annotations

import typing as t

import pytest
from pydantic import BaseModel, Field

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.field_types import (
    DeviceList,
    Mounts,
    Name,
    PositiveInteger,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.model import (
    refuse_unknown_keys,
    section,
    typed,
)


class Inner(BaseModel):
    devices: DeviceList = Field(default=[], description="Devices.", examples=[["/dev/kfd"]])
    mounts: Mounts = Field(default={}, description="Mounts.")


class Outer(BaseModel):
    steps: PositiveInteger = Field(description="How many steps.", examples=[30], json_schema_extra={"unit": "steps"})
    name: Name | None = Field(default=None, description="A name.")
    size: PositiveInteger = Field(default=8, description="A size.")
    inner: Inner = Field(default_factory=Inner, description="A section.")


def read(data: dict[str, t.Any], findings: Findings, **options: t.Any) -> Outer:
    return typed(Outer, data, "config", findings, **options)


def said(findings: Findings) -> list[tuple[str, object, str]]:
    return [(fault["key"], fault["value"], fault["message"]) for fault in findings.faults]


def test_right_values_get_their_types_and_missing_ones_their_defaults() -> None:
    findings = Findings()
    model = read({"steps": "30", "inner": {"mounts": {"/a": "/b"}}}, findings)
    assert not findings.faults
    assert (model.steps, model.name, model.size) == (30, None, 8)
    assert (model.inner.devices, model.inner.mounts) == ([], {"/a": "/b"})


def test_every_wrong_value_is_told_at_once_and_is_none() -> None:
    findings = Findings()
    data = {"steps": "many", "name": "a;b", "size": None, "inner": {"devices": ["dri", "/dev/kfd", 7]}}
    model = read(data, findings)
    assert said(findings) == [
        ("config.steps", "many", "steps is 'many', which is not a whole number."),
        ("config.name", "a;b", "name is 'a;b', which contains ';', which is unsafe in a shell."),
        ("config.size", None, "size is null, which is not a whole number."),
        ("config.inner.devices[0]", "dri", "devices[0] is 'dri', which is not an absolute path without : and commas."),
        ("config.inner.devices[2]", 7, "devices[2] is 7, which is not an absolute path without : and commas."),
    ]
    assert (model.steps, model.name, model.size, model.inner.devices) == (None, None, None, None)


def test_a_missing_required_value_is_a_fault_with_the_remedy() -> None:
    findings = Findings()
    read({}, findings)
    [fault] = findings.faults
    assert (fault["key"], fault["value"], fault["message"]) == ("config.steps", None, "steps is missing.")
    assert fault["remedy"] == "Give a whole number of 1 or more (steps), for example 30. Meaning: How many steps."


@pytest.mark.parametrize(
    ("data", "remedy"),
    [
        (
            {"name": ""},
            "Give a name of letters, digits and . _ : @ -, not starting with -, or leave it out. Meaning: A name.",
        ),
        ({"size": ""}, "Give a whole number of 1 or more, or leave it out for 8. Meaning: A size."),
        (
            {"inner": {"devices": ""}},
            'Give a list of device paths, for example ["/dev/kfd"], or leave it out. Meaning: Devices.',
        ),
    ],
)
def test_the_remedy_of_an_optional_value_says_that_it_may_be_left_out(data: dict[str, t.Any], remedy: str) -> None:
    findings = Findings()
    read({"steps": 1, **data}, findings)
    assert [fault["remedy"] for fault in findings.faults] == [remedy]


def test_of_a_wrong_object_what_is_right_is_kept_for_further_checks() -> None:
    findings = Findings()
    mounts = {"/a": "/b", "c": "/d", "/e": "f", "/g": "<changeme>/h", "/<changeme>": "/i", "/j": 5}
    model = read({"steps": 1, "inner": {"mounts": mounts}}, findings)
    assert model.inner.mounts == {"/a": "/b"}
    assert {fault["key"] for fault in findings.faults} == {
        "config.inner.mounts.c",
        'config.inner.mounts["/e"]',
        'config.inner.mounts["/g"]',
        'config.inner.mounts["/<changeme>"]',
        'config.inner.mounts["/j"]',
    }


@pytest.mark.parametrize("value", ["<changeme>", "<CHANGEME>", "<changeme>-no of nodes", "a <changeme>"])
def test_a_placeholder_is_a_fault_and_the_only_one_of_its_value(value: str) -> None:
    findings = Findings()
    model = read({"steps": value, "name": value}, findings)
    assert said(findings) == [
        ("config.steps", value, "steps still contains <changeme>."),
        ("config.name", value, "name still contains <changeme>."),
    ]
    assert (model.steps, model.name) == (None, None)


def test_the_remedy_of_a_placeholder_in_an_object_is_for_its_entry() -> None:
    findings = Findings()
    read({"steps": 1, "name": "<changeme>", "inner": {"mounts": {"/a": "<changeme>"}}}, findings)
    of_entry = {"entry" in fault["remedy"] for fault in findings.faults if "mounts" in fault["key"]}
    assert of_entry == {True}
    assert not any("entry" in fault["remedy"] for fault in findings.faults if "mounts" not in fault["key"])


def test_what_is_not_used_cannot_be_wrong() -> None:
    findings = Findings()
    data = {"steps": "<changeme>", "size": "abc", "inner": {"devices": {}, "mounts": "<changeme>"}}
    model = read(data, findings, unused=("steps", "size", "devices", "mounts"))
    assert not findings.faults
    assert (model.steps, model.size, model.inner.devices) == (None, 8, [])


@pytest.mark.parametrize(("value", "shown"), [("abc", "'abc'"), (None, "null"), ([], "a list"), (True, "true")])
def test_a_section_that_is_no_object_is_one_fault(value: object, shown: str) -> None:
    findings = Findings()
    model = read({"steps": 1, "inner": value}, findings)
    assert said(findings) == [("config.inner", value, f"inner is {shown}, not an object.")]
    assert model.inner.devices == []


def test_a_missing_section_is_a_fault() -> None:
    findings = Findings()
    assert section({}, "config", "config", findings) is None
    assert section({"config": {}}, "config", "config", findings) == {}
    assert said(findings) == [("config", None, "config is missing.")]
    assert findings.faults[0]["remedy"] == "Give an object that contains its keys."


def test_unknown_keys_come_with_the_nearest_known_one() -> None:
    findings = Findings()
    read({"steps": 1, "sise": 8, "quantum": [1], "batch": "2"}, findings, elsewhere={"batch": "model_params"})
    assert said(findings) == [
        ("config.sise", 8, "'sise' is not a known key."),
        ("config.quantum", [1], "'quantum' is not a known key."),
        ("config.batch", "2", "'batch' is not a known key."),
    ]
    note = "Keys that begin with _ count as notes."
    assert [fault["remedy"] for fault in findings.faults] == [
        f"Did you mean size? {note}",
        f"Known keys: steps, name, size, inner. {note}",
        "It belongs in model_params.",
    ]


def test_unknown_keys_can_be_lowered_to_warnings() -> None:
    findings = Findings()
    read({"steps": 1, "sise": 8, "inner": {"sise": 8}}, findings, lower_unknown=True)
    refuse_unknown_keys({"b": 1}, ["a"], "", findings, lower_to_warning=True)
    assert not findings.faults
    assert [warning["key"] for warning in findings.warnings] == ["config.sise", "config.inner.sise", "b"]
