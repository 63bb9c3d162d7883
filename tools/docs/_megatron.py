# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the page on training configs for Megatron-LM that come from the models."""

from __future__ import annotations

import typing as t

from docs._tables import code, table, threshold, variable

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.model import variable_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.megatron.config import (
    MegatronConfig,
    MegatronModelParameters,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.megatron.dataset import DatasetSource
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.megatron.script_options import (
    ScriptOptions,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.container import ContainerConfig
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.thresholds import ExpectedResults
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.options import PlanOptions
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.trainers.rocm_scripts.environment import (
    DEEPSEEK_NAMES,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.trainers.rocm_scripts.generations import (
    DEEPSEEK,
    GENERATIONS,
    LLAMA2,
    LLAMA3,
    READ,
)

if t.TYPE_CHECKING:
    from pydantic.fields import FieldInfo


def values() -> dict[str, str]:
    """Return the parts of the page, by name."""
    return {
        "config": table(MegatronConfig, variable, since=_since),
        "container": table(ContainerConfig, variable),
        "dataset": table(DatasetSource, variable),
        "branch": table(MegatronModelParameters, variable, but_of=ScriptOptions, since=_since),
        "script_options": table(ScriptOptions, variable, since=_since),
        "reads": _reads(),
        "deepseek_names": ", ".join(f"{code(own)} for {code(name)}" for name, own in DEEPSEEK_NAMES.items()),
        "results": table(ExpectedResults, threshold, "judged as"),
        "options": table(PlanOptions, variable),
    }


def _since(_name: str, field: FieldInfo) -> str:
    """Return the first generation whose script reads a field's variable, empty if none does by that name."""
    readers = (
        generation for generation in GENERATIONS for read in READ.values() if variable_of(field) in read[generation]
    )
    return next(readers, "")


def _reads() -> str:
    """Return a Markdown table of the variables that each script of each generation reads."""
    columns = {
        f"`{script.rpartition('/')[2]}` {generation}": READ[script][generation]
        for script in (LLAMA3, LLAMA2, DEEPSEEK)
        for generation in GENERATIONS
    }
    variables = {name for names in columns.values() for name in names}
    lines = [f"| variable | {' | '.join(columns)} |", f"|---|{':-:|' * len(columns)}"]
    for name in sorted(variables):
        marks = ("✓" if name in names else "" for names in columns.values())
        lines += [f"| `{name}` | {' | '.join(marks)} |"]
    return "\n".join(lines)
