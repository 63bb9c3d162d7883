# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment of MaxText: variables from the plan, from the config's keys, and from the user.

Sources: ``initialize_jax_for_gpu`` of MaxText's max_utils.py (JAX_COORDINATOR_IP, JAX_COORDINATOR_PORT, NNODES,
NODE_RANK) and, for names and constants, cvs/lib/jax_training_lib.py.
"""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Mapping

from ....text.words import key_path
from ...config.kinds import AUTO, Whole, is_placeholder
from ...config.secret_names import is_secret_name
from ...formats.cvs1.maxtext.images import has_heartbeat_key, has_jax_0_4
from ...formats.cvs1.maxtext.keys import ELSEWHERE, KEYS
from ...formats.cvs1.maxtext.xla_flag_sets import FLAG_SETS
from ...job.container import check_environment
from ...job.gpu_checks import visible_devices
from ...job.peaks import accelerator_of
from . import xla_flags as xla
from .options import PLATFORM
from .reading import BranchReading

DEFAULT_PORT = 1234
_PORT, _SECONDS = Whole(1, 65535), Whole(1)
INITIALIZATION_TIMEOUT = "JAX_DISTRIBUTED_INITIALIZATION_TIMEOUT_SECONDS"
HEARTBEAT_TIMEOUT = "JAX_DISTRIBUTED_HEARTBEAT_TIMEOUT_SECONDS"
_OF_PLAN = {
    *("JAX_COORDINATOR_IP", "JAX_COORDINATOR_ADDRESS", "JAX_COORDINATOR_PORT", "NNODES", "NODE_RANK"),
    *("TRAINOPS_NODE", "TRAINOPS_RUN_ID"),
}
# Variables that MaxText reads as keys as well (``yaml_key_to_env_key`` of pyconfig.py).
_KEY_OF_VARIABLE = {f"M_{key.upper()}": key for key in (*KEYS, *ELSEWHERE)}
# MaxText's keys, and the variables that CVS configs set for them.
TIMEOUTS = {
    "jax_distributed_heartbeat_timeout_seconds": HEARTBEAT_TIMEOUT,
    "jax_distributed_initialization_timeout": INITIALIZATION_TIMEOUT,
}
_READ_ELSEWHERE = {INITIALIZATION_TIMEOUT, HEARTBEAT_TIMEOUT, xla.XLA, xla.LIBTPU}
# What CVS sets in every run; the user's own values win.
_CONSTANTS = {
    "HSA_FORCE_FINE_GRAIN_PCIE": "1",
    "HIP_FORCE_DEV_KERNARG": "1",
    "NVTE_FUSED_ATTN": "1",
    "NVTE_ALLOW_NONDETERMINISTIC_ALGO": "1",
}
_OF_MULTI_NODE = {"NCCL_CROSS_NIC": "0"}
_OF_SINGLE_NODE = {"NCCL_IB_DISABLE": "1", "NCCL_SHM_DISABLE": "0", "NCCL_P2P_DISABLE": "0"}
_KEYS = (
    *("nccl_debug", "nccl_proto", "nccl_checks_disable", "gpu_max_hw_queues", "nvte_ck_bwd_v3"),
    *("nvte_ck_v3_bf16_cvt", "xla_python_client_mem_fraction", "xla_gpu_executable_warn_stuck_timeout"),
)
_KEYS_OF_MULTI_NODE = ("nccl_ib_gid_index", "nccl_ib_tc", "nccl_ib_sl", "nccl_socket_ifname", "gloo_socket_ifname")


def without_what_the_plan_sets(given: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the section ``config`` without placeholder variables that the plan sets anyway."""

    def kept(variables: t.Any) -> t.Any:
        if not isinstance(variables, dict):
            return variables
        return {name: value for name, value in variables.items() if name not in _OF_PLAN or not is_placeholder(value)}

    changed = dict(given)
    if "env_vars" in changed:
        changed["env_vars"] = kept(changed["env_vars"])
    container = changed.get("container_config")
    if isinstance(container, dict) and "env_dict" in container:
        changed["container_config"] = {**container, "env_dict": kept(container["env_dict"])}
    return changed


def users_variables(reading: BranchReading) -> dict[str, tuple[str, str]]:
    """Return the user's variables, each with its value and key path, and warn if two differ."""
    found: dict[str, tuple[str, str]] = {}
    config = reading.config
    for path, variables in (
        ("config.container_config.env_dict", config.container_config.env_dict),
        ("config.env_vars", config.env_vars),
    ):
        for name, value in (variables or {}).items():
            if name in found and found[name][0] != value:
                reading.findings.warn(
                    found[name][1],
                    found[name][0],
                    f"{name} has no effect here: env_vars takes precedence, and differs.",
                    "Keep one of the two.",
                )
            found[name] = (value, key_path(path, name))
    return found


