# SPDX-License-Identifier: GPL-3.0-or-later
"""The training configs of examples/maxtext, in both shapes, changed, and the plans made of them."""

from __future__ import annotations

import json
import typing as t

from training_configs import ROOT, change, nodes

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.plan_run import plan_run

TWO_NODES = "2_nodes_mi300x_llama_3_1_70b"
FOUR_NODES = "4_nodes_mi300x_llama_3_1_405b"
TPU = "tpu_v5p_llama2_70b"
SCRIPT = "2_nodes_h100_llama2_7b"
SCRIPT_BRANCH = "model_params/multi_node/llama2-7b/h100"
TPU_BRANCH = "model_params/multi_node/llama2-70b/v5p"
ON_TPU = {"training_gpus_per_node": 4}
BRANCH = "model_params/multi_node/llama3.1-70b/mi300x"
PATH = 'model_params.multi_node["llama3.1-70b"].mi300x'


def filled(name: str = TWO_NODES, changes: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
    """Return a config of examples/maxtext whose nodes meet at rank 0, with changes by the path of their keys."""
    config: dict[str, t.Any] = json.loads((ROOT / "examples/maxtext" / f"{name}.json").read_text("utf-8"))
    change(config, {"config/coordinator_ip": "auto", **(changes or {})})
    return config


def later_shape(changes: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
    """Return the two-node config as later CVS writes it: with env_vars, xla_flags and rdma_lib."""
    config = filled()
    flat = ("nccl_proto", "nccl_ib_tc", "nccl_ib_sl", "gpu_max_hw_queues", "nvte_ck_bwd_v3", "nccl_checks_disable")
    config["config"]["env_vars"] = {key.upper(): config["config"].pop(key) for key in flat}
    branch = config["model_params"]["multi_node"]["llama3.1-70b"]["mi300x"]
    config["config"]["xla_flags"] = {**branch.pop("xla_flags"), "xla_gpu_enable_command_buffer": "''"}
    config["config"]["rdma_lib"] = {"host_source_file": "/usr/local/lib/libbnxt_re-rdmav34.so"}
    config["config"] |= changes or {}
    return config


def tpu(changes: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
    """Return the config for TPUs with all that is to be filled in, and changes by the path of their keys."""
    own = {
        "config/container_image": "maxtext:built-here",
        f"{TPU_BRANCH}/result_dict": {"tflops_per_sec_per_gpu": "300"},
    }
    return filled(TPU, {**own, **(changes or {})})


def script(changes: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
    """Return the config with one of MaxText's scripts, filled in, with changes by the path of their keys."""
    own = {
        "config/container_image": "maxtext:0.2.4",
        f"{SCRIPT_BRANCH}/result_dict": {"tflops_per_sec_per_gpu": "300"},
    }
    return filled(SCRIPT, {**own, **(changes or {})})


def planned(config: t.Any, hosts: int | list[Node] = 2, **options: t.Any) -> dict[str, t.Any]:
    """Return the plan, for the framework that the file shows."""
    text = config if isinstance(config, str) else json.dumps(config)
    return plan_run(text, "config.json", options, nodes(hosts) if isinstance(hosts, int) else hosts, "now")
