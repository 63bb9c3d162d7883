# SPDX-License-Identifier: GPL-3.0-or-later
"""Megatron Bridge, started by torchrun. The module `job`, loaded only on demand, turns a recipe into a job."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from ...config.findings import Findings
from ...job.job import Job
from ...job.ranks import Node
from ..face import Trainer
from .options import BridgeOptions

if t.TYPE_CHECKING:
    from ...formats.bridge_yaml.reading import RecipeFile


class MegatronBridge(Trainer["RecipeFile", BridgeOptions]):
    """NVIDIA's Megatron Bridge, which trains recipes with Megatron-LM's core."""

    name = "megatron_bridge"
    title = "Megatron Bridge"
    framework = "megatron_bridge"
    grammar = "megatron_bridge"
    options = BridgeOptions
    uses_nccl = False

    def asks_for_image(self, config: RecipeFile) -> bool:
        """Return whether the section ``trainops`` sets an image."""
        from ...formats.bridge_yaml.reading import run_of  # noqa: PLC0415

        return run_of(config).get("container_image") is not None

    def plan_job(
        self, config: RecipeFile, options: BridgeOptions, nodes: Sequence[Node], findings: Findings
    ) -> Job | None:
        """Return the job to run, or None if there is any fault."""
        from .job import plan_job  # noqa: PLC0415

        return plan_job(config, options, nodes, findings)


TRAINER = MegatronBridge()
