# SPDX-License-Identifier: GPL-3.0-or-later
"""The training configs of examples/cvs, changed, and the plans and sweeps made of them with their thresholds."""

from __future__ import annotations

import json
import os
import typing as t

from training_configs import ROOT, change, nodes

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan, thresholds_of_config
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.sweep_plan import SweepPlan, plan_sweep
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.threshold_files import ThresholdsFile

FOLDER = ROOT / "examples/cvs"
MEGATRON = "mi325x_megatron_llama-3.1-8b_distributed"
MAXTEXT = "mi355x_jaxmaxtext_llama-3.1-8b_distributed"
OF_TODAY = "mi300x_megatron_llama-3.3-70b_distributed"
MAXTEXT_OF_TODAY = "mi325x_jaxmaxtext_llama-3.3-70b_distributed"
TORCHTITAN = "mi355x_torchtitan_llama-3.3-70b_distributed"
TORCHTITAN_OF_TODAY = "mi355x_torchtitan_llama-3.1-70b_distributed"
WITH_PRIMUS = "mi355x_megatron_llama-3.1-8b_primus"
EXAMPLES = {
    MEGATRON: "cvs2",
    MAXTEXT: "cvs2",
    TORCHTITAN: "cvs2",
    OF_TODAY: "cvs3",
    MAXTEXT_OF_TODAY: "cvs3",
    TORCHTITAN_OF_TODAY: "cvs3",
    WITH_PRIMUS: "cvs3",
}


def example(name: str, changes: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
    """Return a config of examples/cvs, with changes by the path of their keys."""
    config: dict[str, t.Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    change(config, changes or {})
    return config


def thresholds_for(text: str, options: dict[str, t.Any]) -> ThresholdsFile | None:
    """Return the thresholds file of a config, as callers of `make_plan` read it."""
    named = thresholds_of_config(text, "examples/cvs/c.json", options)
    return ThresholdsFile(named, (ROOT / named).read_text("utf-8")) if named and os.path.exists(ROOT / named) else None


def planned(config: dict[str, t.Any], hosts: list[Node] | None = None, **options: t.Any) -> dict[str, t.Any]:
    text = json.dumps(config)
    hosts = nodes(2) if hosts is None else hosts
    return make_plan(text, "examples/cvs/c.json", options, hosts, "now", thresholds=thresholds_for(text, options))


def swept(config: dict[str, t.Any], matrix: t.Any = None, **options: t.Any) -> SweepPlan:
    text = json.dumps(config)
    thresholds = thresholds_for(text, options)
    return plan_sweep(text, "examples/cvs/c.json", options, matrix, nodes(2), str, thresholds=thresholds)
