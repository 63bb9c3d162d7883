# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be wrong with a CVS training config for Megatron-LM, once every value has its type.

A value that was wrong in itself is None here and has been noted already; what depends on it is not checked.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._config import joined
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._faults import listed
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._ranks import is_loopback
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._sizes import ModelDimensions, Sizes, check_sizes
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._job import warn_without_container
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._megatron_config import PRECISIONS

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._faults import Findings
    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._options import PlanOptions
    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._ranks import Node
    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._cvs import Branch
    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._megatron_config import (
        MegatronConfig,
        MegatronModelParameters,
    )

# Sizes that each script knows ("Model size not supported." otherwise), with the dimensions it gives them.
SCRIPTS = {
    "examples/llama/train_llama3.sh": {
        "8": ModelDimensions(layers=32, attention_heads=32, query_groups=8),
        "70": ModelDimensions(layers=80, attention_heads=64, query_groups=8),
    },
    "examples/llama/train_llama2.sh": {
        "7": ModelDimensions(layers=32, attention_heads=32, query_groups=32),
        "13": ModelDimensions(layers=40, attention_heads=40, query_groups=40),
        "70": ModelDimensions(layers=80, attention_heads=64, query_groups=8),
    },
}
_SCRIPT_BY_MODEL = {
    r"llama[-_.]?3": "examples/llama/train_llama3.sh",
    r"llama[-_.]?2": "examples/llama/train_llama2.sh",
}
_MULTI_NODE_KEYS = (
    "master_address",
    "nic_type",
    "nccl_ib_hca_list",
    "nccl_ib_hca",
    "nccl_socket_ifname",
    "gloo_socket_ifname",
    "nccl_ib_gid_index",
)
_WITHOUT_EFFECT = {
    "rocm_dir": "ROCm's path is the image's own affair.",
    "scripts_dir": "The launch script stands in the run's folder under log_dir.",
    "verify_network_errors": "Network counters are not compared.",
    "hca_id_pattern": "RDMA devices are named by nccl_ib_hca_list.",
    "dataset_source": "No dataset is fetched; to train on one that is there, give data_path and mock_data False.",
}


@dataclass(frozen=True)
class Reading:
    """A training config as far as it could be read. ``given`` is its section config as it stands in the file."""

    config: MegatronConfig
    given: Mapping[str, t.Any]
    parameters: MegatronModelParameters
    branch: Branch
    nodes: Sequence[Node]
    options: PlanOptions
    findings: Findings

    @property
    def multi_node(self) -> bool:
        """Tell whether one job runs over all nodes, rather than one on each."""
        return self.branch.mode == "multi_node"

    def key(self, name: str) -> str:
        """Return the key path of a value of the branch."""
        return joined(self.branch.path, name)


def unused_keys(mode: str) -> tuple[str, ...]:
    """Return the keys of the section config that nothing reads in a mode."""
    return (*_WITHOUT_EFFECT, *_MULTI_NODE_KEYS) if mode == "single_node" else tuple(_WITHOUT_EFFECT)


def check_config(reading: Reading) -> None:
    """Note what is wrong in the section ``config``, and what of it has no effect."""
    config, given, findings = reading.config, reading.given, reading.findings
    if config.nnodes and config.nnodes != len(reading.nodes):
        findings.fault(
            "config.nnodes",
            config.nnodes,
            f"nnodes is {config.nnodes}, but the run has {len(reading.nodes)} hosts of the inventory: "
            f"{listed(node.name for node in reading.nodes)}.",
            f"Set nnodes to {len(reading.nodes)}, or choose hosts with training_hosts or training_exclude.",
        )
    for key, reason in _WITHOUT_EFFECT.items():
        if given.get(key):
            findings.warn(f"config.{key}", given[key], f"{key} has no effect here.", reason)
    if reading.multi_node:
        _check_network(reading)
    else:
        _warn_of_multi_node_keys(reading)
    _check_data(reading)
    if reading.options.container_engine == "none":
        warn_without_container(given, findings)
    elif "container_image" not in given:
        findings.fault(
            "config.container_image",
            None,
            "container_image is missing.",
            "Give the image, or say container_engine: none to train without a container.",
        )


def _warn_of_multi_node_keys(reading: Reading) -> None:
    for key in _MULTI_NODE_KEYS:
        value = getattr(reading.config, key)
        harmless = key == "master_address" and value and (value == "auto" or is_loopback(value))
        if value not in (None, "none") and not harmless:
            reading.findings.warn(
                f"config.{key}",
                reading.given[key],
                f"{key} has no effect in single-node mode: every node runs its own job.",
                "Leave it out.",
            )


