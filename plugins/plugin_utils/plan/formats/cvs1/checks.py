# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the section ``config`` that all CVS training configs share."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ....text.words import counted, listed
from ...config.kinds import AUTO, is_placeholder
from ...config.model import flag_in
from ...job.container import (
    CONTAINER_KEYS,
    check_container,
    check_devices,
    check_log_dir,
    check_shared_memory,
    is_mounted,
    warn_without_container,
)
from ...job.job import MODES
from ...job.options import ConfigOptions
from ...job.ranks import is_loopback
from ...job.sizes import check_scaling, scales_batch
from ...job.thresholds import ExpectedResults
from .branch import offered_modes
from .reading import CvsReading

_SCALED = "training_scale_batch=reference_nodes scales the batch to the hosts of the run."


def warn_of_no_effect(reading: CvsReading[t.Any, t.Any], key: str, reason: str, remedy: str) -> None:
    """Warn of a key without effect, unless it is still a placeholder: then nobody expects an effect."""
    value = reading.given[key]
    if not is_placeholder(value):
        reading.findings.warn(f"config.{key}", value, f"{key} has no effect: {reason}.", remedy)


def check_run(
    reading: CvsReading[t.Any, t.Any],
    parameters: t.Any,
    without_effect: Mapping[str, str],
    of_multi_node: tuple[str, ...],
    address: str,
) -> None:
    """Report nodes or a mode that differ from the config, and the keys that this run does not read.

    ``parameters`` are model_params, ``without_effect`` maps keys that no run reads to what to do instead, and
    ``address`` is the key among ``of_multi_node`` that says where the nodes meet.
    """
    _check_nodes(reading, reading.config.nnodes)
    _check_mode(reading, parameters)
    for key, remedy in without_effect.items():
        value = reading.given.get(key)
        if value and str(value).casefold() != "false":
            warn_of_no_effect(reading, key, "nothing here reads it", remedy)
    if not reading.multi_node:
        _warn_of_multi_node_keys(reading, of_multi_node, address)


def check_engine(reading: CvsReading[t.Any, t.Any]) -> None:
    """Report a missing image, or the keys that have no effect without a container."""
    if reading.options.container_engine == "none":
        warn_without_container(reading.given, reading.findings)
    elif reading.given.get("container_image") is None and not reading.options.training_image:
        reading.fault(
            "config.container_image",
            "container_image is missing.",
            "Give the image, or set -e container_engine=none to train without a container.",
        )


def check_container_config(reading: CvsReading[t.Any, t.Any]) -> None:
    """Report errors in the section ``config.container_config``."""
    instead = "; for the Hugging Face token give the path of its file in config.hf_token_file"
    container, options, findings = reading.config.container_config, reading.options, reading.findings
    check_container(container, findings, "config.container_config", instead)
    check_devices(container.device_list, "config.container_config.device_list", options, findings)
    check_shared_memory(reading.config.shm_size, "config.shm_size", options, findings)
    check_log_dir(reading.config.log_dir, "config.log_dir", findings)


def _check_nodes(reading: CvsReading[t.Any, t.Any], asked: int | None) -> None:
    """Report a number of nodes in the inventory that differs from the config's.

    If the batch is scaled, the config's number is the one it was tuned for.
    """
    nodes = reading.nodes
    check_scaling(reading.options.training_scale_batch, reading.mode, asked, "config.nnodes", reading.findings)
    if asked and nodes and asked != len(nodes) and not scales_batch(reading.options.training_scale_batch, reading.mode):
        reading.fault(
            "config.nnodes",
            f"nnodes is {asked}, but the run has {counted(len(nodes), 'inventory host')}: "
            f"{listed(node.name for node in nodes)}.",
            f"Set nnodes to {len(nodes)}, or choose other hosts with training_hosts or training_exclude."
            + (f" {_SCALED}" if reading.multi_node else ""),
        )


def _check_mode(reading: CvsReading[t.Any, t.Any], parameters: t.Any) -> None:
    """Warn if the config asks for another mode than the one that runs. ``parameters`` are model_params."""
    distributed, offered = flag_in(reading.given, "distributed_training"), offered_modes(parameters)
    if distributed is not None and distributed != reading.multi_node and offered:
        reason = f"the file offers only {offered[0]}" if len(offered) == 1 else f"training_mode is {reading.mode}"
        warn_of_no_effect(reading, "distributed_training", reason, f"Set it to {reading.multi_node}, or leave it out.")


def unused_in_run(
    data: Mapping[str, t.Any], mode: str, options: ConfigOptions, of_multi_node: tuple[str, ...]
) -> set[str]:
    """Return the keys of any framework that this run does not read. ``data`` is the whole config, untyped."""
    unused = set(of_multi_node) if mode == "single_node" else set()
    decided = options.training_mode in MODES or len(offered_modes(data.get("model_params"))) == 1
    given = data.get("config")
    if decided and isinstance(given, dict) and is_placeholder(given.get("distributed_training")):
        unused.add("distributed_training")
    if options.container_engine == "none":
        unused.update(CONTAINER_KEYS)
    if not options.is_judged:
        unused.update(ExpectedResults.model_fields)
    return unused


def _warn_of_multi_node_keys(reading: CvsReading[t.Any, t.Any], keys: tuple[str, ...], address: str) -> None:
    """Warn of keys that a single-node run does not read, unless ``address`` is right for it as well."""
    for key in keys:
        value = reading.given.get(key)
        harmless = key == address and (value == AUTO or is_loopback(str(value)))
        if value is not None and not harmless:
            warn_of_no_effect(reading, key, "in single-node mode every node runs its own job", "Leave it out.")


def check_rdma_devices(reading: CvsReading[t.Any, t.Any], first: str, second: str) -> None:
    """Report duplicate RDMA devices, and a second list that differs from the first, which takes precedence."""
    for key in (first, second):
        devices = getattr(reading.config, key) or []
        for device in dict.fromkeys(device for device in devices if devices.count(device) > 1):
            message = f"{device} is listed {devices.count(device)} times."
            reading.findings.fault(f"config.{key}", reading.given[key], message, "Name each device once.")
    if reading.is_given(second) and reading.given.get(first) not in (None, reading.given[second]):
        warn_of_no_effect(reading, second, f"{first} takes precedence, and differs", "Keep one of the two.")


def warn_unmounted(reading: CvsReading[t.Any, t.Any], path: str, consequence: str, remedy: str) -> None:
    """Warn of the consequence if a container path in the config is not covered by any mount."""
    value, mounts = reading.get(path), reading.config.container_config.volume_dict
    in_container = reading.options.container_engine != "none"
    if value and in_container and mounts is not None and not is_mounted(value, mounts):
        reading.warn(path, f"No mount in volume_dict covers it, so {consequence}.", remedy)
