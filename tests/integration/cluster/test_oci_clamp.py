# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import typing as t
from pathlib import Path

import oci_clamp
import pytest


def gpu_launch() -> dict[str, t.Any]:
    return {
        "rlimits": [{"type": "RLIMIT_MEMLOCK", "hard": 2**64 - 1, "soft": 2**64 - 1}],
        "capabilities": {"bounding": ["CAP_SYS_ADMIN", "CAP_SYS_RESOURCE"], "ambient": []},
    }


def test_limits_and_capabilities_that_cannot_be_had_are_lowered_and_told() -> None:
    process = gpu_launch()

    told = oci_clamp.clamp(process, {"CAP_SYS_ADMIN"}, {"RLIMIT_MEMLOCK": 8388608})

    assert process["rlimits"] == [{"type": "RLIMIT_MEMLOCK", "hard": 8388608, "soft": 8388608}]
    assert process["capabilities"] == {"bounding": ["CAP_SYS_ADMIN"], "ambient": []}
    assert told == [
        "RLIMIT_MEMLOCK hard 18446744073709551615 -> 8388608",
        "RLIMIT_MEMLOCK soft 18446744073709551615 -> 8388608",
        "bounding without CAP_SYS_RESOURCE",
    ]


def test_what_can_be_had_stays() -> None:
    process = gpu_launch()

    told = oci_clamp.clamp(process, {"CAP_SYS_ADMIN", "CAP_SYS_RESOURCE"}, {})

    assert process == gpu_launch()
    assert told == []


def test_a_process_without_limits_and_capabilities_stays() -> None:
    process: dict[str, t.Any] = {"args": ["true"]}

    assert oci_clamp.clamp(process, set(), {"RLIMIT_MEMLOCK": 0}) == []
    assert process == {"args": ["true"]}


def test_the_bounding_set_is_read_by_the_kernels_numbers() -> None:
    assert oci_clamp.bounding_set("Name:\tcat\nCapBnd:\t0000000001200001\n") == {
        "CAP_CHOWN",
        "CAP_SYS_ADMIN",
        "CAP_SYS_RESOURCE",
    }


def test_who_may_raise_limits_has_none() -> None:
    assert oci_clamp.hard_limits({"CAP_SYS_RESOURCE"}) == {}


def test_hard_limits_are_those_of_this_process() -> None:
    import resource  # noqa: PLC0415

    expected = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    assert oci_clamp.hard_limits(set()).get("RLIMIT_NOFILE", resource.RLIM_INFINITY) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--root", "/r", "create", "--bundle", "/b", "name"], ("/b/config.json", True)),
        (["create", "--bundle=/b", "name"], ("/b/config.json", True)),
        (["run", "-b", "/b", "name"], ("/b/config.json", True)),
        (["run", "name"], ("config.json", True)),
        (["exec", "--process", "/p.json", "name"], ("/p.json", False)),
        (["exec", "name", "true"], None),
        (["state", "name"], None),
    ],
)
def test_the_document_that_the_runtime_will_read(arguments: list[str], expected: tuple[str, bool] | None) -> None:
    assert oci_clamp.document(arguments) == (expected and (Path(expected[0]), expected[1]))


def test_engines_can_execute_it() -> None:
    assert os.access(oci_clamp.__file__, os.X_OK)
