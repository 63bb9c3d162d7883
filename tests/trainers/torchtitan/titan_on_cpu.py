# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts the unmodified TorchTitan 0.2.2 on CPUs: it takes CUDA for granted where torch finds no accelerator."""

from __future__ import annotations

import types

import torch

torch._utils._get_available_device_type = lambda: "cpu"

_MEMORY = types.SimpleNamespace(name="CPU", total_memory=8 << 30)
for name, function in {
    "get_device_name": lambda *_arguments: "CPU",
    "get_device_properties": lambda *_arguments: _MEMORY,
    "memory_stats": lambda *_arguments: {},
    "reset_peak_memory_stats": lambda *_arguments: None,
    "empty_cache": lambda *_arguments: None,
    "set_device": lambda *_arguments: None,
}.items():
    setattr(torch.cpu, name, function)

import torchtitan.distributed.utils

# Its barrier passes a device.
torchtitan.distributed.utils.set_pg_timeouts = lambda *_arguments, **_named: None

from torchtitan.train import Trainer, main

main(Trainer)
