# SPDX-License-Identifier: GPL-3.0-or-later
"""JAX MaxText: from a CVS training config to MaxText's YAML, its environment, and one process per node.

MaxText's sources define its keys (src/maxtext/configs/pyconfig.py, src/maxtext/utils/max_utils.py); CVS passes every
key of the branch on unchanged.
"""

from __future__ import annotations

import math
import posixpath
import typing as t

import yaml

from ....contracts import Bound, OptionalParameters
from ....text.words import counted, listed
from ...formats.cvs1.form import CvsForm
from ...formats.cvs1.maxtext.branch_config import BRANCH, OF_CVS_ONLY, MaxTextModelParameters
from ...formats.cvs1.maxtext.config import MaxTextConfig
from ...formats.cvs1.maxtext.images import ENTRY_POINTS, MODULE, entry_point_of, is_of_rocm
from ...formats.cvs1.maxtext.keys import ELSEWHERE
from ...formats.cvs1.maxtext.scripts import added_by_script, completed
from ...job.container import container_options
from ...job.gpu_checks import check_same_gpus
from ...job.job import Job
from ...job.memory import INPUT, OF_POLICY, XLA_LOGIT, Keeping
from ...job.sizes import scales_batch
from ...job.thresholds import expected_in
from .architecture import architecture_of
from .branch_checks import MaxTextSizes, check_branch, precision_of
from .checkout import check_checkout, checking_out, script_of
from .config_checks import check_config, unused_keys
from .environment import (
    TIMEOUTS,
    check_variables,
    environment_of,
    port_of,
    timeouts_of,
    users_variables,
    without_what_the_plan_sets,
)
from .gke import check_branch_on_gke, hosts_of, workload_of
from .options import PLATFORM, MaxTextOptions
from .reading import BranchReading, model_of

YAML_NAME = "maxtext.yml"
_WEIGHT_BYTES = {"bfloat16": 2.0, "float16": 2.0}
# libyaml, if available, is ten times as fast; it only folds lines of more than 1,000 characters differently.
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
# What CVS passes to every MaxText: nothing here uses Google Cloud, and GSPMD shards as in the measured runs.
_CONSTANTS = {"enable_goodput_recording": False, "monitor_goodput": False, "shardy": False}


def _job_of(reading: BranchReading, master: str) -> Job | None:
    _note_script(reading)
    sizes = check_branch(reading)
    if sizes and scales_batch(reading.options.training_scale_batch, reading.mode):
        _note_batch(reading, sizes)
    variables = users_variables(reading)
    check_variables(reading, variables)
    check_checkout(reading)
    check_same_gpus(reading.nodes, reading.findings)
    port = port_of(reading, variables)
    environment = environment_of(reading, variables, master, port)
    timeouts = timeouts_of(reading, variables)
    entry_point = _entry_point(reading)
    if reading.options.training_platform == PLATFORM:
        check_branch_on_gke(reading)
    expected = expected_in(reading, "result_dict")
    if reading.findings.faults or sizes is None or entry_point is None:
        return None
    return _job(reading, sizes, expected, environment, _maxtext_config(reading, timeouts), entry_point)


def _note_script(reading: BranchReading) -> None:
    added = added_by_script({"config": reading.given}, reading.branch.values)
    if added:
        reading.findings.note(
            f"MaxText's script {reading.config.maxtext_script} sets "
            f"{listed(f'{key} {value}' for key, value in added.items() if value != '')}."
        )


def _note_batch(reading: BranchReading, sizes: MaxTextSizes) -> None:
    """Note how the batch scales with the nodes, because MaxText's batch size is per GPU."""
    tuned_for, nodes = reading.config.nnodes, len(reading.nodes)
    if tuned_for and tuned_for != nodes:
        reading.findings.note(
            "The global batch size is scaled with the nodes: per_device_batch_size "
            f"{_plain_number(sizes.per_device_batch_size)} per GPU makes {sizes.global_batch_size} on "
            f"{counted(nodes, 'node')} (tuned for {tuned_for}, config.nnodes)."
        )


def _entry_point(reading: BranchReading) -> str | None:
    """Return the training script below the checkout, or the module; None if the option is invalid."""
    asked = reading.options.training_maxtext_entry_point
    if asked is None:
        return None
    on_gke = reading.options.training_platform == PLATFORM
    in_container = on_gke or reading.options.container_engine != "none"
    image = reading.config.container_image if in_container else None
    known = asked or entry_point_of(image)
    if known is None:
        reading.findings.note(
            f"{f'The tag of {image}' if image else 'The config'} gives no MaxText version, so {MODULE} is "
            "started, the entry point since 2026. For another one, set training_maxtext_entry_point to a module, or to "
            f"a script below the checkout: {listed(name for name in ENTRY_POINTS if name != MODULE)}."
        )
    return known or MODULE


