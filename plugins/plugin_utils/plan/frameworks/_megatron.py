# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Megatron-LM on ROCm: from a CVS training config to the environment and argv of train_llama2.sh and train_llama3.sh.

What the scripts read is stated in their sources (ROCm/Megatron-LM, examples/llama). Up to early 2025 they overwrite
the environment that they are given; positional ``KEY=VALUE`` arguments win in every version. So both are given.
"""

from __future__ import annotations

import typing as t

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._config import (
    refuse_unknown_keys,
    section,
    typed,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._ranks import Node, master_address
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._cvs import (
    ExpectedResults,
    choose_branch,
    mode_of,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._job import (
    Job,
    container_options,
    expected_of,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._megatron_checks import (
    Reading,
    check_config,
    precision_of,
    script_of,
    sizes_of,
    unused_keys,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._megatron_config import (
    PRECISIONS,
    MegatronConfig,
    MegatronModelParameters,
)

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._faults import Findings
    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._options import PlanOptions

NAME = "megatron"
CONFIG = MegatronConfig
MODEL_PARAMETERS = MegatronModelParameters


def plan_job(data: Mapping[str, t.Any], options: PlanOptions, nodes: Sequence[Node], findings: Findings) -> Job | None:
    """Return what is to be run, or None where there is any fault.

    ``data`` is the config without its documentation keys, ``nodes`` the nodes in rank order.
    """
    reading = _read(data, options, nodes, findings)
    if reading is None:
        return None
    check_config(reading)
    script = script_of(reading)
    sizes = sizes_of(reading, script)
    precision = precision_of(reading, script)
    expected = expected_of(reading.parameters.result_dict, reading.branch, options, findings)
    master = "localhost"
    if reading.multi_node:
        master = master_address(reading.config.master_address, nodes, "config.master_address", findings)
    if findings.faults or sizes is None or script is None:
        return None
    config, parameters = reading.config, reading.parameters
    return Job(
        framework=NAME,
        branch=reading.branch,
        parameters={
            "nnodes": len(nodes),
            "gpus_per_node": sizes.gpus_per_node,
            "model_size": parameters.model_size,
            "precision": precision,
            "global_batch_size": sizes.global_batch_size,
            "micro_batch_size": sizes.micro_batch_size,
            "sequence_length": sizes.sequence_length,
            "tensor_parallelism": sizes.tensor_parallelism,
            "pipeline_parallelism": sizes.pipeline_parallelism,
            "data_parallelism": sizes.data_parallelism,
            "recompute": parameters.recompute,
            "fsdp": parameters.fsdp,
            "iterations": config.training_iterations,
            "mock_data": config.mock_data,
        },
        tokens_per_step_per_gpu=sizes.tokens_per_step_per_gpu,
        expected=expected,
        image=config.container_image,
        environment=_environment(reading, master),
        own_environment=config.container_config.env_dict | _token_path(config),
        command=["bash", script],
        working_dir=options.training_megatron_root or config.megatron_root,
        log_dir=config.log_dir,
        mounts=config.container_config.volume_dict,
        devices=config.container_config.device_list,
        container_options=container_options(config.container_name, config.shm_size),
    )


def _read(data: Mapping[str, t.Any], options: PlanOptions, nodes: Sequence[Node], findings: Findings) -> Reading | None:
    lower_unknown = options.training_unknown_keys == "warn"
    refuse_unknown_keys(data, ("config", "model_params"), "", findings, lower_unknown)
    mode = mode_of(data, options, len(nodes))
    branch = choose_branch(data, mode, options, findings)
    given = section(data, "config", "config", findings)
    unused = unused_keys(mode)
    config = typed(MegatronConfig, given, "config", findings, unused=unused, lower_unknown=lower_unknown)
    if branch is None or not nodes:
        return None
    thresholds = tuple(ExpectedResults.model_fields)
    parameters = typed(
        MegatronModelParameters,
        branch.values,
        branch.path,
        findings,
        unused=thresholds if options.training_record_only else (),
        lower_unknown=lower_unknown,
    )
    return Reading(config, given, parameters, branch, nodes, options, findings)


def _environment(reading: Reading, master: str) -> dict[str, str]:
    """Return what the scripts read, as far as it is the same on every node."""
    config, parameters, options = reading.config, reading.parameters, reading.options
    environment: dict[str, t.Any] = {
        "MASTER_ADDR": master,
        "MASTER_PORT": options.training_master_port,
        "NNODES": len(reading.nodes) if reading.multi_node else 1,
        "MODEL_SIZE": parameters.model_size,
        "TOTAL_ITERS": config.training_iterations,
        "MBS": parameters.micro_batch_size,
        "BS": parameters.batch_size,
        "SEQ_LENGTH": parameters.sequence_length,
        "TP": parameters.tensor_parallelism,
        "PP": parameters.pipeline_parallelism,
        "TE_FP8": int(PRECISIONS[parameters.precision] == "fp8"),
        "FSDP": int(parameters.fsdp),
        "RECOMPUTE": int(parameters.recompute),
        "MOCK_DATA": int(config.mock_data),
        "DATA_PATH": None if config.mock_data else config.data_path,
        "DATA_CACHE_PATH": config.data_cache_dir,
        "TOKENIZER_MODEL": parameters.tokenizer_model,
        "NCCL_DEBUG": config.nccl_debug,
        "TEE_OUTPUT": 1,
    }
    if reading.multi_node:
        environment |= {
            "NCCL_IB_HCA": _comma_separated(config.nccl_ib_hca_list or config.nccl_ib_hca),
            "NCCL_IB_GID_INDEX": config.nccl_ib_gid_index,
            "NCCL_SOCKET_IFNAME": _comma_separated(config.nccl_socket_ifname),
            "GLOO_SOCKET_IFNAME": _comma_separated(config.gloo_socket_ifname),
        }
    return {name: str(value) for name, value in environment.items() if value is not None}


def _comma_separated(names: list[str] | None) -> str | None:
    return ",".join(names) if names else None


def _token_path(config: MegatronConfig) -> dict[str, str]:
    return {"HF_TOKEN_PATH": config.hf_token_file} if config.hf_token_file else {}
