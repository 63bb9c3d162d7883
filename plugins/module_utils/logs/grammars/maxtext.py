# SPDX-License-Identifier: GPL-3.0-or-later
"""The grammar of MaxText's training log and of its metrics file.

The step line is printed by MaxText's metric_logger.py (max_utils.py before), by every process; since December 2025 on
stderr after absl's prefix. Its fields are separated by commas and grew over the years, so they are taken by name. The
metrics file (``metrics_file=``) has one JSON object for each step and for each evaluation.

Steps count from 0, so a training of N steps is complete at step N - 1. N is in the configuration that MaxText prints
first, one ``Config param`` line for each key.
"""

from __future__ import annotations

import json
import math
import re
import typing as t
from collections.abc import Iterator, Mapping
from contextlib import suppress

from ..clock import seconds_without_year
from ..find import Piece, Printed
from ..grammar import EVERY_RANK, Grammar
from ..pattern import later
from ..record import EVIDENCE, OTHER_FIELDS
from ..rows import FoundStep
from ..text import line_end, line_start
from ..world_size import RANKS

# "completed step: 7", and for steps that the profiler disturbs "completed profiler activation/deactivation step: 7".
# The evaluation's "Completed eval after train step 7" and "eval metrics after step: 7" do not count.
_HEAD = later(rb"completed (profiler \S+ )?step: (\d+)(?=[,\r\n])")
_CONFIG = later(rb"Config param (steps|skip_first_n_steps_for_profiler|profiler_steps|profiler): ([^\r\n]*)")
# max_utils.py prints this before a process meets the others, and pyconfig.py the number of steps: once a process.
_MEETING = b"Attempting to initialize the jax distributed system"
_JSON_KEY = b'"perf/step_time_seconds"'
_NEEDLES = (b"completed ", b"Config param ", _MEETING, _JSON_KEY)

# max_utils.py: "Num_devices: 16, shape (1, 16, 1)", by every process.
WORLD_SIZE = (Printed(b"Num_devices: ", rb"Num_devices: " + RANKS),)

# pyconfig.py and checkpointing.py, by every process.
_KEYS = {
    b"per_device_batch_size": b"batch_per_device",
    b"gradient_accumulation_steps": b"accumulated_batches",
    b"global_batch_size_to_train_on": b"global_batch_size",
    b"max_target_length": b"sequence_length",
    b"steps": b"iterations",
    b"vocab_size": b"vocabulary",
    b"num_decoder_layers": b"layers",
    b"emb_dim": b"hidden_size",
}
SETTINGS = (
    Printed(
        b"Config param ",
        rb"Config param (?:" + b"|".join(rb"%b: (?P<%b>\d+(?:\.\d+)?)" % pair for pair in _KEYS.items()) + rb")\s",
    ),
    # The mesh, in the line of `WORLD_SIZE`.
    Printed(b"Num_devices: ", rb"Num_devices: \d{1,9}, shape \((?P<gpus>\d{1,9}(?:, ?\d{1,9}){0,31}),?\)"),
    # metric_logger.py and maxtext_utils.py, before the first step; the TFLOPs are per device.
    Printed(b"number parameters: ", rb"number parameters: (?P<billions_of_parameters>\d{1,9}\.\d+) billion"),
    Printed(
        b"Per train step",
        rb"Per train step(?:, total TFLOPs will be|:[ \t\r\n]{1,9}Total TFLOPs:) (?P<tflops_of_step>\d{1,12}\.\d+)",
    ),
    # Orbax's event_tracking.py and, before it, async_checkpointer.py, by each process. The time includes the
    # writing in the background.
    Printed(b"] Finished save in ", rb"\] Finished save in (?P<save_seconds>\d{1,9}\.\d+) seconds"),
    Printed(
        b"(blocking + background)",
        rb"Finished async_save \(blocking \+ background\)\. Time taken: (?P<save_seconds>\d{1,9}\.\d+)s\b",
    ),
    Printed(b"this run's directory", rb"restoring from this run's directory step (?P<resumed>\d+)"),
)

