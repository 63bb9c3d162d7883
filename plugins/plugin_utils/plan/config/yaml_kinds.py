# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of values of a YAML config, which is read by others as well: a quoted number stays a text there.

So these are strict where those of CVS files (`config/kinds`) are not.
"""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass

from .kinds import PLACEHOLDER_PATTERN, Kind

_MAXIMUM = 10**12
# What OmegaConf resolves may stand for any value, and so may what is still to be filled in.
_OPEN = {"type": "string", "pattern": rf"\$\{{|{PLACEHOLDER_PATTERN}"}


def _refuse_text(value: t.Any, what: str) -> None:
    if isinstance(value, str):
        raise ValueError(f"is text, not {what}; quotes make it that")


@dataclass(frozen=True)
class Integer(Kind):
    """A whole number between two bounds."""

    minimum: int = -_MAXIMUM
    maximum: int = _MAXIMUM

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        if self.minimum == self.maximum:
            return f"the number {self.minimum}"
        below = f" of {self.minimum} or more" if self.minimum > -_MAXIMUM else ""
        return f"a whole number{below}" + (f", at most {self.maximum}" if self.maximum < _MAXIMUM else "")

    def read(self, value: t.Any) -> int:
        """Return the number."""
        _refuse_text(value, "a whole number")
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError("is not a whole number")
        if value < self.minimum:
            raise ValueError("is too small")
        if value > self.maximum:
            raise ValueError("is too large")
        return value

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return what an editor may accept: the value itself, or what OmegaConf resolves."""
        return [{"type": "integer", "minimum": self.minimum, "maximum": self.maximum}, _OPEN]


@dataclass(frozen=True)
class Decimal(Kind):
    """A number between two bounds; ``above`` leaves the lower one out."""

    minimum: float = -math.inf
    maximum: float = math.inf
    above: bool = False

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        lower = f" greater than {self.minimum:g}" if self.above else f" of {self.minimum:g} or more"
        below = lower if self.minimum > -math.inf else ""
        return f"a number{below}" + (f", at most {self.maximum:g}" if self.maximum < math.inf else "")

    def read(self, value: t.Any) -> float:
        """Return the number, a whole one as it is."""
        _refuse_text(value, "a number")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError("is not a number")
        if value < self.minimum or (self.above and value == self.minimum):
            raise ValueError("is too small")
        if value > self.maximum:
            raise ValueError("is too large")
        return value

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return what an editor may accept: the value itself, or what OmegaConf resolves."""
        lower = {"exclusiveMinimum" if self.above else "minimum": self.minimum} if self.minimum > -math.inf else {}
        upper = {"maximum": self.maximum} if self.maximum < math.inf else {}
        return [{"type": "number", **lower, **upper}, _OPEN]


@dataclass(frozen=True)
class Truth(Kind):
    """Yes or no."""

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        return "true or false"

    def read(self, value: t.Any) -> bool:
        """Return the truth value."""
        _refuse_text(value, "a truth value")
        if not isinstance(value, bool):
            raise ValueError("is neither true nor false")
        return value

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return what an editor may accept: the value itself, or what OmegaConf resolves."""
        return [{"type": "boolean"}, _OPEN]


@dataclass(frozen=True)
class Choice(Kind):
    """One of some names, in exactly this spelling."""

    names: tuple[str, ...]

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        return f"one of {', '.join(self.names)}"

    def read(self, value: t.Any) -> str:
        """Return the name."""
        if not isinstance(value, str) or value not in self.names:
            raise ValueError("is not known here")
        return value

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return what an editor may accept: the value itself, or what OmegaConf resolves."""
        return [{"enum": list(self.names)}, _OPEN]


@dataclass(frozen=True)
class OneLine(Kind):
    """A text of one line that is not empty."""

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        return "a text"

    def read(self, value: t.Any) -> str:
        """Return the text."""
        if not isinstance(value, str):
            raise ValueError("is not text; quotes make it that")
        if not value.strip():
            raise ValueError("is empty")
        if not value.isprintable():
            raise ValueError("holds what cannot be printed")
        return value

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return what an editor may accept: the value itself, or what OmegaConf resolves."""
        return [{"type": "string", "pattern": r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"}]


Count = t.Annotated[int, Integer(1)]
Natural = t.Annotated[int, Integer(0)]
AnyInteger = t.Annotated[int, Integer()]
NotNegative = t.Annotated[float, Decimal(0)]
Positive = t.Annotated[float, Decimal(0, above=True)]
Probability = t.Annotated[float, Decimal(0, 1)]
Boolean = t.Annotated[bool, Truth()]
YamlText = t.Annotated[str, OneLine()]
