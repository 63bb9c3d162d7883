# SPDX-License-Identifier: GPL-3.0-or-later
"""Megatron-LM on ROCm: from a CVS training config to the environment and argv of a training script.

`generations` lists the inputs of each release's scripts. Up to early 2025 the Llama scripts overwrite their
environment; positional ``KEY=VALUE`` arguments win in every version, so both are given. train_deepseekv2.sh reads only
its environment.
"""

from __future__ import annotations

from .....module_utils.node.contracts import Dataset
from ....contracts import Bound, OptionalParameters
from ...formats.cvs1.form import CvsForm
from ...formats.cvs1.megatron.config import PRECISIONS, MegatronConfig, MegatronModelParameters
from ...formats.cvs1.megatron.dataset import fetched_dataset
from ...job.container import container_options
from ...job.environment_variables import recording
from ...job.gpu_checks import check_same_gpus
from ...job.job import Job
from ...job.memory import ALL, INPUT, Keeping
from ...job.sizes import Sizes
from ...job.thresholds import expected_in
from .architecture import architecture_of
from .branch_checks import check_branch
from .config_checks import check_config, unused_keys
from .deepseek_checks import EXPERT_PARALLELISM, check_deepseek
from .environment import MASTER_PORT, checkpointing_of, environment_of
from .generations import DEEPSEEK, LLAMA3, V25_5
from .option_checks import check_options
from .reading import BranchReading, ScriptReading
from .scripts import generation_for, note_generation, script_of
from .user_variables import check_variables, users_variables

_OF_NODE = {"NODE_RANK": "{node-rank}", "LOG_DIR": "{run-folder}"}


def _job_of(reading: BranchReading, master: str) -> Job | None:
    script = script_of(reading)
    generation = generation_for(reading)
    if script:
        note_generation(reading, script, generation)
    script_reading = ScriptReading(**vars(reading), script=script, generation=generation)
    sizes, dimensions = check_branch(script_reading)
    check_options(script_reading, sizes, dimensions)
    dataset = fetched_dataset(reading.config.dataset_source, reading.parameters.tokenizer_model)
    check_deepseek(script_reading, dataset)
    check_same_gpus(reading.nodes, reading.findings)
    devices = check_variables(script_reading)
    expected = expected_in(reading, "result_dict")
    if reading.findings.faults or script is None:
        return None
    environment = environment_of(script_reading, sizes, master, dataset) | devices
    return _job(script_reading, script, master, sizes, expected, dataset, environment)


def _job(
    reading: ScriptReading,
    script: str,
    master: str,
    sizes: Sizes,
    expected: list[Bound],
    dataset: Dataset | None,
    environment: dict[str, str],
) -> Job:
    config, parameters, options = reading.config, reading.parameters, reading.options
    deepseek = reading.known_script == DEEPSEEK
    of_node = {} if deepseek else _OF_NODE
    parallelism: OptionalParameters = {}
    if sizes.context_parallelism != 1:
        parallelism["context_parallelism"] = sizes.context_parallelism
    tokenizer: OptionalParameters = {}
    if parameters.tokenizer_model:
        tokenizer["tokenizer"] = parameters.tokenizer_model
    if deepseek:
        parallelism["expert_parallelism"] = EXPERT_PARALLELISM
    given = environment | users_variables(reading, environment)
    saved, loaded = (given.get(name, "") for name in ("SAVE_CKPT_PATH", "LOAD_CKPT_PATH"))
    return Job(
        branch=reading.branch,
        parameters={
            "nnodes": len(reading.nodes),
            "gpus_per_node": options.training_gpus_per_node,
            "model_size": parameters.model_size,
            "precision": _trained_in(reading),
            "global_batch_size": sizes.global_batch_size,
            "micro_batch_size": sizes.micro_batch_size,
            "sequence_length": sizes.sequence_length,
            "tensor_parallelism": sizes.tensor_parallelism,
            "pipeline_parallelism": sizes.pipeline_parallelism,
            **parallelism,
            "data_parallelism": sizes.data_parallelism,
            "recompute": checkpointing_of(reading) == "full" if deepseek else parameters.recompute,
            "fsdp": parameters.fsdp,
            "iterations": config.training_iterations,
            "mock_data": config.mock_data,
            "script_generation": reading.generation,
            **tokenizer,
            "nic_type": config.nic_type,
        },
        tokens_per_step_per_gpu=sizes.tokens_per_step_per_gpu,
        expected=expected,
        nnodes=reading.nnodes,
        master_address=master,
        master_port=options.training_master_port or MASTER_PORT,
        image=config.container_image,
        environment=given | of_node,
        token_file=config.hf_token_file,
        # It fetches a tokenizer with wget, which uses only this variable.
        token_variable="HF_TOKEN" if reading.known_script == LLAMA3 and reading.generation == V25_5 else "",
        command=["bash", script],
        working_dir=options.training_megatron_root or config.megatron_root,
        log_dir=config.log_dir,
        mounts=config.container_config.volume_dict,
        devices=config.container_config.device_list,
        container_options=container_options(
            config.container_name, config.shm_size, options.container_profile, multi_node=reading.multi_node
        ),
        environment_as_arguments=not deepseek,
        script=script,
        dataset=dataset,
        architecture=architecture_of(reading, script, sizes.tensor_parallelism or 1),
        checkpoints=saved if saved == loaded else "",
        recorder=recording(given),
        keeping=_kept(reading, sizes, full=checkpointing_of(reading) == "full" if deepseek else parameters.recompute),
    )


def _kept(reading: ScriptReading, sizes: Sizes, *, full: bool) -> Keeping:
    """Return the content of a rank's memory: BF16 weights, gradients and its shard of the distributed optimizer.

    FSDP shards all of it.
    """
    shards = (sizes.data_parallelism or 1) * (sizes.context_parallelism or 1)
    whole = 4.0 if reading.get("grad_reduce_in_bf16") else 6.0
    is_sharded = reading.parameters.fsdp or reading.get("megatron_fsdp")
    states = (0.0, whole + 12.0) if is_sharded else (whole, 12.0)
    return Keeping(*states, shards, INPUT if full else ALL)


def _trained_in(reading: ScriptReading) -> str:
    """Return the precision that the script trains in, by its recipe if the format is block-scaled.

    The scripts train an FP16 config in BF16, and a warning says so. FP4 without a recipe is NVFP4 to the Llama scripts.
    """
    precision = PRECISIONS[reading.parameters.precision]
    if precision == "fp4":
        return reading.get("fp4_recipe") or "nvfp4"
    if precision == "fp8" and reading.reads("TE_FP8_RECIPE"):
        return "mxfp8" if reading.get("fp8_recipe") == "mxfp8" else precision
    return "bf16" if precision == "fp16" else precision


FORM = CvsForm(MegatronConfig, MegatronModelParameters, "master_address", unused_keys, check_config, _job_of)
