# SPDX-License-Identifier: GPL-3.0-or-later
"""The training configs of examples/nxdt, filled in and changed, and the plans made of them."""

from __future__ import annotations

import functools
import typing as t

from omegaconf import DictConfig, OmegaConf
from training_configs import ROOT

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.plan_run import plan_run

FOLDER = ROOT / "examples/nxdt"
MEGATRON = "megatron_llama2_7b_pretraining"
HF = "hf_llama3_8b_pretraining"
SFT = "hf_llama3_8b_sft"
DPO = "hf_llama3_8b_dpo"
# The nodes that each example is for.
EXAMPLES = {MEGATRON: 4, HF: 2, SFT: 2, DPO: 1}
REMOVED = object()


def text_of(name: str) -> str:
    """Return an example as a user would fill it in."""
    return (FOLDER / f"{name}.yaml").read_text("utf-8").replace("<changeme>", "100")


@functools.cache
def _config(name: str) -> DictConfig:
    config = OmegaConf.create(text_of(name))
    assert isinstance(config, DictConfig)
    return config


def changed(name: str, changes: dict[str, t.Any]) -> str:
    """Return an example with changes: values, or REMOVED, by the paths of their keys."""
    config = _config(name).copy()
    for path, value in changes.items():
        if value is REMOVED:
            section, _, key = path.rpartition(".")
            del (OmegaConf.select(config, section) if section else config)[key]
        else:
            OmegaConf.update(config, path, value, merge=False)
    return OmegaConf.to_yaml(config)


def trn(count: int) -> list[Node]:
    """Return the first hosts of a cluster: trn0 at 10.0.0.10, trn1 at 10.0.0.11 and so on."""
    return [Node(f"trn{place}", f"10.0.0.{10 + place}", "ubuntu") for place in range(count)]


def planned_nxdt(
    name: str, changes: dict[str, t.Any] | None = None, hosts: int | None = None, **options: t.Any
) -> dict[str, t.Any]:
    """Return the plan of an example with changes, on as many hosts as it is for, without a container."""
    text = changed(name, changes) if changes else text_of(name)
    nodes = trn(EXAMPLES[name] if hosts is None else hosts)
    return plan_run(text, "config.yaml", {"container_engine": "none", **options}, nodes, "now")
