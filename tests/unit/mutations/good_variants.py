"""Other logs of good runs: what trainers, schedulers and launchers print as well, and how lines are wrapped."""

from __future__ import annotations

from collections.abc import Callable

from changes import Mutation, steps_of
from good_runs import Logs

VARIANTS: list[Mutation] = []


def variant(name: str, framework: str, apply: Callable[[Logs], Logs]) -> None:
    VARIANTS.append(Mutation("good", name, framework, apply))


def _fields() -> None:
    more = (" loss scale:", " load_balancing_loss: 1.01E+00 | params norm: 812.3 | num zeros: 12 | loss scale:")
    variant("other fields", "megatron", steps_of("megatron", lambda step, line: line.replace(*more)))
    variant("other fields", "maxtext", steps_of("maxtext", lambda step, line: f"{line[:-1]}, moe_lb_loss: 0.01\n"))
    averages = (" v_num=2,", " loss=nan, v_num=2,")
    variant("Lightning's own loss", "nxdt", steps_of("nxdt", lambda step, line: line.replace(*averages)))


def _evaluations() -> None:
    for framework, text in (
        ("megatron", " validation loss at iteration 20 | lm loss value: 8.000000E+00 | lm loss PPL: 2.980958E+03 |\n"),
        ("maxtext", "eval metrics after step: 20, loss=9.123, total_weights=1024\n"),
    ):
        between = lambda step, line, text=text: line + text if step == 20 else line
        variant("an evaluation", framework, steps_of(framework, between))


for _kind in (_fields, _evaluations):
    _kind()
