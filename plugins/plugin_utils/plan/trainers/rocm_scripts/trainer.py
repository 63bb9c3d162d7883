# SPDX-License-Identifier: GPL-3.0-or-later
"""The scripts of ROCm's Megatron-LM. The module `job`, loaded only on demand, turns a config into a job."""

from __future__ import annotations

from collections.abc import Sequence

from ...config.findings import Findings
from ...formats.cvs1.dialect import CvsFile
from ...job.job import Job
from ...job.ranks import Node
from ..face import Trainer
from .options import MegatronOptions


class RocmScripts(Trainer[CvsFile, MegatronOptions]):
    """Megatron-LM on ROCm, by its training scripts."""

    name = "rocm_scripts"
    title = "Megatron-LM"
    framework = "megatron"
    grammar = "megatron"
    options = MegatronOptions

    def plan_job(
        self, config: CvsFile, options: MegatronOptions, nodes: Sequence[Node], findings: Findings
    ) -> Job | None:
        """Return the job to run, or None if there is any fault."""
        from ...formats.cvs1.form import plan_job  # noqa: PLC0415
        from .job import FORM  # noqa: PLC0415

        return plan_job(FORM, config.data, options, nodes, findings)


TRAINER = RocmScripts()
