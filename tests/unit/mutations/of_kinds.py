"""More changes of each kind, made from lists of lines by trainers, schedulers and people."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

from changes import FIELDS, LOSS, STEP, add, chained, clock, everywhere, on, put, scaled, steps_of
from good_runs import GOOD, PRINTS_STEPS, STEPS, maxtext, megatron, nxdt
from of_files import TRACEBACK

ODD_NUMBERS = (
    "None", "null", "True", "N/A", "1.#QNAN", "-1.#IND", "-nan(ind)", "nan+0j", "tensor(nan)", "[9.1]", "9.1e", "9..1",
    "\N{MINUS SIGN}9.1", "\N{INFINITY}", "ＮａＮ", "٩.١", "9\u200b.1", "9\u00a01", "1d3", "9 1", "9.1nan", "1e+999",
    "?", "*",
)  # fmt: skip


def _numbers() -> None:
    for framework, fields in FIELDS.items():
        for place, value in enumerate(ODD_NUMBERS):
            field = list(fields)[place % len(fields)]
            add("numbers", f"{field}: {value!r}", framework, put(framework, field, value, {20}))
            add("numbers", f"loss: {value!r}", framework, put(framework, "loss", value, {25}))
    for value in ("nan", "INF", "None", "0.0", "-1.0"):
        scale = lambda step, line, value=value: line.replace("loss scale: 1.0", f"loss scale: {value}")
        add("numbers", f"loss scale {value}", "megatron", steps_of("megatron", scale))
    for old, new in (
        ("/      40", "/      41"),
        ("/      40", "/     nan"),
        ("iteration       20/", "iteration      nan/"),
    ):
        add("numbers", f"{old} {new}", "megatron", on("node3", lambda text, old=old, new=new: text.replace(old, new)))
    add("numbers", "a step that is nan", "maxtext", everywhere(lambda text: text.replace("step: 20,", "step: nan,")))
    add("numbers", "weights that are nan", "maxtext", steps_of("maxtext", _weights("nan")))


def _weights(value: str) -> Callable[[int, str], str]:
    return lambda step, line: re.sub(r"total_weights: \d+", f"total_weights: {value}", line) if step == 20 else line


def _ends() -> None:
    for framework in GOOD:
        last = STEPS[framework] - (framework == "maxtext")
        for behind in (0, 1):
            end = lambda step, line, at=last - behind: f"{TRACEBACK}{line}" if step == at else line
            add("ends", f"a traceback {behind + 1} before the end", framework, steps_of(framework, end))
        add("ends", "an exception in node0", framework, on("node0", lambda log: f"{log}[rank3]: RuntimeError: x\n"))


def _silent() -> None:
    heads = {
        "blanks": " \n\t\n" * 50,
        "colours": "\x1b[0m\x1b[31m\n" * 50,
        "a mark of UTF-8": "\ufeff",
        "a bar": "\r".join(f"{part}%|" for part in range(100)),
        "a shell": "+ set -e\n+ cd /workspace\n+ bash train.sh\n",
        "warnings": "UserWarning: x is deprecated\n" * 30,
        "numbers": "\n".join(str(number) for number in range(500)),
        "a banner": "=" * 80 + "\n== PyTorch ==\n" + "=" * 80 + "\n",
        "failed to begin": "n1:77:99 [0] NCCL INFO ncclCommInitRank comm 0x55 rank 8 nranks 32 - Init START\n",
    }
    for framework in GOOD:
        for node in GOOD[framework]():
            for name, text in heads.items():
                add("silent", f"{node} {name}", framework, on(node, lambda log, text=text: text))


def _networks() -> None:
    cards = "NET/IB : Using [0]bnxt_re0:1/RoCE [1]bnxt_re1:1/RoCE [RO]; OOB"
    direct = "via NET/IB/0/GDRDMA"
    socket = "x:1:1 [0] NCCL INFO Channel 01/0 : 0[0] -> 8[0] [send] via NET/Socket/0\n"
    changes = {
        "falls back": [("Using network IB\n", "Using network IB\nx:1:1 [0] NCCL INFO Using network Socket\n")],
        "found no device": [(cards, "NET/IB : No device found. OOB"), ("Using network IB", "Using network Socket")],
        "a shared socket": [(direct, "via NET/Socket/1/Shared")],
        "libfabric over TCP": [(direct, "x"), ("NET/IB : Using", "NET/OFI Selected provider is tcp, fabric is")],
        "a second channel": [(f"{direct}\n", f"via NET/IB/0\n{socket}")],
    }
    for node in megatron():
        for name, pairs in changes.items():
            add("networks", f"{node} {name}", "megatron", on(node, _replaced(*pairs)))


def _replaced(*pairs: tuple[str, str]) -> Callable[[str], str]:
    def change(text: str) -> str:
        for old, new in pairs:
            text = text.replace(old, new)
        return text

    return change


def _skipped() -> None:
    for value in ("  2", "0.5", "0x1", "one", " -0.5", "1e0", "nan"):
        add("skipped", f"the last: {value!r}", "megatron", put("megatron", "skipped", value, {40}))
        add("skipped", f"in the middle: {value!r}", "megatron", put("megatron", "skipped", value, {20}))
    for value in ("  1", "  7"):
        add("skipped", f"nan iterations {value!r}", "megatron", put("megatron", "nan", value, {30}))
    often = put("megatron", "skipped", "  1", range(5, 41, 4))
    add("skipped", "every fourth", "megatron", often)


def _losses() -> None:
    shapes: dict[str, Callable[[float, int], float]] = {
        "rises over its last third": lambda part, step: 11 - 3 * part if part < 0.66 else 9 + 3 * (part - 0.66),
        "whole numbers, the same": lambda part, step: 9.0,
        "minus zero": lambda part, step: -0.0,
        "explodes from the first": lambda part, step: 7 * 1.2**step,
    }  # fmt: skip
    for framework in GOOD:
        for name, shape in shapes.items():
            change = lambda step, old, shape=shape, total=STEPS[framework], form=LOSS[framework]: form.format(
                shape(step / total, step)
            )
            add("losses", name, framework, put(framework, "loss", change))
    for node, much in (("node0", 0.001), ("node1", 0.01)):
        differs = put("maxtext", "loss", lambda step, old, much=much: f"{float(old) + much * 5:.3f}")
        add("losses", f"of {node} differ by {much}", "maxtext", lambda logs, c=differs, n=node: {**logs, n: c(logs)[n]})


def _workloads() -> None:
    add("workloads", "the batch changes", "megatron", put("megatron", "batch", "  256", range(20, 41)))
    worlds = lambda text: f"using world size: 8, data-parallel size: 8\n{text}"
    add("workloads", "two world sizes", "megatron", on("node1", worlds))
    sizes = [("tensor-model-parallel size: 1", "tensor-model-parallel size: 8"), ("size: 32,", "size: 4,")]
    add("workloads", "parallel sizes", "megatron", on("node0", _replaced(*sizes)))
    for name, old, new in (
        ("micro_batch_size", 2, 4), ("seq_length", 1024, 512), ("global_batch_size", 128, 64), ("world_size", 32, 16),
    ):  # fmt: skip
        change = lambda text, name=name, old=old, new=new: re.sub(rf"( {name} \.+) {old}\n", rf"\1 {new}\n", text)
        add("workloads", name, "megatron", on("node0", change))
    for name, old, new in (
        ("batch size per device", "per_device_batch_size: 5.0", "per_device_batch_size: 4.0"),
        ("batch", "global_batch_size_to_train_on: 80", "global_batch_size_to_train_on: 40"),
        ("length", "max_target_length: 2048", "max_target_length: 1024"),
        ("devices", "Num_devices: 16", "Num_devices: 32"),
    ):
        add("workloads", name, "maxtext", everywhere(_replaced((old, new))))
        add("workloads", f"{name} of one", "maxtext", on("node1", _replaced((old, new))))
    for weights, why in ((10240, "some of a batch may be padding"), (0, "")):
        change = lambda step, line, new=weights: re.sub(r"total_weights: \d+", f"total_weights: {new}", line)
        add("workloads", f"weights {weights}", "maxtext", steps_of("maxtext", change), no_trace=why)
    for factor in (0.0, 0.5, 3.0, 100.0):
        add("workloads", f"tokens × {factor}", "maxtext", put("maxtext", "tokens", scaled(factor)))
        add("workloads", f"samples × {factor}", "nxdt", put("nxdt", "samples", scaled(factor, 1)))
    add("workloads", "samples fall", "megatron", put("megatron", "samples", lambda step, old: f"{5248 - int(old):12d}"))
    add("workloads", "one line's samples", "megatron", put("megatron", "samples", "          77", {20}))
    add("workloads", "one line's batch", "megatron", put("megatron", "batch", "   64", {20}))
    add("workloads", "throughput 0", "nxdt", put("nxdt", "throughput", "0.00"))
    add("workloads", "TFLOP/s 0", "megatron", put("megatron", "tflops", "0.0"))
    add("workloads", "seconds 0", "maxtext", put("maxtext", "seconds", "0.000"))
    add("workloads", "three nodes", "megatron", lambda logs: {n: megatron(nodes=5)[n] for n in logs})
    other = "the whole log of a shorter run; no training config says that it should be longer"
    add("workloads", "half of the steps", "maxtext", lambda logs: maxtext(steps=15), no_trace=other)
    add("workloads", "half the batch", "nxdt", lambda logs: nxdt(batch=128))


def _gaps() -> None:
    for framework in GOOD:
        first = int(framework != "maxtext")
        last = STEPS[framework] - 1 + first
        for name, gone in {
            "two": {15, 22}, "every seventh": set(range(7, 40, 7)), "the last three": {last - 2, last - 1, last},
            "the first three": {first, first + 1, first + 2}, "a fifth": set(range(16, 24)), "all": set(range(99)),
        }.items():  # fmt: skip
            lost = lambda step, line, gone=gone: None if step in gone else line
            add("gap", name, framework, steps_of(framework, lost))
        for field in ("loss", "grad_norm", "tflops", "ms", "tokens", "seconds", "throughput"):
            if field in FIELDS[framework]:
                pattern = FIELDS[framework][field]
                for name, steps in {"half": range(0, 99, 2), "three": (11, 21, 29)}.items():
                    torn = lambda step, line, p=pattern, s=steps: re.sub(p, "", line) if step in s else line
                    why = "the rate is computed from the times where NxDT does not print it"
                    why = why if field == "throughput" else ""
                    add("gap", f"{field} in {name}", framework, steps_of(framework, torn), no_trace=why)
        cut = lambda text, step=STEP[framework]: text[: list(re.finditer(step, text))[-2].start()]
        add("gap", "cut before the last two", framework, on(PRINTS_STEPS[framework], cut))


def _times() -> None:
    ms = lambda change: put("megatron", "ms", lambda step, old: f"{change(step, float(old)):.1f}")
    for name, change in {
        "every other 800 ms": lambda step, old: 800.0 if step % 2 else old,
        "the last fifth twice as slow": lambda step, old: old * 2 if step > 32 else old,
        "one of 30 s": lambda step, old: 30_000.0 if step == 20 else old,
        "three of 10 s": lambda step, old: 10_000.0 if step in (15, 25, 35) else old,
        "slower by 2 % a step": lambda step, old: old * 1.02**step,
        "all 20 % slower": lambda step, old: old * 1.2,
        "slow first half": lambda step, old: old * 1.5 if step < 20 else old,
    }.items():
        add("times", name, "megatron", ms(change))
    for name, change in {
        "one stamp for all": lambda count, stamp: stamp.replace(minute=5, second=0),
        "twice as far apart": lambda count, stamp: stamp + timedelta(seconds=count * 0.6),
        "an hour between": lambda count, stamp: stamp + timedelta(hours=count > 15),
        "a second back": lambda count, stamp: stamp - timedelta(seconds=3 if count == 30 else 0),
    }.items():
        add("times", name, "megatron", on("node3", clock(change)))
    stamp = re.compile(r"I\d{4} [\d:.]+ ")
    add("times", "one stamp for all", "maxtext", everywhere(lambda text: stamp.sub("I0203 04:05:06.000000 ", text)))
    slow = lambda step, old: f"{float(old) * (3 if step % 5 == 0 else 1):.3f}"
    add("times", "every fifth three times as slow", "maxtext", put("maxtext", "seconds", slow))
    halves = chained(put("maxtext", "seconds", scaled(0.9)), put("maxtext", "tokens", scaled(1 / 0.9)))
    between = "a tenth of the time may pass between the steps"
    add("times", "faster than its stamps", "maxtext", halves, no_trace=between)


for _kind in (_numbers, _ends, _silent, _networks, _skipped, _losses, _workloads, _gaps, _times):
    _kind()
