# SPDX-License-Identifier: GPL-3.0-or-later
"""The trainers that are planned for: a folder here for each one."""

from __future__ import annotations

import typing as t
from importlib import import_module

from .face import Trainer

TRAINERS: dict[str, Trainer[t.Any, t.Any]] = {
    name: import_module(f".{name}.trainer", __package__).TRAINER
    for name in ("rocm_scripts", "maxtext", "nxdt", "primus_cli", "megatron_bridge", "torchtitan")
}
# By the name that users know, as in ``training_framework``.
OF_FRAMEWORK = {trainer.framework: trainer for trainer in TRAINERS.values()}
