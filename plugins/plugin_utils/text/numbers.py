# SPDX-License-Identifier: GPL-3.0-or-later
"""The spelling of numbers, times, metrics and settings in a sentence."""

from __future__ import annotations

import math
import typing as t

from ...module_utils.logs.record import ALL_METRICS
from ..contracts import Quantity
from ..metrics import ROWS, in_percent
from .words import counted

_MINUS = "\N{MINUS SIGN}"
DIGITS: t.Final = 4
_ALL_DIGITS = 10
# An uncertainty that begins with less than this is shown with two digits, else one (the Particle Data Group's rule).
_TWO_DIGITS_BELOW = 3.55
_SMALLEST, _LARGEST = 1e-4, 1e15
# A smaller uncertainty, relative to the value, is floating-point rounding.
_ROUNDING = 1e-9


def number(value: float, uncertainty: float = 0.0, digits: int = DIGITS) -> str:
    """Return a number with thousands separators, with the digits that its uncertainty (half of an interval) supports.

    Without an uncertainty it has so many significant digits. Digits before the decimal point all stay.
    """
    if not math.isfinite(value) or (value and not _SMALLEST <= abs(value) < _LARGEST):
        return f"{value:.{digits}g}".replace("-", _MINUS)
    if math.isfinite(uncertainty) and uncertainty > _ROUNDING * abs(value):
        magnitude = math.floor(math.log10(uncertainty))
        places = -magnitude + (uncertainty / 10.0**magnitude < _TWO_DIGITS_BELOW)
        text = f"{value:,.{max(0, min(places, _ALL_DIGITS))}f}"
    else:
        places = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
        text = f"{value:,.{max(0, places)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", _MINUS)


def exact(value: float) -> str:
    """Return a given number with all its digits."""
    return number(value, digits=_ALL_DIGITS)


def percent(share: float) -> str:
    """Return a change, given as a fraction, in percent with its sign: ``−0.9 %``, ``+12.0 %``, ``+0.04 %``."""
    value = abs(100.0 * share)
    if not value or not math.isfinite(value):
        return "±0 %" if not value else f"{share} %"
    places = 0 if value >= 99.95 else max(1, -math.floor(math.log10(value)))
    return f"{'+' if share > 0 else _MINUS}{value:,.{min(places, _ALL_DIGITS)}f} %"


def share_in_words(share: float) -> str:
    """Return a fraction without a sign in percent, exact enough for a small one: ``12.0 %``, ``0.04 %``."""
    return percent(abs(share)).lstrip("+±")


def times(factor: float) -> str:
    """Return a value as a multiple of a threshold: ``2.4 times``, ``575 times``."""
    return f"{number(factor, digits=2)} times"


def byte_size(size: float) -> str:
    """Return a number of bytes with three digits: ``8.00 GB``."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            value = size / factor
            return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}"
    return f"{size:.0f} B"


def billions(value: float) -> str:
    """Return a number of parameters, given in billions: ``8.03 billion``, ``70 million``, ``1,200``."""
    for size, word in ((1.0, "billion"), (1e-3, "million")):
        if value >= size:
            return f"{value / size:.3g} {word}"
    return f"{value * 1e9:,.0f}"


def name_of(metric: str) -> str:
    """Return the name of a metric, or of another field of a step line, in a sentence."""
    return ROWS[metric].name if metric in ROWS else metric.replace("_", " ")


def unit_of(metric: str) -> str:
    """Return the unit of a metric after a number, with the space before it; nothing for a plain number."""
    if in_percent(metric):
        return " %"
    unit = ALL_METRICS[metric].unit
    return "" if unit == "1" else f" {unit}{' per GPU' if metric.endswith('_per_gpu') else ''}"


def scale_of(metric: str) -> float:
    """Return the factor for writing a metric's value in a sentence: fractions become percent."""
    return 100.0 if in_percent(metric) else 1.0


def in_words(metric: str, value: float, uncertainty: float = 0.0) -> str:
    """Return a measured value of a metric with its unit: ``8,725 tokens/s per GPU``."""
    scale = scale_of(metric)
    return number(scale * value, scale * uncertainty) + unit_of(metric)


def reads_like(metric: str, value: float, other: float) -> bool:
    """Return whether two different values of a metric look equal with the usual digits."""
    return value != other and in_words(metric, value) == in_words(metric, other)


def quantity_of(metric: str, value: float, uncertainty: float = 0.0, *, exact: bool = False) -> Quantity:
    """Return a value of a metric as a quantity, in the unit shown to readers: a fraction in percent."""
    scale = scale_of(metric)
    found = Quantity(value=scale * value, unit=unit_of(metric).strip())
    if uncertainty:
        found["uncertainty"] = scale * uncertainty
    if exact:
        found["digits"] = _ALL_DIGITS
    return found


def number_of(quantity: Quantity) -> str:
    """Return the number of a quantity without its unit, with the digits that are known."""
    digits = quantity.get("digits", DIGITS)
    return number(float(quantity["value"]), quantity.get("uncertainty", 0.0), digits)


def quantity_in_words(quantity: Quantity) -> str:
    """Return a quantity with its unit: ``8,725 tokens/s per GPU``."""
    return f"{number_of(quantity)} {quantity['unit']}".rstrip()


_COUNT = "number of "
_FIELDS = {
    "iterations": f"{_COUNT}iterations",
    "gpus": f"{_COUNT}ranks",
    "batch_per_device": "batch size per device",
    "accumulated_batches": f"{_COUNT}accumulated batches",
    "tensor_parallelism": "tensor parallel size",
    "pipeline_parallelism": "pipeline parallel size",
    "data_parallelism": "data parallel size",
    "context_parallelism": "context parallel size",
    "layers": f"{_COUNT}layers",
    "vocabulary": "vocabulary size",
    "parameter_norm": "norm of the weights",
    "tokens_with_loss": f"{_COUNT}tokens with a loss",
}
_PARTS = {"rest": "the rest", "first_fifth": "the first fifth", "second_fifth": "the second fifth"}


def field(name: str) -> str:
    """Return the name of a setting or a field of a step line: ``sequence length``, ``number of ranks``."""
    return _FIELDS.get(name) or name_of(name)


def is_count(name: str) -> bool:
    """Return whether a setting counts things: ``16 ranks``, unlike ``a sequence length of 4,096``."""
    return field(name).startswith(_COUNT)


def things(name: str) -> str:
    """Return the things that such a setting counts: ``ranks``."""
    return field(name).removeprefix(_COUNT)


def part(name: str) -> str:
    """Return the name of a part of the steps."""
    return _PARTS.get(name, name)


_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
# A log may claim any time; no calendar has more days than this.
_MOST_DAYS = 1e7


def duration(seconds: float) -> str:
    """Return a time such as ``0.06 s``, ``45 s``, ``25 min``, ``2 h 5 min`` or ``30 days``: two units at most."""
    if not abs(seconds) < _MOST_DAYS * _DAY:
        return f"{seconds:.3g} s"
    if 0 < abs(seconds) < 1:
        return f"{seconds:.1g} s"
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    if seconds < 2 * _DAY:
        hours, minutes = divmod(round(seconds / _MINUTE), 60)
        return f"{hours} h {minutes} min"
    return counted(round(seconds / _DAY), "day")
