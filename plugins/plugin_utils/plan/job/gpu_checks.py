# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the accelerator that a config names exists, and computes in the precision of the run."""

from __future__ import annotations

import re

from ...text.words import listed, nearest
from ..config.findings import Findings
from .job import Job
from .peak_tflops import PEAK_TFLOPS, accelerator_of, peak_tflops
from .workload import number_format

# TPUs and Trainium convert formats that they do not compute in.
_GPU = re.compile("mi[0-9]|[abh][0-9]")
# Names of no accelerator in particular.
_ANY = {"cpu", "gpu", "neuron", "tpu"}
_NARROW = ("fp8", "fp4")


def warn_of_gpu(job: Job, findings: Findings) -> None:
    """Warn of a name that is no known accelerator, and of a precision that the accelerator does not have."""
    gpu, precision = job.branch.gpu, number_format(job.parameters["precision"])
    known = accelerator_of(gpu)
    if gpu and known is None and gpu.casefold() not in _ANY:
        near = nearest(gpu, PEAK_TFLOPS)
        findings.warn(
            job.branch.path,
            gpu,
            f"{gpu} is not a known accelerator, so that its peak and its memory are not known.",
            f"Did you mean {near}?" if near else f"Known are {listed(PEAK_TFLOPS)}.",
        )
    elif known and _GPU.match(known) and precision in _NARROW and peak_tflops(known, precision) is None:
        able = [name for name, peaks in PEAK_TFLOPS.items() if precision in peaks and _GPU.match(name)]
        findings.warn(
            job.branch.path,
            job.parameters["precision"],
            f"{gpu} does not compute in {precision.upper()}: the training fails, or runs in another precision.",
            f"Choose another precision; {listed(able)} have {precision.upper()}.",
        )
