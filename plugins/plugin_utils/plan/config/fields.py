# SPDX-License-Identifier: GPL-3.0-or-later
"""What a model field documents: its kind, unit, default and target variable, and the remedy built from these."""

from __future__ import annotations

import functools
import json
import typing as t
from collections.abc import Callable

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import PydanticUndefined

from .kinds import Kind, Words

if t.TYPE_CHECKING:
    from pydantic.fields import FieldInfo


class Extra(t.TypedDict, total=False):
    """What a key has in addition to its kind.

    The unit, the training script's variable for it, the trainer version that introduced it, and the key that sets this
    one as well, so that a file may lack it although it is required.
    """

    unit: str
    variable: str
    since: str
    unless: str


class ConfigSection(BaseModel):
    """A section of a config, or options. Fields are validated one by one, so pydantic need not build the model."""

    model_config = ConfigDict(protected_namespaces=(), defer_build=True)


def key(
    description: str,
    *,
    default: t.Any = PydanticUndefined,
    default_factory: Callable[[], t.Any] | None = None,
    example: t.Any = None,
    **extra: t.Unpack[Extra],
) -> t.Any:
    """Return a field of a model, required unless it has a default."""
    given: dict[str, t.Any] = {
        "default_factory": default_factory,
        "examples": None if example is None else [example],
        "json_schema_extra": extra,
    }
    return Field(default, description=description, **{name: value for name, value in given.items() if value})


# A key that may be null, and is null by default.
optional = functools.partial(key, default=None)


def nested_model(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of a field that is a section, even an optional one, or None."""
    alternatives = [field.annotation, *t.get_args(field.annotation)]
    models = (part for part in alternatives if isinstance(part, type) and issubclass(part, BaseModel))
    return next(models, None)


def key_of(name: str, field: FieldInfo) -> str:
    """Return the key of a field in the training config: the field's name, unless that is not possible."""
    return field.alias or name


def may_be_null(field: FieldInfo) -> bool:
    """Return whether a field may be null."""
    return type(None) in t.get_args(field.annotation)


def words_of(field: FieldInfo) -> str:
    """Return the words of a field's kind, even if the field is optional (``SomeKind | None``)."""
    inner = [part for alternative in t.get_args(field.annotation) for part in getattr(alternative, "__metadata__", ())]
    return next((str(part) for part in (*field.metadata, *inner) if isinstance(part, Kind | Words)), "an object")


def extra_of(field: FieldInfo) -> dict[str, t.Any]:
    """Return the ``unit``, ``variable`` and ``since`` that a field has."""
    return field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}


def _said(name: str, field: FieldInfo) -> str:
    return str(extra_of(field).get(name, ""))


# Each returns an entry of a field's `Extra`, or an empty string.
unit_of, variable_of, since_of, unless_of = (
    functools.partial(_said, name) for name in ("unit", "variable", "since", "unless")
)


def default_of(field: FieldInfo) -> str:
    """Return the default of a field as written in a training config, or an empty string."""
    default = None if field.is_required() or nested_model(field) else field.get_default(call_default_factory=True)
    return "" if default in (None, "", [], {}) else as_written(default)


def as_written(value: t.Any) -> str:
    """Return a value as written in a training config, but strings without quotes."""
    return json.dumps(value) if isinstance(value, dict | list) else str(value)


def remedy_for(field: FieldInfo) -> str:
    """Return in words what a field accepts: its kind, unit, an example and its meaning."""
    unit = f" ({unit_of(field)})" if unit_of(field) else ""
    example = f", for example {as_written(field.examples[0])}" if field.examples else ""
    default = f" for {default_of(field)}" if default_of(field) else ""
    otherwise = "" if field.is_required() else f", or leave it out{default}"
    return f"Give {words_of(field)}{unit}{example}{otherwise}. Meaning: {field.description}"
