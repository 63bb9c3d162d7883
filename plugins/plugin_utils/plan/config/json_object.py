# SPDX-License-Identifier: GPL-3.0-or-later
"""An object of an option, which the command line may give as text."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass

from .kinds import Kind


@dataclass(frozen=True)
class JsonObject(Kind):
    """An object, or its JSON as text. ``-e NAME=VALUE`` gives text, and splits it at blanks; ``example`` does not."""

    example: str

    def __str__(self) -> str:
        return f"an object; on the command line as a part of one JSON text, for example -e '{self.example}'"

    def read(self, value: t.Any) -> dict[str, t.Any]:
        """Return the object."""
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                raise ValueError("is not JSON: -e NAME=VALUE takes only what comes before a blank") from None
        if not isinstance(value, dict):
            raise ValueError("is not an object")
        return value

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the object, and its text."""
        return [{"type": "object"}, {"type": "string"}]


Overrides = t.Annotated[dict[str, t.Any], JsonObject('{"training_overrides": {"batch_size": 256}}')]
