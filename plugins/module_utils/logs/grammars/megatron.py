# SPDX-License-Identifier: GPL-3.0-or-later
"""The grammar of Megatron-LM's training log.

The iteration line is printed by ``training_log()`` of megatron/training/training.py, by the last global rank only. Its
fields are separated by ``|`` and came and went from core 0.4 to 0.18; ROCm's fork adds ``mem usages``, and Primus adds
running averages, token rates and memory. So a line is found by its head, ``iteration  N/  TOTAL |``, anywhere in a
line, and its fields are taken by name, in any order. The closing lines are the ones that the ROCm fork's
examples/*/train_*.sh append to the log.
"""

from __future__ import annotations

import math
import re
import typing as t
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from struct import Struct

from ..clock import seconds_of
from ..find import Piece, Printed
from ..pattern import later
from ..record import EVIDENCE, OTHER_FIELDS
from ..rows import FoundStep, FoundSteps
from ..text import without_digits
from ..world_size import RANKS

_WORD = b"iteration "
_POINT = ord(".")
# NeMo's lines have an epoch before that: see `nemo2`.
_OF_NEMO = b", "
_HEAD = later(_WORD + rb"[ \t]*(\d+)[ \t]*/[ \t]*(\d+)[ \t]*\|")
# More than an iteration line has; a log may have no line ends.
_LINE_BYTES = 16 << 10

_NUMBER = rb"[-+]?(?:(?i:nan|inf(?:inity)?)|\d+\.?\d*(?:[eE][-+]?\d+)?)"
# A value may be followed by its running average: "587.1/512.3", "496.3 (avg 496.1)".
_VALUE = later(rb"(" + _NUMBER + rb")(?:/" + _NUMBER + rb"|[ \t]+\(avg " + _NUMBER + rb"\))?")
_NOT_FINITE = later(rb"(?i)[-+]?(?:nan|inf)")
_USAGE_RATIO = later(rb".*/(\d+\.?\d*)%")

# If two fields of a line give one metric, the first of them here counts.
_METRIC_OF_FIELD = {
    b"elapsed time per iteration (ms)": "step_time_ms",
    b"mem usages": "memory_fraction",
    b"throughput per GPU (TFLOP/s/GPU)": "tflops_per_gpu",
    b"compute per GPU (TFLOP/s/GPU)": "tflops_per_gpu",
    b"tokens per GPU (tokens/s/GPU)": "tokens_per_sec_per_gpu",
    b"tokens/s/GPU inst/harmonic mean": "tokens_per_sec_per_gpu",
    b"Tokens per second per GPU (Tok/s/GPU)": "tokens_per_sec_per_gpu",
    # Forks of 2026.
    b"tokens/sec/gpu": "tokens_per_sec_per_gpu",
    b"tokens/sec/GPU": "tokens_per_sec_per_gpu",
    b"learning rate": "learning_rate",
    b"lm loss": "loss",
    b"grad norm": "grad_norm",
    b"number of skipped iterations": "skipped_iterations",
    b"number of nan iterations": "nan_iterations",
    b"consumed samples": "consumed_samples",
    b"global batch size": "global_batch_size",
    b"loss scale": "loss_scale",
    b"params norm": "parameter_norm",
}
_SIZES = frozenset(EVIDENCE)
# In the value of a closed field.
_NAN_OR_INFINITE = later(rb":[^|:]*?((?<![\w.+-])[-+]?(?i:nan|inf(?:inity)?)(?![\w.-]))[^|:]*\|")
_USAGE_RATIO_FIELDS = (b"hip mem usage/free/total/usage_ratio", b"rocm mem usage/free/total/usage_ratio")

# "[2026-01-02 03:04:05.123456] iteration": the text between the brackets, with or without the fraction.
_STAMP_BYTES = (19, 26)

# The closing lines. They count at the start of a line only, because iteration lines contain "mem usages:" too.
CLOSING_LINES = {
    b"throughput per GPU:": "tflops_per_gpu",
    b"elapsed time per iteration:": "step_time_ms",
    b"tokens/GPU/s:": "tokens_per_sec_per_gpu",
    b"mem usages:": "memory_fraction",
}
_CLOSING_VALUE = later(rb"[ \t]*(" + _NUMBER + rb")[ \t]*(?:[\r\n]|\Z)")


