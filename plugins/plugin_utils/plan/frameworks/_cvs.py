# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape that AMD CVS gives its training configs, whatever the framework.

``config`` says how to run, ``model_params.single_node|multi_node.<model>.<gpu>`` says what to train there.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from pydantic import BaseModel, Field

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._config import joined, refuse_unknown_keys, section
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._faults import Findings, listed
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._types import Number, Path, Text, VariableName

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._options import PlanOptions

MODES = ("single_node", "multi_node")


class ContainerConfig(BaseModel):
    """What of the node the container sees."""

    device_list: list[Path] = Field(default=[], description="Devices of the node that the container may use.")
    volume_dict: dict[Path, Path] = Field(
        default={}, description="Mounts: path on the node, and the path in the container where it appears."
    )
    env_dict: dict[VariableName, Text] = Field(
        default={}, description="Environment of the training besides what the plan sets."
    )


class ExpectedResults(BaseModel):
    """Thresholds of the verdict. The names on the left are those of CVS, with the canonical ones beside them."""

    throughput_per_gpu: Number | None = Field(
        default=None, description="At least this throughput.", json_schema_extra={"unit": "TFLOP/s per GPU"}
    )
    tflops_per_gpu: Number | None = Field(
        default=None, description="The same as throughput_per_gpu.", json_schema_extra={"unit": "TFLOP/s per GPU"}
    )
    tokens_per_gpu: Number | None = Field(
        default=None, description="At least this many tokens.", json_schema_extra={"unit": "tokens/s per GPU"}
    )
    tokens_per_sec_per_gpu: Number | None = Field(
        default=None, description="The same as tokens_per_gpu.", json_schema_extra={"unit": "tokens/s per GPU"}
    )
    elapsed_time_per_iteration: Number | None = Field(
        default=None, description="At most this long a step.", json_schema_extra={"unit": "ms"}
    )
    step_time_ms: Number | None = Field(
        default=None, description="The same as elapsed_time_per_iteration.", json_schema_extra={"unit": "ms"}
    )
    mem_usage: Number | None = Field(
        default=None, description="At most this part of the GPU's memory.", json_schema_extra={"unit": "fraction of 1"}
    )
    memory_fraction: Number | None = Field(
        default=None, description="The same as mem_usage.", json_schema_extra={"unit": "fraction of 1"}
    )
    loss: Number | None = Field(default=None, description="At most this loss at the last step.")


@dataclass(frozen=True)
class Branch:
    """The part of ``model_params`` that a run uses: ``path`` is its key path, ``values`` what it holds."""

    mode: str
    model: str
    gpu: str
    path: str
    values: dict[str, t.Any]


def canonical_gpu(name: str) -> str:
    """Return one spelling for a GPU: MI300X, mi300x and mi300 mean the same."""
    return name.strip().casefold().removesuffix("x")


def canonical_model(name: str) -> str:
    """Return one spelling for a model: llama3.1-8b, Llama3_1_8B and llama3_1_8b mean the same."""
    return re.sub(r"[.\- ]", "_", name.strip().casefold())


def mode_of(data: Mapping[str, t.Any], options: PlanOptions, node_count: int) -> str:
    """Return the mode of the run: what was asked for, or with ``auto`` the one that the file offers.

    Where it offers both, ``config.distributed_training`` decides, or else the number of nodes.
    """
    if options.training_mode != "auto":
        return options.training_mode
    offered = _offered_modes(data.get("model_params"))
    if len(offered) == 1:
        return offered[0]
    config = data.get("config")
    asked = str(config.get("distributed_training", "")).casefold() if isinstance(config, dict) else ""
    if asked in ("true", "1", "false", "0"):
        return "multi_node" if asked in ("true", "1") else "single_node"
    return "multi_node" if node_count > 1 else "single_node"


def _offered_modes(parameters: t.Any) -> list[str]:
    return [mode for mode in MODES if isinstance(parameters, dict) and isinstance(parameters.get(mode), dict)]


def choose_branch(data: Mapping[str, t.Any], mode: str, options: PlanOptions, findings: Findings) -> Branch | None:
    """Return the branch that was asked for, or None with a fault that lists what the file offers.

    No model or GPU needs to be named where there is just one.
    """
    parameters = section(data, "model_params", "model_params", findings)
    if not parameters:
        return None
    refuse_unknown_keys(parameters, MODES, "model_params", findings, options.training_unknown_keys == "warn")
    offered = _offered_modes(parameters)
    if mode not in offered:
        _fault_unoffered("training_mode", mode, f"the file has no model_params.{mode}", offered, findings)
        return None
    models = section(parameters, mode, f"model_params.{mode}", findings)
    model = _choose("training_model", options.training_model, models, f"model_params.{mode}", canonical_model, findings)
    if model is None:
        return None
    path = joined("model_params", mode, model)
    gpus = section(models, model, path, findings)
    gpu = _choose("training_gpu", options.training_gpu, gpus, path, canonical_gpu, findings)
    if gpu is None:
        return None
    path = joined(path, gpu)
    return Branch(mode, model, gpu, path, section(gpus, gpu, path, findings))


def _choose(
    option: str,
    asked: str,
    offered: Mapping[str, t.Any],
    path: str,
    canonical: t.Callable[[str], str],
    findings: Findings,
) -> str | None:
    if asked in offered:
        return asked
    if not asked and len(offered) == 1:
        return next(iter(offered))
    matches = [name for name in offered if canonical(name) == canonical(asked)]
    if asked and len(matches) == 1:
        return matches[0]
    problem = f"{asked!r} is not in {path}" if asked else f"it is not given, and {path} has {len(offered)}"
    _fault_unoffered(option, asked, problem, offered, findings)
    return None


def _fault_unoffered(option: str, asked: str, problem: str, offered: Iterable[str], findings: Findings) -> None:
    offered = list(offered)
    example = f" Say for instance -e {option}={offered[0]}." if offered else ""
    findings.fault(option, asked, f"{problem}.", f"The file offers: {listed(offered)}.{example}")
