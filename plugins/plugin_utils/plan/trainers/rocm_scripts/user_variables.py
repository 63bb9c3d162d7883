# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's environment variables (``env_dict``), which a Megatron-LM training script reads as well."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ....text.words import key_path, shown
from ...config.findings import Findings
from ...config.model import typed, variable_of
from ...formats.cvs1.megatron.config import MegatronModelParameters
from ...formats.cvs1.megatron.script_options import ScriptOptions
from ...job.container import variables_of_user
from ...job.environment_variables import warn_of_typos
from ...job.gpu_checks import visible_devices
from .generations import DEEPSEEK, READ
from .reading import ScriptReading

_PATH = "config.container_config.env_dict"
# Variables that decide how many ranks share a model replica, the precision, and the values that the script accepts.
_COUNTED_KEYS = (
    *("tensor_parallelism", "pipeline_parallelism", "context_parallelism", "fp8_recipe", "fp4_recipe"),
    *("fp4_selective_bf16", "fp4_bf16_start", "fp4_bf16_end", "tokenizer_type", "megatron_fsdp", "hsdp_replicas"),
)
_COUNTED = {variable_of(MegatronModelParameters.model_fields[key]): key for key in _COUNTED_KEYS} | {
    "MP_VP": "pipeline_parallelism",
    "TE_FP4": "precision",
    "ENABLE_HSDP": "hsdp_replicas",
}
# The scripts build a command and pass it to ``eval``. It contains these, in addition to the variables that a plan may
# set.
_IN_COMMAND = {
    # sp_options is DeepSeek's, which sets it only where there is tensor parallelism.
    *("EXP_NAME", "EVAL_INTERVAL", "EVAL_ITERS", "LOAD_CKPT_PATH", "sp_options"),
    *(name for by_generation in READ.values() for names in by_generation.values() for name in names),
}
# A plan always sets these; paths may be anything.
_OTHERWISE = {"TEE_OUTPUT", "AC", "PAD_LEN", "SAVE_CKPT_PATH"}
# What else is an option of a branch.
_OPTIONS = {
    variable: key
    for key, field in ScriptOptions.model_fields.items()
    if (variable := variable_of(field)) and variable not in {*_COUNTED, *_OTHERWISE}
}
# The scripts compare flags with 1, but these with 0.
_ON_BUT_FOR_0 = {"ROPE_FUSION", "GRADIENT_ACCUMULATION_FUSION"}
_SUBSTITUTED = re.compile(r"[$`]")
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
_NOT_A_WORD = re.compile(r"[^A-Za-z0-9_./:@%+=,^-]")


def check_variables(reading: ScriptReading) -> dict[str, str]:
    """Report variables in env_dict that would run as a command, or change values that the plan has calculated.

    Return the variable that limits the script to the plan's GPUs, if one is needed.
    """
    variables = reading.config.container_config.env_dict or {}
    warn_of_typos(variables, _PATH, _IN_COMMAND, reading.findings)
    for name, value in variables.items():
        _check_value(name, value, reading)
    if reading.known_script == DEEPSEEK:
        # Its eight GPUs are hard-coded.
        return {}
    users = {name: (value, key_path(_PATH, name)) for name, value in variables.items()}
    return visible_devices("HIP_VISIBLE_DEVICES", reading.options.training_gpus_per_node, users, reading.findings)


def _check_value(name: str, value: str, reading: ScriptReading) -> None:
    fault, path = reading.findings.fault, key_path(_PATH, name)
    unsafe = _SUBSTITUTED.search(value) or (name in _IN_COMMAND and _NOT_A_WORD.search(value))
    if unsafe:
        found = "whitespace" if unsafe.group().isspace() else repr(unsafe.group())
        fault(
            path,
            value,
            f"{shown(value)} contains {found}, and the training script passes it to a shell that may execute it.",
            "Use only letters, digits and . _ / : @ % + = , ^ or -.",
        )
    if name in _COUNTED:
        key = _COUNTED[name]
        fault(path, value, f"The plan uses {key}, not {name}.", f"Set {key} in {reading.branch.path}.")
    elif name in _OPTIONS and not unsafe:
        _check_option(_OPTIONS[name], name, value, reading)
    if name == "EXP_NAME" and "/" in value and not unsafe:
        fault(
            path,
            value,
            "The training script puts it into its log's file name, so / would point to a missing folder.",
            "Leave / out.",
        )
    if name == "LOG_INTERVAL" and value != "1":
        fault(path, value, "The run is judged by its steps, and this hides some of them from the log.", "Leave it out.")
    if name == "NO_TRAINING" and value != "0":
        fault(path, value, "With NO_TRAINING the training script does not train.", "Leave it out.")


def _check_option(key: str, name: str, value: str, reading: ScriptReading) -> None:
    """Report a value that the script misreads, because it compares values literally."""
    if not reading.known_script or not reading.reads(name) or reading.gives(key):
        return
    meant = getattr(typed(ScriptOptions, {key: value}, "", Findings()), key)
    if isinstance(meant, bool):
        found = is_on(name, value)
        understood, taken = found == meant, f"reads it as {'on' if found else 'off'}"
    else:
        understood, taken = value == str(meant), "does not know it"
    if not understood:
        reading.findings.fault(
            key_path(_PATH, name),
            value,
            f"{name} is {shown(value)}, but {reading.script} {taken}.",
            f"Set {key} in {reading.branch.path}.",
        )


def is_on(name: str, value: str) -> bool:
    """Return whether the training scripts take a flag's value for on."""
    if name == "MOE_USE_LEGACY_GROUPED_GEMM":
        return value == "true"
    number = int(value) if _WHOLE_NUMBER.fullmatch(value) else None
    return number != 0 if name in _ON_BUT_FOR_0 else number == 1


def users_variables(reading: ScriptReading, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of env_dict that the plan does not set, and warn of each that it does."""
    set_by_plan = {*environment, "NODE_RANK", "LOG_DIR", *(["HF_TOKEN_PATH"] if reading.config.hf_token_file else [])}
    return variables_of_user(reading.config.container_config.env_dict, set_by_plan, _PATH, reading.findings)