# pyconfig.py, by every process.
ARGUMENTS = (
    Printed(
        b"Config param ",
        rb"Config param (?:dtype: (?P<dtype>\w{1,40})|quantization: (?P<quantization>\w{0,40})"
        rb"|remat_policy: (?P<remat_policy>\w{1,60})|tokenizer_path: (?P<tokenizer_path>[^\r\n]{0,200}))"
        rb"[ \t]*[\r\n]",
    ),
    # metric_logger.py: "eval metrics after step: 20, loss=9.123, total_weights=163840.0"
    Printed(
        b"eval metrics after step: ",
        rb"(?P<evaluation_not_finite>eval metrics after step: \d{1,12})[^\r\n]*=[-+]?(?i:nan|inf(?:inity)?)(?=[,\s])",
    ),
)

_FIELD = later(rb"[ \t]*([^: \t]*)[ \t:]+(.*?)[ \t]*", re.DOTALL)
_NUMBER = later(rb"[-+]?(?:(?i:nan|inf(?:inity)?)|\d+\.?\d*(?:[eE][-+]?\d+)?)")
_NOT_FINITE = later(rb"[-+]?(?i:nan|inf(?:inity)?)")
# The prefix of absl; the time is followed by the thread and the file.
_STAMP = later(rb"[IWEF](\d\d)(\d\d) (\d\d:\d\d:\d\d\.\d+) [^\]\r\n]*\]")

_METRIC_OF_FIELD = {
    b"seconds": "step_time_ms",
    b"TFLOP/s/device": "tflops_per_gpu",
    # Before November 2023; per device then, too.
    b"TFLOP/s": "tflops_per_gpu",
    b"Tokens/s/device": "tokens_per_sec_per_gpu",
    b"loss": "loss",
    b"total_weights": "tokens_with_loss",
}
_METRIC_OF_KEY = {
    "perf/step_time_seconds": "step_time_ms",
    "perf/per_device_tflops_per_sec": "tflops_per_gpu",
    "perf/per_device_tokens_per_sec": "tokens_per_sec_per_gpu",
    "learning/loss": "loss",
    "learning/grad_norm": "grad_norm",
    "learning/current_learning_rate": "learning_rate",
}

_STARTING = {
    1: "MaxText compiles in the first step",
    2: "MaxText times the second step without waiting for its end (asynchronous dispatch)",
}
_PROFILING = "MaxText's profiler starts, runs or ends in this step"


class _Step(t.TypedDict):
    """The values of a step's line; ``profiler`` says whether the profiler ran."""

    step: int
    metrics: dict[str, float]
    profiler: bool


class _Found(FoundStep):
    profiler: bool
    profiled: tuple[int, int]


def parse(piece: Piece, memory: dict[str, t.Any]) -> Iterator[FoundStep]:
    """Yield the values of each step line and of each step in a metrics file, in their order; see ``Grammar``.

    Units as in ``METRICS``. ``steps_total`` comes from the last configuration before the step, else it is null. A field
    counts only when the text after it shows that it is complete. It is NaN if it is not a number, or if it appears
    twice with different numbers. Tokens per second count padding too.

    ``new_process`` says that a process began since the step before. A process that resumes exactly where the last one
    ended is another attempt too, which its step number does not show.
    """
    text = piece.text
    for start in piece.positions(_NEEDLES):
        if text.startswith(_JSON_KEY, start):
            found = _json_step(text, start)
        elif text.startswith(_MEETING, start):
            found = None
            memory["new_process"] = True
        elif text.startswith(b"Config", start):
            found = None
            _remember(text, start, memory)
        else:
            found = _step(text, start)
        if found:
            step: _Found = {
                "step": found["step"],
                "metrics": found["metrics"],
                "profiler": found["profiler"],
                "steps_total": memory.get("steps"),
                "profiled": _profiled(memory),
                "new_process": memory.pop("new_process", False),
            }
            yield step


