# SPDX-License-Identifier: GPL-3.0-or-later
"""The grammar of TorchTitan's training log, whatever prefixes its lines have.

components/metrics.py prints a step line at the first step of a process and at each one that ``metrics.log_freq``
divides, so that the last step may have none; its values are means over the steps since the line before::

    [titan] 2026-11-26 20:50:28,616 - root - INFO - step: 10  loss:  6.33464  grad_norm:  1.8941
      memory: 51.20GiB(26.67%)  tps: 6,900  tflops: 377.25  mfu: 28.85%

Every rank prints, and torchrun shows some of them, mostly behind ``[rank0]:``. The loss and the norm are for the whole
batch, on all ranks; but with pipeline parallelism the stages before the last one print -1 for the loss.
"""

from __future__ import annotations

import math
import re
import typing as t
from collections.abc import Iterator, Mapping
from contextlib import suppress

from ..clock import seconds_of
from ..find import Piece, Printed
from ..grammar import EVERY_RANK, Grammar
from ..pattern import later
from ..record import OTHER_FIELDS
from ..rows import FoundStep
from ..text import line_end, line_start

_BEGIN = b"Training starts at step "
_NEEDLES = (b"step: ", _BEGIN, b"total steps ")
# A validation is not a step.
_HEAD = later(rb"(?<!validate )step: {1,9}?(\d{1,12})(?=  |[\r\n])")
_BEGUN = later(re.escape(_BEGIN) + rb"(\d{1,12})(?=\D)")
_TOTAL = later(rb"total steps (\d{1,12})(?=\D)")
# From torchrun --tee, and from Primus.
_RANK = later(rb"\[(?:[A-Za-z_][\w-]{0,30}?\d{1,5}(?=\]:)|rank-\d{1,7}/\d{1,7}(?=\]))")
_STAMP = later(rb"\[titan\] (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3}) |\[(\d{4})(\d\d)(\d\d) (\d\d:\d\d:\d\d)\]")
_NUMBER = later(rb"[-+]?(?:(?i:nan|inf(?:inity)?)|\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?)")
_MEMORY = later(rb"[^(]*\(([^%)]*)%\)")
_NO_LOSS_HERE = -1.0

_METRIC_OF_FIELD = {
    b"loss": "loss",
    b"grad_norm": "grad_norm",
    b"memory": "memory_fraction",
    b"tps": "tokens_per_sec_per_gpu",
    b"tflops": "tflops_per_gpu",
}
_COMPILES = "TorchTitan compiles in its first step"

_MESH = rb"Building device mesh with parallelism: "
# Keys of the model, which is printed as JSON in lines of its own; the keys of its parts are indented further.
_MODEL = {b"n_layers": b"layers", b"dim": b"hidden_size", b"vocab_size": b"vocabulary"}


def parse(piece: Piece, memory: dict[str, t.Any]) -> Iterator[FoundStep]:
    """Yield the values of each step line that the first rank printed, in their order; see ``Grammar``.

    ``step_time_ms`` is the mean time of the steps since the line before, by the stamps of the two. Of the lines of
    other ranks, a loss counts that is of the same step.
    """
    text = piece.text
    for start in piece.positions(_NEEDLES):
        begin = line_start(text, start)
        label = _label(text, begin, start)
        if text.startswith(_BEGIN, start):
            _remember_begin(_BEGUN.match(text, start), label, memory)
        elif text.startswith(b"total", start):
            total = _TOTAL.match(text, start)
            if total and b"Trainer is initialized" in text[begin:start]:
                memory["total"] = int(total.group(1))
        elif head := _HEAD.match(text, start) or _HEAD.match(text, start - 1):
            found = _of_first_rank(int(head.group(1)), label, _metrics(text, begin, head.end()), memory)
            if found:
                yield found


def _of_first_rank(step: int, label: str, metrics: dict[str, float], memory: dict[str, t.Any]) -> FoundStep | None:
    """Return a line's values for a step; None if another rank printed it and it adds nothing."""
    if memory.setdefault("rank", label) != label:
        said = {name: value for name, value in metrics.items() if name == "loss" or not math.isfinite(value)}
        if memory.get("step") != step or not said:
            return None
        return {"step": step, "steps_total": memory.get("total"), "metrics": said, "new_process": False}
    new_process = bool(memory.pop("new_process", False))
    before, stamp = memory.get("step"), memory.get("stamp")
    clock = metrics.get("clock")
    if new_process:
        before = None
    if clock is not None and before is not None and stamp and step > before:
        # The stamps are in milliseconds.
        metrics["step_time_ms"] = round((clock - float(stamp)) * 1000.0) / (step - before)
    memory["step"], memory["stamp"] = step, None if clock is None else repr(clock)
    return {"step": step, "steps_total": memory.get("total"), "metrics": metrics, "new_process": new_process}


def _remember_begin(begun: re.Match[bytes] | None, label: str, memory: dict[str, t.Any]) -> None:
    if begun and memory.setdefault("rank", label) == label and memory.get("step") is not None:
        memory["new_process"] = True


def _label(text: bytes, begin: int, end: int) -> str:
    label = _RANK.search(text, begin, end)
    return label.group().decode() if label else ""


