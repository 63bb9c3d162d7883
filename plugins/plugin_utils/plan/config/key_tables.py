# SPDX-License-Identifier: GPL-3.0-or-later
"""Training config keys that no code mentions: table rows that become fields of a model.

A row has the properties of a field: ``kind`` (a name of `field_types`) or ``choices``, ``description``, and as they
apply ``required``, ``default``, ``examples``, ``unit``, ``variable`` and ``since``. A key that is not ``required`` and
has no default may be null, like one that is ``nullable``. ``after`` is the field of the model that a row, and the rows
after it, follow.
"""

from __future__ import annotations

import json
import typing as t
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import BaseModel, Field, create_model

from . import field_types
from .kinds import OneOf
from .model import key_of

Row = dict[str, t.Any]
ModelT = t.TypeVar("ModelT", bound=BaseModel)


def read_tables(module: str) -> dict[str, dict[str, Row]]:
    """Return the tables in the JSON file next to a module with the same name, by section path."""
    return t.cast("dict[str, dict[str, Row]]", json.loads(Path(module).with_suffix(".json").read_text("utf-8")))


def with_keys(rows: Mapping[str, Row], *, strict: bool = False) -> Callable[[type[ModelT]], type[ModelT]]:
    """Return a decorator that inserts the rows of a table among the fields of a model.

    ``strict`` names are case-sensitive. Raise ValueError if a row is already a field, or follows an unknown field.
    """

    def complete(model: type[ModelT]) -> type[ModelT]:
        fields: dict[str, t.Any] = {name: (field.annotation, field) for name, field in model.model_fields.items()}
        if not fields.keys().isdisjoint(rows):
            raise ValueError(f"{model.__name__} has a field that is a row of its table as well")
        names = {key_of(name, field): name for name, field in model.model_fields.items()}
        order, place = list(fields), 0
        for key, row in rows.items():
            place = order.index(names.get(row["after"], "")) + 1 if "after" in row else place
            order.insert(place, key)
            fields[key] = _field(row, strict)
            place += 1
        made = create_model(
            model.__name__,
            __config__=model.model_config,
            __doc__=model.__doc__,
            **{name: fields[name] for name in order},
        )
        return t.cast("type[ModelT]", made)

    return complete


def _field(row: Row, strict: bool) -> tuple[t.Any, t.Any]:
    choices = row.get("choices")
    kind = t.Annotated[str, OneOf(tuple(choices), strict=strict)] if choices else getattr(field_types, row["kind"])
    required = row.get("required", False)
    nullable = row.get("nullable", not required and "default" not in row)
    return t.Optional[kind] if nullable else kind, Field(  # noqa: UP045  # | takes no annotated Any
        ... if required else row.get("default"),
        description=row["description"],
        examples=row.get("examples"),
        json_schema_extra={name: row[name] for name in ("unit", "variable", "since") if name in row},
    )
