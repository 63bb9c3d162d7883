from __future__ import annotations

import typing as t

import pytest
from pydantic import TypeAdapter, ValidationError

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan import _types


def read(kind: t.Any, value: object) -> object:
    return TypeAdapter(kind).validate_python(value)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (_types.Text, "rocm/megatron-lm:v25.5_py310", "rocm/megatron-lm:v25.5_py310"),
        (_types.Text, " NousResearch/Meta-Llama-3-8B ", "NousResearch/Meta-Llama-3-8B"),
        (_types.Text, 8, "8"),
        (_types.Text, 8.0, "8"),
        (_types.Name, "ens51f1np1", "ens51f1np1"),
        (_types.Name, "=mlx5_0:1", "=mlx5_0:1"),
        (_types.Path, "/home/{user-id}/.hf_token", "/home/{user-id}/.hf_token"),
        (_types.ContainerName, "megatron_llama3.1_310", "megatron_llama3.1_310"),
        (_types.ContainerName, "{user-id}.training", "{user-id}.training"),
        (_types.Size, "128G", "128G"),
        (_types.Size, 1024, "1024"),
        (_types.Line, "--a --b 'c'", "--a --b 'c'"),
        (_types.Line, "", ""),
        (_types.PathOrNothing, "", ""),
        (_types.PathOrNothing, "/home/a b/clone", "/home/a b/clone"),
        (_types.NameList, "bnxt_re0, bnxt_re1", ["bnxt_re0", "bnxt_re1"]),
        (_types.NameList, ["bnxt_re0", "bnxt_re1"], ["bnxt_re0", "bnxt_re1"]),
        (_types.DeviceList, ["/dev/kfd", "/dev/dri"], ["/dev/kfd", "/dev/dri"]),
        (_types.Mounts, {"/a": "/b"}, {"/a": "/b"}),
        (_types.Environment, {"NCCL_PROTO": "Simple", "N": 1}, {"NCCL_PROTO": "Simple", "N": "1"}),
    ],
)
def test_right_texts(kind: object, value: object, text: object) -> None:
    assert read(kind, value) == text


@pytest.mark.parametrize("kind", [_types.Text, _types.Name, _types.Path, _types.ContainerName, _types.NameList])
@pytest.mark.parametrize("sign", [*"$;&|<>()*?'\"`\\\n#!", "$(x)", "ä"])
def test_nothing_of_a_shell_comes_into_names_and_paths(kind: object, sign: str) -> None:
    with pytest.raises(ValidationError, match="unsafe in a shell"):
        read(kind, f"/a{sign}b")


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        (_types.Text, "", "is empty"),
        (_types.Text, "  ", "is empty"),
        (_types.Text, "a b", "holds a blank, unsafe in a shell"),
        (_types.Text, "-it", "is not a text without - in front"),
        (_types.Text, True, "is not text"),
        (_types.Text, None, "is not text"),
        (_types.Text, 1.5, "is not text"),
        (_types.Text, ["a"], "is not text"),
        (_types.Text, "/home/{user}", "holds the unknown field {user}"),
        (_types.Text, "/home/{user-id", "holds '{', unsafe in a shell"),
        (_types.Name, "a/b", "is not a name"),
        (_types.Path, "relative/path", "is not an absolute path free of : and commas"),
        (_types.Path, "/a:/b", "is not an absolute path free of : and commas"),
        (_types.ContainerName, "a:b", "is not a name that a container may have"),
        (_types.Size, "lots", "is not a size in bytes"),
        (_types.Size, "0G", "is not a size in bytes"),
        (_types.Line, "two\nlines", "is not one line of text"),
        (_types.PathOrNothing, "relative", "is not an absolute path"),
        (_types.NameList, "", "is empty"),
        (_types.NameList, [], "is empty"),
        (_types.NameList, "a,,b", "has an empty part"),
        (_types.NameList, "a,b c", "names 'b c', and that holds a blank, unsafe in a shell"),
        (_types.NameList, "b c", "holds a blank, unsafe in a shell"),
        (_types.NameList, [["a"]], "is not text"),
        (_types.NameList, {"a": 1}, "is neither a list nor a text with commas"),
        (_types.DeviceList, ["dri"], "is not an absolute path free of : and commas"),
        (_types.Environment, {"A-B": "1"}, "is not the name of a variable"),
    ],
)
def test_wrong_texts_are_answered_with_the_reason(kind: object, value: object, reason: str) -> None:
    with pytest.raises(ValidationError) as error:
        read(kind, value)
    assert [str(problem["ctx"]["error"]) for problem in error.value.errors()] == [reason]


def test_the_user_is_put_in_at_any_depth() -> None:
    value = {"/home/{user-id}": ["{user-id}/{user-id}", 5, None, {"a": "x{user-id}"}]}
    assert _types.with_user(value, "amd") == {"/home/amd": ["amd/amd", 5, None, {"a": "xamd"}]}
