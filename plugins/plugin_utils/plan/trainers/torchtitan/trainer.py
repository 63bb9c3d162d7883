# SPDX-License-Identifier: GPL-3.0-or-later
"""TorchTitan, started by torchrun. The modules `job` and `named_job`, loaded on demand, turn a config into a job."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from ...config.findings import Findings
from ...job.job import Job
from ...job.ranks import Node
from ..face import Trainer
from .options import TorchTitanOptions

if t.TYPE_CHECKING:
    from ...formats.torchtitan_run.file import TitanRun
    from ...formats.torchtitan_toml.file import TitanFile

    TitanConfig = TitanFile | TitanRun


class TorchTitan(Trainer["TitanConfig", TorchTitanOptions]):
    """TorchTitan."""

    name = "torchtitan"
    title = "TorchTitan"
    framework = "torchtitan"
    grammar = "torchtitan"
    options = TorchTitanOptions
    uses_nccl = False

    def asks_for_image(self, config: TitanConfig) -> bool:
        """Return whether the table ``trainops`` sets an image."""
        run = config.values.get("trainops")
        return isinstance(run, dict) and run.get("container_image") is not None

    def plan_job(
        self, config: TitanConfig, options: TorchTitanOptions, nodes: Sequence[Node], findings: Findings
    ) -> Job | None:
        """Return the job to run, or None if there is any fault."""
        from ...formats.torchtitan_run.file import TitanRun  # noqa: PLC0415

        if isinstance(config, TitanRun):
            from .named_job import plan_job as plan_named_job  # noqa: PLC0415

            return plan_named_job(config, options, nodes, findings)
        from .job import plan_job  # noqa: PLC0415

        return plan_job(config, options, nodes, findings)


TRAINER = TorchTitan()
