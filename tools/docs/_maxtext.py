# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the pages on training configs for MaxText that come from the models."""

from __future__ import annotations

import typing as t

from docs._tables import code, table, threshold, variable

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.model import since_of, variable_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.maxtext.branch_config import (
    MaxTextModelParameters,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.maxtext.config import (
    GkeConfig,
    MaxTextConfig,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.maxtext.keys import KEYS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.maxtext.scripts import SCRIPTS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.maxtext.xla_flag_sets import FLAG_SETS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.container import ContainerConfig
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.thresholds import ExpectedResults
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.trainers.maxtext.xla_flags import FLAGS

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.fields import FieldInfo


def values() -> dict[str, str]:
    """Return the parts of the pages, by name."""
    return {
        "config": table(MaxTextConfig, variable),
        "container": table(ContainerConfig, variable),
        "branch": table(MaxTextModelParameters, variable, since=_since),
        "results": table(ExpectedResults, threshold, "judged as"),
        "gke": table(GkeConfig, variable),
        "flags": _flags(),
        "scripts": _scripts(),
        "sets": _flag_sets(),
        "keys": "\n".join(_keys()),
    }


def _since(name: str, field: FieldInfo) -> str:
    """Return the MaxText that brought a key of the branch, empty if the key does not reach MaxText by its own name."""
    return KEYS[name].since if variable_of(field) == name and name in KEYS else since_of(field)


def _keys() -> Iterator[str]:
    for name, key in KEYS.items():
        kind = str(key.kind).removeprefix("a ").removeprefix("an ")
        yield f"| {code(name)} | {kind} | {code(key.default)} | {key.since} | {key.until} |"


def _flag_sets() -> str:
    rows = ["| script | flags |", "| --- | --- |"]
    for name, flags in FLAG_SETS.items():
        rows.append(f"| {code(name)} | {', '.join(code(f'{flag}={value}') for flag, value in flags.items())} |")
    return "\n".join(rows)


def _scripts() -> str:
    rows = ["| script | keys |", "| --- | --- |"]
    for name, keys in SCRIPTS.items():
        rows.append(f"| {code(name)} | {', '.join(code(f'{key}={_written(value)}') for key, value in keys.items())} |")
    return "\n".join(rows)


def _written(value: t.Any) -> str:
    return '""' if value == "" else str(value).lower() if isinstance(value, bool) else str(value)


def _flags() -> str:
    lines = ["| flag | belongs in | value | unit |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {code(name)} | {code(flag.variable)} | {flag.kind.value} | {flag.unit} |" for name, flag in FLAGS.items()
    ]
    return "\n".join(lines)
