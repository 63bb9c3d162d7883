# SPDX-License-Identifier: GPL-3.0-or-later
"""From a plan that starts ROCm's scripts for Megatron-LM to an experiment of Primus that trains the same.

Keys and presets are those of primus/configs and examples/megatron/configs of AMD-AGI/Primus, August 2026; what a
script's variable means is in its examples/llama/train_llama*.sh.
"""

from __future__ import annotations

import posixpath
import re
import typing as t
from collections.abc import Callable

from .....module_utils.logs.record import METRICS
from ....contracts import Bound, NodePlan, Plan
from ....text.words import shown
from ...config.fields import variable_of
from ...formats.cvs1.megatron.config import MegatronConfig, MegatronModelParameters
from ...formats.cvs1.megatron.primus_models import model_in_primus
from ...formats.cvs1.megatron.script_options import ScriptOptions
from ...formats.primus_yaml.reading import as_yaml
from ...job.known_models import known_model
from ...job.recorder import without_recording
from ...job.thresholds import ExpectedResults
from ..face import Converted

_Values = dict[str, t.Any]
# Primus' presets of models that are called otherwise here.
_PRESETS = {
    "mixtral-8x7b": "mixtral_8x7B_v0.1",
    "mixtral-8x22b": "mixtral_8x22B_v0.1",
    "deepseek2-16b": "deepseek_v2_lite",
    "deepseek2-236b": "deepseek_v2",
    "deepseek3-671b": "deepseek_v3",
}
_SIZES = {
    "iterations": "train_iters",
    "micro_batch_size": "micro_batch_size",
    "global_batch_size": "global_batch_size",
    "sequence_length": "seq_length",
    "tensor_parallelism": "tensor_model_parallel_size",
    "pipeline_parallelism": "pipeline_model_parallel_size",
    "context_parallelism": "context_parallel_size",
    "expert_parallelism": "expert_model_parallel_size",
}


def _flag(value: str) -> bool:
    return value not in ("0", "false", "")


# A script's variable, its key in Primus, and how its value is read.
_KEYS: dict[str, tuple[str, Callable[[str], t.Any]]] = {
    "CP": ("context_parallel_size", int),
    "SEQ_PARALLEL": ("sequence_parallel", _flag),
    "USE_FLASH_ATTN": ("use_flash_attn", _flag),
    "ROPE_FUSION": ("apply_rope_fusion", _flag),
    "OPTIMIZER": ("optimizer", str),
    "TOKENIZER_TYPE": ("tokenizer_type", str),
    "TOKENIZER_MODEL": ("tokenizer_model", str),
    "MOCK_DATA": ("mock_data", _flag),
    "DATA_PATH": ("train_data_path", str),
    "DATA_CACHE_PATH": ("data_cache_path", str),
    "TE_FP8_RECIPE": ("fp8_recipe", str),
    "TE_FP4_RECIPE": ("fp4_recipe", str),
    "FP8_PARAM_GATHER": ("fp8_param_gather", _flag),
    "MEGATRON_FSDP": ("use_megatron_fsdp", _flag),
    "GRADIENT_ACCUMULATION_FUSION": ("gradient_accumulation_fusion", _flag),
    "GRAD_REDUCE_IN_BF16": ("grad_reduce_in_bf16", _flag),
    "DDP_AVERAGE_IN_COLLECTIVE": ("ddp_average_in_collective", _flag),
    "CROSS_ENTROPY_LOSS_FUSION": ("cross_entropy_loss_fusion", _flag),
    "CROSS_ENTROPY_FUSION_IMPL": ("cross_entropy_fusion_impl", str),
    "SAVE_CKPT_PATH": ("save", str),
    "LOAD_CKPT_PATH": ("load", str),
    "SAVE_INTERVAL": ("save_interval", int),
    "CKPT_FORMAT": ("ckpt_format", str),
}
# DeepSeek's script recomputes this for AC; any other value means all.
_AC = {"sel": {"recompute_granularity": "selective"}}
_FP8, _FP4 = {"fp8": "hybrid"}, {"fp4": "e2m1"}
# As in Primus' examples that shard with FSDP.
_FSDP = {"use_torch_fsdp2": True, "use_distributed_optimizer": False, "overlap_param_gather": False}
# The sizes and the precision are taken from the plan, and the rest is the launch, which Primus does itself.
_OF_PLAN = {
    *("MASTER_ADDR", "MASTER_PORT", "NNODES", "NODE_RANK", "LOG_DIR", "TEE_OUTPUT", "HIP_VISIBLE_DEVICES"),
    *("HF_TOKEN_PATH", "TRAINOPS_RUN_ID", "TRAINOPS_NODE", "MODEL_SIZE", "TE_FP8", "TE_FP4", "PR", "RECOMPUTE", "FSDP"),
    *("TOTAL_ITERS", "TRAIN_ITERS", "MBS", "BS", "GBS", "SEQ_LENGTH", "SEQ_LEN", "PAD_LEN", "TP", "PP"),
}
_OF_LIBRARIES = re.compile(r"(NCCL|RCCL|GLOO|HSA|HIP|GPU|TORCH|PYTORCH|NVTE|UCX|HF|OMP|CUDA|TE_HIPBLASLT)_")
_OF_SCRIPTS = set(
    filter(
        None,
        (
            variable_of(field)
            for model in (MegatronConfig, MegatronModelParameters, ScriptOptions)
            for field in model.model_fields.values()
        ),
    )
)
_MEGATRON = "/workspace/Megatron-LM"


