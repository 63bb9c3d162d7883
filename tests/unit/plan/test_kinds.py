from __future__ import annotations

import typing as t

import pytest
from pydantic import TypeAdapter

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.kinds import (
    OneOf,
    Real,
    Switch,
    Whole,
    any_case,
    is_placeholder,
)

WHOLE, NATURAL, PORT = Whole(1), Whole(0), Whole(1, 65535)
REAL, FRACTION, SWITCH, MODE = Real(0, above=True), Real(0, 1, above=True), Switch(), OneOf(("TE_FP8", "TE_BF16"))
Kinds = Whole | Real | Switch | OneOf


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        (WHOLE, "128", 128),
        (WHOLE, " 128 ", 128),
        (WHOLE, 128, 128),
        (WHOLE, 128.0, 128),
        (WHOLE, "08", 8),
        (NATURAL, "0", 0),
        (PORT, "65535", 65535),
        (REAL, "380.0", 380.0),
        (REAL, "1e3", 1000.0),
        (REAL, ".5", 0.5),
        (REAL, 12, 12.0),
        (FRACTION, "0.95", 0.95),
        (FRACTION, 1, 1.0),
        (SWITCH, "True", True),
        (SWITCH, "FALSE", False),
        (SWITCH, "1", True),
        (SWITCH, 0, False),
        (SWITCH, False, False),
        (SWITCH, "yes", True),
        (MODE, "te_fp8", "TE_FP8"),
        (MODE, " TE_BF16 ", "TE_BF16"),
    ],
)
def test_a_value_gets_its_type_once(kind: Kinds, value: object, read: object) -> None:
    got = kind.read(value)
    assert got == read
    assert type(got) is type(read)
    assert TypeAdapter(t.Annotated[object, kind]).validate_python(value) == read


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        (WHOLE, "abc", "is not a whole number"),
        (WHOLE, "1.5", "is not a whole number"),
        (WHOLE, 1.5, "is not a whole number"),
        (WHOLE, "1_000", "is not a whole number"),
        (WHOLE, "٣", "is not a whole number"),
        (WHOLE, True, "is not a whole number"),
        (WHOLE, None, "is not a whole number"),
        (WHOLE, [1], "is not a whole number"),
        (WHOLE, "9" * 5000, "is not a whole number"),
        (WHOLE, "0", "is too small"),
        (WHOLE, -1, "is too small"),
        (WHOLE, "9" * 30, "is too large"),
        (PORT, "65536", "is too large"),
        (REAL, "fast", "is not a number"),
        (REAL, True, "is not a number"),
        (REAL, "nan", "is not a number"),
        (REAL, float("nan"), "is not a number"),
        (REAL, "0.0", "is not greater than 0"),
        (REAL, "-3", "is not greater than 0"),
        (REAL, "1e999", "is too large"),
        (REAL, 10**400, "is too large"),
        (FRACTION, "85", "is too large"),
        (SWITCH, "maybe", "is neither true nor false"),
        (SWITCH, 2, "is neither true nor false"),
        (SWITCH, None, "is neither true nor false"),
        (SWITCH, {}, "is neither true nor false"),
        (MODE, "TE_FP4", "is not one of the allowed values"),
        (MODE, 8, "is not one of the allowed values"),
    ],
)
def test_a_wrong_value_is_answered_with_the_reason(kind: Kinds, value: object, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{reason}$"):
        kind.read(value)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (WHOLE, "a whole number of 1 or more"),
        (PORT, "a whole number from 1 to 65535"),
        (REAL, "a number greater than 0"),
        (FRACTION, "a number greater than 0 and at most 1"),
        (SWITCH, "True or False"),
        (MODE, "one of TE_FP8, TE_BF16"),
    ],
)
def test_a_kind_says_what_would_be_right(kind: Kinds, words: str) -> None:
    assert str(kind) == words


def test_placeholders_count_in_any_case_and_as_a_part() -> None:
    assert is_placeholder("<changeme>-no of nodes")
    assert is_placeholder("/home/<ChangeMe>")
    assert not is_placeholder("changeme")
    assert not is_placeholder(["<changeme>"])


def test_any_case_leaves_signs_alone() -> None:
    assert any_case("te_8.") == r"[Tt][Ee]_8\."
