# SPDX-License-Identifier: GPL-3.0-or-later
"""Model FLOPs utilization (MFU): how much of the accelerators' peak the training used."""

from __future__ import annotations

from collections.abc import Mapping

from ..contracts import MetricOfRun, Statistics, Utilization, Workload

MODEL_FLOPS, TFLOPS = "model FLOPs and tokens/s", "TFLOP/s as the trainer counts them"


def utilization_of(
    workload: Workload | None, measured: Mapping[str, MetricOfRun | Statistics], *, on_cpus: bool = False
) -> Utilization:
    """Return ``mfu`` (a fraction of the peak, or None), ``mfu_basis``, and ``mfu_reason`` if there is none.

    ``workload`` is that of the plan, ``measured`` are statistics by metric, each with its ``value``. MFU is model FLOPs
    per token × tokens/s of a GPU / its peak (appendix B of arXiv 2204.02311). Where the FLOPs of the model are not
    known it is what the trainer prints as TFLOP/s, over the peak; trainers count in different ways. CPUs have none of
    the planned peak.
    """
    tokens, tflops = (
        measured[name]["value"] if name in measured else None for name in ("tokens_per_sec_per_gpu", "tflops_per_gpu")
    )
    if not workload:
        return _none("The plan does not state the workload.")
    peak, flops = workload["peak_tflops_per_gpu"], workload["model_flops_per_token"]
    if not peak or on_cpus:
        return _none("The nodes have no accelerator." if on_cpus else workload["peak_reason"])
    if flops and tokens is not None:
        return {"mfu": flops * tokens / (peak * 1e12), "mfu_basis": MODEL_FLOPS, "mfu_reason": None}
    if tflops is not None:
        return {"mfu": tflops / peak, "mfu_basis": TFLOPS, "mfu_reason": None}
    if tokens is None:
        return _none("No counted step shows tokens/s or TFLOP/s.")
    return _none(workload["model_flops_reason"])


def _none(reason: str | None) -> Utilization:
    return {"mfu": None, "mfu_basis": None, "mfu_reason": reason}
