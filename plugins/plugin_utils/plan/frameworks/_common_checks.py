# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be wrong with the section ``config`` of any CVS training config, and is told in the same words."""

from __future__ import annotations

import typing as t

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._config import flag_in
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._kinds import is_placeholder
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._words import counted, listed
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._batch_scaling import (
    check_scaling,
    scales_batch,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._branch import offered_modes

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._faults import Findings
    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._options import PlanOptions
    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._ranks import Node

_SCALED = "With training_scale_batch=reference_nodes the batch is scaled to the hosts that there are."


class ConfigReading(t.Protocol):
    """A section ``config`` as far as it could be read, and the run around it."""

    @property
    def given(self) -> Mapping[str, t.Any]:
        """Return the section as it stands in the file."""

    @property
    def mode(self) -> str:
        """Return the mode of the run."""

    @property
    def multi_node(self) -> bool:
        """Tell whether one job runs over all nodes."""

    @property
    def nodes(self) -> Sequence[Node]:
        """Return the nodes in rank order."""

    @property
    def options(self) -> PlanOptions:
        """Return the variables of the run."""

    @property
    def findings(self) -> Findings:
        """Return where to note what is wrong."""


def warn_of_no_effect(reading: ConfigReading, key: str, reason: str, remedy: str) -> None:
    """Note a key that has no effect, unless it is still to be filled in: then nobody expects one."""
    value = reading.given[key]
    if not is_placeholder(value):
        reading.findings.warn(f"config.{key}", value, f"{key} has no effect: {reason}.", remedy)


def check_nodes(reading: ConfigReading, asked: int | None) -> None:
    """Note where the inventory has another number of nodes than the config asks for.

    Where the batch is scaled, what the config says is for how many nodes it was tuned.
    """
    nodes = reading.nodes
    check_scaling(reading.options, reading.mode, asked, "config.nnodes", reading.findings)
    if asked and nodes and asked != len(nodes) and not scales_batch(reading.options, reading.mode):
        reading.findings.fault(
            "config.nnodes",
            asked,
            f"nnodes is {asked}, but the run has {counted(len(nodes), 'host')} of the inventory: "
            f"{listed(node.name for node in nodes)}.",
            f"Set nnodes to {len(nodes)}, or choose other hosts with training_hosts or training_exclude."
            + (f" {_SCALED}" if reading.multi_node else ""),
        )


def check_mode(reading: ConfigReading, parameters: t.Any) -> None:
    """Note where the config asks for another mode than the one that runs. ``parameters`` are model_params."""
    distributed, offered = flag_in(reading.given, "distributed_training"), offered_modes(parameters)
    if distributed is not None and distributed != reading.multi_node and offered:
        reason = f"the file offers only {offered[0]}" if len(offered) == 1 else f"training_mode is {reading.mode}"
        warn_of_no_effect(reading, "distributed_training", reason, f"Set it to {reading.multi_node}, or leave it out.")


def check_image(reading: ConfigReading) -> None:
    """Note that no image is named."""
    if reading.given.get("container_image") is None:
        reading.findings.fault(
            "config.container_image",
            None,
            "container_image is missing.",
            "Give the image, or say -e container_engine=none to train without a container.",
        )
