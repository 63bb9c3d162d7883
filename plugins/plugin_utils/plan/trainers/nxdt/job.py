# SPDX-License-Identifier: GPL-3.0-or-later
"""NxDT (NeuronX Distributed Training on AWS Trainium): from its YAML file to the command of each node.

NxDT's own train.sh runs on several nodes only under Slurm or Open MPI. So a plan has the torchrun command that train.sh
would run, with the same arguments, and the exports of its train_setup.sh. The YAML file is staged unchanged. Source:
examples/train.sh, train_setup.sh and training_orchestrator.py of aws-neuron/neuronx-distributed-training.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping, Sequence

from .....module_utils.node.contracts import ContainerOptions
from ....contracts import Bound, Parameters
from ...config.findings import Findings
from ...config.staged_secrets import check_secrets
from ...config.yaml_config import YamlConfig, values_of
from ...formats.nxdt_yaml.config import NxdtConfig
from ...formats.nxdt_yaml.devices import INSTANCES, lnc_of
from ...formats.nxdt_yaml.precision import precision_compiler_flags, precision_environment
from ...formats.nxdt_yaml.run import RUN, given_nodes_of, mode_of
from ...formats.run_section import typed_file
from ...job.container import container_options, variables_of_user
from ...job.job import Branch, Job, check_name
from ...job.ranks import Node
from ...job.sizes import Sizes, for_nodes_at_hand
from ...job.thresholds import expected_in
from .architecture import architecture_of, chips_per_device
from .checks import check_config
from .options import NxdtOptions
from .reading import NxdtReading
from .sizes import check_sizes, sizes_of
from .value_checks import check_values

# That of train_setup.sh.
_MASTER_PORT = 41000
_SCRIPT = "training_orchestrator.py"
_CONFIG_NAME = "nxdt_config"
_COMPILE_NAME = "compile_first.sh"
# What train_setup.sh exports on every kind of cluster.
_ALWAYS = {"XLA_DISABLE_FUNCTIONALIZATION": "0", "HYDRA_FULL_ERROR": "1", "MALLOC_ARENA_MAX": "128"}
# What it exports for nodes that talk over EFA.
_EFA = {"FI_PROVIDER": "efa", "FI_EFA_USE_DEVICE_RDMA": "1", "FI_EFA_FORK_SAFE": "1"}
_AFTER_ENVIRONMENT = "/opt/aws/neuron/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# The progress bars of the ten traced steps would be read as training steps.
_COMPILE_FIRST = """\
#!/usr/bin/env bash
# Compiles the graphs of a training, and then trains: bash compile_first.sh torchrun ARGUMENT…
set -o pipefail
COMPILE=1 neuron_parallel_compile "$@" 2>&1 | sed -uE 's/\\r?Epoch [0-9]+:[^\\r]*//g'
status=$?
if [[ $status != 0 ]]; then
  echo "compile_first.sh: the compile pass failed with exit status $status; the training has not been started" >&2
  exit "$status"