def port_of(reading: BranchReading, variables: Mapping[str, tuple[str, str]]) -> int:
    """Return the rendezvous port: the option's, else JAX_COORDINATOR_PORT of the config, else CVS's."""
    if reading.options.training_master_port:
        return reading.options.training_master_port
    text, path = variables.get("JAX_COORDINATOR_PORT", (str(DEFAULT_PORT), ""))
    try:
        return _PORT.read(text)
    except ValueError as error:
        reading.findings.fault(path, text, f"JAX_COORDINATOR_PORT {error}.", f"Give {_PORT}.")
        return DEFAULT_PORT


def environment_of(
    reading: BranchReading, variables: Mapping[str, tuple[str, str]], master: str, port: int
) -> dict[str, str]:
    """Return MaxText's variables, as far as they are the same on every node, and note variables without effect."""
    config, multi_node, of_tpu = reading.config, reading.multi_node, reading.parameters.hardware == "tpu"
    keys = (*_KEYS, *(_KEYS_OF_MULTI_NODE if multi_node else ()))
    # JAX appends the port.
    host = f"[{master}]" if ":" in master else master
    by_plan: dict[str, str] = {
        "JAX_COORDINATOR_IP": host,
        # On TPUs JAX asks the platform for the rendezvous, and would read this as address and port.
        "JAX_COORDINATOR_ADDRESS": "" if of_tpu else host,
        "JAX_COORDINATOR_PORT": str(port),
        "NNODES": str(reading.nnodes),
        "NODE_RANK": "{node-rank}",
        "HF_HOME": config.data_cache_dir,
        **{key.upper(): text for key in keys if (text := _text(key, getattr(config, key)))},
    }
    if multi_node:
        by_plan |= {"NCCL_IB_HCA": ",".join(config.nccl_ib_hca or config.nccl_ib_hca_list or [])}
    by_plan = {name: value for name, value in by_plan.items() if value}
    flags = _flags(reading, variables)
    set_by_plan = {*by_plan, *_OF_PLAN, *(["HF_TOKEN_PATH"] if config.hf_token_file else [])}
    _warn_of_no_effect(reading, variables, by_plan, set_by_plan)
    users = {
        name: value
        for name, (value, _origin) in variables.items()
        if name not in set_by_plan and name not in _READ_ELSEWHERE
    }
    # They are for hosts with AMD GPUs, which GKE does not have.
    without_amd = of_tpu or reading.options.training_platform == PLATFORM
    constants = {} if without_amd else _CONSTANTS | (_OF_MULTI_NODE if multi_node else _OF_SINGLE_NODE)
    devices = {}
    if reading.parameters.hardware == "gpu" and not without_amd:
        # AMD's runtime reads this name, too.
        gpus = reading.options.training_gpus_per_node
        devices = visible_devices("CUDA_VISIBLE_DEVICES", gpus, variables, reading.findings)
    return constants | users | devices | by_plan | flags


def _text(key: str, value: t.Any) -> str:
    if value is None or (key == "nccl_ib_gid_index" and value == AUTO):
        return ""
    if isinstance(value, list):
        return ",".join(value)
    return f"{value:g}" if isinstance(value, float) else str(int(value) if isinstance(value, bool) else value)


def _warn_of_no_effect(
    reading: BranchReading,
    variables: Mapping[str, tuple[str, str]],
    by_plan: Mapping[str, str],
    set_by_plan: Collection[str],
) -> None:
    """Warn of user variables that the plan sets to something else."""
    for name in filter(set_by_plan.__contains__, variables):
        value, path = variables[name]
        is_template = (
            name in ("JAX_COORDINATOR_IP", "JAX_COORDINATOR_ADDRESS") and value == reading.config.coordinator_ip
        )
        if value != by_plan.get(name) and not is_template and name != "JAX_COORDINATOR_PORT":
            reading.findings.warn(
                path,
                value,
                f"{name} has no effect: the plan sets this variable.",
                "Leave it out, and set the key that it comes from.",
            )


_PLATFORMS = {"JAX_PLATFORMS", "JAX_PLATFORM_NAME"}


