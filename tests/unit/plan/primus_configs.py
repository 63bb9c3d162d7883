# SPDX-License-Identifier: GPL-3.0-or-later
"""Experiment files of Primus, and the plans made of them."""

from __future__ import annotations

import functools
import typing as t

import yaml
from training_configs import ROOT

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.primus_yaml.reading import merged
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.plan_run import plan_run

FOLDER = ROOT / "examples/primus"
# The nodes that each example is for.
EXAMPLES = {"llama3.1_8B_2_nodes": 2}
LLAMA = "llama3.1_8B_2_nodes"
IMAGE = "rocm/primus:v26.5"
_TOP = {"work_group": "amd", "user_name": "root", "exp_name": "${PRIMUS_EXP_NAME:mine}", "workspace": "./output"}


def text_of(name: str) -> str:
    """Return an example as a user would fill it in."""
    return (FOLDER / f"{name}.yaml").read_text("utf-8").replace("<changeme>", "100")


@functools.cache
def values_of(name: str) -> dict[str, t.Any]:
    """Return the values of an example."""
    values = yaml.safe_load(text_of(name))
    assert isinstance(values, dict)
    return values


def experiment(
    framework: str, overrides: dict[str, t.Any], model: str = "llama3.1_8B.yaml", module: str = "pre_trainer"
) -> dict[str, t.Any]:
    """Return an experiment as it comes with Primus, without a section on how to run."""
    held = {"framework": framework, "config": "pre_trainer.yaml", "model": model, "overrides": overrides}
    return {**_TOP, "modules": {module: held}}


def mi300(count: int) -> list[Node]:
    """Return the first hosts of a cluster: gpu0 at 10.0.0.10, gpu1 at 10.0.0.11 and so on."""
    return [Node(f"gpu{place}", f"10.0.0.{10 + place}", "amd") for place in range(count)]


def planned_primus(
    config: str | dict[str, t.Any], hosts: int = 2, source: str = "exp.yaml", **options: t.Any
) -> dict[str, t.Any]:
    """Return the plan of an example by its name, or of an experiment."""
    text = text_of(config) if isinstance(config, str) else yaml.safe_dump(config, sort_keys=False)
    return plan_run(text, source, {"training_image": IMAGE, **options}, mi300(hosts), "now")


def changed(name: str, changes: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return the values of an example with others in place of some, by the paths of their keys."""
    values = values_of(name)
    for path, value in changes.items():
        nested = value
        for part in reversed(path.split(".")):
            nested = {part: nested}
        values = merged(values, nested)
    return values
