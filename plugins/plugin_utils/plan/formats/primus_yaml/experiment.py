# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of an experiment file of Primus.

Source: primus/core/launcher/parser.py of AMD-AGI/Primus, and the files in examples/*/configs there.
"""

from __future__ import annotations

from ...config.field_types import Environment, FreeObject, YamlText
from ...config.model import ConfigSection, key, optional
from .run_config import RunConfig


class Module(ConfigSection):
    """What one module trains: a backend, its presets, and the values that replace these."""

    framework: YamlText = key("Backend: megatron, torchtitan, maxtext or megatron_bridge.", example="megatron")
    config: YamlText = key("Preset of the module, in Primus' primus/configs/modules.", example="pre_trainer.yaml")
    model: YamlText | None = optional(
        "Preset of the model, in Primus' primus/configs/models.", example="llama3.1_8B.yaml"
    )
    trainer_class: YamlText | None = optional("Trainer of the backend, where it is not the usual one.")
    overrides: FreeObject | None = optional(
        "Values that replace the presets' values, by the backend's own names.",
        example={"train_iters": 50, "micro_batch_size": 2},
    )


class Modules(ConfigSection):
    """The modules of an experiment; exactly one is run."""

    pre_trainer: Module | None = optional("Pre-training; goes before post_trainer.")
    post_trainer: Module | None = optional("Fine-tuning.")


class Experiment(ConfigSection):
    """The top level of the file."""

    work_group: YamlText = key("Team; part of the output folder.", example="${PRIMUS_TEAM:amd}")
    user_name: YamlText = key("User; part of the output folder.", example="${PRIMUS_USER:root}")
    exp_name: YamlText = key("Name of the experiment; part of the output folder.", example="llama3.1_8B-pretrain")
    workspace: YamlText = key(
        "Parent of the output folders, relative to Primus' folder.", example="${PRIMUS_WORKSPACE:./output}"
    )
    platform: FreeObject | None = optional("Platform; by default platform_azure.yaml.")
    env: Environment | None = optional(
        "Variables that Primus itself sets in each process.", example={"XLA_PYTHON_CLIENT_MEM_FRACTION": ".97"}
    )
    modules: Modules = key("What is trained.")
    trainops: RunConfig = key(
        "How to run: read only by this collection, not by Primus itself.", default_factory=RunConfig
    )
