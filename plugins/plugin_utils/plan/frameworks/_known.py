# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frameworks that a plan can be made for, each a module with the same face: NAME, CONFIG, BRANCH, plan_job."""

from __future__ import annotations

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks import _megatron

FRAMEWORKS = {module.NAME: module for module in (_megatron,)}
