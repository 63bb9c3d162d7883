# SPDX-License-Identifier: GPL-3.0-or-later
"""What MaxText says when it fails: metric_logger.py and pyconfig.py."""

from __future__ import annotations

from ..signature import Signature

SIGNATURES = (
    Signature(
        "nan",
        "The loss became NaN or infinite: check data, precision and learning rate.",
        rb"Aborting training due to (?:NaN|Inf) loss",
    ),
    Signature(
        "data",
        "The training data ended before the steps did: give more data or epochs (num_epoch), or ask "
        "for fewer steps, and check that all files are there on every node.",
        rb"Training stopped: You may have run out of training data",
    ),
    Signature(
        "settings_refused",
        "The configuration does not take a key: correct what the message names; another image may know other keys.",
        rb"Error: Key \S{1,200} was passed at the command line but isn't in config"
        rb"|Error: You are passing overrides by (?:both )?CLI|Error: We received env `M_",
    ),
    Signature(
        "sizes",
        "The parallel sizes do not fit the number of devices: their product over the ICI axes must be the devices of a "
        "slice, over the DCN axes the slices.",
        rb"does not match the product of the",
    ),
)
