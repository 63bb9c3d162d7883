"""Changes of the step lines: numbers, losses, sizes, times, and missing parts."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from random import Random

from changes import FIELDS, LOSS, LOSS_FIELD, STEP, add, chained, clock, everywhere, on, put, scaled, steps_of
from good_runs import GOOD, PRINTS_STEPS, STARTED, STEPS, Logs, maxtext, megatron, nxdt

NOT_FINITE = ("INF", "NAN", "NaN", '"inf"', "-inf", "Infinity", "nan", "1e999", "oops", "", "--", "1,234.5.6", "0x")


def _numbers() -> None:
    for framework, fields in FIELDS.items():
        for field in fields:
            for value in NOT_FINITE:
                add("numbers", f"{field}={value!r}", framework, put(framework, field, value, {20}))
        last = STEPS[framework] - (framework == "maxtext")
        add("numbers", "the last loss", framework, put(framework, "loss", "NaN", {last}))
        add("numbers", "all losses", framework, put(framework, "loss", "NAN"))
        add("numbers", "decimal commas", framework, put(framework, "loss", lambda step, old: old.replace(".", ",")))
        add("numbers", "full-width digits", framework, put(framework, "loss", "９.１２３", {20, 21, 22}))


def _skipped() -> None:
    for steps in ({40}, {20}, {38, 39, 40}, set(range(20, 41)), set(range(3, 40)), set(range(10, 40, 2))):
        without = steps_of(
            "megatron", lambda step, line, s=steps: re.sub(LOSS_FIELD["megatron"], "", line) if step in s else line
        )
        add("skipped", str(sorted(steps)[:4]), "megatron", chained(put("megatron", "skipped", "  1", steps), without))
        add("skipped", f"{sorted(steps)[:4]} with a loss", "megatron", put("megatron", "skipped", "  1", steps))
    for field in (r" number of skipped[^|]*\|", r" lm loss:.*\|"):
        gone = steps_of("megatron", lambda step, line, field=field: re.sub(field, "", line) if step % 3 == 0 else line)
        add("skipped", f"no {field.split()[1]} in every third", "megatron", gone)
    add("skipped", "17 in one", "megatron", put("megatron", "skipped", " 17", {30}))
    add("skipped", "a negative number", "megatron", put("megatron", "skipped", " -1", {30}))
    add(
        "skipped",
        "no field",
        "megatron",
        steps_of("megatron", lambda step, line: re.sub(r" number of skipped[^|]*\|", "", line)),
    )


def _loss() -> None:
    chance = Random(5)
    noise = [chance.gauss(0, 1) for _ in range(50)]
    shapes: dict[str, Callable[[float, int, float], float]] = {
        "rising": lambda part, step, old: 7 + 3 * part + 0.02 * noise[step],
        "constant": lambda part, step, old: 9.5,
        "diverges late": lambda part, step, old: old if part < 0.8 else old + 50 * (part - 0.8),
        "diverges very late": lambda part, step, old: old if part < 0.9 else old * 3,
        "negative": lambda part, step, old: -old,
        "negative once": lambda part, step, old: -0.5 if step == 20 else old,
        "far above guessing": lambda part, step, old: old + 20,
        "falls and rises": lambda part, step, old: 7 + 16 * (part - 0.5) ** 2,
        "a million times": lambda part, step, old: old * 1e6,
        "zero": lambda part, step, old: 0.0,
        "backwards": lambda part, step, old: 7 + 4 * part,
        "freezes": lambda part, step, old: old if part < 0.4 else 9.25,
    }
    for framework in GOOD:
        for name, shape in shapes.items():
            total = STEPS[framework]
            add(
                "loss",
                name,
                framework,
                put(
                    framework,
                    "loss",
                    lambda step, old, shape=shape, total=total, form=LOSS[framework]: form.format(
                        shape(step / total, step, float(old))
                    ),
                ),
            )
    for name, change in (
        ("differs", put("maxtext", "loss", _plus(0.2))),
        ("differs at its end", put("maxtext", "loss", _plus(0.2), {27, 28, 29})),
        ("is of another seed", lambda logs: maxtext(seed=9)),
    ):
        add(
            "loss",
            f"of one node {name}",
            "maxtext",
            lambda logs, change=change: {**logs, "node1": change(logs)["node1"]},
        )


def _plus(much: float) -> Callable[[int, str], str]:
    return lambda step, old: f"{float(old) + much:.3f}"


def _workload() -> None:
    def printed(old: str, new: str) -> Callable[[Logs], Logs]:
        return everywhere(lambda text: text.replace(old, new))

    for name, logs in {
        "half the batch": megatron(batch=64),
        "double the batch": megatron(batch=256),
        "half the sequence": megatron(sequence=512),
        "more steps": megatron(steps=60),
        "fewer steps": megatron(steps=20),
        "two nodes": megatron(nodes=2),
        "eight nodes": megatron(nodes=8),
    }.items():
        add("workload", name, "megatron", lambda old, logs=logs: logs)
    for name, logs in {
        "double the batch": nxdt(batch=512),
        "more steps": nxdt(steps=80),
        "fewer steps": nxdt(steps=20),
        "four nodes": nxdt(nodes=4),
    }.items():
        add("workload", name, "nxdt", lambda old, logs=logs: logs)
    devices = "two nodes of 16 devices each; no training config says how many a node has"
    of_four = lambda old: {node: maxtext(nodes=4)[node] for node in old}
    add("workload", "four nodes", "maxtext", of_four, no_trace=devices)
    add("workload", "one node", "maxtext", lambda old: {**old, **maxtext(nodes=1)})
    add(
        "workload",
        "one node of another length",
        "maxtext",
        lambda logs: {**logs, "node1": maxtext(length=4096)["node1"]},
    )
    add("workload", "one node of fewer steps", "maxtext", lambda logs: {**logs, "node1": maxtext(steps=20)["node1"]})
    add("workload", "ranks", "megatron", everywhere(lambda text: re.sub(r"(world.size[ .:]+)32\b", r"\g<1>16", text)))
    of_group = everywhere(lambda text: re.sub(r" rank \d+ nranks 32", " rank 0 nranks 8", text))
    groups = "NCCL has a communicator for each parallel group, which may be that of a node"
    add("workload", "ranks of NCCL", "megatron", of_group)
    of_each = lambda logs: {node: str(text).replace("0xabc", f"0x{node[-1]}") for node, text in of_group(logs).items()}
    add("workload", "groups of NCCL", "megatron", of_each, no_trace=groups)
    add("workload", "more ranks of NCCL", "megatron", printed("nranks 32", "nranks 64"))
    add("workload", "more members", "nxdt", on("node1", lambda text: text.replace("/128\n", "/256\n")))
    add(
        "workload",
        "iterations",
        "megatron",
        printed(
            "train_iters ..................................... 40",
            "train_iters ..................................... 400",
        ),
    )
    add("workload", "samples stand still", "megatron", put("megatron", "samples", "        5120"))
    add("workload", "samples doubled", "megatron", put("megatron", "samples", scaled(2, 0)))
    add(
        "workload",
        "samples shifted",
        "megatron",
        put("megatron", "samples", lambda step, old: f"{int(old) + 640:12d}"),
    )
    add("workload", "samples jump", "megatron", put("megatron", "samples", scaled(3, 0), range(25, 41)))
    add("workload", "batch of a line", "megatron", put("megatron", "batch", "   64"))
    add("workload", "samples doubled", "nxdt", put("nxdt", "samples", scaled(2, 1)))
    add("workload", "ranks", "nxdt", printed("world size to 128", "world size to 32"))
    add("workload", "devices", "maxtext", printed("Num_devices: 16", "Num_devices: 8"))
    add("workload", "mesh", "maxtext", printed("shape (1, 16, 1)", "shape (1, 8, 1)"))
    add("workload", "mesh of one", "maxtext", on("node1", lambda text: text.replace("(1, 16, 1)", "(1, 4, 2)")))
    add(
        "workload",
        "devices of one",
        "maxtext",
        on("node1", lambda text: text.replace("Num_devices: 16", "Num_devices: 8")),
    )
    add(
        "workload",
        "length of one",
        "maxtext",
        on("node1", lambda text: text.replace("max_target_length: 2048", "max_target_length: 4096")),
    )
    add("workload", "steps", "maxtext", printed("Config param steps: 30", "Config param steps: 31"))
    add("workload", "tokens doubled", "maxtext", put("maxtext", "tokens", scaled(2)))
    add("workload", "seconds halved", "maxtext", put("maxtext", "seconds", scaled(0.5)))
    faster = chained(
        put("maxtext", "seconds", scaled(0.5)),
        put("maxtext", "tokens", scaled(2)),
        put("maxtext", "tflops", scaled(2)),
    )
    add("workload", "twice as fast, the stamps not", "maxtext", faster)
    faster = chained(put("megatron", "ms", scaled(0.05, 1)), put("megatron", "tflops", scaled(20, 1)))
    add("workload", "twenty times as fast, the stamps not", "megatron", faster)
    add("workload", "ms are seconds", "megatron", put("megatron", "ms", scaled(0.001, 4)))
    add("workload", "seconds are ms", "maxtext", put("maxtext", "seconds", scaled(1000)))
    add("workload", "TFLOP/s of another size", "maxtext", put("maxtext", "tflops", scaled(1000)))
    add("workload", "throughput of tokens", "nxdt", put("nxdt", "throughput", scaled(2048)))
    add("workload", "negative throughput", "nxdt", put("nxdt", "throughput", scaled(-1)))
    faster = chained(put("megatron", "ms", scaled(0.5, 1)), put("megatron", "tflops", scaled(2, 1)))
    add("workload", "twice as fast", "megatron", faster)
    for factor in (0.5, 1.5, 2):
        add("workload", f"TFLOP/s × {factor}", "megatron", put("megatron", "tflops", scaled(factor, 1)))
    add("workload", "TFLOP/s above any GPU", "megatron", put("megatron", "tflops", scaled(100, 1)))
    add("workload", "no time at all", "megatron", put("megatron", "ms", "0.0"))
    add("workload", "negative times", "megatron", put("megatron", "ms", scaled(-1, 1)))


def _clocks() -> None:
    for name, change in {
        "ten times as slow": lambda count, stamp: stamp + timedelta(seconds=count * 1.5),
        "backwards": lambda count, stamp: stamp - timedelta(seconds=count * 60),
        "back at half": lambda count, stamp: stamp - timedelta(hours=2 if count > 20 else 0),
        "a night between": lambda count, stamp: stamp + timedelta(hours=9 if count > 20 else 0),
        "a pause of 2 s every 10": lambda count, stamp: stamp + timedelta(seconds=count // 10 * 2),
        "a pause of 30 s": lambda count, stamp: stamp + timedelta(seconds=count // 20 * 30),
    }.items():
        add("clock", name, "megatron", on("node3", clock(change)))
    # Rank 0 says another day.
    later = clock(lambda count, stamp: stamp + timedelta(days=30))
    add("clock", "a month later", "megatron", on("node3", later))


def _time() -> None:
    slow = lambda steps, much: put("megatron", "ms", lambda step, old: f"{500 + much:.1f}", steps)
    add("time", "every tenth 4 s", "megatron", slow(range(10, 41, 10), 3500))
    add("time", "every fifth 2 s", "megatron", slow(range(5, 41, 5), 1500))
    add(
        "time",
        "slower and slower",
        "megatron",
        put("megatron", "ms", lambda step, old: f"{475 + 15 * (step - 21):.1f}", range(22, 41)),
    )
    add("time", "slower than asked for", "megatron", put("megatron", "ms", scaled(1.1, 1)))
    add("time", "fewer TFLOP/s than asked for", "megatron", put("megatron", "tflops", scaled(0.9, 1)))
    add("time", "half of the steps slow", "megatron", slow(range(21, 41), 250))


def _gaps() -> None:
    for framework in GOOD:
        total, first = STEPS[framework], int(framework != "maxtext")
        last = total - 1 + first
        for name, gone in {
            "one": {20},
            "three": {10, 11, 12},
            "every other": set(range(2, total, 2)),
            "the first ten": set(range(11)),
            "the one before the last": {last - 1},
            "the last": {last},
            "the first": {first},
            "the middle": set(range(8, total - 5)),
            "all but two": set(range(first + 1, last)),
            "every tenth": set(range(9, total, 10)),
        }.items():
            add(
                "gaps",
                f"step: {name}",
                framework,
                steps_of(framework, lambda step, line, gone=gone: None if step in gone else line),
                no_trace="a log interval of 2" if name == "every other" and framework != "maxtext" else "",
            )
        for name, gone in {
            "one": {20},
            "some": {10, 15, 20},
            "every other": set(range(4, total, 2)),
            "nearly all": set(range(2, total)),
            "the last": {last},
            "all": set(range(total + 1)),
        }.items():
            add(
                "gaps",
                f"loss: {name}",
                framework,
                steps_of(
                    framework,
                    lambda step, line, gone=gone, field=LOSS_FIELD[framework]: (
                        re.sub(field, "", line) if step in gone else line
                    ),
                ),
            )
        node, cut = PRINTS_STEPS[framework], re.compile(STEP[framework])
        for name, part in (("90 %", 0.9), ("half", 0.5), ("all but 200 bytes", None)):
            add(
                "gaps",
                f"the log ends at {name}",
                framework,
                on(node, lambda text, part=part: text[: int(len(text) * part)] if part else text[:-200]),
            )
        add("gaps", "the log begins at half", framework, on(node, lambda text: text[len(text) // 2 :]))
        add(
            "gaps",
            "the last line is torn",
            framework,
            on(node, lambda text, cut=cut: text[: list(cut.finditer(text))[-1].end()]),
        )
        add(
            "gaps",
            "a tenth of it is lost",
            framework,
            on(node, lambda text: text[: int(len(text) * 0.4)] + text[int(len(text) * 0.5) :]),
        )


def _nothing_done() -> None:
    """Let rates and times be 0 in some steps, and stamps go back by a second in each."""
    add("rates", "0 sequences/s in some steps", "nxdt", put("nxdt", "throughput", "0.00", range(30, 41)))
    add("rates", "0 TFLOP/s in some steps", "maxtext", put("maxtext", "tflops", "0.000", range(20, 30)))
    add("rates", "no time in most steps", "megatron", put("megatron", "ms", "0.0", range(10, 41)))
    back = clock(lambda count, stamp: STARTED + timedelta(seconds=40 - count))
    add("clocks", "a second back in each step", "megatron", on("node3", back))


for _kind in (_numbers, _skipped, _loss, _nothing_done, _workload, _clocks, _time, _gaps):
    _kind()
