# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the section ``config`` for MaxText, once every value is typed.

An invalid value is None here and already reported.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ...config.kinds import AUTO
from ...config.model import flag_in
from ...formats.cvs1.checks import (
    check_container_config,
    check_engine,
    check_rdma_devices,
    check_run,
    unused_in_run,
    warn_of_no_effect,
)
from ...formats.cvs1.maxtext.branch_config import OF_CVS_ONLY
from ...formats.cvs1.maxtext.scripts import names_wrong_script
from ...job.sizes import warn_of_few_steps
from .gke import check_gke
from .options import PLATFORM, MaxTextOptions
from .reading import Reading

_MULTI_NODE_KEYS = (
    "coordinator_ip",
    "nccl_ib_hca",
    "nccl_ib_hca_list",
    "nccl_ib_gid_index",
    "nccl_ib_tc",
    "nccl_ib_sl",
    "nccl_socket_ifname",
    "gloo_socket_ifname",
)
# These keys are required unless a script sets them.
_OF_ANY_SCRIPT = {"training_steps", "per_device_batch_size", "max_target_length"}
_WITHOUT_EFFECT = {
    "dataset_source": "No dataset is fetched; to use an existing one, see dataset_type of the branch.",
    "rdma_lib": "Mount the node's library with container_config.volume_dict.",
}


def unused_keys(data: Mapping[str, t.Any], mode: str, options: MaxTextOptions) -> set[str]:
    """Return the known keys that this run does not read, so their values are not checked.

    ``data`` is the whole config, untyped.
    """
    given = data.get("config")
    unused = {*_WITHOUT_EFFECT, *OF_CVS_ONLY, "mock_data", *unused_in_run(data, mode, options, _MULTI_NODE_KEYS)}
    if isinstance(given, dict) and given.get("nccl_ib_hca") is not None:
        unused.add("nccl_ib_hca_list")
    if options.training_platform != PLATFORM:
        unused.add("gke")
    if names_wrong_script(data):
        unused |= _OF_ANY_SCRIPT
    return unused


def check_config(reading: Reading, parameters: t.Any) -> None:
    """Report errors and keys without effect in the section ``config``. ``parameters`` are model_params."""
    check_run(reading, parameters, _WITHOUT_EFFECT, _MULTI_NODE_KEYS, "coordinator_ip")
    if reading.multi_node:
        _check_devices(reading)
    if reading.options.training_platform == PLATFORM:
        check_gke(reading)
    else:
        check_engine(reading)
    check_container_config(reading)
    warn_of_few_steps(reading.config.training_steps, "config.training_steps", reading.findings)


def check_data(reading: Reading, dataset_type: str | None, key: str) -> None:
    """Warn if mock_data contradicts dataset_type, which is under ``key`` and takes precedence."""
    mock = flag_in(reading.given, "mock_data")
    if mock is not None and mock is not (dataset_type in (None, "synthetic")):
        warn_of_no_effect(
            reading, "mock_data", f"dataset_type is {dataset_type or 'synthetic'}", f"Leave it out, or change {key}."
        )


def _check_devices(reading: Reading) -> None:
    check_rdma_devices(reading, "nccl_ib_hca", "nccl_ib_hca_list")
    if reading.config.nccl_ib_gid_index == AUTO:
        reading.warn(
            "config.nccl_ib_gid_index",
            "The GID index is not set: NCCL uses its default.",
            "Run playbooks/preflight.yml, which proposes one that fits every node.",
        )
