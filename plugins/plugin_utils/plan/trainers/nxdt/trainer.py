# SPDX-License-Identifier: GPL-3.0-or-later
"""NxDT on AWS Trainium. The module `job`, loaded only on demand, turns a config into a job."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from ...config.findings import Findings
from ...job.job import Job
from ...job.ranks import Node
from ..face import Trainer
from .options import NxdtOptions

if t.TYPE_CHECKING:
    from ...config.yaml_config import YamlConfig


class Nxdt(Trainer["YamlConfig", NxdtOptions]):
    """NeuronX Distributed Training."""

    name = "nxdt"
    title = "NxDT"
    framework = "nxdt"
    grammar = "nxdt"
    options = NxdtOptions
    uses_nccl = False

    def asks_for_image(self, config: YamlConfig) -> bool:
        """Return whether the section ``trainops`` sets an image."""
        from ...formats.nxdt_yaml.run import run_of  # noqa: PLC0415

        return run_of(config).get("container_image") is not None

    def plan_job(
        self, config: YamlConfig, options: NxdtOptions, nodes: Sequence[Node], findings: Findings
    ) -> Job | None:
        """Return the job to run, or None if there is any fault."""
        from .job import plan_job  # noqa: PLC0415

        return plan_job(config, options, nodes, findings)


TRAINER = Nxdt()
