from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs._grammar import grammar_of


def test_a_grammar_is_found_by_its_framework() -> None:
    grammar = grammar_of("megatron")
    assert [found["step"] for found in grammar.parse(b" iteration 2/50 |\n")] == [2]
    assert grammar.summary(b"mem usages: 0.5\n") == {"memory_fraction": 0.5}


def test_an_unknown_framework_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ValueError, match=r"framework is 'megatrom', but must be one of: .*megatron"):
        grammar_of("megatrom")
