# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user may say about a run besides the training config: the variables that make a plan."""

from __future__ import annotations

import typing as t

from pydantic import BaseModel, BeforeValidator, Field

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._types import Expected, Flag, Name, PositiveInteger


def _lower(value: t.Any) -> t.Any:
    return value.strip().casefold() if isinstance(value, str) else value


def _names(value: t.Any) -> t.Any:
    if isinstance(value, str):
        return [name.strip() for name in value.split(",") if name.strip()]
    return value


Names = t.Annotated[list[Name], BeforeValidator(_names), Expected("names of inventory hosts, as a list or with commas")]
Port = t.Annotated[PositiveInteger, Field(le=65535), Expected("a port between 1 and 65535")]

_Lower = BeforeValidator(_lower)
Framework = t.Annotated[t.Literal["megatron"], _Lower, Expected("megatron")]
Mode = t.Annotated[
    t.Literal["auto", "single_node", "multi_node"], _Lower, Expected("one of auto, single_node, multi_node")
]
UnknownKeys = t.Annotated[t.Literal["fault", "warn"], _Lower, Expected("fault or warn")]
Engine = t.Annotated[
    t.Literal["auto", "docker", "podman", "none"], _Lower, Expected("one of auto, docker, podman, none")
]


class PlanOptions(BaseModel):
    """Variables of a plan. Values may be strings, as extra variables and surveys give them."""

    training_framework: Framework = Field(default="megatron", description="Framework of the training config.")
    training_mode: Mode = Field(default="auto", description="One job over all nodes, or one on each node.")
    training_model: str = Field(default="", description="Model of the config's model_params to train.")
    training_gpu: str = Field(default="", description="GPU of the config's model_params to train on.")
    training_gpus_per_node: PositiveInteger = Field(
        default=8, description="GPUs of each node.", json_schema_extra={"unit": "GPUs"}
    )
    training_unknown_keys: UnknownKeys = Field(default="fault", description="What an unknown key is.")
    training_record_only: Flag = Field(default=False, description="Judge no thresholds.")
    training_rank_order: Names = Field(default=[], description="Hosts in rank order, where the inventory's is wrong.")
    training_exclude: Names = Field(default=[], description="Hosts that are left out.")
    training_master_port: Port = Field(default=6000, description="Port on rank 0 where the nodes meet.")
    training_megatron_root: str = Field(default="", description="Overrides the config's megatron_root.")
    training_run_id: str = Field(default="", description="Name of the run.")
    container_engine: Engine = Field(default="auto", description="What holds the training on a node.")
