# SPDX-License-Identifier: GPL-3.0-or-later
"""TorchTitan, started by torchrun. The module `job`, loaded only on demand, turns a config into a job."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from ...config.findings import Findings
from ...job.job import Job
from ...job.ranks import Node
from ..face import Trainer
from .options import TorchTitanOptions

if t.TYPE_CHECKING:
    from ...formats.torchtitan_toml.file import TitanFile


class TorchTitan(Trainer["TitanFile", TorchTitanOptions]):
    """TorchTitan."""

    name = "torchtitan"
    title = "TorchTitan"
    framework = "torchtitan"
    grammar = "torchtitan"
    options = TorchTitanOptions
    launcher = "torchrun"
    uses_nccl = False

    def engine_for(self, config: TitanFile, options: TorchTitanOptions, findings: Findings) -> str:
        """Return ``none`` if neither an engine nor an image is set."""
        from .job import engine_for  # noqa: PLC0415

        return engine_for(config, options, findings)

    def plan_job(
        self, config: TitanFile, options: TorchTitanOptions, nodes: Sequence[Node], findings: Findings
    ) -> Job | None:
        """Return the job to run, or None if there is any fault."""
        from .job import plan_job  # noqa: PLC0415

        return plan_job(config, options, nodes, findings)


TRAINER = TorchTitan()
