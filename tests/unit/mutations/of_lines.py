"""Changes of step lines: numbers too large or too small, values printed twice, nodes that print less than others."""

from __future__ import annotations

import re
from datetime import timedelta

from changes import add, clock, on, put, scaled, steps_of


def _numbers() -> None:
    for framework, field, value in (
        ("megatron", "grad_norm", "1.7E+308"),
        ("megatron", "lr", "1.000000E+05"),
        ("megatron", "lr", "1.000000E-30"),
        ("megatron", "grad_norm", "0.000000000001"),
        ("nxdt", "grad_norm", "1e39"),
        ("nxdt", "lr", "1e-30"),
    ):
        add("lines", f"{field}={value}", framework, put(framework, field, value))
    for value in ("0.0", "-1.0"):
        change = lambda step, line, value=value: line.replace("parameter_norm=4321.0", f"parameter_norm={value}")
        add("lines", f"a parameter norm of {value}", "nxdt", steps_of("nxdt", change))
    to_nothing = lambda step, line: line.replace("loss scale: 1.0", f"loss scale: {2.0 ** (-3 * step)}")
    add("lines", "a loss scale that falls to nothing", "megatron", steps_of("megatron", to_nothing))
    fall = lambda step, line: re.sub(
        r"(?<=total_weights: )\d+", lambda found: str(int(found[0]) >> min(step, 17)), line
    )
    add("lines", "fewer and fewer tokens with a loss", "maxtext", steps_of("maxtext", fall))


def _twice() -> None:
    for framework, old, new in (
        ("megatron", " | loss scale", " | lm loss: 9.900000E+01 | loss scale"),
        ("megatron", " | learning", " | elapsed time per iteration (ms): 9999.0 | learning"),
        ("maxtext", ", TFLOP", ", seconds: 40.000, TFLOP"),
        ("nxdt", " lr=", " reduced_train_loss=99.00, lr="),
    ):
        change = lambda step, line, old=old, new=new: line.replace(old, new)
        add("lines", f"twice: {new}", framework, steps_of(framework, change))


def _of_one_node() -> None:
    for field in ("TFLOP/s/device", "seconds", "Tokens/s/device"):
        without = lambda step, line, field=field: re.sub(f" {field}: [^,\n]*,", "", line)
        add("lines", f"one node without {field}", "maxtext", steps_of("maxtext", without, {"node0"}))
    slower = put("maxtext", "tflops", scaled(0.4))
    add("lines", "TFLOP/s of one node", "maxtext", lambda logs: {**logs, "node1": slower(logs)["node1"]})
    vocabulary = on("node1", lambda log: log.replace("vocab_size: 128256", "vocab_size: 32000"))
    add("lines", "the vocabulary of one node", "maxtext", vocabulary)


def _places() -> None:
    alone = on("node0", lambda log: f"> initializing data parallel with size 1\n{log}")
    add("lines", "a data parallel size of one", "nxdt", alone)
    far_in = put("nxdt", "samples", lambda step, old: f"{float(old) + 99999:.1f}")
    add("lines", "samples that begin far in", "nxdt", far_in)
    for name, years in (("1970", -56), ("the next leap year", 2)):
        jump = clock(lambda step, stamp, years=years: stamp + timedelta(days=years * 365.25) if step == 20 else stamp)
        add("lines", f"a stamp of {name}", "megatron", on("node3", jump))


_numbers()
_twice()
_of_one_node()
_places()
