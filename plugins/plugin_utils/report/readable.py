# SPDX-License-Identifier: GPL-3.0-or-later
"""How metrics, numbers and times read on the page of a report."""

from __future__ import annotations

import math
import re
import typing as t
from datetime import datetime

import jinja2

from ...module_utils.logs.record import ALL_METRICS
from ..contracts import Retry
from ..metrics import LABELS, in_percent

NOTHING = "–"
_LEAST_TFLOPS = 0.01
_MODEL_OF_GPU = re.compile(r"(mi|gb|[abhl])\d+[a-z]*")
MINUS = "\N{MINUS SIGN}"


def number(value: t.Any, digits: int = 4) -> str:
    """Return a value for reading: a number with so many significant digits and thousands separators.

    Digits before the decimal point all stay. None and NaN are a dash; anything else that is not a number is returned as
    text.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        return str(shown(value))
    if math.isinf(value):
        return "∞" if value > 0 else MINUS + "∞"
    if value == 0:
        return "0"
    if isinstance(value, int):
        return exact(value)
    magnitude = math.floor(math.log10(abs(value)))
    style = f",.{max(0, digits - 1 - magnitude)}f" if -4 <= magnitude < 15 else f".{digits}g"
    return format(value, style).replace("-", MINUS)


def exact(value: float) -> str:
    """Return a number with all the digits its author gave, and thousands separators."""
    return format(value, "," if isinstance(value, int) else ",.10g").replace("-", MINUS)


def unit_of(metric: str) -> str:
    """Return the unit of a canonical metric or MFU, for reading; empty if the label has it or there is none."""
    if in_percent(metric):
        return "%"
    unit = ALL_METRICS[metric].unit
    return "" if unit in {"1", "iterations", "steps"} else unit


def scaled(value: t.Any, metric: str) -> t.Any:
    """Return a value of a metric in the unit shown to readers: a fraction in percent."""
    is_fraction = in_percent(metric) and isinstance(value, (int, float)) and not isinstance(value, bool)
    return value * 100 if is_fraction else value


def measured(value: t.Any, metric: str) -> str:
    """Return a value of a metric for reading, formatted like `number`, in the unit of `titled`."""
    return number(scaled(value, metric), 3 if in_percent(metric) else 4)


def with_unit(value: t.Any, metric: str) -> str:
    """Return a value of a metric with its unit in words, such as ``9,263 tokens/s per GPU``."""
    return f"{measured(value, metric)} {unit_in_words(metric)}".rstrip()


def unit_in_words(metric: str) -> str:
    """Return the unit of a metric in words, such as ``tokens/s per GPU``; empty if there is none."""
    return unit_of(metric) + (" per GPU" if metric.endswith("_per_gpu") else "")


def is_nothing(value: float | None, metric: str) -> bool:
    """Return whether a value is useless to a reader: None, or the TFLOP/s of a rehearsal on a CPU."""
    return value is None or (metric == "tflops_per_gpu" and value < _LEAST_TFLOPS)


def percent(value: float, *, signed: bool = False) -> str:
    """Return percent for reading, with two or three digits: ``4.8 %``, and ``+4.8 %`` if it is to be ``signed``."""
    text = f"{abs(value):,.1f}" if abs(value) < 100 or math.isinf(value) else f"{abs(value):,.0f}"
    if abs(value) < 0.1:
        text = f"{abs(value):.2f}" if abs(value) >= 0.005 else "0"
    sign = "" if text == "0" else MINUS if value < 0 else "+" if signed else ""
    return f"{sign}{text} %"


def machine_name(gpu: str) -> str:
    """Return an accelerator's name in its maker's spelling: ``mi300x`` is MI300X."""
    return gpu.upper() if _MODEL_OF_GPU.fullmatch(gpu) else gpu


def in_a_sentence(title: str) -> str:
    """Return a title for use within a sentence: "Out of memory" in lower case, "GPU hang" unchanged."""
    return title[:1].lower() + title[1:] if title[1:2].islower() or title[1:2] == " " else title


def titled(metric: str) -> str:
    """Return the label of a metric with its unit in brackets; an unknown metric keeps its name."""
    if metric not in LABELS:
        return metric
    unit = unit_of(metric)
    return f"{LABELS[metric]} ({unit})" if unit else LABELS[metric]


def plural(count: int) -> str:
    """Return the plural ending of a counted noun."""
    return "" if count == 1 else "s"


def shown(value: t.Any) -> t.Any:
    """Return how the page shows a value: a dash for nothing and NaN, a word for a boolean."""
    if value is None or isinstance(value, jinja2.Undefined) or (isinstance(value, float) and math.isnan(value)):
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value


def retry_label(retry: Retry) -> str:
    """Return a short label: which attempt a run is, and whether it ran on fewer nodes."""
    fewer = retry["nodes"] < retry["nodes_of_first"]
    return f"attempt {retry['attempt']}" + (f", {retry['nodes']} of {retry['nodes_of_first']} nodes" if fewer else "")


def instant(text: str | None) -> str:
    """Return an ISO 8601 instant for reading, to the second and with its zone; a dash for none."""
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S %Z}" if text else NOTHING


def duration(started_at: str | None, ended_at: str | None) -> str | None:
    """Return the time between two ISO 8601 instants in words, or None if one is unknown."""
    if not started_at or not ended_at:
        return None
    elapsed = datetime.fromisoformat(ended_at) - datetime.fromisoformat(started_at)
    hours, seconds = divmod(round(elapsed.total_seconds()), 3600)
    minutes, seconds = divmod(seconds, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
