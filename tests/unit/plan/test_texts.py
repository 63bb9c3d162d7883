from __future__ import annotations

import typing as t

import pytest
from pydantic import TypeAdapter, ValidationError

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config import field_types


def read(kind: t.Any, value: object) -> object:
    return TypeAdapter(kind).validate_python(value)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (field_types.Text, "rocm/megatron-lm:v25.5_py310", "rocm/megatron-lm:v25.5_py310"),
        (field_types.Text, " NousResearch/Meta-Llama-3-8B ", "NousResearch/Meta-Llama-3-8B"),
        (field_types.Text, 8, "8"),
        (field_types.Text, 8.0, "8"),
        (field_types.Name, "ens51f1np1", "ens51f1np1"),
        (field_types.Name, "=mlx5_0:1", "=mlx5_0:1"),
        (field_types.Path, "/home/{user-id}/.hf_token", "/home/{user-id}/.hf_token"),
        (field_types.ContainerName, "megatron_llama3.1_310", "megatron_llama3.1_310"),
        (field_types.ContainerName, "{user-id}.training", "{user-id}.training"),
        (field_types.Size, "128G", "128G"),
        (field_types.Size, 1024, "1024"),
        (field_types.Line, "--a --b 'c'", "--a --b 'c'"),
        (field_types.Line, "", ""),
        (field_types.PathOrNothing, "", ""),
        (field_types.PathOrNothing, "/home/a b/clone", "/home/a b/clone"),
        (field_types.NameList, "bnxt_re0, bnxt_re1", ["bnxt_re0", "bnxt_re1"]),
        (field_types.NameList, ["bnxt_re0", "bnxt_re1"], ["bnxt_re0", "bnxt_re1"]),
        (field_types.DeviceList, ["/dev/kfd", "/dev/dri"], ["/dev/kfd", "/dev/dri"]),
        (field_types.Mounts, {"/a": "/b"}, {"/a": "/b"}),
        (field_types.Environment, {"NCCL_PROTO": "Simple", "N": 1}, {"NCCL_PROTO": "Simple", "N": "1"}),
    ],
)
def test_right_texts(kind: object, value: object, text: object) -> None:
    assert read(kind, value) == text


@pytest.mark.parametrize(
    "kind", [field_types.Text, field_types.Name, field_types.Path, field_types.ContainerName, field_types.NameList]
)
def test_nothing_of_a_shell_comes_into_names_and_paths(kind: object) -> None:
    for sign in (*"$;&|<>()*?'\"`\\\n#!", "$(x)", "ä"):
        with pytest.raises(ValidationError, match="unsafe in a shell"):
            read(kind, f"/a{sign}b")


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        (field_types.Text, "", "is empty"),
        (field_types.Text, "  ", "is empty"),
        (field_types.Text, "a b", "contains whitespace, which is unsafe in a shell"),
        (field_types.Text, "-it", "is not a string that does not start with - or ~"),
        (field_types.Text, "~/models/llama3", "is not a string that does not start with - or ~"),
        (field_types.Text, True, "is not text"),
        (field_types.Text, None, "is not text"),
        (field_types.Text, 1.5, "is not text"),
        (field_types.Text, ["a"], "is not text"),
        (field_types.Text, "/home/{user}", "contains the unknown field {user}"),
        (field_types.Text, "/home/{user-id", "contains '{', which is unsafe in a shell"),
        (field_types.Name, "a/b", "is not a name"),
        (field_types.Path, "relative/path", "is not an absolute path without : and commas"),
        (field_types.Path, "/a:/b", "is not an absolute path without : and commas"),
        (field_types.ContainerName, "a:b", "is not a valid container name"),
        (field_types.Size, "lots", "is not a size in bytes"),
        (field_types.Size, "0G", "is not a size in bytes"),
        (field_types.Line, "two\nlines", "is not one line of text"),
        (field_types.PathOrNothing, "relative", "is not an absolute path"),
        (field_types.NameList, "", "is empty"),
        (field_types.NameList, [], "is empty"),
        (field_types.NameList, "a,,b", "has an empty entry"),
        (field_types.NameList, "a,b c", "contains 'b c', which contains whitespace, which is unsafe in a shell"),
        (field_types.NameList, "b c", "contains whitespace, which is unsafe in a shell"),
        (field_types.NameList, [["a"]], "is not text"),
        (field_types.NameList, {"a": 1}, "is neither a list nor comma-separated text"),
        (field_types.DeviceList, ["dri"], "is not an absolute path without : and commas"),
        (field_types.Environment, {"A-B": "1"}, "is not the name of a variable"),
    ],
)
def test_wrong_texts_are_answered_with_the_reason(kind: object, value: object, reason: str) -> None:
    with pytest.raises(ValidationError) as error:
        read(kind, value)
    assert [str(problem["ctx"]["error"]) for problem in error.value.errors()] == [reason]


def test_the_user_is_put_in_at_any_depth() -> None:
    value = {"/home/{user-id}": ["{user-id}/{user-id}", 5, None, {"a": "x{user-id}"}]}
    assert field_types.with_user(value, "amd") == {"/home/amd": ["amd/amd", 5, None, {"a": "xamd"}]}