def _maxtext_config(reading: BranchReading, timeouts: dict[str, int]) -> dict[str, t.Any]:
    """Return MaxText's config: the keys of the branch, on top of the trainer's base.yml."""
    left_out = {*OF_CVS_ONLY, "model_name", "xla_flags", "result_dict", *TIMEOUTS}
    given = vars(reading.parameters)
    own = {
        key: given[key]
        for key in ("hardware", *reading.branch.values)
        if key not in left_out and given.get(key) is not None
    }
    values: dict[str, t.Any] = {
        "base_config": "base.yml",
        "run_name": f"{model_of(reading)}-job",
        "model_name": model_of(reading),
        "steps": reading.config.training_steps,
        "enable_checkpointing": reading.config.enable_checkpointing,
        **_CONSTANTS,
        **{key: _plain_number(value) for key, value in own.items()},
    }
    return values | timeouts


def _plain_number(value: t.Any) -> t.Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _job(
    reading: BranchReading,
    sizes: MaxTextSizes,
    expected: list[Bound],
    environment: dict[str, str],
    maxtext: dict[str, t.Any],
    entry_point: str,
) -> Job:
    config, parameters, options = reading.config, reading.parameters, reading.options
    is_script = "/" in entry_point or entry_point.endswith(".py")
    script = script_of(reading)
    output = [] if parameters.base_output_directory else ["base_output_directory={run-folder}/output"]
    device: OptionalParameters = {"device": "TPU chip"} if parameters.hardware == "tpu" else {}
    return Job(
        branch=reading.branch,
        parameters={
            "nnodes": len(reading.nodes),
            "gpus_per_node": sizes.gpus_per_node,
            **device,
            "model_name": model_of(reading),
            "precision": precision_of(reading),
            "global_batch_size": sizes.global_batch_size,
            "micro_batch_size": _plain_number(sizes.per_device_batch_size),
            "sequence_length": sizes.sequence_length,
            "tensor_parallelism": sizes.axes["tensor"],
            "pipeline_parallelism": sizes.axes["pipeline"],
            **_other_axes(sizes),
            "data_parallelism": sizes.axes["data"] * sizes.axes["fsdp"],
            "fsdp": sizes.axes["fsdp"] > 1,
            "iterations": config.training_steps,
            "dataset_type": parameters.dataset_type or "synthetic",
            "nic_type": config.nic_type,
        },
        tokens_per_step_per_gpu=sizes.tokens_per_step_per_gpu,
        expected=expected,
        nnodes=int(environment["NNODES"]),
        master_address=environment["JAX_COORDINATOR_IP"].strip("[]"),
        master_port=int(environment["JAX_COORDINATOR_PORT"]),
        image=config.container_image,
        environment=environment,
        token_file=config.hf_token_file,
        command=checking_out(
            reading,
            [
                options.training_maxtext_python or "python3",
                *([] if is_script else ["-m"]),
                entry_point,
                posixpath.join("{run-folder}", YAML_NAME),
                *output,
            ],
        ),
        script=entry_point if is_script else "",
        files={
            YAML_NAME: yaml.dump(maxtext, Dumper=_DUMPER, sort_keys=False, default_flow_style=False, width=1000),
            **script,
        },
        # An installed module is found from anywhere.
        working_dir=options.training_maxtext_root
        or (config.maxtext_root if is_script or script or is_of_rocm(config.container_image) else "/"),
        log_dir=config.log_dir,
        mounts=config.container_config.volume_dict,
        devices=config.container_config.device_list,
        gke=workload_of(reading, maxtext, environment, entry_point),
        container_options=container_options(
            config.container_name, config.shm_size, options.container_profile, multi_node=reading.multi_node
        ),
        architecture=architecture_of(reading),
        counts_routers=True,
        keeping=_kept(reading, sizes),
        # With the same run_name MaxText resumes from its last checkpoint.
        checkpoints=(parameters.base_output_directory or "") if config.enable_checkpointing else "",
    )


def _other_axes(sizes: MaxTextSizes) -> OptionalParameters:
    """Return the sizes of the axes that few trainings split a model by."""
    axes: OptionalParameters = {}
    if sizes.axes["context"] > 1:
        axes["context_parallelism"] = sizes.axes["context"]
    if sizes.axes["expert"] > 1:
        axes["expert_parallelism"] = sizes.axes["expert"]
    return axes


def _kept(reading: BranchReading, sizes: MaxTextSizes) -> Keeping:
    """Return a device's memory content: weights, gradients and Adam's two moments, of one type and sharded alike."""
    weight = _WEIGHT_BYTES.get(reading.get("weight_dtype") or "float32", 4.0)
    # The axis of the experts shards all weights (logical_axis_rules of base.yml).
    shards = math.prod(sizes.axes.get(axis, 1) for axis in ("fsdp", "fsdp_transpose", "expert"))
    kept = OF_POLICY.get(reading.parameters.remat_policy or "full", INPUT)
    return Keeping(0.0, 4 * weight, shards, kept, XLA_LOGIT)


FORM: CvsForm[MaxTextConfig, MaxTextModelParameters, MaxTextOptions] = CvsForm(
    config=MaxTextConfig,
    branch=BRANCH,
    master_key="coordinator_ip",
    unused_keys=unused_keys,
    check_config=check_config,
    job_of=_job_of,
    completed=completed,
    prepared=without_what_the_plan_sets,
    elsewhere=ELSEWHERE,
    hosts_of=hosts_of,
)