# arguments.py: "using world size: 16, data-parallel size: 2, ...", by rank 0 only. The search leaves out its first
# word, because strstr looks for two bytes first, and "us" is in many words.
WORLD_SIZE = (Printed(b" world size: ", rb"(?<=using) world size: " + RANKS),)

# arguments.py, tokenizer.py and checkpointing.py, by rank 0 only.
_ARGUMENTS = {
    b"seq_length": b"sequence_length",
    b"global_batch_size": b"global_batch_size",
    b"micro_batch_size": b"micro_batch_size",
    b"train_iters": b"iterations",
    b"world_size": b"gpus",
    b"padded_vocab_size": b"vocabulary",
    b"num_layers": b"layers",
    b"hidden_size": b"hidden_size",
    b"tensor_model_parallel_size": b"tensor_parallelism",
    b"pipeline_model_parallel_size": b"pipeline_parallelism",
    b"data_parallel_size": b"data_parallelism",
    b"context_parallel_size": b"context_parallelism",
    b"log_interval": b"steps_per_line",
}
SETTINGS = (
    # The dots alone appear in the lines of timers as well, and a step may have many of those.
    *(
        Printed(argument + b" ...", rb"(?<![\w-])%b \.{3,} (?P<%b>\d+)\s" % (argument, setting))
        for argument, setting in _ARGUMENTS.items()
    ),
    # core/timers.py, by the last rank: the time of the slowest rank, with or without the time of the fastest before it.
    Printed(
        b"save-checkpoint .", rb"\bsave-checkpoint \.{3,}: (?:\(\d{1,12}\.\d+, )?(?P<save_ms>\d{1,12}\.\d+)(?=[)\s])"
    ),
    Printed(
        b"-model-parallel size: ",
        rb"(?<= )(?:tensor-model-parallel size: (?P<tensor_parallelism>\d+)"
        rb"|pipeline-model-parallel size: (?P<pipeline_parallelism>\d+))",
    ),
    Printed(
        b"data-parallel size: ",
        rb"(?<= )(?:data-parallel size: (?P<data_parallelism>\d+)|context-parallel size: (?P<context_parallelism>\d+))",
    ),
    Printed(b"padded vocab (size", rb"padded vocab \([^\r\n]*\(new size: (?P<vocabulary>\d+)\)"),
    # The prefix of Primus, by each rank.
    Printed(b"[rank-", rb"\[rank-\d{1,7}/(?P<gpus>\d{1,7})(?=\])"),
    # theoretical_memory_usage.py, and training.py of the first part of the model.
    Printed(
        b"Total number of parameters in billions: ",
        rb"Total number of parameters in billions: {1,3}(?P<billions_of_parameters>\d{1,9}\.\d+)",
    ),
    Printed(
        b"model parallel rank (0, 0): ",
        rb"number of parameters on \(tensor, pipeline\) model parallel rank \(0, 0\): "
        rb"(?P<parameters_of_rank>\d{1,15})\s",
    ),
    Printed(b"y loaded checkpoint ", rb"loaded checkpoint [^\r\n]*at iteration +(?P<resumed>\d+)"),
    Printed(b"[exiting program at iteration ", rb"\[exiting program at iteration (?P<ended>\d{1,12})\]"),
    # StragglerDetector of core/utils.py, by rank 0 with --log-straggler; see megatron/core/README_STRAGGLER.md.
    Printed(b"MxRtt/Rnk: ", rb"\| MxRtt/Rnk: \d{1,12}\.\d+ms/(?P<slowest_rank>\d{1,7})(?= \|)"),
    # The agent of torchrun, of each node.
    Printed(b"global_world_sizes=[", rb"global_world_sizes=\[(?P<gpus>\d{1,7})(?=[,\]])"),
)

# arguments.py, by rank 0 only.
_ARGUMENTS_IN_WORDS = (b"fp16", b"bf16", b"fp8", b"fp8_format", b"recompute_granularity", b"tokenizer_model")
ARGUMENTS = (
    *(
        Printed(argument + b" ...", rb"(?<![\w-])%b \.{3,} (?P<%b>[^\r\n]{1,200})" % (argument, argument))
        for argument in _ARGUMENTS_IN_WORDS
    ),
    # evaluate_and_print_results() of training.py, by the last rank.
    Printed(
        b" loss value: ",
        rb"(?P<evaluation_not_finite>\w{1,20} loss at iteration \d{1,12}) [^\r\n]* loss value: [-+]?(?i:nan|inf)",
    ),
    # print_datetime() of training.py, by rank 0.
    Printed(b"] datetime: ", rb"\] datetime: (?P<datetime>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?=\s)"),
)


