# SPDX-License-Identifier: GPL-3.0-or-later
"""TorchTitan's messages as it fails: config/manager.py, train.py and distributed/parallel_dims.py of 0.2.2 and 0.3."""

from __future__ import annotations

from ..signature import Signature

SIGNATURES = (
    Signature(
        "nan",
        "The loss or the norm of the gradients became NaN or infinite. Check data, precision and learning rate.",
        rb"Loss or gradient norm is not finite on at least one rank",
        more_specific_than=("any NaN",),
        sample="RuntimeError: Loss or gradient norm is not finite on at least one rank at step 7. Stopping training "
        "before the optimizer update.",
    ),
    Signature(
        "data",
        "The training data ended before the last step. Choose a larger dataset, or one that repeats, or request fewer "
        "steps.",
        rb"Ran out of data; last step was canceled",
        sample="[titan] 2026-11-26 20:50:28,616 - root - WARNING - Ran out of data; last step was canceled.",
    ),
    Signature(
        "settings_refused",
        "TorchTitan has no such module, model or config. Correct the name, or choose an image with a TorchTitan that "
        "has it.",
        rb"Config function '[^'\r\n]{1,200}' not found in|Cannot import (?:config_registry for )?module '"
        rb"|TrainSpec \S{1,200} is not registered",
        sample="ValueError: Config function 'llama3_9b' not found in torchtitan.models.llama3.config_registry.",
    ),
    Signature(
        "sizes",
        "The degrees of parallelism do not match the number of GPUs. Their product must equal it; "
        "data_parallel_shard_degree -1 takes the rest.",
        rb"Invalid parallel dims: dp_replicate\(",
        sample="AssertionError: Invalid parallel dims: dp_replicate(1) * dp_shard(8) * cp(1) * tp(1) * pp(1) != "
        "WORLD_SIZE(16)",
    ),
)
