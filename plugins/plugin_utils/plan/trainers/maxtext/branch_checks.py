# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of a branch of a training config for MaxText, and the sizes of one job."""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass

from ....text.words import counted, listed, nearest
from ...config.kinds import Switch, Whole, is_placeholder
from ...formats.cvs1.maxtext.branch_config import OF_CVS_ONLY
from ...formats.cvs1.maxtext.images import has_heartbeat_key, has_jax_0_4
from ...formats.cvs1.maxtext.keys import AXES, MODELS, missing_in
from ...formats.cvs1.maxtext.models import DIMENSIONS, PRESETS, WITHOUT_PRESET, model_with
from ...job.peaks import TPUS, accelerator_of
from ...job.sizes import warn_of_short_sequences
from ...job.workload import number_format
from .config_checks import check_data
from .gke import slices_of
from .options import PLATFORM
from .reading import BranchReading, model_of

# The axes that MaxText's base.yml leaves to be filled in; every other axis is 1 there.
_FILLED_UP = ("dcn_data_parallelism", "ici_fsdp_parallelism")
# The axes that divide the sequences of a step (logical_axis_rules of base.yml), and the keys that change that.
_OF_BATCH = ("data", "fsdp", "fsdp_transpose", "expert", "pipeline")
_OWN_RULES = (
    *("logical_axis_rules", "data_sharding", "input_data_sharding_logical_axes"),
    *("custom_mesh", "custom_mesh_and_rule"),
)
# Who assigns the ranks on other hardware than GPUs and TPUs.
_RANKED_BY = {"gpu_multiprocess": "Slurm or MPI", "cpu": "XPK"}
_NOT_ACCUMULATED = ("fp8", "nanoo_fp8", "fp8_gpu", "te_fp8_delayedscaling")
_WITH_FNUZ_FP8, _WITH_OCP_FP8 = ("mi300x", "mi325x"), ("mi350x", "mi355x")
_FNUZ, _OCP = ("nanoo_fp8", "fp8_nanoo"), ("fp8", "fp8_full", "fp8_gpu", "te_mxfp8")
_SKIPS = "skip_jax_distributed_system"
_PRECISIONS = {"bfloat16": "bf16", "float32": "fp32", "float16": "fp16"}


@dataclass(frozen=True)
class MaxTextSizes:
    """Sizes of one job. Batch sizes are in sequences, the sequence length in tokens; ``axes`` are of the whole job."""

    nodes: int
    gpus_per_node: int
    per_device_batch_size: float
    gradient_accumulation_steps: int
    sequence_length: int
    axes: dict[str, int]

    @property
    def global_batch_size(self) -> int | float:
        """Return all sequences of one step."""
        return _whole(self.per_device_batch_size * self.gradient_accumulation_steps * self.nodes * self.gpus_per_node)

    @property
    def tokens_per_step_per_gpu(self) -> float:
        """Return the tokens per GPU in one step."""
        return self.per_device_batch_size * self.gradient_accumulation_steps * self.sequence_length


def _whole(number: float) -> int | float:
    return int(number) if float(number).is_integer() else number


def check_branch(reading: BranchReading) -> MaxTextSizes | None:
    """Report errors in the branch, and return the sizes of one job as far as they are known."""
    parameters, gpus_per_node = reading.parameters, reading.options.training_gpus_per_node
    _check_model(reading)
    _check_generation(reading)
    _check_heartbeat(reading)
    _check_checkpoints(reading)
    _check_packing(reading)
    _check_accumulation(reading)
    _check_hardware(reading)
    _check_number_format(reading)
    _check_attention(reading)
    check_data(reading, parameters.dataset_type, reading.key("dataset_type"))
    nodes = reading.nnodes
    if not nodes or not gpus_per_node:
        return None
    if parameters.hardware == "tpu":
        # The hosts of a slice are one network of chips (ICI); DCN lies between slices.
        slices = slices_of(reading)
        chips = nodes * gpus_per_node // slices
        within = _axes(reading, "ici", chips, f"the {counted(chips, 'chip')} of a slice")
        among = _axes(reading, "dcn", slices, f"the {counted(slices, 'slice')} of a job")
    else:
        within = _axes(reading, "ici", gpus_per_node, f"the {counted(gpus_per_node, 'GPU')} of a node")
        among = _axes(reading, "dcn", nodes, f"the {counted(nodes, 'node')} of a job")
    if within is None or among is None or not parameters.per_device_batch_size or not parameters.max_target_length:
        return None
    sizes = MaxTextSizes(
        nodes=nodes,
        gpus_per_node=gpus_per_node,
        per_device_batch_size=parameters.per_device_batch_size,
        gradient_accumulation_steps=parameters.gradient_accumulation_steps or 1,
        sequence_length=parameters.max_target_length,
        axes={axis: within[axis] * among[axis] for axis in AXES},
    )
    _check_batch(reading, sizes)
    _warn_of_cvs_keys(reading, sizes)
    return sizes


