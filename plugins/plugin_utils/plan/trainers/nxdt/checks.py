# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of an NxDT training config before anything is launched.

Source: the assertions of neuronx_distributed_training (lightning_modules/nlp_overrides.py, model/base.py, data/*.py)
and the notes in its examples.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ....text.words import counted, key_path, listed, shown
from ...formats.nxdt_yaml.devices import INSTANCES, lnc_of
from ...formats.nxdt_yaml.model_config import MEGATRON_KEYS
from ...formats.nxdt_yaml.precision import MANUAL_KEYS
from ...job.container import check_container, check_devices, check_log_dir, check_shared_memory, is_mounted
from ...job.sizes import check_scaling, scales_batch, warn_of_few_steps
from .reading import NxdtReading

_LNC_FLAG = re.compile(r"(?:--logical-nc-config|--lnc|-lnc)[= ]+(\d+)")
_FILES_OF_RECORDS = (".jsonl", ".json", ".arrow")
_NOT_TOLD = ("throughput_per_gpu", "tflops_per_gpu", "mem_usage", "memory_fraction")
# Variables that make training_orchestrator.py change the number of steps, and the key to use instead.
_OTHER_STEPS = {"COMPILE": "trainops.compile_first", "TRAIN_ITERS": "trainer.max_steps"}
# Paths on the node that the training reads.
_READ = ("model.config_file", "data.train_dir", "data.val_dir", "data.tokenizer.type")


def check_config(reading: NxdtReading, given_nodes: int | None) -> None:
    """Report errors and keys without effect. ``given_nodes`` is trainer.num_nodes in the file."""
    _check_options(reading)
    _check_nodes(reading, given_nodes)
    _check_trainer(reading)
    _check_model_source(reading)
    _check_context_parallelism(reading)
    _check_experts(reading)
    _check_alignment(reading)
    _check_checkpoints(reading)
    _check_results(reading)
    _check_precision(reading)
    _check_devices(reading)
    run = reading.config.trainops
    check_container(run.container_config, reading.findings, "trainops.container_config")
    devices = "trainops.container_config.device_list"
    check_devices(reading.get(devices), devices, reading.options, reading.findings)
    check_shared_memory(run.shm_size, "trainops.shm_size", reading.options, reading.findings)
    check_log_dir(run.log_dir, "trainops.log_dir", reading.findings)
    warn_of_few_steps(reading.get("trainer.max_steps"), "trainer.max_steps", reading.findings)
    _check_variables(reading)
    if reading.options.container_engine != "none":
        _check_image(reading)
        _check_mounts(reading)


def _check_options(reading: NxdtReading) -> None:
    for option in ("training_model", "training_gpu"):
        value = getattr(reading.options, option)
        if value:
            reading.findings.warn(
                option, value, f"{option} has no effect: an NxDT config describes one model.", "Leave it out."
            )


def _check_nodes(reading: NxdtReading, given: int | None) -> None:
    check_scaling(reading.options.training_scale_batch, reading.mode, given, "trainer.num_nodes", reading.findings)
    scaled = scales_batch(reading.options.training_scale_batch, reading.mode)
    if reading.nodes and given and given != reading.nnodes and not scaled:
        reading.findings.warn(
            "trainer.num_nodes",
            given,
            f"num_nodes has no effect: the run has {counted(reading.nnodes, 'inventory host')}, which overrides it.",
            f"Set it to {reading.nnodes}, or choose other hosts with training_hosts or training_exclude.",
        )


def _check_trainer(reading: NxdtReading) -> None:
    refused = {
        "enable_progress_bar": (False, "the run is judged by the progress bar's output"),
        "enable_model_summary": (True, "NxDT rejects it"),
    }
    for key, (value, reason) in refused.items():
        if reading.get(f"trainer.{key}") is value:
            reading.fault(
                f"trainer.{key}", f"{key} must not be {value}: {reason}.", f"Leave it out, or set it to {not value}."
            )


def _check_model_source(reading: NxdtReading) -> None:
    source, findings = reading.get("model_source"), reading.findings
    if source == "megatron":
        for key in MEGATRON_KEYS:
            if reading.config.model and reading.get(f"model.{key}") is None:
                reading.fault(f"model.{key}", f"{key} is missing; model_source megatron needs it.", "Give it.")
        if reading.get("distributed_strategy.zero1") is False:
            reading.fault(
                "distributed_strategy.zero1", "model_source megatron works with zero1 only.", "Set it to True."
            )
    if source == "hf" and reading.config.model and reading.get("model.config_file") is None:
        findings.fault(
            "model.model_config",
            None,
            "model_config is missing; model_source hf needs it.",
            "Give the path of the model's config.json on the nodes.",
        )
    by_prefix = source == "megatron" and not reading.get("data.use_sft_style_data_module") and not reading.alignment
    key = "data_prefix" if by_prefix else "train_dir"
    if source and reading.config.data and not reading.get(f"data.{key}"):
        findings.fault(
            f"data.{key}", None, f"{key} is missing, so there is nothing to train on.", "Give the path of the data."
        )


def _check_context_parallelism(reading: NxdtReading) -> None:
    size = reading.get("distributed_strategy.context_parallel_size") or 1
    if size == 1:
        return
    wanted = {"ring_attention": True, "flash_attention": False}
    for key, value in wanted.items():
        found = reading.get(f"model.fusions.{key}")
        if found is not value and reading.get("model.fusions"):
            reading.fault(
                f"model.fusions.{key}",
                f"Context parallelism {size} needs ring attention in place of flash attention.",
                f"Set {key} to {value}.",
            )
    asked, length = reading.get("data.seq_length"), reading.get("model.encoder_seq_length")
    if asked and length and asked != length:
        reading.fault(
            "data.seq_length",
            f"With context parallelism it must equal model.encoder_seq_length, {length}.",
            "Set ${model.encoder_seq_length}.",
        )


def _check_experts(reading: NxdtReading) -> None:
    experts = reading.get("model.moe")
    if not experts:
        return
    if experts.dropless:
        activation = reading.get("model.activation")
        if activation != "swiglu" and (activation or reading.get("model_source") == "megatron"):
            reading.fault("model.activation", "Dropless experts need swiglu.", "Set swiglu.")
        if experts.glu_mlp is False:
            reading.fault("model.moe.glu_mlp", "Dropless experts need gated linear units.", "Set it to True.")
        if experts.capacity_factor:
            reading.warn(
                "model.moe.capacity_factor",
                "capacity_factor has no effect: NxDT sets it to 0.0 for dropless experts.",
                "Set it to 0.0.",
            )
    elif experts.capacity_factor == 0:
        reading.fault(
            "model.moe.capacity_factor",
            "An expert that gets no tokens learns nothing.",
            "Give a number greater than 0, or set dropless to True.",
        )
    if experts.routing_algorithm == "sinkhorn" and experts.top_k not in (None, 1):
        reading.fault("model.moe.top_k", "sinkhorn assigns each token one expert.", "Set it to 1.")
    parallel = reading.get("distributed_strategy.expert_model_parallel_size") or 1
    if experts.num_experts and experts.num_experts % parallel:
        reading.fault(
            "model.moe.num_experts",
            f"The {counted(experts.num_experts, 'expert')} cannot be divided among {counted(parallel, 'device')}.",
            f"Choose a multiple of {parallel}, or another expert_model_parallel_size.",
        )


def _check_alignment(reading: NxdtReading) -> None:
    alignment, findings, path = reading.alignment, reading.findings, reading.alignment_key
    if alignment is None:
        return
    chosen = [name for name in ("sft", "dpo", "orpo") if getattr(alignment, name)]
    if len(chosen) > 1:
        findings.fault(path, None, f"{listed(chosen)} are mutually exclusive.", "Keep one of them.")
    data = reading.get("data.train_dir")
    if data and not data.lower().endswith(_FILES_OF_RECORDS):
        reading.fault(
            "data.train_dir",
            "Fine-tuning and alignment read a records file.",
            f"Give a file whose name ends with {' or '.join(_FILES_OF_RECORDS)}.",
        )
    for key in ("data.seq_length", "data.tokenizer"):
        if reading.config.data and not reading.get(key):
            reading.fault(key, f"{key} is missing; fine-tuning and alignment need it.", "Give it.")
    if reading.config.exp_manager and not reading.get("exp_manager.resume_from_checkpoint"):
        reading.warn(
            "exp_manager.resume_from_checkpoint",
            "No checkpoint is set, so training starts from random weights.",
            "Set the pretrained checkpoint.",
        )
    if alignment.dpo:
        _check_dpo(reading, f"{path}.dpo")
    if alignment.orpo:
        _check_prompt(reading, f"{path}.orpo.max_prompt_length")
    if alignment.peft and reading.get("distributed_strategy.zero1"):
        reading.warn(
            "distributed_strategy.zero1",
            "According to NxDT's example, LoRA does not work with zero1.",
            "Set it to False.",
        )


def _check_dpo(reading: NxdtReading, path: str) -> None:
    lengths = [f"{path}.{key}" for key in ("max_prompt_length", "max_dpo_prompt_length")]
    if not any(reading.get(key) for key in lengths):
        reading.fault(lengths[0], "The maximum prompt length is not set.", "Set it, in tokens.")
    for key in lengths:
        _check_prompt(reading, key)
    if reading.get(f"{path}.precompute_ref_log_probs") is False:
        reading.fault(f"{path}.precompute_ref_log_probs", "NxDT requires it.", "Set it to True.")


def _check_prompt(reading: NxdtReading, key: str) -> None:
    prompt, length = reading.get(key), reading.get("data.seq_length")
    if prompt and length and prompt >= length:
        reading.fault(
            key,
            f"It leaves no tokens for the response: data.seq_length, prompt and response together, is {length}.",
            f"Give less than {length}.",
        )


def _check_checkpoints(reading: NxdtReading) -> None:
    writes = reading.get("exp_manager.create_checkpoint_callback")
    if writes and reading.nnodes > 1 and not reading.get("exp_manager.explicit_log_dir"):
        reading.warn(
            "exp_manager.explicit_log_dir",
            "Each node would keep its part of the checkpoints in its own run folder, where no other node finds it.",
            "Give a folder that all nodes share, or set create_checkpoint_callback to False.",
        )
    if writes and not reading.get("exp_manager.checkpoint_callback_params"):
        reading.fault(
            "exp_manager.checkpoint_callback_params",
            "It is missing; create_checkpoint_callback needs it.",
            "Give save_top_k and every_n_train_steps in it.",
        )


def _check_results(reading: NxdtReading) -> None:
    for key in _NOT_TOLD:
        value = reading.get(f"trainops.result_dict.{key}")
        if value is not None:
            reading.fault(
                f"trainops.result_dict.{key}",
                f"NxDT's log does not report {key}, so the run could never be judged by it.",
                "Give tokens_per_gpu or step_time_ms.",
            )


def _check_precision(reading: NxdtReading) -> None:
    """Report values that NxDT would reject, or interpret differently from its documentation."""
    kind = reading.get("precision.type")
    if kind == "mixed_precision_SR":
        reading.warn(
            "precision.type",
            "NxDT accepts this spelling, but uses neither FP32 master weights nor FP32 gradient accumulation.",
            "Set mixed_precision if you want these.",
        )
    if kind == "autocast" and not (reading.alignment and reading.alignment.peft):
        reading.warn(
            "precision.type",
            "NxDT's documentation says that autocast is not supported; its examples use it with LoRA only.",
            "Set mixed_precision.",
        )
    if kind == "manual":
        for key in MANUAL_KEYS:
            if reading.get(f"precision.{key}") is None:
                message = f"{key} is missing; type manual needs it."
                reading.fault(f"precision.{key}", message, "Give '0' or '1'.")
    elif kind is not None:
        for key in (*MANUAL_KEYS, "master_weights", "fp32_grad_acc", "fp32_grads_cc"):
            if reading.get(f"precision.{key}"):
                message = f"{key} has no effect: it applies only with precision.type manual."
                reading.warn(f"precision.{key}", message, "Leave it out, or set precision.type to manual.")


def _check_devices(reading: NxdtReading) -> None:
    """Report devices and logical-core sizes that do not fit each other or the instance type."""
    name, devices, lnc = (reading.get(key) for key in ("trainops.instance_type", "trainer.devices", "trainer.lnc"))
    flag = _LNC_FLAG.search(reading.get("compiler_flags") or "")
    if flag and lnc and int(flag.group(1)) != lnc:
        reading.fault(
            "compiler_flags",
            f"The compiler flag sets a logical NeuronCore size of {flag.group(1)}, but trainer.lnc is {lnc}.",
            "Set both to the same size.",
        )
    if name is None:
        reading.warn(
            "trainops.instance_type",
            "The instance type is not set, so the number of devices cannot be checked.",
            f"Set one of {', '.join(INSTANCES)}.",
        )
        return
    instance = INSTANCES[name]
    if lnc and lnc not in instance.lnc_sizes:
        message = f"lnc has no effect: on {name} a logical NeuronCore is always one physical core."
        reading.warn("trainer.lnc", message, "Leave it out.")
    size = lnc_of(instance, lnc)
    offered = instance.logical_devices(size)
    if devices and devices > offered:
        reading.fault(
            "trainer.devices",
            f"{name} offers {counted(offered, 'device')} at lnc {size}, but {shown(devices)} are requested.",
            f"Set {offered} or fewer; trainer.devices counts the devices of one node.",
        )
    elif devices and devices < offered:
        reading.warn(
            "trainer.devices",
            f"{name} offers {counted(offered, 'device')} at lnc {size}; {offered - devices} of them stay idle.",
            f"Set {offered} to use them all.",
        )


def _check_variables(reading: NxdtReading) -> None:
    variables: Mapping[str, str] = reading.get("trainops.container_config.env_dict") or {}
    for name in filter(_OTHER_STEPS.__contains__, variables):
        reading.findings.fault(
            key_path("trainops.container_config.env_dict", name),
            variables[name],
            "It would change NxDT's number of steps, but the run is judged by trainer.max_steps.",
            f"Leave it out, and set {_OTHER_STEPS[name]}.",
        )


def _check_image(reading: NxdtReading) -> None:
    if reading.get("trainops.container_image") is None and not reading.options.training_image:
        reading.fault(
            "trainops.container_image",
            "container_image is missing.",
            "Give the image, or set -e container_engine=none to train without a container.",
        )


def _check_mounts(reading: NxdtReading) -> None:
    mounts: Mapping[str, str] | None = reading.get("trainops.container_config.volume_dict")
    paths = {key.replace("config_file", "model_config"): reading.get(key) for key in _READ}
    for key, path in paths.items():
        if mounts is not None and path and path.startswith("/") and not is_mounted(path, mounts):
            reading.findings.warn(
                key,
                path,
                "No mount in trainops.container_config.volume_dict covers it, so it must be in the image.",
                "Mount its folder.",
            )