def parse(piece: Piece, _memory: dict[str, t.Any]) -> Iterator[FoundStep]:
    """Yield the values of each iteration line, in their order; see ``Grammar``.

    Units as in ``METRICS``. If a line has both an instant value and its running average, the instant one is taken. The
    bytes need not be valid UTF-8. A field counts only with its closing ``|``, so a torn line gives the fields that are
    complete; a field that is not a number is NaN. Lines that appear twice are yielded twice.

    ``loss`` is ``lm loss`` and no other loss. Megatron prints it only if it is greater than zero (since core 0.17: not
    less), which NaN never is, so a NaN loss shows as a missing field: see ``_lost_loss``.
    """
    for found in parse_many(piece):
        yield from found.each()


def parse_many(piece: Piece) -> Iterator[FoundSteps]:
    """Yield the same as ``parse``, many lines at once."""
    kind: _Kind | None = None
    lines: list[tuple[bytes, ...]] = []
    stamps: list[bytes] = []
    timer_kept_on = False
    text, find = piece.text, piece.find
    find_end, has_carriage_returns = text.find, b"\r" in text
    # The lines of a log mostly have one of two shapes, and to compare them is faster than to hash them.
    shape, layout, other_shape, other_layout = b"", None, b"", None
    start = find(_WORD, 0)
    while start >= 0:
        end = find_end(b"\n", start, start + _LINE_BYTES)
        line = text[start : end if end >= 0 else start + _LINE_BYTES]
        if has_carriage_returns:
            line = line.partition(b"\r")[0]
        line_shape = without_digits(line)
        if line_shape != shape:
            if line_shape != other_shape:
                other_shape, other_layout = line_shape, _layout(line_shape)
            shape, layout, other_shape, other_layout = other_shape, other_layout, shape, layout
        if not layout or text[start - 2 : start] == _OF_NEMO:
            start = find(_WORD, start + len(line))
            continue
        head, line_end, cells, line_kind = layout
        head += start
        # Core 0.16 and later have "[2026-01-02 03:04:05.123456] iteration"; see ``left_out``.
        has_microseconds = head > 8 and text[head - 9] == _POINT
        if line_kind is not kind or has_microseconds is not timer_kept_on:
            if kind:
                yield from _found(kind, lines, stamps, timer_kept_on)
            kind, lines, stamps, timer_kept_on = line_kind, [], [], has_microseconds
        lines.append(cells(line))
        stamps.append(text[max(0, head - 2 - _STAMP_BYTES[has_microseconds]) : max(0, head - 2)])
        start = find(_WORD, start + line_end)
    if kind:
        yield from _found(kind, lines, stamps, timer_kept_on)


def left_out(found: Mapping[str, t.Any], position: int) -> str | None:
    """Return why a step does not count, or None; see ``Grammar``.

    From core 0.16 on ``training_log()`` prints the first iteration without resetting its timer and its sums.
    """
    if position == 2 and found["timer_kept_on"]:
        return "Megatron core 0.16 and later print the mean of the first two iterations here"
    return None


def summary(piece: Piece) -> dict[str, float]:
    """Return the means of the closing lines: canonical metric -> value, which may be NaN.

    The scripts leave out the first two iterations and the last one. Lines in front of a step belong to an earlier
    training and do not count. If a line appears more than once, the last one counts; a line without a number is left
    out.
    """
    last = _last_head(piece)
    if last:
        piece = Piece(piece.text[last:])
    text = piece.text
    line_ends = (b"\n", b"\r") if b"\r" in text else (b"\n",)
    found = {}
    for label, metric in CLOSING_LINES.items():
        # A piece of a log begins at the beginning of a line.
        starts = [0] if text.startswith(label) else []
        starts += [start + 1 for start in piece.positions(end + label for end in line_ends)]
        for start in starts:
            value = _CLOSING_VALUE.match(text, start + len(label))
            if value:
                found[metric] = float(value.group(1))
    return found


