# SPDX-License-Identifier: GPL-3.0-or-later
"""The training configs of examples/megatron, as they are, filled in and changed, and the plans made of them."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.plan_run import plan_run

ROOT = Path(__file__).resolve().parents[3]
TINY = ROOT / "inventories/local/tiny_llama.json"
DISTRIBUTED = "mi3xx_megatron_llama_distributed"
SINGLE = "mi3xx_megatron_llama_single"
SINGLE_MI35X = "mi35x_megatron_llama_single"
DEEPSEEK = "mi3xx_megatron_deepseek_single"
BRANCH = "model_params/multi_node/llama3_1_8b/mi300x"
DEEPSEEK_BRANCH = "model_params/single_node/deepseek_v2_lite/mi300x"

# Values that a user would put in the place of <changeme>.
_FILLED_IN = {
    "nnodes": "4",
    "training_iterations": "30",
    "master_address": "auto",
    "nic_type": "thor2",
    "nccl_ib_hca_list": "bnxt_re0,bnxt_re1,bnxt_re2,bnxt_re3,bnxt_re4,bnxt_re5,bnxt_re6,bnxt_re7",
    "nccl_socket_ifname": "ens51f1np1",
    "gloo_socket_ifname": "ens51f1np1",
    "nccl_ib_gid_index": "3",
    "throughput_per_gpu": "610.0",
    "tokens_per_gpu": "12000.0",
}
REMOVED = object()


def example(name: str) -> dict[str, t.Any]:
    """Return a config of examples/megatron unchanged."""
    loaded: dict[str, t.Any] = json.loads((ROOT / "examples/megatron" / f"{name}.json").read_text("utf-8"))
    return loaded


def filled(name: str, changes: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
    """Return a config of examples/megatron filled in for four nodes, with changes by the path of their keys."""
    config = example(name)
    _fill_in(config)
    change(config, changes or {})
    return config


def change(config: dict[str, t.Any], changes: dict[str, t.Any]) -> None:
    """Change values of a config, each by the path of its key: ``{"config/nnodes": "3"}``; REMOVED takes a key out."""
    for path, value in changes.items():
        *above, last = path.split("/")
        section: t.Any = config
        for key in above:
            section = section[key]
        if value is REMOVED:
            del section[last]
        else:
            section[last] = value


def _fill_in(section: dict[str, t.Any]) -> None:
    for key, value in section.items():
        if isinstance(value, dict):
            _fill_in(value)
        elif isinstance(value, str) and "<changeme>" in value:
            section[key] = _FILLED_IN[key]


def deepseek(changes: dict[str, t.Any] | None = None, **options: t.Any) -> dict[str, t.Any]:
    """Return the plan for DeepSeek-V2-Lite on two nodes; changes in its branch have no path but their key."""
    paths = {path if "/" in path else f"{DEEPSEEK_BRANCH}/{path}": value for path, value in (changes or {}).items()}
    config = filled(DEEPSEEK, {"config/nnodes": "2", **paths})
    return planned(config, 2, training_model="deepseek_v2_lite", **options)


def nodes(count: int) -> list[Node]:
    """Return the first hosts of a cluster: gpu0 at 10.0.0.10, gpu1 at 10.0.0.11 and so on."""
    return [Node(f"gpu{place}", f"10.0.0.{10 + place}", "amd") for place in range(count)]


def planned(config: t.Any, hosts: int | list[Node] = 4, **options: t.Any) -> dict[str, t.Any]:
    """Return the plan for Llama 3.1 8B on MI300X, unless other options are given."""
    text = config if isinstance(config, str) else json.dumps(config)
    options = {"training_model": "llama3_1_8b", "training_gpu": "mi300x", **options}
    return plan_run(text, "config.json", options, nodes(hosts) if isinstance(hosts, int) else hosts, "now")


def only(findings: list[dict[str, t.Any]]) -> dict[str, t.Any]:
    """Return the one finding that there is."""
    assert len(findings) == 1, findings
    return findings[0]


def keys(findings: list[dict[str, t.Any]]) -> list[str]:
    """Return the key paths of findings, in their order."""
    return [finding["key"] for finding in findings]
