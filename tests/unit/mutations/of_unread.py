"""Changes of what trainers print beside the known values: other losses and norms, evaluations."""

from __future__ import annotations

from changes import add, on, steps_of
from good_runs import PRINTS_STEPS

_EVALUATIONS = {
    "megatron": " validation loss at iteration 20 | lm loss value: NAN | lm loss PPL: 4.851652E+08 |\n",
    "maxtext": "eval metrics after step: 20, loss=nan, total_weights=1024\n",
}


def _fields() -> None:
    """Put a value that is none into a field that nobody reads, of all steps, of one, and of some of them."""
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


for _kind in (_fields, _evaluations):
    _kind()