def _last_head(piece: Piece) -> int:
    """Return the beginning of the last iteration line's head, 0 without one."""
    text = piece.text
    # Most logs of other ranks have no such line, and to search from the end is slow.
    place = text.rfind(_WORD) if piece.find(_WORD, 0) >= 0 else -1
    while place > 0 and not _HEAD.match(text, place):
        place = text.rfind(_WORD, 0, place)
    return max(place, 0)


class _Kind(t.NamedTuple):
    """The common parts of lines that are read together.

    ``unread`` lists the metrics whose fields are not numbers. ``in_percent`` says that the memory is in percent,
    ``loss_may_be_lost`` that ``lm loss`` is missing and NaN would explain it, see ``_lost_loss``, and
    ``others_not_finite`` that a value other than the metrics is NaN or infinite.
    """

    metrics: tuple[str, ...]
    unread: tuple[str, ...]
    in_percent: bool
    loss_may_be_lost: bool
    others_not_finite: bool


# Always the same object for the same kind, because comparing them is slow.
_kind = lru_cache(maxsize=256)(_Kind)


class _Layout(t.NamedTuple):
    """Where each field of a line is, by its place; the same in all lines that differ only in their digits.

    ``head`` is where the head begins and ``end`` where the line ends, even if another line's head ends it. ``cells``
    returns the texts of a line's step, total and metrics.
    """

    head: int
    end: int
    cells: Callable[[bytes], tuple[bytes, ...]]
    kind: _Kind


class _Value(t.NamedTuple):
    """The value of a field: its text, and its position in the line."""

    text: bytes
    begin: int


def _found(
    kind: _Kind, lines: Sequence[tuple[bytes, ...]], stamps: Sequence[bytes], timer_kept_on: bool
) -> Iterator[FoundSteps]:
    steps, totals, *columns = zip(*lines)
    if totals.count(totals[0]) < len(totals):
        begin = 0
        for _total, same in groupby(lines, itemgetter(1)):
            of_one = list(same)
            yield from _found(kind, of_one, stamps[begin : begin + len(of_one)], timer_kept_on)
            begin += len(of_one)
        return
    metrics = {metric: _numbers(float, column) for metric, column in zip(kind.metrics, columns)}
    metrics.update({metric: [math.nan] * len(steps) for metric in kind.unread})
    for metric in _SIZES.intersection(metrics):
        metrics[metric] = [value if math.isfinite(value) else math.inf for value in metrics[metric]]
    clock = list(map(_seconds_or_nan, stamps))
    if not all(map(math.isnan, clock)):
        metrics["clock"] = clock
    if kind.others_not_finite:
        metrics[OTHER_FIELDS] = [math.inf] * len(steps)
    if kind.in_percent:
        metrics["memory_fraction"] = [percent / 100.0 for percent in metrics["memory_fraction"]]
    found = FoundSteps(_numbers(int, steps), int(totals[0]), metrics, timer_kept_on)
    if kind.loss_may_be_lost:
        yield from _with_lost_losses(found)
    else:
        yield found


def _seconds_or_nan(stamp: bytes) -> float:
    try:
        return seconds_of(stamp)
    except ValueError:
        return math.nan


def _numbers(of: Callable[[bytes], t.Any], texts: Sequence[bytes]) -> list[t.Any]:
    """Return the numbers in the texts; many columns have the same number in every line."""
    first, count = texts[0], len(texts)
    return [of(first)] * count if texts.count(first) == count else list(map(of, texts))


def _with_lost_losses(found: FoundSteps) -> Iterator[FoundSteps]:
    for step in found.each():
        metrics = step["metrics"]
        if _lost_loss(metrics):
            metrics["loss"] = math.nan
        columns = {metric: [value] for metric, value in metrics.items()}
        yield FoundSteps([step["step"]], found.steps_total, columns, found.timer_kept_on)


