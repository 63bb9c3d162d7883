# SPDX-License-Identifier: GPL-3.0-or-later
"""Which GPUs of a node a training sees, and whether they support its settings.

How many GPUs of a node a trainer sees: it starts a rank on each, whatever the plan says.

The variables are HIP's ("GPU isolation techniques" in the ROCm documentation); HIP also reads CUDA's name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ...text.words import counted, listed, nearest
from ..config.findings import Findings
from .job import Job
from .options import RunOptions
from .peaks import PEAK_TFLOPS, accelerator_of, peak_tflops
from .ranks import Node
from .workload import number_format

OPTION = "training_gpus_per_node"
_VARIABLES = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")


def visible_devices(
    variable: str, gpus: int | None, users: Mapping[str, tuple[str, str]], findings: Findings
) -> dict[str, str]:
    """Return the variable that exposes only the given number of GPUs, unless the user sets one; report a mismatch.

    ``users`` are the user's variables, each with its value and its key path.
    """
    given = [name for name in _VARIABLES if name in users]
    offered: int | None = None
    for name in given:
        value, path = users[name]
        found = _shown_by(value, offered)
        # The first one applies below HIP, which renumbers the remaining GPUs.
        offered = found if name == _VARIABLES[0] else offered
        if gpus and found != gpus:
            findings.fault(
                path,
                value,
                f"It exposes {counted(found, 'GPU')} to the training, but {OPTION} is {gpus}.",
                f"Set {OPTION} to {found}, or leave {name} out to use the first {gpus}." if found else "Leave it out.",
            )
    return {} if given or not gpus else {variable: ",".join(str(index) for index in range(gpus))}


def _shown_by(value: str, offered: int | None) -> int:
    """Return how many of the offered GPUs a variable exposes, or None if unknown.

    Each counts once, and the first invalid index ends the list.
    """
    shown: set[str] = set()
    for part in map(str.strip, value.split(",")):
        if part in shown or not re.fullmatch("[0-9]{1,9}|GPU-[0-9a-fA-F-]+", part):
            break
        if offered is not None and part.isdigit() and int(part) >= offered:
            break
        shown.add(part)
    return len(shown)


def check_same_gpus(nodes: Sequence[Node], findings: Findings) -> None:
    """Report hosts with different numbers of GPUs in the inventory; hosts without one use the default."""
    default = str(RunOptions.model_fields[OPTION].default)
    hosts: dict[str, list[str]] = {}
    for node in nodes:
        hosts.setdefault(node.gpus or default, []).append(node.name)
    if len(hosts) > 1:
        counts = "; ".join(f"{gpus} on {listed(names)}" for gpus, names in hosts.items())
        findings.fault(
            OPTION,
            next(iter(hosts)),
            f"All hosts of a run need the same number of GPUs, but the inventory says: {counts}.",
            "Set training_gpus_per_node to a number that every host has, or exclude hosts with training_exclude.",
        )


# TPUs and Trainium convert formats that they do not compute in.
_GPU = re.compile("mi[0-9]|[abh][0-9]")
# Names of no accelerator in particular.
_ANY = {"cpu", "gpu", "neuron", "tpu"}
_NARROW = ("fp8", "fp4")


def warn_of_gpu(job: Job, findings: Findings) -> None:
    """Warn of an unknown accelerator, and of a precision that the accelerator does not have."""
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
