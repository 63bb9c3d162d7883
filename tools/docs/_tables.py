# SPDX-License-Identifier: GPL-3.0-or-later
"""Markdown tables of the models that a plan is made with."""

from __future__ import annotations

import typing as t

from ansible_collections.trainops.cluster.plugins.module_utils.logs.record import METRICS
from ansible_collections.trainops.cluster.plugins.plugin_utils.metrics import canonical_metric
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.model import (
    default_of,
    key_of,
    nested_model,
    since_of,
    unit_of,
    variable_of,
    words_of,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.thresholds import ExpectedResults

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic import BaseModel
    from pydantic.fields import FieldInfo


def _since(_name: str, field: FieldInfo) -> str:
    return since_of(field)


def table(
    model: type[BaseModel],
    becomes: Callable[[str, FieldInfo], str],
    title: str = "becomes",
    but_of: type[BaseModel] | None = None,
    since: Callable[[str, FieldInfo], str] = _since,
) -> str:
    """Return a Markdown table of a model's fields without the fields of another model and without empty columns."""
    rows = [["key", "meaning", "type", "default", title, "since"]]
    for name, field in model.model_fields.items():
        if but_of and name in but_of.model_fields:
            continue
        key = key_of(name, field)
        default = "**required**" if field.is_required() else code(default_of(field))
        kind = "object, see below" if nested_model(field) else words_of(field).removeprefix("a ").removeprefix("an ")
        meaning = str(field.description)
        unit = unit_of(field)
        kind += f" ({unit})" if unit else ""
        rows.append([code(key), meaning, kind, default, becomes(name, field), since(name, field)])
    used = [place for place in range(len(rows[0])) if any(row[place] for row in rows[1:])]
    lines = [" | ".join(row[place] for place in used) for row in rows]
    return "\n".join(f"| {line} |" for line in [lines[0], " | ".join("---" for _ in used), *lines[1:]])


def sections(model: type[BaseModel], path: str) -> Iterator[str]:
    """Yield a heading and a table for every section below a model."""
    for name, field in model.model_fields.items():
        nested, key = nested_model(field), f"{path}{key_of(name, field)}"
        # Older versions of NxDT have the same section in two places; the page has it once.
        if nested and key != "data.alignment_strategy":
            judged = nested is ExpectedResults
            rows = table(nested, threshold if judged else variable, "judged as" if judged else "becomes")
            yield f"\n## `{key}`\n\n{field.description}\n\n{rows}"
            yield from sections(nested, f"{key}.")


def variable(_name: str, field: FieldInfo) -> str:
    """Return the variable that a field becomes."""
    return code(variable_of(field))


def threshold(name: str, _field: FieldInfo) -> str:
    """Return the metric that a field is a threshold of, and in which direction."""
    metric = str(canonical_metric(name))
    return f"{code(metric)} {'≥' if METRICS[metric].better == 'higher' else '≤'}"


def code(text: str) -> str:
    """Return a text as code, or nothing for nothing."""
    return f"`{text}`" if text else ""