fi
COMPILE=0 exec "$@"
"""
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./@%+:-]+")


def plan_job(config: YamlConfig, options: NxdtOptions, nodes: Sequence[Node], findings: Findings) -> Job | None:
    """Return the job to run, or None if there is any fault. ``nodes`` are in rank order."""
    mode = mode_of(options.training_mode)
    nnodes = len(nodes) if mode == "multi_node" else 1
    given_nodes = given_nodes_of(config.config)
    values = values_of(config.config, {"trainer.num_nodes": nnodes} if given_nodes and nodes else {}, findings)
    if values is None:
        return None
    # Unresolved values are already reported, and not reported again as missing.
    reported = {finding["key"] for finding in findings.faults}
    own = Findings()
    reading = NxdtReading(typed_file(NxdtConfig, values, options, own), mode, nodes, options, own)
    job = _checked_job(reading, values, config.text, given_nodes)
    findings.faults += [fault for fault in own.faults if fault["key"] not in reported]
    findings.warnings += own.warnings
    findings.notes += own.notes
    return None if findings.faults else job


def _checked_job(reading: NxdtReading, values: Mapping[str, t.Any], text: str, given_nodes: int | None) -> Job | None:
    sizes = for_nodes_at_hand(sizes_of(reading), "data.global_batch_size", given_nodes, "trainer.num_nodes", reading)
    check_secrets(values, "", reading.findings)
    check_config(reading, given_nodes)
    check_values(reading)
    check_sizes(sizes, reading)
    if reading.get("name"):
        check_name(reading.get("name"), "name", reading.findings)
    master = reading.master_address(f"{RUN}.master_address")
    expected = expected_in(reading, f"{RUN}.result_dict")
    return None if reading.findings.faults else _job(reading, text, master, sizes, expected)


def _job(reading: NxdtReading, text: str, master: str, sizes: Sizes, expected: list[Bound]) -> Job:
    config, options, run = reading.config, reading.options, reading.config.trainops
    environment = _environment(reading, master)
    files = {f"{_CONFIG_NAME}.yaml": text}
    if run.compile_first:
        files[_COMPILE_NAME] = _COMPILE_FIRST
    path = "trainops.container_config.env_dict"
    users = variables_of_user(run.container_config.env_dict, environment, path, reading.findings)
    device_files = INSTANCES[run.instance_type].device_files if run.instance_type else []
    return Job(
        branch=Branch(reading.mode, config.name, run.instance_type or "neuron", RUN, {}),
        parameters=_parameters(reading, sizes),
        tokens_per_step_per_gpu=sizes.tokens_per_step_per_gpu,
        expected=expected,
        nnodes=reading.nnodes,
        master_address=master,
        master_port=int(environment["MASTER_PORT"]),
        image=run.container_image,
        environment=environment | users,
        token_file=None,
        command=_command(reading, environment, sizes),
        working_dir=options.training_nxdt_root or run.nxdt_root,
        log_dir=run.log_dir,
        mounts=run.container_config.volume_dict,
        devices=run.container_config.device_list or device_files,
        container_options=_container_options(reading),
        files=files,
        script=_SCRIPT,
        tokens_per_sequence_per_gpu=sizes.tokens_per_sequence_per_gpu,
        architecture=architecture_of(reading),
        chips_per_gpu=chips_per_device(reading),
        checkpoints=_checkpoints(reading),
    )


def _checkpoints(reading: NxdtReading) -> str:
    """Return the folder that NeMo resumes from by itself (nemo.utils.exp_manager: resume_if_exists)."""
    goes_on = reading.get("exp_manager.create_checkpoint_callback") and reading.get("exp_manager.resume_if_exists")
    return (reading.get("exp_manager.explicit_log_dir") or "") if goes_on else ""


def _container_options(reading: NxdtReading) -> ContainerOptions:
    run, profile = reading.config.trainops, reading.options.container_profile
    started = container_options(run.container_name, run.shm_size, profile, multi_node=reading.nnodes > 1)
    # The settings for AMD GPUs are of no use here.
    confined = [option for option in started["security_opt"] if "unconfined" not in option]
    return {**started, "group_add": [], "cap_add": ["IPC_LOCK"], "security_opt": confined}


def _parameters(reading: NxdtReading, sizes: Sizes) -> Parameters:
    config = reading.config
    flags = (config.compiler_flags, precision_compiler_flags(config.precision))
    instance = INSTANCES.get(config.trainops.instance_type or "")
    return {
        "nnodes": len(reading.nodes),
        "gpus_per_node": config.trainer.devices,
        "device": "Neuron device",
        "lnc": lnc_of(instance, config.trainer.lnc) if instance else config.trainer.lnc,
        "model_source": config.model_source,
        "task": _task(reading),
        "precision": config.precision.type,
        "compiler_flags": " ".join(filter(None, flags)),
        "global_batch_size": sizes.global_batch_size,
        "micro_batch_size": sizes.micro_batch_size,
        "sequence_length": sizes.sequence_length,
        "tensor_parallelism": sizes.tensor_parallelism,
        "pipeline_parallelism": sizes.pipeline_parallelism,
        "context_parallelism": sizes.context_parallelism,
        "expert_parallelism": sizes.expert_parallelism,
        "data_parallelism": sizes.data_parallelism,
        "fsdp": False,
        "iterations": config.trainer.max_steps,
    }


def _task(reading: NxdtReading) -> str:
    """Return the kind of training: ``pretraining``, ``sft``, ``dpo`` or ``orpo``, and ``lora`` with it."""
    alignment = reading.alignment
    if alignment is None:
        return "pretraining"
    return "+".join(
        name for name, part in (("sft", alignment.sft), ("dpo", alignment.dpo), ("orpo", alignment.orpo)) if part
    ) + ("+lora" if alignment.peft else "")


def _environment(reading: NxdtReading, master: str) -> dict[str, str]:
    """Return the variables that NxDT and the Neuron runtime read.

    NxDT sets the variables of its config itself if they are not set; they are set here so that the plan shows them.
    Only to NEURON_CC_FLAGS it always appends.
    """
    config, run = reading.config, reading.config.trainops
    environment: dict[str, t.Any] = {
        "MASTER_ADDR": master,
        "MASTER_PORT": reading.options.training_master_port or _MASTER_PORT,
        "NNODES": reading.nnodes,
        "NODE_RANK": "{node-rank}",
        **_ALWAYS,
        "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS": config.aync_exec_max_inflight_requests,
        "NEURON_RT_EXEC_TIMEOUT": config.neuron_rt_exec_timeout,
        "NEURON_EXPERIMENTAL_COMPRESS_RG": int(config.neuron_experimental_compress_rg),
        "NEURON_COMPILE_CACHE_URL": config.compiler_cache_url,
        "BUCKET_CAP_MB": config.bucket_size_collectives,
        "NEURON_FUSE_SOFTMAX": "1" if config.model.fusions.softmax else None,
        **precision_environment(config.precision),
        "PATH": f"{run.virtual_environment}/bin:{_AFTER_ENVIRONMENT}" if run.virtual_environment else None,
    }
    instance = INSTANCES.get(run.instance_type or "")
    if instance and len(instance.lnc_sizes) > 1:
        environment["NEURON_LOGICAL_NC_CONFIG"] = lnc_of(instance, config.trainer.lnc)
    if reading.nnodes > 1 and (instance is None or instance.efa):
        environment |= _EFA
    return {name: str(value) for name, value in environment.items() if value is not None}


def _command(reading: NxdtReading, environment: dict[str, str], sizes: Sizes) -> list[str]:
    devices, nnodes, batch = reading.config.trainer.devices, reading.nnodes, sizes.global_batch_size
    log_dir = reading.config.exp_manager.explicit_log_dir or "{run-folder}/experiment"
    compile_first = ["bash", f"{{run-folder}}/{_COMPILE_NAME}"] if reading.config.trainops.compile_first else []
    return [
        *compile_first,
        "torchrun",
        *("--nproc_per_node", str(devices), "--nnodes", str(nnodes), "--node_rank", "{node-rank}"),
        *("--master_addr", environment["MASTER_ADDR"], "--master_port", environment["MASTER_PORT"]),
        *(_SCRIPT, "--config-path={run-folder}", f"--config-name={_CONFIG_NAME}"),
        f"trainer.devices={devices}",
        f"trainer.num_nodes={nnodes}",
        *([f"data.global_batch_size={batch}"] if batch != reading.get("data.global_batch_size") else []),
        f"exp_manager.explicit_log_dir={_hydra_value(log_dir)}",
        # Otherwise Hydra creates its folders in the checkout.
        "hydra.run.dir={run-folder}/hydra",
    ]


def _hydra_value(text: str) -> str:
    """Return a text quoted for Hydra's override grammar, whatever characters it has."""
    if _PLAIN_WORD.fullmatch(re.sub(r"\{[a-z-]+\}", "", text)):
        return text
    escaped = text.replace("'", "\\'")
    return f"'{escaped}'"
