# SPDX-License-Identifier: GPL-3.0-or-later
"""The training config of examples/torchtitan, filled in and changed, and the plans made of it."""

from __future__ import annotations

import tomllib
import typing as t

from training_configs import ROOT, nodes

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.toml_config import written
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan

FOLDER = ROOT / "examples/torchtitan"
LLAMA3 = "llama3_8b_pretraining"
EXAMPLES = {LLAMA3: 2}
BY_NAME = "llama3_8b_by_name"
_FILLED = {
    'hf_assets_path = "<changeme>"': 'hf_assets_path = "/home/{user-id}/Llama-3.1-8B"',
    'container_image = "<changeme>"': 'container_image = "example.org/torchtitan:0.2.2"',
    'NCCL_IB_HCA = "<changeme>"': 'NCCL_IB_HCA = "rdma0,rdma1"',
    '_IFNAME = "<changeme>"': '_IFNAME = "ens51np0"',
    'tokens_per_gpu = "<changeme>"': 'tokens_per_gpu = "6000"',
}
REMOVED = object()


def text_of(name: str) -> str:
    """Return an example as a user would fill it in."""
    text = (FOLDER / f"{name}.toml").read_text("utf-8")
    for old, new in _FILLED.items():
        assert old in text
        text = text.replace(old, new)
    return text


def changed(name: str, changes: dict[str, t.Any]) -> str:
    """Return an example with changes: values, or REMOVED, by the paths of their keys."""
    config = tomllib.loads(text_of(name))
    for path, value in changes.items():
        *tables, key = path.split(".")
        table = config
        for part in tables:
            table = table.setdefault(part, {})
        if value is REMOVED:
            del table[key]
        else:
            table[key] = value
    return written(config)


def planned(
    changes: dict[str, t.Any] | None = None, name: str = LLAMA3, hosts: int | None = None, **options: t.Any
) -> dict[str, t.Any]:
    """Return the plan of an example with changes, on as many hosts as it is for."""
    text = changed(name, changes) if changes else text_of(name)
    return make_plan(
        text, "config.toml", {"container_engine": "docker", **options}, nodes(hosts or EXAMPLES[name]), "now"
    )
