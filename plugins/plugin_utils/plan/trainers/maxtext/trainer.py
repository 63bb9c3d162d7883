# SPDX-License-Identifier: GPL-3.0-or-later
"""JAX MaxText. The module `job`, loaded only on demand, turns a config into a job."""

from __future__ import annotations

from collections.abc import Sequence

from ...config.findings import Findings
from ...formats.cvs1.dialect import CvsFile
from ...job.job import Job
from ...job.ranks import Node
from ..face import Trainer
from .options import PLATFORM, MaxTextOptions


class MaxText(Trainer[CvsFile, MaxTextOptions]):
    """JAX MaxText."""

    name = "maxtext"
    title = "MaxText"
    framework = "maxtext"
    grammar = "maxtext"
    options = MaxTextOptions
    platforms = (PLATFORM,)

    def plan_job(
        self, config: CvsFile, options: MaxTextOptions, nodes: Sequence[Node], findings: Findings
    ) -> Job | None:
        """Return the job to run, or None if there is any fault."""
        from ...formats.cvs1.form import plan_job  # noqa: PLC0415
        from .job import FORM  # noqa: PLC0415

        return plan_job(FORM, config.data, options, nodes, findings)


TRAINER = MaxText()
