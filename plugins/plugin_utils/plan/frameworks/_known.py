# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frameworks that a plan can be made for, each a module with the same face.

``NAME`` is its name, ``recognizes`` tells by text and file name whether a training config is for it, ``read`` returns
the config as plain data, and ``plan_job`` makes a job of that. ``CONFIG`` is the model of what the file, or its section
``config``, holds.
"""

from __future__ import annotations

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks import _maxtext, _megatron, _nxdt

FRAMEWORKS = {module.NAME: module for module in (_megatron, _maxtext, _nxdt)}


def framework_of(text: str, source: str) -> str:
    """Return the framework that a training config is for; one that none recognizes is taken for Megatron-LM."""
    return next((name for name, module in FRAMEWORKS.items() if module.recognizes(text, source)), _megatron.NAME)
