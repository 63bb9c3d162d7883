# SPDX-License-Identifier: GPL-3.0-or-later
"""The training config of examples/megatron_bridge, filled in and changed, and the plans made of it."""

from __future__ import annotations

import typing as t

import yaml
from training_configs import ROOT, nodes

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan

FOLDER = ROOT / "examples/megatron_bridge"
LLAMA3 = "llama3_8b_2_nodes_h100"
EXAMPLES = {LLAMA3: 2}
RECIPE = "llama3_8b_pretrain_8gpu_h100_bf16_config"


def values_of(name: str = LLAMA3) -> dict[str, t.Any]:
    """Return the values of an example as a user would fill it in."""
    values = yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8").replace("<changeme>", "100"))
    assert isinstance(values, dict)
    return values


def recipe(name: str, overrides: dict[str, t.Any] | None = None, **keys: t.Any) -> dict[str, t.Any]:
    """Return a config with nothing but a recipe, its number of steps and the given keys."""
    return {"recipe": name, "overrides": {"train.train_iters": 50, **(overrides or {})}, **keys}


def planned(config: dict[str, t.Any] | None = None, hosts: int = 2, **options: t.Any) -> dict[str, t.Any]:
    """Return the plan of a config, or of the example."""
    text = yaml.safe_dump(config or values_of(), sort_keys=False)
    image = {} if (config or {}).get("trainops") or not config else {"training_image": "nemo:26.08"}
    return make_plan(text, "recipe.yaml", {"container_engine": "docker", **image, **options}, nodes(hosts), "now")