def _metrics(text: bytes, begin: int, behind: int) -> dict[str, float]:
    """Return the values of a step line; a value counts only if the text after it shows that it is complete."""
    end = line_end(text, behind)
    *fields, last = text[behind:end].split(b"  ")
    if end < len(text):
        fields.append(last)
    metrics: dict[str, float] = {}
    name = b""
    for field in fields:
        # Numbers are padded, so two blanks may precede one.
        key, colon, value = field.partition(b":")
        name, value = (key.strip(), value) if colon else (name, field)
        value = value.strip()
        metric = _METRIC_OF_FIELD.get(name)
        if metric and value:
            metrics[metric] = _value(metric, value)
            name = b""
        elif value and _NUMBER.fullmatch(value.rstrip(b"%")) and not math.isfinite(_number(value.rstrip(b"%"))):
            metrics[OTHER_FIELDS] = math.inf
    if metrics.get("loss") == _NO_LOSS_HERE:
        del metrics["loss"]
    stamp = _STAMP.search(text, begin, behind)
    if stamp:
        with suppress(ValueError):
            metrics["clock"] = _seconds(stamp)
    return metrics


def _value(metric: str, printed: bytes) -> float:
    if metric != "memory_fraction":
        return _number(printed)
    share = _MEMORY.fullmatch(printed)
    # If no memory is in use, -0.00 % may be printed.
    return abs(_number(share.group(1)) / 100.0) if share else math.nan


def _number(printed: bytes) -> float:
    return float(printed.replace(b",", b"")) if _NUMBER.fullmatch(printed) else math.nan


def _seconds(stamp: re.Match[bytes]) -> float:
    day_and_time, thousandths, year, month, day, time = stamp.groups()
    if day_and_time:
        return seconds_of(b"%b.%b" % (day_and_time, thousandths))
    return seconds_of(b"%b-%b-%b %b" % (year, month, day, time))


def left_out(_found: Mapping[str, t.Any], position: int) -> str | None:
    """Return why a step does not count, or None; see ``Grammar``."""
    return _COMPILES if position == 1 else None


GRAMMAR = Grammar(
    parse,
    # It is the product of the sizes of the mesh, a setting.
    (),
    first_step=1,
    step_line="step: N  loss: …  grad_norm: …  memory: …  tps: …  tflops: …  mfu: …",
    printed_by=EVERY_RANK,
    by_interval=True,
    each_line=("grad_norm", "memory_fraction", "tokens_per_sec_per_gpu", "tflops_per_gpu"),
    settings=(
        # parallel_dims.py, by each rank; experts share the ranks of the others.
        Printed(
            _MESH,
            _MESH + rb"(?P<gpus>pp=\d{1,6}, dp_replicate=\d{1,6}, dp_shard=\d{1,6}, cp=\d{1,6}, tp=\d{1,6})(?=\D)",
        ),
        *(
            Printed(_MESH, _MESH + rb"[^\r\n]*\b%b=(?P<%b>\d{1,6})(?=\D)" % pair)
            for pair in (
                (b"tp", b"tensor_parallelism"),
                (b"pp", b"pipeline_parallelism"),
                (b"cp", b"context_parallelism"),
            )
        ),
        # train.py of 0.2 and trainer.py since 0.3, by each rank.
        *(
            Printed(
                b"Trainer is initialized", rb"Trainer is initialized with [^\r\n]*\b%b (?P<%b>\d{1,12})(?=\D)" % pair
            )
            for pair in (
                (b"local batch size", b"micro_batch_size"),
                (b"global batch size", b"global_batch_size"),
                (b"sequence length", b"sequence_length"),
                (b"maximum context length", b"sequence_length"),
                (b"total steps", b"iterations"),
            )
        ),
        # checkpoint.py, by each rank: how long the training waited. An asynchronous save continues in the background.
        Printed(
            b"Finished saving the checkpoint",
            rb"Finished saving the checkpoint(?: \(or staging if async is enabled\))? ?in "
            rb"(?P<save_seconds>\d{1,9}\.\d+) seconds",
        ),
        Printed(b"Last step checkpoint", rb"Last step checkpoint completed in (?P<save_seconds>\d{1,9}\.\d+)s\b"),
        Printed(_BEGIN, re.escape(_BEGIN) + rb"(?P<begun>\d{1,12})(?=\D)"),
        *(
            Printed(b'"n_layers": ', rb'\n(?:\[\w{1,40}\]:)?  "%b": (?P<%b>\d{1,9}),?[\r\n]' % pair)
            for pair in _MODEL.items()
        ),
    ),
    # trainer.py, by each rank; the first of them by the first rank alone until 0.3.
    over=(b"Training completed", b"Process group destroyed"),
    # The same files, by each rank; then the end of a complete training.
    cut_short=(b"Ran out of data; last step was canceled",),
    # checkpoint.py, by each rank; since 0.3 the last save ends in words of its own. It is waited for.
    saves=(
        b"Saving the checkpoint",
        (b"Finished saving the checkpoint", b"Last step checkpoint completed", b"Training completed"),
    ),
    left_out=left_out,
)