def as_primus(plan: Plan) -> Converted | str:
    """Return the experiment that trains what a plan does, or why there is none, as a sentence."""
    known = known_model(f"{plan['model']}") or f"{plan['model']}"
    preset = _PRESETS.get(known) or model_in_primus(known)
    if preset is None:
        return f"No preset of Primus is known for the model {plan['model']}."
    node, left_out = plan["nodes"][0], list[str]()
    overrides = {"stderr_sink_level": "INFO", **_sizes(plan, left_out), **_keys(node, left_out)}
    name = f"{preset}-{plan['parameters']['precision']}"
    experiment = {
        "work_group": "${PRIMUS_TEAM:amd}",
        "user_name": "${PRIMUS_USER:root}",
        "exp_name": f"${{PRIMUS_EXP_NAME:{name}-pretrain}}",
        "workspace": "${PRIMUS_WORKSPACE:./output}",
        "modules": {
            "pre_trainer": {
                "framework": "megatron",
                "config": "pre_trainer.yaml",
                "model": f"{preset}.yaml",
                "overrides": overrides,
            }
        },
        "trainops": _run(plan, node, left_out),
    }
    _name_the_rest(plan, node, left_out)
    return Converted(as_yaml(experiment), tuple(left_out))


def _sizes(plan: Plan, left_out: list[str]) -> _Values:
    parameters, workload = t.cast("_Values", plan["parameters"]), plan["workload"]
    values = {key: parameters[size] for size, key in _SIZES.items() if parameters.get(size) is not None}
    values["max_position_embeddings"] = values["seq_length"]
    precision = parameters["precision"]
    values |= _FP8 if "fp8" in precision else _FP4 if "fp4" in precision else {}
    if parameters.get("fsdp"):
        values |= _FSDP
    layers = workload["layers"] if workload else None
    if parameters.get("recompute") and layers:
        values |= {"recompute_granularity": "full", "recompute_method": "block", "recompute_num_layers": layers}
    elif parameters.get("recompute"):
        left_out.append("recompute: the number of the model's layers is not known; set recompute_num_layers.")
    return values


def _keys(node: NodePlan, left_out: list[str]) -> _Values:
    values: _Values = {}
    for variable, text in node["env"].items():
        if variable in _KEYS:
            key, read = _KEYS[variable]
            try:
                values[key] = read(text)
            except ValueError:
                left_out.append(f"{variable}={text}: Primus' {key} is a whole number.")
        elif variable == "AC":
            values |= _AC.get(text, {})
        elif variable in _OF_SCRIPTS and variable not in _OF_PLAN and not _OF_LIBRARIES.match(variable):
            left_out.append(f"{variable}={text}: Primus has no key for it.")
    if "tokenizer_model" in values:
        values.setdefault("tokenizer_type", "HuggingFaceTokenizer")
    return values


def _run(plan: Plan, node: NodePlan, left_out: list[str]) -> _Values:
    """Return the section on how to run, without the image: that of the script has no Primus."""
    options = node["container_options"]
    mounts = {mount["source"]: mount["target"] for mount in node["mounts"] if not mount.get("staged")}
    inside = [target for target in mounts.values() if target.startswith(_MEGATRON)]
    left_out += [f"The mount at {target}: Primus' image has no {_MEGATRON}." for target in inside]
    if node["image"]:
        left_out.append(
            f"The image {node['image']}, which has no Primus: set training_image, such as rocm/primus:v26.5."
        )
    variables = {
        name: value
        for name, value in without_recording(node["env"], node["run_folder"]).items()
        if name not in (*_OF_PLAN, *_KEYS, "AC") and (name not in _OF_SCRIPTS or _OF_LIBRARIES.match(name))
    }
    container = {
        "device_list": node["devices"],
        "volume_dict": {source: target for source, target in mounts.items() if target not in inside},
        "env_dict": variables,
    }
    run: _Values = {"log_dir": posixpath.dirname(posixpath.dirname(node["run_folder"]))}
    if node["secrets"]:
        run["hf_token_file"] = node["secrets"][0]["source"]
    if "name" in options:
        run |= {"container_name": options["name"], "shm_size": options["shm_size"]}
    run["container_config"] = {name: value for name, value in container.items() if value}
    run["result_dict"] = {bound["metric"]: bound["value"] for bound in plan["expected"] if _carries(bound)}
    left_out += [
        f"The threshold for {bound['metric']} ({bound['kind']} {bound['value']}): give it in a thresholds file."
        for bound in plan["expected"]
        if not _carries(bound)
    ]
    return {name: value for name, value in run.items() if value}


def _carries(bound: Bound) -> bool:
    metric = METRICS.get(bound["metric"])
    usual = "min" if metric and metric.better == "higher" else "max"
    return bound["metric"] in ExpectedResults.model_fields and bound["kind"] == usual


def _name_the_rest(plan: Plan, node: NodePlan, left_out: list[str]) -> None:
    if plan["gpu"]:
        left_out.append(f"The GPU: set training_gpu={plan['gpu']}, or put the file into a folder of that name.")
    if plan["mode"] == "single_node":
        left_out.append("That each node trains by itself: set training_mode=single_node.")
    if "dataset" in node:
        left_out.append(f"The dataset that is fetched, {shown(node['dataset']['prefix'])}: Primus prepares its own.")
    if plan.get("overrides"):
        left_out.append("training_overrides: its values are in the file; leave them out from now on.")
