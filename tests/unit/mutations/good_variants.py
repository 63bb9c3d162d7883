"""Other logs of good runs: what trainers, schedulers and launchers print as well, and how lines are wrapped."""

from __future__ import annotations

import re
from collections.abc import Callable

from changes import Mutation, chained, on, steps_of
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


def _sizes() -> None:
    second = on("node0", lambda log: log.replace("  micro_batch_size", "  log_interval ....... 2\n  micro_batch_size"))
    every_other = steps_of("megatron", lambda step, line: None if step % 2 else line)
    variant("each second step by its log interval", "megatron", chained(second, every_other))
    parallel = "> initializing tensor model parallel with size 16\n> initializing data parallel with size 8\n"
    variant("parallel sizes", "nxdt", on("node0", lambda log: parallel + log))


def _stamps() -> None:
    elsewhere = lambda log: re.sub(r"(?m)^I0203 04:", "I0203 13:", log)
    variant("another time zone", "maxtext", on("node1", elsewhere))
    none = steps_of("megatron", lambda step, line: re.sub(r"^ \[.*?\]", "", line))
    variant("no stamps", "megatron", none)
    finer = steps_of("megatron", lambda step, line: line.replace("] iteration", ".123456] iteration"))
    variant("stamps with a fraction", "megatron", finer)


for _kind in (_fields, _evaluations, _sizes, _stamps):
    _kind()
