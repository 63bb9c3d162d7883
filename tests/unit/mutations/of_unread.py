"""Changes of text beside the known values: other losses and norms, evaluations."""

from __future__ import annotations

import re
from datetime import timedelta

from changes import add, chained, clock, everywhere, on, steps_of
from good_runs import PRINTS_STEPS

_EVALUATIONS = {
    "megatron": " validation loss at iteration 20 | lm loss value: NAN | lm loss PPL: 4.851652E+08 |\n",
    "maxtext": "eval metrics after step: 20, loss=nan, total_weights=1024\n",
}


def _fields() -> None:
    """Put an invalid value into a field that nobody reads, of all steps, of one, and of some of them."""
    fields = {
        "megatron": (
            ("another loss", " loss scale:", " load_balancing_loss: NAN | loss scale:"),
            ("a norm", " number of skipped", " params norm: nan | number of skipped"),
            ("infinite power", " learning rate:", " power per GPU (W/GPU): inf | learning rate:"),
            ("the first of two", " lm loss:", " lm loss: nan | lm loss:"),
            ("an average", " | throughput", "/nan | throughput"),
        ),
        "maxtext": (
            ("another loss", ", loss:", ", moe_lb_loss: nan, loss:"),
            ("an infinite loss", ", loss:", ", mtp_loss: inf, loss:"),
            ("the first of two", ", loss:", ", loss: nan, loss:"),
        ),
        "nxdt": (
            ("a norm", "parameter_norm=4321.0", "parameter_norm=nan"),
            ("a validation", " gradient_norm=", " val_loss=inf, gradient_norm="),
            ("a reward", " lr=", " chosen_rewards=-inf, lr="),
        ),
    }
    for framework, places in fields.items():
        for name, old, new in places:
            for among, steps in {"all": range(99), "one": {20}, "the second half": range(20, 99)}.items():
                change = lambda step, line, old=old, new=new, steps=steps: (
                    line.replace(old, new) if step in steps else line
                )
                add("unread", f"{name} in {among}", framework, steps_of(framework, change))


def _evaluations() -> None:
    for framework, text in _EVALUATIONS.items():
        between = lambda step, line, text=text: line + text if step == 20 else line
        add("unread", "an evaluation", framework, steps_of(framework, between))
        at_the_end = on(PRINTS_STEPS[framework], lambda log, text=text: log + text)
        add("unread", "an evaluation at the end", framework, at_the_end)


def _sizes() -> None:
    """Print sizes that contradict the other sizes in the log, or the steps."""
    for name, old, new in (
        ("data parallel size", "data-parallel size: 32", "data-parallel size: 16"),
        ("context parallel size", "context-parallel size: 1", "context-parallel size: 4"),
        ("micro batches", "micro_batch_size ................................ 2", "micro_batch_size .... 3"),
    ):
        add("unread", name, "megatron", on("node0", lambda log, old=old, new=new: log.replace(old, new)))
    of_each = on("node0", lambda log: log.replace("  micro_batch_size", "  log_interval ....... 1\n  micro_batch_size"))
    every_other = steps_of("megatron", lambda step, line: None if step % 2 else line)
    add("unread", "every other step of a log of each", "megatron", chained(of_each, every_other))
    parallel = "> initializing tensor model parallel with size 2\n> initializing pipeline model parallel with size 8\n"
    add("unread", "parallel sizes", "nxdt", on("node0", lambda log: parallel + log))
    add("unread", "more steps to take", "nxdt", on("node0", lambda log: log.replace("max_steps=40", "max_steps=400")))
    for name, step_of in (("stand still", lambda step: 5), ("are half as many", lambda step: step // 2)):
        change = lambda step, line, step_of=step_of: re.sub(r"global_step=\d+", f"global_step={step_of(step)}", line)
        add("unread", f"updates {name}", "nxdt", steps_of("nxdt", change))
    jumps = lambda step, line: re.sub(r"global_step=(\d+)", r"global_step=1\1", line) if step > 20 else line
    add("unread", "updates jump", "nxdt", steps_of("nxdt", jumps))
    nothing = lambda step, line: line.replace("| grad norm", f"| params norm: {max(0, 30 - step):.3f} | grad norm")
    add("unread", "weights are gone", "megatron", steps_of("megatron", nothing))
    half = everywhere(lambda log: re.sub(r"Num_devices: .*\n", "", log).replace("to_train_on: 80", "to_train_on: 40"))
    add("unread", "more tokens with a loss than a batch has", "maxtext", half)
    never = lambda step, line: re.sub(r"global_step=[\d.]+", "global_step=nan", line)
    add("unread", "updates are no number", "nxdt", steps_of("nxdt", never))
    weights = lambda text: re.sub(r"total_weights: \d+", "total_weights: 999999999", text)
    add("unread", "more tokens with a loss than tokens", "maxtext", everywhere(weights))


def _stamps() -> None:
    gone = steps_of("megatron", lambda step, line: re.sub(r"^ \[.*?\]", "", line) if step % 2 else line)
    wrong = steps_of("megatron", lambda step, line: line.replace("-02-03 ", "-13-43 ") if step > 20 else line)
    add("unread", "half of the stamps gone", "megatron", gone)
    add("unread", "half of the stamps of no day", "megatron", wrong)
    later = lambda log: re.sub(r"(?m)^I0203 04:0(\d)", lambda found: f"I0203 04:{int(found[1]) + 7:02d}", log)
    add("unread", "one node seven minutes later", "maxtext", on("node1", later))


def _ends() -> None:
    """Let a process begin after the last step."""
    for framework, head in {
        "megatron": "using world size: 32, data-parallel size: 32\n",
        "nxdt": "> initializing world size to 128\n",
    }.items():
        add("unread", "a process that begins at the end", framework, on("node0", lambda log, head=head: log + head))


def _others() -> None:
    """Print arguments of another model, and stamps of another hour."""
    for name, argument in (
        ("fewer heads", "num_attention_heads ............................. 8"),
        ("another feed-forward size", "ffn_hidden_size ................................. 1024"),
    ):
        said = on("node0", lambda log, argument=argument: log.replace("  seq_length", f"  {argument}\n  seq_length"))
        add("unread", name, "megatron", said, missed="a plan does not know it of its model")
    late = on("node1", lambda log: re.sub(r"(?m)^I0203 04:", "I0203 06:", log))
    add("unread", "one node two hours later", "maxtext", late, no_trace="a node in another time zone")
    paused = on("node3", clock(lambda at, stamp: stamp + timedelta(hours=int(at > 1))))
    add("unread", "an hour before the second step", "megatron", paused, no_trace="a step of the warm-up may compile")


for _kind in (_fields, _evaluations, _sizes, _stamps, _ends, _others):
    _kind()
