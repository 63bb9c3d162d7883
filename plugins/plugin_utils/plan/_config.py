# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading a training config: text to typed values, with everything that is wrong collected on the way."""

from __future__ import annotations

import json
import typing as t

from pydantic import BaseModel, TypeAdapter, ValidationError

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._faults import Findings, listed, nearest
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._types import PLACEHOLDER, Expected, is_placeholder

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic.fields import FieldInfo

ModelT = t.TypeVar("ModelT", bound=BaseModel)

_REASONS = {
    "bool_parsing": "is neither True nor False",
    "bool_type": "is neither True nor False",
    "finite_number": "is no finite number",
    "float_parsing": "is no number",
    "float_type": "is no number",
    "greater_than": "is too small",
    "greater_than_equal": "is too small",
    "int_from_float": "is no whole number",
    "int_parsing": "is no whole number",
    "int_type": "is no whole number",
    "less_than_equal": "is too large",
    "literal_error": "is not known here",
    "too_short": "is empty",
}


def read_json(text: str, source: str, findings: Findings) -> dict[str, t.Any]:
    """Return the JSON object that the text holds, without its documentation keys; empty where it holds none.

    Documentation keys begin with ``_`` (``_example_nnodes``, ``_comment``, ``__note``). ``source`` names the file.
    """

    def unique(pairs: list[tuple[str, t.Any]]) -> dict[str, t.Any]:
        values: dict[str, t.Any] = {}
        for key, value in pairs:
            if key in values and not key.startswith("_"):
                findings.fault(key, value, f"{key!r} stands twice in one object of {source}.", "Keep one of the two.")
            values[key] = value
        return values

    try:
        data = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        lines = text.splitlines() or [""]
        found = lines[min(error.lineno, len(lines)) - 1].strip()
        findings.fault(
            "training_config",
            found,
            f"{source}, line {error.lineno}, column {error.colno}: not valid JSON: {error.msg}.",
            "Mind missing or surplus commas, quotes and brackets there or on the line before.",
        )
        return {}
    if not isinstance(data, dict):
        findings.fault("training_config", type(data).__name__, f"{source} holds no JSON object.", "Begin it with {.")
        return {}
    return t.cast("dict[str, t.Any]", _without_documentation(data))


def _without_documentation(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return {key: _without_documentation(inner) for key, inner in value.items() if not key.startswith("_")}
    if isinstance(value, list):
        return [_without_documentation(inner) for inner in value]
    return value


def section(data: Mapping[str, t.Any], key: str, path: str, findings: Findings) -> dict[str, t.Any]:
    """Return the object under a key; empty, and a fault, where it is missing or something else."""
    value = data.get(key)
    if isinstance(value, dict):
        return value
    found = "is missing" if value is None else f"holds {type(value).__name__} instead of an object"
    findings.fault(path, value, f"{path} {found}.", f'Give an object: "{key}": {{ … }}.')
    return {}


def refuse_unknown_keys(
    data: Iterable[str], known: Iterable[str], path: str, findings: Findings, lower_to_warning: bool
) -> None:
    """Note every key that is not known, with the nearest one that is."""
    known = list(known)
    for key in data:
        if key in known:
            continue
        near = nearest(key, known)
        remedy = f"Did you mean {near!r}?" if near else f"Known here: {listed(known)}."
        note = findings.warn if lower_to_warning else findings.fault
        note(joined(path, key), None, f"{key!r} is no known key of {path or 'the file'}.", remedy)


def typed(
    model: type[ModelT],
    data: Mapping[str, t.Any],
    path: str,
    findings: Findings,
    *,
    unused: Iterable[str] = (),
    lower_unknown: bool = False,
) -> ModelT:
    """Return the model with every value of the section that is right; what is wrong is noted and left None.

    A placeholder is a fault, except under a key of ``unused``, at any depth: nothing reads that one.
    """
    refuse_unknown_keys(data, model.model_fields, path, findings, lower_unknown)
    values: dict[str, t.Any] = {}
    for name, field in model.model_fields.items():
        key = joined(path, name)
        values[name] = None
        if name not in data:
            if field.is_required():
                findings.fault(key, None, f"{name} is missing.", remedy_for(field))
            else:
                values[name] = field.get_default(call_default_factory=True)
        elif isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            inner = section(data, name, key, findings)
            values[name] = typed(field.annotation, inner, key, findings, unused=unused, lower_unknown=lower_unknown)
        elif name in unused and _has_placeholder(data[name]):
            values[name] = None
        else:
            values[name] = _typed_value(field, data[name], key, findings)
    return model.model_construct(**values)


def _has_placeholder(value: t.Any) -> bool:
    if isinstance(value, dict):
        return any(is_placeholder(key) or _has_placeholder(inner) for key, inner in value.items())
    if isinstance(value, list):
        return any(_has_placeholder(inner) for inner in value)
    return is_placeholder(value)


def _typed_value(field: FieldInfo, value: t.Any, key: str, findings: Findings) -> t.Any:
    if is_placeholder(value):
        findings.fault(key, value, f"still holds {PLACEHOLDER}.", remedy_for(field))
        return None
    if _has_placeholder(value):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for part, held in inner:
            if is_placeholder(part) or _has_placeholder(held):
                findings.fault(joined(key, str(part)), held, f"still holds {PLACEHOLDER}.", remedy_for(field))
        return None
    adapter: TypeAdapter[t.Any] = TypeAdapter(t.cast("t.Any", t.Annotated[(field.annotation, field, *field.metadata)]))
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        for problem in error.errors():
            where = joined(key, *(str(part) for part in problem["loc"] if part != "[key]"))
            findings.fault(where, problem["input"], f"{problem['input']!r} {_reason(problem)}.", remedy_for(field))
        return None


def _reason(problem: t.Any) -> str:
    """Return why pydantic refuses a value, as the end of a sentence that begins with the value."""
    if problem["type"] == "value_error":
        return str(problem["ctx"]["error"])
    return _REASONS.get(problem["type"], f"is refused: {problem['msg']}")


def remedy_for(field: FieldInfo) -> str:
    """Return what would be right for a field, in words: its meaning, its type, its unit and an example."""
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    unit = f" ({extra['unit']})" if extra.get("unit") else ""
    example = f", for example {field.examples[0]}" if field.examples else ""
    meaning = f" {field.description}" if field.description else ""
    return f"Give {_expected(field)}{unit}{example}.{meaning}"


def _expected(field: FieldInfo) -> str:
    """Return the words of the field's type, also where it may be left out (``SomeType | None``)."""
    inner = [part for alternative in t.get_args(field.annotation) for part in getattr(alternative, "__metadata__", ())]
    words = [part.words for part in (*field.metadata, *inner) if isinstance(part, Expected)]
    return words[-1] if words else "a value"


def joined(*parts: str) -> str:
    """Return the path of a key: its parts with dots between them."""
    return ".".join(part for part in parts if part)
