# SPDX-License-Identifier: GPL-3.0-or-later
"""The run settings of a file in NxDT's YAML, and the values that it may interpolate."""

from __future__ import annotations

import typing as t

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationResolutionError

from ....text.words import shown
from ...config.findings import Findings
from ...config.model import typed
from ...config.yaml_config import YamlConfig, values_of
from ...job.options import ConfigOptions
from ...job.sizes import scales_batch
from ..face import Asked
from .run_config import RunConfig

# The section of a config that says how to run.
RUN = "trainops"
_LARGEST_PRODUCT = 10**18


def _product(one: t.Any, other: t.Any) -> t.Any:
    for factor in (one, other):
        if isinstance(factor, bool) or not isinstance(factor, int | float):
            raise ValueError(f"multiply takes two numbers, and {shown(factor)} is not one")
    if abs(one) > _LARGEST_PRODUCT or abs(other) > _LARGEST_PRODUCT or abs(one * other) > _LARGEST_PRODUCT:
        raise ValueError("the product is too large")
    return one * other


# NeMo registers it, for any two values, before NxDT reads its config.
OmegaConf.register_new_resolver("multiply", _product, replace=True)


def _refuse_environment(name: str, *_default: t.Any) -> t.NoReturn:
    raise InterpolationResolutionError(f"oc.env would read {name} on the machine that runs Ansible")


OmegaConf.register_new_resolver("oc.env", _refuse_environment, replace=True)


def asked_of(config: YamlConfig, options: ConfigOptions) -> Asked:
    """Return ``trainer.num_nodes``, unless the batch is scaled from it, and ``trainops.master_address``."""
    mode = mode_of(options.training_mode)
    master = typed(RunConfig, run_of(config), "", Findings()).master_address
    nodes = None if scales_batch(options.training_scale_batch, mode) else given_nodes_of(config.config)
    return Asked(nodes, master if mode == "multi_node" else None)


def run_of(config: YamlConfig) -> dict[str, t.Any]:
    """Return the section that says how to run, or an empty one."""
    given = (values_of(config.config, {}, Findings()) or {}).get(RUN)
    return given if isinstance(given, dict) else {}


def mode_of(asked: str | None) -> str:
    """Return the mode of the run."""
    return "multi_node" if asked == "auto" else str(asked)


def given_nodes_of(config: DictConfig) -> int | None:
    """Return trainer.num_nodes from the file, or None if it is not a number that could be overridden."""
    trainer = t.cast("dict[t.Any, t.Any]", OmegaConf.to_container(config)).get("trainer")
    given = trainer.get("num_nodes") if isinstance(trainer, dict) else None
    return given if isinstance(given, int) and not isinstance(given, bool) and given > 0 else None