def _check_network(reading: Reading) -> None:
    config, given, findings = reading.config, reading.given, reading.findings
    for key in ("nccl_ib_hca_list", "nccl_ib_hca"):
        devices = getattr(config, key) or []
        for device in dict.fromkeys(device for device in devices if devices.count(device) > 1):
            findings.fault(
                f"config.{key}", given[key], f"{device} stands there {devices.count(device)} times.", "Name it once."
            )
    if config.nccl_ib_hca_list and config.nccl_ib_hca and config.nccl_ib_hca_list != config.nccl_ib_hca:
        findings.warn(
            "config.nccl_ib_hca",
            given["nccl_ib_hca"],
            "nccl_ib_hca differs from nccl_ib_hca_list and has no effect.",
            "Keep one of the two.",
        )
    for key in ("nccl_socket_ifname", "gloo_socket_ifname"):
        if key not in given:
            findings.warn(
                f"config.{key}",
                None,
                f"{key} is not given; the training script then takes an interface name of its own (ens51np0).",
                "Name the interface over which the nodes reach each other.",
            )


def _check_data(reading: Reading) -> None:
    config = reading.config
    if config.mock_data and config.data_path:
        reading.findings.warn(
            "config.data_path",
            config.data_path,
            "data_path has no effect: mock_data is True.",
            "Set mock_data to False.",
        )
    if config.mock_data is False and "data_path" not in reading.given:
        reading.findings.fault(
            "config.data_path",
            None,
            "mock_data is False, but no dataset is named.",
            "Give data_path, for example /data/bookcorpus_text_sentence, or set mock_data to True.",
        )


def script_of(reading: Reading) -> str | None:
    """Return the training script, relative to megatron_root, or None with a fault."""
    for pattern, script in (reading.config.training_scripts or {}).items():
        if pattern.casefold() in (reading.parameters.tokenizer_model or "").casefold():
            return script
    for pattern, script in _SCRIPT_BY_MODEL.items():
        if re.search(pattern, reading.branch.model, re.IGNORECASE):
            return script
    reading.findings.fault(
        "config.training_scripts",
        reading.config.training_scripts,
        f"no training script is known for the model {reading.branch.model}.",
        'Name one by a part of tokenizer_model: {"Meta-Llama-3": "examples/llama/train_llama3.sh"}.',
    )
    return None


def sizes_of(reading: Reading, script: str | None) -> Sizes | None:
    """Return the sizes of one job, or None where one of them is not known; note all that do not divide."""
    parameters, gpus_per_node = reading.parameters, reading.options.training_gpus_per_node
    if parameters.fsdp:
        _check_fsdp(reading)
    needed = (
        parameters.tensor_parallelism,
        parameters.pipeline_parallelism,
        parameters.batch_size,
        parameters.micro_batch_size,
        parameters.sequence_length,
        gpus_per_node,
    )
    if None in needed:
        return None
    sizes = Sizes(
        gpus=gpus_per_node * (len(reading.nodes) if reading.multi_node else 1),
        gpus_per_node=gpus_per_node,
        tensor_parallelism=parameters.tensor_parallelism,
        pipeline_parallelism=parameters.pipeline_parallelism,
        global_batch_size=parameters.batch_size,
        micro_batch_size=parameters.micro_batch_size,
        sequence_length=parameters.sequence_length,
    )
    keys = {
        "global_batch_size": reading.key("batch_size"),
        "sequence_length": reading.key("sequence_length"),
        "tensor_parallelism": reading.key("tensor_parallelism"),
        "pipeline_parallelism": reading.key("pipeline_parallelism"),
    }
    check_sizes(sizes, _dimensions(reading, script), keys, reading.findings)
    return sizes


def _check_fsdp(reading: Reading) -> None:
    reasons = {
        "tensor_parallelism": "the training script would set it to 1",
        "pipeline_parallelism": "FSDP2 has no pipeline stages",
    }
    for key, reason in reasons.items():
        value = getattr(reading.parameters, key)
        if value and value > 1:
            reading.findings.fault(
                reading.key(key),
                value,
                f"{key} {value} does not go with fsdp: {reason}.",
                f"Set {key} to 1 or fsdp to 0.",
            )


def _dimensions(reading: Reading, script: str | None) -> ModelDimensions | None:
    parameters = reading.parameters
    layers, heads = parameters.num_layers, parameters.num_attention_heads
    if layers and heads:
        return ModelDimensions(layers, heads, parameters.num_query_groups or heads)
    known = SCRIPTS.get(script or "")
    if parameters.model_size is None or known is None:
        return None
    if parameters.model_size not in known:
        reading.findings.fault(
            reading.key("model_size"),
            parameters.model_size,
            f"{script} knows no model of size {parameters.model_size}.",
            f"It knows {listed(known)}. For a size of your own give num_layers and num_attention_heads as well.",
        )
    return known.get(parameters.model_size)


def precision_of(reading: Reading, script: str | None) -> str | None:
    """Return the precision that is really trained in, with a warning where another one was asked for."""
    asked = reading.parameters.precision
    if asked is None or PRECISIONS[asked] != "fp16":
        return PRECISIONS[asked] if asked else None
    reading.findings.warn(
        reading.key("precision"),
        asked,
        f"{script or 'the training script'} has no FP16: it trains in BF16 (TE_FP8=0).",
        "Say TE_BF16, or TE_FP8 for FP8.",
    )
    return "bf16"
