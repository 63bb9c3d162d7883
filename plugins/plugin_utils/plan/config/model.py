# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of a model and their documentation; turns plain data into models and collects every error."""

from __future__ import annotations

import functools
import json
import typing as t
from collections.abc import Callable, Collection, Iterator, Mapping

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticUndefined

from ...text.words import key_path, listed, nearest, shown
from .findings import Findings
from .kinds import PLACEHOLDER, Kind, Switch, Words, is_placeholder
from .secret_names import without_secrets

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


ModelT = t.TypeVar("ModelT", bound=BaseModel)

# Longer lists of names are unreadable in a sentence, and more unknown keys are not reported one by one.
_MOST_NAMES = 40
# Kinds report their own errors; these come from pydantic, which reads lists and objects.
_REASONS = {"dict_type": "is not an object", "list_type": "is not a list"}


def section(data: Mapping[str, t.Any], key: str, path: str, findings: Findings) -> dict[str, t.Any] | None:
    """Return the object under a key; None, and a fault, if it is missing or not an object."""
    value = data.get(key)
    if isinstance(value, dict):
        return value
    found = f"{key} is {shown(value)}, not an object." if key in data else f"{key} is missing."
    findings.fault(path, value, found, "Give an object that contains its keys.")
    return None


def flag_in(data: t.Any, key: str, default: bool | None = None) -> bool | None:
    """Return a boolean from a section that is not typed yet; None if it is wrong, the default if it is missing."""
    value = data.get(key) if isinstance(data, dict) else None
    try:
        return default if value is None else Switch().read(value)
    except ValueError:
        return None


def refuse_unknown_keys(
    data: Mapping[str, t.Any],
    known: Collection[str],
    path: str,
    findings: Findings,
    *,
    lower_to_warning: bool = False,
    elsewhere: Mapping[str, str] | None = None,
    notes: bool = True,
) -> None:
    """Report every unknown key, with the closest known one.

    ``elsewhere`` maps keys that belong in another place to its path. ``notes`` tells whether keys that begin with _ are
    notes in this format.
    """
    note = findings.warn if lower_to_warning else findings.fault
    unknown = [key for key in data if key not in known]
    of_notes = " Keys that begin with _ count as notes." if notes else ""
    for key in unknown[:_MOST_NAMES]:
        near = nearest(key, known)
        if elsewhere and key in elsewhere:
            remedy = f"It belongs in {elsewhere[key]}."
        elif near:
            remedy = f"Did you mean {near}?{of_notes}"
        else:
            names = listed(known) if len(known) <= _MOST_NAMES else f"{len(known)} keys, listed in docs/"
            remedy = f"Known keys: {names}.{of_notes}"
        note(key_path(path, key), data[key], f"{shown(key)} is not a known key.", remedy)
    if len(unknown) > _MOST_NAMES:
        more = f"{len(unknown) - _MOST_NAMES} more keys are not known."
        note(path, None, more, "Fix the first ones, or check that this is the right kind of file.")


def typed(
    model: type[ModelT],
    data: Mapping[str, t.Any],
    path: str,
    findings: Findings,
    *,
    unused: Collection[str] = (),
    lower_unknown: bool = False,
    elsewhere: Mapping[str, str] | None = None,
    notes: bool = True,
) -> ModelT:
    """Return the model with every valid value of the section; report invalid values and leave them None.

    Keys in ``unused``, at any depth, are known but not read, so their values are not checked. ``elsewhere`` and
    ``notes`` are as for `refuse_unknown_keys`.
    """
    parts = _parts_of(model)
    refuse_unknown_keys(data, parts, path, findings, lower_to_warning=lower_unknown, elsewhere=elsewhere, notes=notes)
    values: dict[str, t.Any] = {}
    for key, part in parts.items():
        if key in unused or key not in data:
            values[part.name] = part.default()
            if part.required and key not in unused:
                findings.fault(key_path(path, key), None, f"{key} is missing.", part.remedy)
        elif part.nested and not (data[key] is None and part.nullable):
            where = key_path(path, key)
            inner = section(data, key, where, findings) or {}
            values[part.name] = typed(
                part.nested, inner, where, findings, unused=unused, lower_unknown=lower_unknown, notes=notes
            )
        else:
            values[part.name] = _typed_value(part, key, data[key], path, findings)
    return model.model_construct(**values)


class _Part:
    """The parts of a model field that do not depend on a config, computed once on demand."""

    def __init__(self, name: str, field: FieldInfo) -> None:
        self.name, self.field = name, field
        self.required, self.nested, self.nullable = field.is_required(), nested_model(field), may_be_null(field)
        # Most fields default to None, and pydantic is slow to say so.
        self.has_default = not self.required and (field.default is not None or field.default_factory is not None)

    def default(self) -> t.Any:
        return self.field.get_default(call_default_factory=True) if self.has_default else None

    @functools.cached_property
    def remedy(self) -> str:
        return remedy_for(self.field)

    @functools.cached_property
    def adapter(self) -> TypeAdapter[t.Any]:
        return TypeAdapter(self.field.rebuild_annotation())


@functools.cache
def _parts_of(model: type[BaseModel]) -> dict[str, _Part]:
    return {key_of(name, field): _Part(name, field) for name, field in model.model_fields.items()}


def _typed_value(part: _Part, key: str, value: t.Any, path: str, findings: Findings) -> t.Any:
    """Return the typed value, or None if it is wrong; of a wrong object, its valid entries."""
    wrong = dict(_placeholders(value))
    for where, held in wrong.items():
        message = f"{key_path(key, *where)} still contains {PLACEHOLDER}."
        # The remedy of the key describes the whole object or list.
        remedy = "Replace it with your value, or leave this entry out." if where else part.remedy
        findings.fault(key_path(path, key, *where), held, message, remedy)
    try:
        read = part.adapter.validate_python(value)
    except ValidationError as error:
        for problem in error.errors():
            where = tuple(step for step in problem["loc"] if step != "[key]")
            if not is_placeholder(problem["input"]):
                held = without_secrets(problem["input"], str([key, *where][-1]))
                message = f"{key_path(key, *where)} is {shown(held)}, which {_reason(problem)}."
                findings.fault(key_path(path, key, *where), held, message, part.remedy)
            wrong[where] = problem["input"]
    if not wrong:
        return read
    entries = {where[0] for where in wrong if where}
    if isinstance(value, dict) and () not in wrong:
        return part.adapter.validate_python({inner: held for inner, held in value.items() if inner not in entries})
    return None


def _placeholders(value: t.Any, *where: str | int) -> Iterator[tuple[tuple[str | int, ...], t.Any]]:
    """Yield the path and value of each placeholder, including keys of objects."""
    if is_placeholder(value):
        yield where, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if is_placeholder(key):
                yield (*where, key), key
            yield from _placeholders(inner, *where, key)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _placeholders(inner, *where, place)


def _reason(problem: t.Any) -> str:
    """Return why pydantic rejects a value, as the end of a sentence that begins with the value."""
    if problem["type"] == "value_error":
        return str(problem["ctx"]["error"])
    return _REASONS.get(problem["type"], f"is refused: {problem['msg']}")
