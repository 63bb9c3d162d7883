from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.text.words import (
    as_sentence,
    counted,
    key_path,
    listed,
    nearest,
    shown,
)


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        (("", "config"), "config"),
        (("config", "nnodes"), "config.nnodes"),
        (("config.device_list", 2), "config.device_list[2]"),
        (("config.volume_dict", "/a/b"), 'config.volume_dict["/a/b"]'),
        (("model_params", "single_node", "llama3.1-8b", "mi300x"), 'model_params.single_node["llama3.1-8b"].mi300x'),
        (("", 'say "x"'), '["say \\"x\\""]'),
    ],
)
def test_key_path_can_be_read_back(parts: tuple[str | int, ...], path: str) -> None:
    assert key_path(str(parts[0]), *parts[1:]) == path


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("abc", "'abc'"),
        ("", "an empty string"),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        ([1, 2], "a list"),
        ({}, "an object"),
        ("x" * 5000, f"'{'x' * 27}...{'x' * 28}'"),
    ],
)
def test_shown_is_short_and_in_the_words_of_json(value: object, words: str) -> None:
    assert shown(value) == words


def test_a_number_of_thousands_of_digits_is_shown_short() -> None:
    assert len(shown(10**400)) < 70


def test_listed_and_counted() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed([]) == "nothing"
    assert counted(1, "node") == "1 node"
    assert counted(4, "node") == "4 nodes"


@pytest.mark.parametrize(
    ("name", "found"), [("Nnodes", "nnodes"), ("batch_sise", "batch_size"), ("quantum_flux", None), ("", None)]
)
def test_nearest_ignores_case_and_far_names(name: str, found: str | None) -> None:
    assert nearest(name, ["nnodes", "batch_size"]) == found


@pytest.mark.parametrize(("text", "said"), [("it is on", "it is on."), ("Why?", "Why?"), ("Done.", "Done.")])
def test_a_sentence_ends_once(text: str, said: str) -> None:
    assert as_sentence(text) == said
