"""More changes of step lines: values printed twice in any order, fields of no line."""

from __future__ import annotations

import re

from changes import Change, add, chained, on, put, scaled, steps_of

_ONE = {20}


def _replaced(pattern: str, new: str, steps: set[int] | None = None) -> Change:
    return lambda step, line: re.sub(pattern, new, line) if steps is None or step in steps else line


def _twice() -> None:
    """Print a field before or after itself, with another value."""
    for framework, pattern, other in (
        ("megatron", r"( lm loss: [^|]*\|)", " lm loss: 9.900000E+01 |"),
        ("megatron", r"( number of skipped iterations: [^|]*\|)", " number of skipped iterations:   1 |"),
        ("megatron", r"( elapsed time per iteration \(ms\): [^|]*\|)", " elapsed time per iteration (ms): 9999.0 |"),
        ("maxtext", r"(, loss: [\d.]+)", ", loss: 99.000"),
        ("maxtext", r"(, seconds: [\d.]+)", ", seconds: 40.000"),
        ("nxdt", r"( reduced_train_loss=[\d.]+,)", " reduced_train_loss=99.00,"),
        ("nxdt", r"( consumed_samples=[\d.]+,)", " consumed_samples=77.0,"),
    ):
        for place, new in (("before", rf"{other}\1"), ("behind", rf"\1{other}")):
            for steps in (None, _ONE):
                name = f"{other.strip()} {place} in {'one' if steps else 'all'}"
                add("twice", name, framework, steps_of(framework, _replaced(pattern, new, steps)))


def _of_one_node() -> None:
    for factor in (0.9, 1.5):
        other = put("maxtext", "tflops", scaled(factor))
        change = lambda logs, other=other: {**logs, "node1": other(logs)["node1"]}
        add("one node", f"TFLOP/s × {factor}", "maxtext", change)
    ranks = on("node0", lambda log: "> initializing data parallel with size 1\n" + log)
    tensor = on("node0", lambda log: "> initializing tensor model parallel with size 16\n" + log)
    add("one node", "data parallel size", "nxdt", chained(tensor, ranks))


def _absent() -> None:
    unstamped = on("node1", lambda log: re.sub(r"I0203 [\d:.]+ ", "", log))
    add("absent", "the stamps of one node", "maxtext", unstamped)
    total = on("node3", lambda log: log.replace("/      40", "/       0"))
    add("absent", "the number of iterations", "megatron", total)
    no_rate = steps_of("megatron", _replaced(r" learning rate: [^|]*\|", ""))
    add("absent", "the learning rate", "megatron", no_rate)
    add("absent", "the pace", "nxdt", steps_of("nxdt", _replaced(r"[\d.]+s/it", "?s/it")))


def _beside_the_others() -> None:
    """Let one step be another than the others, and one node begin before the others."""
    swapped = _replaced(r"\(ms\): (\S+) \|(.*?)GPU\): (\S+) \|", r"(ms): \3 |\2GPU): \1 |", _ONE)
    fast = "one step of 40 that was faster, at a rate that fits"
    add("outliers", "time and rate of a step swapped", "megatron", steps_of("megatron", swapped), no_trace=fast)
    begins = on("node1", lambda log: log[: log.index("completed step: 12,")] + "\n" + log)
    add("one node", "began once more", "maxtext", begins)


for _kind in (_twice, _of_one_node, _absent, _beside_the_others):
    _kind()