@lru_cache(maxsize=256)
def _layout(line: bytes) -> _Layout | None:
    """Return the layout of the first iteration line in a line with zeros for its digits, or None without one.

    A log has only a few layouts, because its values have more digits here and fewer there. So the work is done once for
    each layout.
    """
    head = _HEAD.search(line)
    if not head:
        return None
    glued = _HEAD.search(line, head.end())
    end = glued.start() if glued else len(line)
    fields, rest = _fields(line[:end], head.end())
    spans: dict[str, tuple[int, int]] = {}
    unread: dict[str, None] = {}
    for name, metric in _METRIC_OF_FIELD.items():
        _add_span(spans, metric, _VALUE, fields.get(name))
        if name in fields and metric not in spans:
            unread[metric] = None
    for name, value in rest.items():
        # The line is torn, but not before the value that is not a number.
        if name in _METRIC_OF_FIELD and _NOT_FINITE.match(value.text):
            unread[_METRIC_OF_FIELD[name]] = None
    in_percent = "memory_fraction" not in spans
    # Primus ends its lines with these and without a bar, but the percent sign shows that the number is whole.
    for name in _USAGE_RATIO_FIELDS:
        _add_span(spans, "memory_fraction", _USAGE_RATIO, {**fields, **rest}.get(name))
    metrics = sorted(spans, key=spans.__getitem__)
    return _Layout(
        head.start(),
        end,
        _cutter([head.span(1), head.span(2), *(spans[metric] for metric in metrics)]),
        _kind(
            tuple(metrics),
            tuple(metric for metric in unread if metric not in spans),
            in_percent and "memory_fraction" in spans,
            _may_be_lost(fields, spans),
            _others_not_finite(line[head.end() : end], head.end(), set(spans.values())),
        ),
    )


def _cutter(spans: Iterable[tuple[int, int]]) -> Callable[[bytes], tuple[bytes, ...]]:
    """Return a function that returns the parts of a line at these places, which ascend."""
    parts, behind = "", 0
    for begin, end in spans:
        parts += f"{begin - behind}x{end - begin}s"
        behind = end
    return Struct(parts).unpack_from


def _fields(line: bytes, begin: int) -> tuple[dict[bytes, _Value], dict[bytes, _Value]]:
    """Return the fields of a line from the place on, by their names: the closed ones, and the rest after the last bar.

    A field that appears twice has no value.
    """
    fields = []
    for field in line[begin:].split(b"|"):
        name, _colon, value = field.partition(b":")
        text = value.lstrip()
        fields.append((name.strip(), _Value(text.rstrip(), begin + len(field) - len(text))))
        begin += len(field) + 1
    closed = dict(fields[:-1])
    if len(closed) < len(fields) - 1:
        names = [name for name, _value in fields[:-1]]
        closed = {name: value if names.count(name) == 1 else _Value(b"", 0) for name, value in closed.items()}
    return closed, dict(fields[-1:])


def _others_not_finite(fields: bytes, begin: int, read: Container[tuple[int, int]]) -> bool:
    """Return whether a closed field that is not read has NaN or infinity, whatever its name, or if it appears twice."""
    values = (found.span(1) for found in _NAN_OR_INFINITE.finditer(fields))
    return any((begin + start, begin + end) not in read for start, end in values)


def _add_span(spans: dict[str, tuple[int, int]], metric: str, pattern: re.Pattern[bytes], value: _Value | None) -> None:
    number = value and pattern.fullmatch(value.text)
    if value and number and metric not in spans:
        spans[metric] = (value.begin + number.start(1), value.begin + number.end(1))


def _may_be_lost(fields: dict[bytes, _Value], metrics: Container[str]) -> bool:
    """Return whether a line without ``lm loss`` is such that a loss that was NaN would explain it.

    It is missing for other reasons too, which are not taken for NaN: the line is torn (the skipped iterations at its
    end are missing), the iterations were skipped, every token was masked and the loss was exactly zero, or the model
    has another loss. A NaN loss makes the gradients NaN, so the gradient norm decides. If no norm is printed (no
    clipping), a line that has a learning rate and no other loss should have a loss.
    """
    if b"lm loss" in fields or "skipped_iterations" not in metrics:
        return False
    return "grad_norm" in metrics or ("learning_rate" in metrics and not any(name.endswith(b"loss") for name in fields))


def _lost_loss(metrics: dict[str, float]) -> bool:
    """Return it for a line whose layout says that it may be; see ``_may_be_lost``."""
    return metrics["skipped_iterations"] == 0 and not math.isfinite(metrics.get("grad_norm", math.nan))