def check_variables(reading: BranchReading, variables: Mapping[str, tuple[str, str]]) -> None:
    """Report secrets in env_vars, which would appear in the plan, and variables that MaxText or JAX misinterprets."""
    for name, (value, path) in variables.items():
        if name in _PLATFORMS and value.split(",")[0] == "cpu" and accelerator_of(reading.branch.gpu):
            reading.findings.fault(
                path,
                value,
                f"It makes JAX train on the CPU, but this branch is for {reading.branch.gpu}.",
                "Leave it out.",
            )
        key = _KEY_OF_VARIABLE.get(name)
        if key and not is_secret_name(name):
            reading.findings.fault(
                path,
                value,
                f"MaxText would read it as its key {key} and override the plan.",
                f"Set {key} in {ELSEWHERE.get(key, reading.branch.path)}.",
            )
    instead = "; for the Hugging Face token give the path of its file in config.hf_token_file"
    check_environment(reading.config.env_vars or {}, reading.findings, "config.env_vars", instead)


def timeouts_of(reading: BranchReading, variables: Mapping[str, tuple[str, str]]) -> dict[str, int]:
    """Return MaxText's keys for the startup and heartbeat timeouts, in seconds.

    Nothing reads the two timeout variables that CVS configs set; if MaxText has the key, the variable is translated.
    """
    timeouts = {key: _timeout(key, variable, reading, variables) for key, variable in TIMEOUTS.items()}
    return {key: seconds for key, seconds in timeouts.items() if seconds is not None}


def _timeout(key: str, variable: str, reading: BranchReading, variables: Mapping[str, tuple[str, str]]) -> int | None:
    own: int | None = getattr(reading.parameters, key)
    if variable not in variables:
        return own
    value, path = variables[variable]
    if variable == HEARTBEAT_TIMEOUT and not own and not has_heartbeat_key(reading.config.container_image):
        reading.findings.warn(
            path,
            value,
            f"{variable} has no effect: neither JAX nor MaxText reads it, and this MaxText has no known key for "
            f"it: {key} came with AMD's v26.2 images.",
            "Leave it out: a node counts as dead after JAX's built-in timeout (100 s).",
        )
        return None
    try:
        seconds = _SECONDS.read(value)
    except ValueError as error:
        reading.findings.fault(path, value, f"{variable} {error}.", f"Give {_SECONDS} (s).")
        return own
    reading.findings.warn(
        path,
        value,
        f"Neither JAX nor MaxText reads {variable}. "
        + (f"The key {key} is {own}, and takes precedence." if own else f"It is translated to MaxText's key {key}."),
        f"Leave it out, and set {key} in {reading.branch.path}.",
    )
    return own or seconds


def _of_set(reading: BranchReading, variable: str, of_tpu: bool) -> dict[str, str]:
    """Return the flags of the config's set, as far as they belong in the variable."""
    name = reading.config.xla_flag_set
    flags = {flag: value for flag, value in FLAG_SETS.get(name or "", {}).items() if xla.variable_of(flag) == variable}
    if flags and variable == xla.LIBTPU and not of_tpu:
        reading.fault(
            "config.xla_flag_set",
            f"The flags of {name} are for TPUs, and hardware is {reading.parameters.hardware}.",
            "Choose a set of gpu/, or leave it out.",
        )
    return flags


def _flags(reading: BranchReading, variables: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return XLA_FLAGS and LIBTPU_INIT_ARGS, combined from all places that have flags."""
    of_tpu = reading.parameters.hardware == "tpu"
    given: dict[str, list[xla.Given]] = {xla.XLA: [], xla.LIBTPU: []}
    objects = [
        *xla.given_in(reading.config.xla_flags, "config.xla_flags"),
        *xla.given_in(reading.parameters.xla_flags, reading.key("xla_flags")),
    ]
    for flag in objects:
        given[xla.LIBTPU if of_tpu and xla.variable_of(flag.name) == xla.LIBTPU else xla.XLA].append(flag)
    for variable in given:
        if variable in variables:
            text, path = variables[variable]
            given[variable] += xla.given_in_text(text, path, reading.findings)
    texts = {}
    for variable, flags in given.items():
        checked = _of_set(reading, variable, of_tpu) | xla.checked(flags, variable, reading.findings)
        for name in xla.left_out(checked, has_jax_0_4(reading.config.container_image)):
            reading.findings.warn(
                next(flag.path for flag in flags if flag.name == name),
                checked.pop(name),
                f"{name} is left out: the XLA of this image ({reading.config.container_image}) does not know it "
                "and would abort the training at once. CVS never passes it on.",
                "Leave it out of the config.",
            )
        if checked:
            texts[variable] = xla.as_text(checked)
    return texts
