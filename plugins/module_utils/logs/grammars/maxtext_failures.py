# SPDX-License-Identifier: GPL-3.0-or-later
"""MaxText's messages when it fails: metric_logger.py and pyconfig.py."""

from __future__ import annotations

from ..signature import Signature

SIGNATURES = (
    Signature(
        "nan",
        "The loss became NaN or infinite. Check data, precision and learning rate.",
        rb"Aborting training due to (?:NaN|Inf) loss",
        more_specific_than=("any NaN",),
        sample="I0102 03:04:05.1 1 metric_logger.py:1] Aborting training due to NaN loss.",
    ),
    Signature(
        "data",
        "The training data ended before the last step. Provide more data or epochs (num_epoch), or request fewer "
        "steps, and check that every node has all files.",
        rb"Training stopped: You may have run out of training data",
        sample=("I0102 x.py:7] Training stopped: You may have run out of training data. Received odd exception: ()"),
    ),
    Signature(
        "settings_refused",
        "The configuration rejects a key. Correct the one that the message names; another image may support other "
        "keys.",
        rb"Error: Key \S{1,200} was passed at the command line but isn't in config"
        rb"|Error: You are passing overrides by (?:both )?CLI|Error: We received env `M_",
        sample="ValueError: Key head_dim1 was passed at the command line but isn't in config.",
    ),
    Signature(
        "sizes",
        "The parallel sizes do not match the number of devices. Their product must equal the devices per slice over "
        "the ICI axes, and the number of slices over the DCN axes.",
        rb"does not match the product of the",
        sample="does not match the product of the",
    ),
)
