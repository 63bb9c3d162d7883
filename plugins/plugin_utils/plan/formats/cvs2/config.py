# SPDX-License-Identifier: GPL-3.0-or-later
"""The top of a CVS config with ``schema_version`` 1, as its loaders in cvs/lib/training of ROCm/cvs have it.

The sections that hold the values of a training are checked where they become a config of CVS's first format.
"""

from __future__ import annotations

import typing as t

from ...config.field_types import Flag, FreeObject, Line, Name, PositiveInteger
from ...config.kinds import OneOf, Real, Whole, Words
from ...config.model import ConfigSection, key, optional
from .container import Container

MEGATRON = ("megatron_single", "megatron_distributed")
TORCHTITAN = ("torchtitan_single", "torchtitan_distributed")
Target = t.Annotated[str, OneOf(("auto", "train_loss", "eval_loss"))]
LossToReach = t.Annotated[float, Real()]
SchemaVersion = t.Annotated[int, Whole(1, 1)]


class ScalingBaseline(ConfigSection):
    """The section ``scaling_baseline``: the run that scaling_efficiency_pct compares with."""

    tokens_per_sec_total: t.Any = optional("Its throughput over all GPUs; 0 for none.")
    num_nodes: PositiveInteger = key("Its number of nodes.", default=1, unit="nodes")


class LossCurve(ConfigSection):
    """The section ``loss_curve``. A verdict fails a run whose loss does not fall, whatever stands here."""

    sample_every: PositiveInteger | None = optional("CVS looks at every so many steps; a verdict at all.")
    milestone_steps: t.Annotated[list[t.Any], Words("a list of steps")] | None = optional("Steps it looks at as well.")
    max_slope: t.Any = optional("The slope that the loss must stay below.")
    enforce: Flag | None = optional("Whether CVS fails a run by it.")


class Convergence(ConfigSection):
    """The section ``convergence``."""

    target_metric: Target = key("Whose loss it is.", default="auto")
    target_value: LossToReach | None = optional("Loss to reach, for when it was; 0 for none.")


class Checkpoint(ConfigSection):
    """The section ``checkpoint``: a test of CVS of its own."""

    enforce: Flag = key("Whether CVS makes it.", default=False)
    save_interval: PositiveInteger | None = optional("Steps between checkpoints.")
    save_iters: PositiveInteger | None = optional("Steps of the run that saves.")
    resume_iters: PositiveInteger | None = optional("The last step of the run that resumes.")
    loss_rtol: t.Any = optional("By how much the losses may differ.")
    checkpoint_dir: t.Any = optional("Folder that the nodes share.")


class LaterConfig(ConfigSection):
    """What every later config has at the top."""

    enforce_thresholds: Flag = key("Whether thresholds are judged, or a run is only recorded.", default=True)
    threshold_json: Line = key("File with the thresholds, in the folder of the config.", default="")
    container: Container = key("How the container is started.", default_factory=Container)


class VersionedConfig(LaterConfig):
    """What every config with a schema_version has at the top."""

    schema_version: SchemaVersion = key("Version of the format.", example=1)
    gpu_arch: Name = key("Kind of GPU.", example="MI325X")


class MegatronFile(VersionedConfig):
    """A config for ROCm's Megatron-LM."""

    framework: t.Annotated[str, OneOf(MEGATRON)] = key("Trainer, and whether all nodes train together.")
    scaling_baseline: ScalingBaseline = key("What scaling is compared with.", default_factory=ScalingBaseline)
    loss_curve: LossCurve = key("How CVS judges the loss.", default_factory=LossCurve)
    convergence: Convergence = key("A loss to reach.", default_factory=Convergence)
    checkpoint: Checkpoint = key("A test of checkpoints.", default_factory=Checkpoint)
    smoke: FreeObject | None = optional("A short run of CVS before the others.")
    config: FreeObject = key("How to run.")
    model_params: FreeObject = key("What to train.")
    sweep: FreeObject | None = optional("The runs, each with its batch sizes and precision.")


class TorchTitanFile(MegatronFile):
    """A config for TorchTitan, with the same sections."""

    framework: t.Annotated[str, OneOf(TORCHTITAN)] = key("Trainer, and whether all nodes train together.")
