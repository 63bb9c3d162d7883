# SPDX-License-Identifier: GPL-3.0-or-later
"""From plain data to typed models, with everything that is wrong collected on the way."""

from __future__ import annotations

import functools
import typing as t
from collections.abc import Collection, Iterator, Mapping

from pydantic import BaseModel, TypeAdapter, ValidationError

from .fields import key_of, may_be_null, nested_model, remedy_for
from .findings import Findings
from .kinds import PLACEHOLDER, Switch, is_placeholder
from .secret_names import without_secrets
from .words import key_path, listed, nearest, shown

ModelT = t.TypeVar("ModelT", bound=BaseModel)

# Kinds say themselves what is wrong; these come from pydantic, which reads lists and objects.
# More names than that are not read in a sentence.
_MOST_NAMES = 40
_REASONS = {"dict_type": "is not an object", "list_type": "is not a list"}


def section(data: Mapping[str, t.Any], key: str, path: str, findings: Findings) -> dict[str, t.Any] | None:
    """Return the object under a key, or None, and a fault, where it is missing or something else."""
    value = data.get(key)
    if isinstance(value, dict):
        return value
    found = f"{key} is {shown(value)} instead of an object." if key in data else f"{key} is missing."
    findings.fault(path, value, found, f'Give an object: "{key}": {{ … }}.')
    return None


def flag_in(data: t.Any, key: str, default: bool | None = None) -> bool | None:
    """Return a truth value of a section that has no types yet; None where it is wrong, the default where missing."""
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
) -> None:
    """Note every key that is not known, with the nearest one that is.

    ``elsewhere`` maps keys that are known in another place to the path of that place.
    """
    for key, value in data.items():
        if key in known:
            continue
        near = nearest(key, known)
        if elsewhere and key in elsewhere:
            remedy = f"Its place is {elsewhere[key]}."
        elif near:
            remedy = f"Did you mean {near}? A key that begins with _ is taken for a note."
        else:
            names = listed(known) if len(known) <= _MOST_NAMES else f"{len(known)} keys, which docs/ lists"
            remedy = f"Known here: {names}. A key that begins with _ is taken for a note."
        note = findings.warn if lower_to_warning else findings.fault
        note(key_path(path, key), value, f"{shown(key)} is not a known key here.", remedy)


def typed(
    model: type[ModelT],
    data: Mapping[str, t.Any],
    path: str,
    findings: Findings,
    *,
    unused: Collection[str] = (),
    lower_unknown: bool = False,
    elsewhere: Mapping[str, str] | None = None,
) -> ModelT:
    """Return the model with every value of the section that is right; what is wrong is noted and left None.

    Keys of ``unused``, at any depth, are known but not read: nothing that they hold can be wrong. ``elsewhere`` is
    that of `refuse_unknown_keys`.
    """
    known = {key_of(name, field): name for name, field in model.model_fields.items()}
    refuse_unknown_keys(data, known, path, findings, lower_to_warning=lower_unknown, elsewhere=elsewhere)
    values: dict[str, t.Any] = {}
    for key, name in known.items():
        field, where = model.model_fields[name], key_path(path, key)
        nested = nested_model(field)
        if key in unused or key not in data:
            values[name] = None if field.is_required() else field.get_default(call_default_factory=True)
            if field.is_required() and key not in unused:
                findings.fault(where, None, f"{key} is missing.", remedy_for(field))
        elif nested and not (data[key] is None and may_be_null(field)):
            inner = section(data, key, where, findings) or {}
            values[name] = typed(nested, inner, where, findings, unused=unused, lower_unknown=lower_unknown)
        else:
            values[name] = _typed_value(model, name, data[key], path, findings)
    return model.model_construct(**values)


@functools.cache
def _adapter(model: type[BaseModel], name: str) -> TypeAdapter[t.Any]:
    return TypeAdapter(model.model_fields[name].rebuild_annotation())


def _typed_value(model: type[BaseModel], name: str, value: t.Any, path: str, findings: Findings) -> t.Any:
    """Return the typed value, or None where it is wrong; of a wrong object what is right in it."""
    field, adapter = model.model_fields[name], _adapter(model, name)
    key, remedy = key_of(name, field), remedy_for(field)
    wrong = dict(_placeholders(value))
    for where, held in wrong.items():
        message = f"{key_path(key, *where)} still holds {PLACEHOLDER}."
        findings.fault(key_path(path, key, *where), held, message, remedy)
    try:
        read = adapter.validate_python(value)
    except ValidationError as error:
        for problem in error.errors():
            where = tuple(part for part in problem["loc"] if part != "[key]")
            if not is_placeholder(problem["input"]):
                held = without_secrets(problem["input"], str([key, *where][-1]))
                message = f"{key_path(key, *where)} is {shown(held)}, which {_reason(problem)}."
                findings.fault(key_path(path, key, *where), held, message, remedy)
            wrong[where] = problem["input"]
    if not wrong:
        return read
    entries = {where[0] for where in wrong if where}
    if isinstance(value, dict) and () not in wrong:
        return adapter.validate_python({inner: held for inner, held in value.items() if inner not in entries})
    return None


def _placeholders(value: t.Any, *where: str | int) -> Iterator[tuple[tuple[str | int, ...], t.Any]]:
    """Yield where something is still to be filled in, and what stands there; keys of objects are among it."""
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
    """Return why pydantic refuses a value, as the end of a sentence that begins with the value."""
    if problem["type"] == "value_error":
        return str(problem["ctx"]["error"])
    return _REASONS.get(problem["type"], f"is refused: {problem['msg']}")
