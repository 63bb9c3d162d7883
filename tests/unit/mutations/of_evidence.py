"""Changes that take evidence away which a good run leaves, or that contradict it."""

from __future__ import annotations

import re
from datetime import timedelta

from changes import add, chained, clock, everywhere, on, put, scaled, steps_of
from good_runs import GOOD, STEPS, Logs, nccl


def _absent() -> None:
    gone = {
        "megatron": (
            r" consumed samples: +\d+ \|",
            r" global batch size: +\d+ \|",
            r" number of nan iterations: +\d+ \|",
        ),
    }
    for framework, patterns in gone.items():
        for pattern in patterns:
            lost = lambda step, line, pattern=pattern: re.sub(pattern, "", line)
            add("evidence", f"no {pattern[1:17]}", framework, steps_of(framework, lost))
    never_ended = lambda text: re.sub(r"\[after training is done\].*\n", "", text)
    add("evidence", "rank 0 without its end", "megatron", on("node0", never_ended))


def _learning() -> None:
    for framework, zero in (("megatron", "0.000"), ("nxdt", "0.00")):
        for field in ("lr", "grad_norm"):
            for name, steps in {"all": None, "half": range(STEPS[framework] // 2, 99)}.items():
                add("evidence", f"{field} 0 in {name}", framework, put(framework, field, zero, steps))
    for framework in GOOD:
        frozen = put(framework, "loss", lambda step, old: "8.612", range(STEPS[framework] * 2 // 3, 99))
        add("evidence", "loss the same from two thirds", framework, frozen)


def _starts() -> None:
    """Begin the processes of a node again, and let nothing follow."""
    first = on("node1", lambda log: f"{log}{nccl(8, 32)}")
    other = on("node1", lambda log: log + nccl(8, 32).replace(":77:", ":78:").replace("0xabc", "0xabd"))
    printing = on("node3", lambda log: log + nccl(24, 32).replace(":77:", ":78:").replace("0xabc", "0xabd"))
    without = on("node1", lambda log: log + nccl(8, 32).split("\n", 1)[1])
    for name, change in {"same": first, "other": other, "steps": printing, "bootstrap unseen": without}.items():
        add("evidence", f"a second start: {name}", "megatron", change)


def _rates() -> None:
    for framework in ("megatron", "maxtext"):
        late = put(framework, "tflops", scaled(1.5), range(STEPS[framework] // 2, 99))
        uneven = put(framework, "tflops", lambda step, old: f"{float(old) * (0.8 + step * 7919 % 11 / 20):.3f}")
        add("evidence", "TFLOP/s of a faster end", framework, late)
        add("evidence", "uneven TFLOP/s", framework, uneven)
    by_bar = lambda step, line: re.sub(r"([\d.]+)s/it", lambda found: f"{float(found[1]) / 2:.2f}s/it", line)
    frozen = lambda step, line: re.sub(r"\[\d+:\d\d<", "[00:25<", line) if step > 1 else line
    add("evidence", "bars twice as fast", "nxdt", steps_of("nxdt", by_bar))
    add("evidence", "no time passes", "nxdt", steps_of("nxdt", frozen))
    add("evidence", "twice the throughput", "nxdt", put("nxdt", "throughput", scaled(2, 2)))
    add("evidence", "both", "nxdt", chained(steps_of("nxdt", by_bar), put("nxdt", "throughput", scaled(2, 2))))
    memory = lambda text: text.replace(" | throughput", " | mem usages: 1.7321 | throughput")
    add("evidence", "more than its memory", "megatron", everywhere(memory))


def _one_job() -> None:
    def weights(_step: int, line: str) -> str:
        return re.sub(r"total_weights: (\d+)", lambda found: f"total_weights: {int(found[1]) // 2}", line)

    def other(logs: Logs) -> Logs:
        return {**logs, "node1": str(logs["node1"]).replace("commId 0xabc", "commId 0xdef0")}

    add("evidence", "half the tokens of one", "maxtext", steps_of("maxtext", weights, {"node1"}))
    add("evidence", "one of another day", "maxtext", on("node1", lambda text: text.replace("I0203", "I0611")))
    add("evidence", "another communicator", "megatron", other)
    heads = [nccl(8, 32), nccl(24, 32)]
    add("evidence", "NCCL of another node in front", "megatron", on("node3", lambda log: heads[0] + log))
    add("evidence", "NCCL of another node", "megatron", on("node1", lambda log: log + heads[1]))
    add(
        "evidence",
        "late at the end",
        "megatron",
        on("node3", clock(lambda at, stamp: stamp + timedelta(hours=at // 39))),
    )


def _another_model() -> None:
    for name, planned, found in (("num_layers", 32, 2), ("num_layers", 32, 80), ("hidden_size", 4096, 512)):
        change = lambda log, name=name, planned=planned, found=found: re.sub(
            rf"({name} \.+ ){planned}\n", rf"\g<1>{found}\n", log
        )
        add("evidence", f"{name} {found}", "megatron", on("node0", change))
    for name, planned in (("num_decoder_layers", 32), ("emb_dim", 4096)):
        change = lambda log, name=name, planned=planned: log.replace(f"{name}: {planned}\n", f"{name}: 128\n")
        add("evidence", f"{name} of one", "maxtext", on("node1", change))


for _kind in (_absent, _starts, _learning, _rates, _one_job, _another_model):
    _kind()