def _axes(reading: BranchReading, group: str, devices: int, what: str) -> dict[str, int] | None:
    """Return the sizes of a group's axes with the open one filled in, like MaxText's fill_unspecified_mesh_axes."""
    keys = {axis: f"{group}_{axis}_parallelism" for axis in AXES}
    if any(
        reading.branch.values.get(key) is not None and getattr(reading.parameters, key) is None for key in keys.values()
    ):
        return None
    axes = {axis: getattr(reading.parameters, key) or (-1 if key in _FILLED_UP else 1) for axis, key in keys.items()}
    open_axes = [keys[axis] for axis, size in axes.items() if size == -1]
    product = math.prod(size for size in axes.values() if size != -1)
    path = reading.key(open_axes[0] if open_axes else keys["fsdp"])
    sizes = ", ".join(f"{keys[axis]} {size}" for axis, size in axes.items() if size != 1) or "all 1"
    if len(open_axes) > 1:
        reading.findings.fault(
            path,
            -1,
            f"MaxText fills in at most one axis of {group}, but {listed(open_axes)} are -1 (the default where left "
            "out).",
            f"Give {' or '.join(open_axes)} a size.",
        )
        return None
    if devices % product or (not open_axes and product != devices):
        reading.findings.fault(
            path,
            product,
            f"The axes of {group} ({sizes}) do not multiply to {what}.",
            f"Choose sizes whose product is {devices}, or set one of them to -1"
            + ("." if group == "dcn" else ", or fix training_gpus_per_node."),
        )
        return None
    return {axis: devices // product if size == -1 else size for axis, size in axes.items()}


def _check_model(reading: BranchReading) -> None:
    name, findings = model_of(reading), reading.findings
    if name == WITHOUT_PRESET:
        return
    preset = PRESETS.get(name)
    if preset is None and name in MODELS:
        return
    if preset is None:
        near = nearest(name, MODELS)
        findings.warn(
            reading.key("model_name"),
            name,
            f"MaxText's model {name} is not known here, so its dimensions are not checked; MaxText exits on a name "
            "it does not know.",
            f"Did you mean {near}? Give it as model_name." if near else "Check that the image's MaxText has it.",
        )
        return
    own = {key: value for key in DIMENSIONS if (value := getattr(reading.parameters, key)) is not None}
    different = {key: value for key, value in own.items() if preset[key] != value}
    if not different:
        return
    like = model_with(own)
    others = ", ".join(f"{key} {value} instead of {preset[key]}" for key, value in different.items())
    reading.warn(
        next(iter(different)),
        f"These are {f'the dimensions of {like}' if like else 'other dimensions'}, not those of {name}: {others}. "
        f"They have no effect: MaxText's preset takes precedence, and {name} is trained.",
        f"Leave them out, or name {like} as the model."
        if like
        else f"Leave them out, or set model_name to {WITHOUT_PRESET}.",
    )


def _check_generation(reading: BranchReading) -> None:
    image = reading.config.container_image if reading.options.container_engine != "none" else None
    for key, reason in missing_in(image, reading.branch.values).items():
        if key not in OF_CVS_ONLY:
            reading.findings.warn(
                reading.key(key),
                reading.branch.values[key],
                f"The MaxText of {image} is not known to have {key}: {reason}. MaxText exits on a key it does not "
                "know.",
                "Leave it out, or use another image.",
            )


def _check_heartbeat(reading: BranchReading) -> None:
    image, key = reading.config.container_image, "jax_distributed_heartbeat_timeout_seconds"
    if reading.gives(key) and has_heartbeat_key(image) is not True:
        reading.findings.warn(
            reading.key(key),
            reading.branch.values[key],
            f"{f'The MaxText of {image}' if image else 'This MaxText'} is not known to have {key}: only AMD's has "
            "it, in images from v26.2 on. MaxText exits on a key it does not know.",
            "Leave it out, or use another image.",
        )


def _check_checkpoints(reading: BranchReading) -> None:
    shared = reading.nnodes > 1
    if shared and reading.config.enable_checkpointing and not reading.parameters.base_output_directory:
        reading.findings.fault(
            reading.key("base_output_directory"),
            None,
            "All nodes of a multi-node run write checkpoints into one folder, but no folder is set.",
            "Give a shared folder, or set config.enable_checkpointing to False.",
        )


def _check_packing(reading: BranchReading) -> None:
    """Warn of values that MaxText 0.2.5 rejects (max_segments_per_seq in configs/types.py) and v25.5's accepts."""
    parameters = reading.parameters
    packed = parameters.packing is not False and parameters.max_segments_per_seq is None
    if parameters.attention == "cudnn_flash_te" and packed and has_jax_0_4(reading.config.container_image) is not True:
        reading.warn(
            "max_segments_per_seq",
            "Newer MaxText (0.2.5) exits at start with attention cudnn_flash_te and packed sequences unless "
            "max_segments_per_seq is set.",
            "Set it, or set packing to False.",
        )


def _check_accumulation(reading: BranchReading) -> None:
    """Warn of values that MaxText rejects since November 2025 (configs/types.py) and v25.5's accepts."""
    steps, quantization = reading.parameters.gradient_accumulation_steps, reading.parameters.quantization
    old = has_jax_0_4(reading.config.container_image) is True
    if (steps or 1) > 1 and quantization in _NOT_ACCUMULATED and not old:
        reading.warn(
            "gradient_accumulation_steps",
            f"Newer MaxText exits at start with quantization {quantization} and more than one batch per step.",
            "Leave it out, or choose another quantization.",
        )


def _check_hardware(reading: BranchReading) -> None:
    """Report if the processes of a job would not find each other (initialize_… in MaxText's max_utils.py)."""
    hardware, skips = reading.parameters.hardware, getattr(reading.parameters, _SKIPS)
    several = reading.nnodes > 1
    if hardware == "tpu" and accelerator_of(reading.branch.gpu) not in (None, *TPUS):
        message = f"With hardware tpu, MaxText trains on TPUs, and {reading.branch.gpu} is none."
        reading.fault("hardware", message, "Set gpu, with a script or flags of gpu/, or name the branch by its TPU.")
    if reading.options.training_platform == PLATFORM:
        return
    if hardware in _RANKED_BY and (several or not skips):
        reading.fault(
            "hardware",
            f"With hardware {hardware}, MaxText takes its rank from {_RANKED_BY[hardware]}, which does not start "
            "this run, so it exits.",
            "Set gpu: then processes take rank and rendezvous address from the plan, on other devices too"
            + ("." if several else f"; or set {_SKIPS} to True."),
        )
    elif skips and several:
        reading.fault(_SKIPS, "Every node would train its own model.", "Leave it out.")


def _check_number_format(reading: BranchReading) -> None:
    """Warn of the FP8 of another generation of AMD's GPUs: MI300 has FNUZ formats, those after it OCP's."""
    gpu, quantization = accelerator_of(reading.branch.gpu), reading.parameters.quantization
    if gpu in _WITH_OCP_FP8 and quantization in _FNUZ:
        message = f"{quantization} is the FP8 of MI300X and MI325X (FNUZ), which {reading.branch.gpu} does not have."
        reading.warn("quantization", message, "Choose fp8, or another one of the OCP formats.")
    elif gpu in _WITH_FNUZ_FP8 and quantization in _OCP:
        message = f"{quantization} takes the OCP formats of FP8, but {reading.branch.gpu} has only FNUZ."
        reading.warn("quantization", message, "Choose nanoo_fp8.")


def _check_attention(reading: BranchReading) -> None:
    """Warn of attention and lengths that are not for GPUs (apply_attention in MaxText's layers/attention_op.py)."""
    gpu, attention = accelerator_of(reading.branch.gpu), reading.parameters.attention
    if gpu is None or reading.parameters.hardware not in (None, "gpu"):
        return
    warn_of_short_sequences(reading.parameters.max_target_length, reading.key("max_target_length"), reading.findings)
    if attention == "flash":
        reading.warn(
            "attention",
            "flash is MaxText's attention for TPUs. On GPUs a kernel of JAX takes its place, which is not tuned for "
            f"{reading.branch.gpu}.",
            "Choose cudnn_flash_te, the one of Transformer Engine, like published configs for GPUs.",
        )
    elif attention == "cudnn_flash_jax" and gpu.startswith("mi"):
        message = f"cudnn_flash_jax calls cuDNN, NVIDIA's library, which {reading.branch.gpu} does not have."
        reading.warn("attention", message, "Choose cudnn_flash_te, which AMD's images have with Transformer Engine.")


def _check_batch(reading: BranchReading, sizes: MaxTextSizes) -> None:
    batch = sizes.per_device_batch_size * sizes.nodes * sizes.gpus_per_node
    if batch < 1 or not float(batch).is_integer():
        reading.fault(
            "per_device_batch_size",
            f"On {counted(sizes.nodes * sizes.gpus_per_node, 'GPU')} that makes {batch:g} sequences at once, not a "
            "whole number.",
            "Choose a size that gives a whole number.",
        )
        return
    loaded, shards = int(batch) * sizes.gradient_accumulation_steps, math.prod(map(sizes.axes.__getitem__, _OF_BATCH))
    # Of less than one sequence a device MaxText loads one, and takes as many of them as it needs.
    if sizes.per_device_batch_size > 1 and loaded % shards and not any(map(reading.gives, _OWN_RULES)):
        reading.fault(
            "per_device_batch_size",
            f"One step has {loaded} sequences, which JAX cannot divide among the {shards} shards of "
            f"{listed(_OF_BATCH)} parallelism.",
            f"Choose a size that makes it a multiple of {shards}.",
        )


def precision_of(reading: BranchReading) -> str:
    """Return the number format of the matrix multiplications: the quantization's, or else the activations'."""
    quantization = reading.parameters.quantization
    dtype = reading.parameters.dtype or "bfloat16"
    return quantization or _PRECISIONS.get(dtype, dtype)


def _warn_of_cvs_keys(reading: BranchReading, sizes: MaxTextSizes) -> None:
    """Warn of CVS keys that never reach MaxText: first the keys that contradict the run."""
    axes = sizes.axes
    remat = reading.parameters.remat_policy
    facts: dict[str, tuple[t.Any, str]] = {
        "batch_size": (
            sizes.global_batch_size,
            f"one step has {sizes.global_batch_size} sequences (per_device_batch_size × GPUs)",
        ),
        "micro_batch_size": (
            _whole(sizes.per_device_batch_size),
            f"per_device_batch_size is {sizes.per_device_batch_size:g}",
        ),
        "sequence_length": (sizes.sequence_length, f"max_target_length is {sizes.sequence_length}"),
        "tensor_parallelism": (axes["tensor"], f"ici_tensor_parallelism × dcn_tensor_parallelism is {axes['tensor']}"),
        "pipeline_parallelism": (
            axes["pipeline"],
            f"ici_pipeline_parallelism × dcn_pipeline_parallelism is {axes['pipeline']}",
        ),
        "recompute": (remat not in (None, "minimal"), f"remat_policy is {remat or 'what MaxText takes'}"),
        "fsdp": (axes["fsdp"] > 1, f"ici_fsdp_parallelism × dcn_fsdp_parallelism is {axes['fsdp']}"),
        "precision": (precision_of(reading), f"quantization and dtype say {precision_of(reading)}"),
    }
    agreeing = []
    for key in OF_CVS_ONLY:
        value = reading.branch.values.get(key)
        if value is None or is_placeholder(value):
            continue
        if key in facts and not _says(key, value, facts[key][0]):
            message = f"{key} has no effect, and contradicts what runs: {facts[key][1]}."
            reading.findings.warn(reading.key(key), value, message, "Leave it out, or change the keys that decide it.")
        else:
            agreeing.append(key)
    if agreeing:
        reading.findings.warn(
            reading.branch.path,
            None,
            f"These keys have no effect, because MaxText uses other keys for them: {listed(agreeing)}.",
            "Leave them out.",
        )


def _says(key: str, value: t.Any, fact: t.Any) -> bool:
    """Return whether a CVS value agrees with the run."""
    if key == "precision":
        return str(value).casefold().removeprefix("te_") == number_format(str(fact))
    try:
        return bool((Switch() if isinstance(fact, bool) else Whole(0)).read(value) == fact)
    except ValueError:
        return False