def left_out(found: Mapping[str, t.Any], position: int) -> str | None:
    """Return why a step does not count, or None; see ``Grammar``.

    The profiler disturbs the steps from the one before it starts to the one after it ends. MaxText itself knows that
    (``hide_profiler_step_metric``), but mostly prints the measured values.
    """
    first, last = found["profiled"]
    since_start = position - 1
    if found["profiler"] or first <= since_start <= last:
        return _PROFILING
    return _STARTING.get(position)


def _remember(text: bytes, start: int, memory: dict[str, t.Any]) -> None:
    config = _CONFIG.match(text, start)
    if config:
        key, value = (group.decode("utf-8", "replace").strip() for group in config.groups())
        if key == "profiler":
            memory[key] = value
        else:
            memory[key] = int(value) if re.fullmatch("[0-9]{1,15}", value) else None
        if key == "steps":
            memory["new_process"] = True


def _profiled(memory: dict[str, t.Any]) -> tuple[int, int]:
    """Return the first and the last disturbed step, counted from the first step of the attempt; (0, -1) for none."""
    skipped, steps = memory.get("skip_first_n_steps_for_profiler"), memory.get("profiler_steps")
    if not memory.get("profiler") or skipped is None or steps is None:
        return 0, -1
    return skipped, skipped + steps + 1


def _step(text: bytes, start: int) -> _Step | None:
    head = _HEAD.match(text, start)
    if not head:
        return None
    end = line_end(text, head.end())
    glued = _HEAD.search(text, head.end(), end)
    *closed, rest = text[head.end() : glued.start() if glued else end].split(b",")
    if end < len(text) and not glued:
        closed.append(rest)
    metrics = {}
    metric = ""
    for piece in closed:
        field = _FIELD.fullmatch(piece)
        known = field and _METRIC_OF_FIELD.get(field.group(1))
        if field and _NOT_FINITE.fullmatch(field.group(2)) and (not known or known in metrics):
            metrics[OTHER_FIELDS] = math.inf
            continue
        if not field and piece and metric:
            # Text between two commas without a name belongs to the number before.
            metrics[metric] = math.nan
        if field and known:
            metric = known
            value = _in_unit(metric, field.group(2)) if _NUMBER.fullmatch(field.group(2)) else math.nan
            metrics[metric] = value if metrics.get(metric, value) == value else math.nan
            if metric in EVIDENCE and not math.isfinite(metrics[metric]):
                metrics[metric] = math.inf
    stamp = _STAMP.match(text, line_start(text, start), start)
    if stamp:
        with suppress(ValueError):
            metrics["clock"] = seconds_without_year(*stamp.groups())
    return {"step": int(head.group(2)), "metrics": metrics, "profiler": bool(head.group(1))}


def _in_unit(metric: str, printed: t.Any) -> float:
    """Return a value in the unit of its metric; MaxText prints seconds."""
    return float(printed) * 1000.0 if metric == "step_time_ms" else float(printed)


def _json_step(text: bytes, start: int) -> _Step | None:
    line = text[line_start(text, start) : line_end(text, start)]
    try:
        entry = json.loads(line.decode("utf-8", "replace"))
        step = int(entry["step"])
        metrics = {metric: _in_unit(metric, entry[key]) for key, metric in _METRIC_OF_KEY.items() if key in entry}
    except (ValueError, TypeError, KeyError, OverflowError):
        return None
    return {"step": step, "metrics": metrics, "profiler": False}


GRAMMAR = Grammar(
    parse,
    WORLD_SIZE,
    first_step=0,
    step_line="completed step: N, seconds: …",
    printed_by=EVERY_RANK,
    settings=SETTINGS,
    arguments=ARGUMENTS,
    each_step=True,
    # Orbax's async_checkpointer.py, by each process.
    # JAX counts its processes, as in /task:3.
    one_process=True,
    saves=(b"Background save thread started", (b"Background save thread done",)),
    left_out=left_out,
)
