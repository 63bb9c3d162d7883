# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of a job: its model FLOPs, and the traffic of its gradients.

How many bytes a node of a job must send over the network at least, by the plan's parallelism.

Data parallel replicas exchange their gradients in each step. For S bytes of gradients, no algorithm on n nodes lets a
node send less than (n - 1) / n x S in the reduce-scatter alone, and a ring all-reduce sends twice that (Patarasu and
Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", J. Parallel Distrib. Comput. 69, 2009).
Sharded optimizers (Megatron's distributed optimizer, FSDP) do the reduce-scatter too. All other traffic comes on top:
parameters, activations between pipeline stages, tokens between experts.

The gradients of a node follow from the order of Megatron-LM's ranks, tensor parallel ones innermost, pipeline stages
outermost (megatron/core/parallel_state.py, order tp-cp-ep-dp-pp), which is also how MaxText lays out its axes.
"""

from __future__ import annotations

from ...contracts import Parameters, Workload
from .architecture import FORMULA, Architecture, model_flops_per_token, parameters_of
from .job import Job
from .peaks import accelerator_of, peak_tflops

# What any training exchanges in a step: no model that is trained on several nodes has fewer gradients.
LEAST_OF_A_STEP = 1 << 20
# Pipeline stages differ in size, since the embedding is in the first and the last one; some layers may be frozen.
_SURELY = 0.5
_FULL_PRECISION = "fp32"


def least_bytes_sent(workload: Workload | None, parameters: Parameters, nodes: int, steps: int) -> int:
    """Return the bytes that each of the ``nodes`` of one job must have sent at least after so many ``steps``.

    0 for a job on one node. Where the exchange of gradients is not known to cross nodes, or its size is not known, it
    is the least that any training exchanges (1 MiB in a step).
    """
    if nodes < 2 or steps < 1:
        return 0
    return steps * max(LEAST_OF_A_STEP, int(_SURELY * _gradient_bytes(workload, parameters, nodes)))


def _gradient_bytes(workload: Workload | None, parameters: Parameters, nodes: int) -> float:
    """Return the bytes that a step's reduce-scatter sends from a node; 0 if it is not known to cross nodes."""
    size = workload.get("parameters") if workload else None
    tensor, pipeline = parameters.get("tensor_parallelism"), parameters.get("pipeline_parallelism")
    of_node = parameters.get("gpus_per_node")
    if not workload or not size or not tensor or not pipeline or not of_node:
        return 0.0
    if (parameters.get("expert_parallelism") or 1) > 1:
        # The gradients of experts need not cross nodes, and how many others there are is not known.
        return 0.0
    of_stage = nodes * of_node / pipeline
    if of_stage <= of_node or of_stage <= tensor or tensor > of_node:
        return 0.0
    nodes_of_stage = of_stage / of_node
    element = 4 if workload["precision"] == _FULL_PRECISION else 2
    return size / pipeline * element * (nodes_of_stage - 1) / nodes_of_stage


# The number format of the matrix multiplications for each trainer's name of a precision.
_FORMATS = {
    "nanoo_fp8": "fp8",
    "fp8_nanoo": "fp8",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "fp8_full": "fp8",
    "fp8_gpu": "fp8",
    "te_fp8_delayedscaling": "fp8",
    "te_fp8_currentscaling": "fp8",
    "te_mxfp8": "fp8",
    "mxfp8": "fp8",
    "mxfp4": "fp4",
    "nvfp4": "fp4",
    "te_nvfp4": "fp4",
    "te_nvfp4_no_rht": "fp4",
    "te_no_quant": "bf16",
    "bf16SR": "bf16",
    "mixed_precision": "bf16",
    "mixed_precisionSR": "bf16",
    "mixed_precision_SR": "bf16",
    "autocast": "bf16",
}


def number_format(precision: str) -> str:
    """Return the number format for a trainer's name of a precision; the name itself if unknown."""
    return _FORMATS.get(precision, precision)


_BLOCK_SCALED = ("mxfp8", "mxfp4", "nvfp4")


def named_precision(job: Job) -> str:
    """Return the name of the precision in threshold cells: the number format, or the block-scaled format."""
    name = job.parameters["precision"]
    return next((scaled for scaled in _BLOCK_SCALED if scaled in name), number_format(name))


def workload_of(job: Job) -> Workload:
    """Return the workload of one job; JSON.

    ``precision`` (fp4, fp8, bf16, fp16, fp32, or the trainer's own name for another one), ``global_batch_size`` and
    ``micro_batch_size`` (sequences), ``sequence_length`` (tokens), ``tokens_per_step``, ``gpus`` (of one job),
    ``parameters``, ``layers``, ``hidden_size`` and ``feed_forward_size`` (of the model, or of one of its experts) and
    ``model_flops_per_token`` (of a training step), all None with ``model_flops_reason`` where the model's shape is not
    known, ``peak_tflops_per_gpu`` (TFLOP/s in this precision, dense), None with ``peak_reason``, and ``formula``, how
    the FLOPs are counted.
    """
    parameters, shape = job.parameters, job.architecture
    precision = number_format(parameters["precision"])
    gpus = job.nnodes * parameters["gpus_per_node"]
    length = parameters["sequence_length"]
    known = shape if isinstance(shape, Architecture) else None
    gpu = job.branch.gpu
    peak = peak_tflops(gpu, precision)
    of = f"{gpu} in {precision}" if accelerator_of(gpu) else gpu
    return {
        "precision": precision,
        "global_batch_size": parameters["global_batch_size"],
        "micro_batch_size": parameters["micro_batch_size"],
        "sequence_length": length,
        "tokens_per_step": None if job.tokens_per_step_per_gpu is None else round(job.tokens_per_step_per_gpu * gpus),
        "gpus": gpus,
        "parameters": parameters_of(known) if known else None,
        "layers": known.layers if known else None,
        "hidden_size": known.hidden_size if known else None,
        "feed_forward_size": (known.experts or known).feed_forward_size if known else None,
        "model_flops_per_token": model_flops_per_token(known, length, counts_routers=job.counts_routers)
        if known and length
        else None,
        "model_flops_reason": shape if isinstance(shape, str) else None,
        "peak_tflops_per_gpu": peak and peak * job.chips_per_gpu,
        "peak_reason": None if peak else f"The peak of {of} is unknown.",
        "formula": FORMULA,
    }
