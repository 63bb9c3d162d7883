# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON Schema of training configs, for editors, generated from the models that read them."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable

from .config.kinds import PLACEHOLDER_PATTERN, Kind
from .config.model import key_of, may_be_null, nested_model, unit_of, unless_of, variable_of
from .formats.face import Sections
from .formats.known import FORMATS
from .job.job import MODES

if t.TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

Schema = dict[str, t.Any]

# Documentation keys are allowed in every object, with any value.
_DOCUMENTATION: Schema = {"^_": True}
_LONGEST_NAME = 60
_TO_FILL_IN: Schema = {"type": "string", "pattern": PLACEHOLDER_PATTERN}


def schema_names() -> list[str]:
    """Return the names of all schemas: the trainer that each one's training configs are for."""
    return [name for known in FORMATS.values() for name in known.models()]


def schema(framework: str) -> Schema:
    """Return the JSON Schema (draft 2020-12) of training configs, by a name of `schema_names`.

    It accepts values that are still ``<changeme>`` and, in CVS format, keys that begin with ``_``. It does not cover
    rules across several values, such as sizes that must divide. Raise ValueError for an unknown name.
    """
    models = {name: model for known in FORMATS.values() for name, model in known.models().items()}
    if framework not in models:
        raise ValueError(f"there is no schema for {framework!r}; known: {', '.join(models)}")
    model = models[framework]
    kinds: Schema = {}
    content = _of_cvs(model, kinds) if isinstance(model, Sections) else _without_notes(_model(model, kinds))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Training config for {framework}",
        **content,
        "description": "Written by tools/write_docs.py from the models of the collection trainops.cluster.",
        "$defs": dict(sorted(kinds.items())),
    }


def _without_notes(part: t.Any) -> t.Any:
    """Return a schema that treats keys that begin with _ like any other, as for YAML that other programs read."""
    if isinstance(part, dict):
        return {key: _without_notes(inner) for key, inner in part.items() if inner is not _DOCUMENTATION}
    return part


def _of_cvs(form: Sections, kinds: Schema) -> Schema:
    kinds["branch"] = _model(form.branch, kinds)
    gpus = _object("GPUs of this model, each with its branch.", additional={"$ref": "#/$defs/branch"})
    models = _object("Models, each with its GPUs.", additional=gpus)
    model_params = _object(
        "What to train: one branch for each mode, model and GPU.", properties=dict.fromkeys(MODES, models)
    )
    sections = {"$schema": {"type": "string"}, "config": _model(form.config, kinds), "model_params": model_params}
    return _object("", properties=sections, required=["config", "model_params"])


def _object(
    description: str,
    *,
    properties: Schema | None = None,
    required: Iterable[str] = (),
    additional: Schema | bool = False,
) -> Schema:
    return {
        "description": description,
        "type": "object",
        "required": list(required),
        "properties": properties or {},
        "patternProperties": _DOCUMENTATION,
        "additionalProperties": additional,
    }


def _model(model: type[BaseModel], shared: Schema, description: str = "") -> Schema:
    """Return the schema of a model; the kinds of its values go into ``shared``, each once, and are referenced."""
    fields = model.model_fields
    return _object(
        description or str(model.__doc__),
        properties={key_of(name, field): _field(field, shared) for name, field in fields.items()},
        required=[
            key_of(name, field) for name, field in fields.items() if field.is_required() and not unless_of(field)
        ],
    )


def _field(field: FieldInfo, shared: Schema) -> Schema:
    nested = nested_model(field)
    if nested:
        section = _model(nested, shared, str(field.description))
        return {**section, "type": ["object", "null"]} if may_be_null(field) else section
    unit = f" Unit: {unit_of(field)}." if unit_of(field) else ""
    variable = f" Becomes {variable_of(field)}." if variable_of(field) else ""
    default = {} if field.is_required() or field.default is None else {"default": field.default}
    examples = {"examples": field.examples} if field.examples else {}
    return {
        "description": f"{field.description}{unit}{variable}",
        **_any_of(_alternatives(field.rebuild_annotation(), shared)),
        **default,
        **examples,
    }


def _any_of(alternatives: list[Schema]) -> Schema:
    return alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}


def _reference(kind: Kind, shared: Schema) -> list[Schema]:
    """Return the schema of a kind as a reference to ``shared``, if its words are a usable name."""
    name = re.sub(r"[^A-Za-z0-9-]+", "_", str(kind)).strip("_")[:_LONGEST_NAME]
    own = _any_of(kind.schemas())
    return [{"$ref": f"#/$defs/{name}"}] if shared.setdefault(name, own) == own else [own]


def _alternatives(annotation: t.Any, shared: Schema) -> list[Schema]:
    """Return the schemas of a type annotation: a kind, or a list or an object of kinds."""
    kinds = [part for part in getattr(annotation, "__metadata__", ()) if isinstance(part, Kind)]
    if kinds:
        return _reference(kinds[0], shared)
    bare = getattr(annotation, "__origin__", annotation) if hasattr(annotation, "__metadata__") else annotation
    parts = t.get_args(bare)
    if t.get_origin(bare) is list:
        return [{"type": "array", "items": _any_of(_alternatives(parts[0], shared))}, _TO_FILL_IN]
    if t.get_origin(bare) is dict:
        names = {"anyOf": [{"pattern": "^_"}, _any_of(_alternatives(parts[0], shared))]}
        values = {"patternProperties": _DOCUMENTATION, "additionalProperties": _any_of(_alternatives(parts[1], shared))}
        return [{"type": "object", "propertyNames": names, **values}, _TO_FILL_IN]
    if type(None) in parts:
        return [*_alternatives(parts[0], shared), {"type": "null"}]
    return [{"type": "string"}] if bare is str else [{}]
