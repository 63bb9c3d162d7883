from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from row_values import of_metrics

from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.known import grammar_of


def test_a_grammar_is_found_by_its_framework() -> None:
    grammar = grammar_of("megatron")
    assert [found["step"] for found in grammar.parse(Piece(b" iteration 2/50 |\n"), {})] == [2]
    assert grammar.summary(Piece(b"mem usages: 0.5\n")) == {"memory_fraction": 0.5}


@pytest.mark.parametrize(
    ("framework", "text", "step", "metrics"),
    [
        ("maxtext", b"completed step: 2, loss: 3.5\n", 2, {"loss": 3.5}),
        (
            "nxdt",
            b"Epoch 0:   3%|#| 2/91 [03:00<88:00, 2.00s/it, lr=0.5]\n",
            2,
            {"step_time_ms": 2000.0, "learning_rate": 0.5},
        ),
        ("torchtitan", b"step:  2  loss:  3.5  tps: 1,000\n", 2, {"loss": 3.5, "tokens_per_sec_per_gpu": 1000.0}),
    ],
)
def test_all_grammars_have_one_face(framework: str, text: bytes, step: int, metrics: dict[str, float]) -> None:
    grammar = grammar_of(framework)
    [found] = grammar.parse(Piece(text), {})
    assert (found["step"], of_metrics(found["metrics"])) == (step, metrics)
    assert grammar.left_out(found, 3) is None
    assert grammar.summary(Piece(text)) == {}


@pytest.mark.parametrize(
    ("framework", "name"),
    [
        ("maxtext", "20_maxtext_docs_v5p_10_steps_done.log"),
        ("megatron", "10_megatron_primus_mi355x_10of10_done.log"),
    ],
)
def test_a_whole_log_begins_with_the_step_that_its_grammar_begins_with(
    framework: str, name: str, log_named: Callable[[str], Path]
) -> None:
    grammar = grammar_of(framework)
    steps = [found["step"] for found in grammar.parse(Piece(log_named(name).read_bytes()), {})]
    assert min(steps) == grammar.first_step


def test_an_unknown_framework_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ValueError, match=r"framework is 'megatrom', but must be one of: .*megatron"):
        grammar_of("megatrom")
