# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of an NxDT training config that NxDT alone reads: here they have a kind and a meaning, and nothing else.

``keys.json`` has all keys of every section, in the order of NxDT's documentation. Null stands there for a key that a
plan reads, which is a field of the section's model.
"""

from __future__ import annotations

import json
import math
import typing as t
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel, Field, create_model

from ...config.fields import key_of
from ...config.kinds import LARGEST, Kind, OneOf, Real, Switch, Whole, Words
from ...config.texts import OneLine

ModelT = t.TypeVar("ModelT", bound=BaseModel)
SECTIONS: dict[str, dict[str, t.Any]] = json.loads(Path(__file__).with_name("keys.json").read_text("utf-8"))


def with_keys_of(section: str) -> Callable[[type[ModelT]], type[ModelT]]:
    """Return a decorator that puts the keys of a section of NxDT into a model that has those that a plan reads.

    ValueError says that ``keys.json`` lacks one of them.
    """

    def complete(model: type[ModelT]) -> type[ModelT]:
        read = {key_of(name, field): (name, field) for name, field in model.model_fields.items()}
        fields: dict[str, t.Any] = {}
        for key, told in SECTIONS[section].items():
            if told is None:
                name, field = read.pop(key)
                fields[name] = (field.annotation, field)
            else:
                fields[key] = _field(told)
        if read:
            raise ValueError(f"keys.json does not leave {', '.join(read)} of {section!r} to the model")
        made = create_model(model.__name__, __config__=model.model_config, __doc__=model.__doc__, **fields)
        return t.cast("type[ModelT]", made)

    return complete


def _field(told: dict[str, t.Any]) -> tuple[t.Any, t.Any]:
    annotation = _annotation(told)
    if told.get("optional"):
        annotation = t.Optional[annotation]  # noqa: UP045  # | takes no annotated Any
    return annotation, Field(
        ... if told.get("required") else told.get("default"),
        description=told["description"],
        examples=told.get("examples"),
        json_schema_extra={name: told[name] for name in ("unit", "variable", "since") if name in told},
    )


def _annotation(told: dict[str, t.Any]) -> t.Any:
    if told["type"] == "any":
        return t.Annotated[t.Any, Words(told["words"])]
    if told["type"] == "list":
        return t.Annotated[list[t.Annotated[t.Any, _kind(told["items"])]], Words(told["words"])]
    return t.Annotated[t.Any, _kind(told)]


def _kind(told: dict[str, t.Any]) -> Kind:
    if "choices" in told:
        return OneOf(tuple(told["choices"]), strict=True)
    if told["type"] == "integer":
        return Whole(told.get("minimum", -LARGEST), told.get("maximum", LARGEST), strict=True)
    if told["type"] == "number":
        least = told.get("above", told.get("minimum", -math.inf))
        return Real(least, told.get("maximum", math.inf), above="above" in told, strict=True)
    return Switch(strict=True) if told["type"] == "boolean" else OneLine()
