# SPDX-License-Identifier: GPL-3.0-or-later
"""Primus, by its runner. The module `job`, loaded only on demand, turns an experiment into a job."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from ....contracts import Plan
from ...config.findings import Findings
from ...formats.face import Choice
from ...job.job import Job
from ...job.ranks import Node
from ..face import Trainer
from .options import PrimusOptions

if t.TYPE_CHECKING:
    from ...formats.primus_yaml.reading import PrimusFile


class PrimusCli(Trainer["PrimusFile", PrimusOptions]):
    """AMD's Primus, which trains with Megatron-LM, TorchTitan, MaxText and others."""

    name = "primus_cli"
    title = "Primus"
    framework = "primus"
    grammar = "megatron"
    options = PrimusOptions
    uses_nccl = False
    # runner/primus-cli-direct.sh, v0.5.0 to v26.5.1. Before a training of JAX, no grammar asks for it.
    exit_line = "[INFO] [direct] torchrun finished successfully (code 0)"

    def asks_for_image(self, config: PrimusFile) -> bool:
        """Return whether the section ``trainops`` sets an image."""
        from ...formats.primus_yaml.run import run_of  # noqa: PLC0415

        return run_of(config).get("container_image") is not None

    def grammar_for(self, config: PrimusFile) -> Choice:
        """Return the grammar of the backend's log."""
        from ...formats.primus_yaml.backends import grammar_of_backend  # noqa: PLC0415

        return grammar_of_backend(config.backend)

    def plan_job(
        self, config: PrimusFile, options: PrimusOptions, nodes: Sequence[Node], findings: Findings
    ) -> Job | None:
        """Return the job to run, or None if there is any fault."""
        from .job import plan_job  # noqa: PLC0415

        return plan_job(config, options, nodes, findings)

    def dry_run(self, plan: Plan) -> str:
        """Return primus-cli's own, in the container of the first node."""
        from .dry_run import dry_run  # noqa: PLC0415

        return dry_run(plan)


TRAINER = PrimusCli()
