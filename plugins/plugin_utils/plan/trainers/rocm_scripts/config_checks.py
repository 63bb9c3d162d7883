# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the section ``config`` for Megatron-LM, once every value is typed.

An invalid value is None here and already reported; only the checks that depend on it are skipped.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

from ...config.kinds import AUTO
from ...config.model import flag_in, words_of
from ...formats.cvs1.checks import (
    check_container_config,
    check_engine,
    check_rdma_devices,
    check_run,
    unused_in_run,
    warn_of_no_effect,
    warn_unmounted,
)
from ...formats.cvs1.megatron.dataset import DatasetSource
from ...formats.cvs1.run_table import MULTI_NODE_KEYS, WITHOUT_EFFECT
from ...job.container import is_mounted
from ...job.ranks import on_one_machine
from ...job.sizes import warn_of_few_steps
from .generations import OWN_INTERFACE, OWN_RDMA_DEVICES, lacks_scripts
from .options import MegatronOptions
from .reading import Reading
from .scripts import generation_for

# CVS sets this index for these cards, whatever its config says.
_BROADCOM, _BROADCOM_GID_INDEX = re.compile("broadcom|thor", re.IGNORECASE), 3


def unused_keys(data: Mapping[str, t.Any], mode: str, options: MegatronOptions) -> set[str]:
    """Return the known keys that this run does not read, so their values are not checked.

    ``data`` is the whole config, untyped.
    """
    given = data.get("config")
    unused = {*WITHOUT_EFFECT, *unused_in_run(data, mode, options, MULTI_NODE_KEYS)}
    if options.training_megatron_root:
        unused.add("megatron_root")
    if isinstance(given, dict) and given.get("nccl_ib_hca_list") is not None:
        unused.add("nccl_ib_hca")
    if flag_in(given, "mock_data", default=True):
        unused.update(("data_path", "dataset_source"))
    elif isinstance(given, dict) and given.get("data_path") is not None:
        unused.add("dataset_source")
    return unused


def check_config(reading: Reading, parameters: t.Any) -> None:
    """Report errors and keys without effect in the section ``config``. ``parameters`` are model_params."""
    check_run(reading, parameters, WITHOUT_EFFECT, MULTI_NODE_KEYS, "master_address")
    _check_image(reading)
    if reading.multi_node:
        _check_devices(reading)
        _check_interfaces(reading)
    _check_data(reading)
    check_engine(reading)
    _check_mounts(reading)
    check_container_config(reading)
    warn_of_few_steps(reading.config.training_iterations, "config.training_iterations", reading.findings)


def _check_image(reading: Reading) -> None:
    """Report an image that has no training scripts, unless the checkout with them is mounted."""
    config, options = reading.config, reading.options
    root, container = options.training_megatron_root or config.megatron_root, config.container_config
    if options.container_engine == "none" or not lacks_scripts(config.container_image) or root is None:
        return
    if container is None or not is_mounted(root, container.volume_dict or {}):
        reading.fault(
            "config.container_image",
            "This image of Primus has no Megatron-LM with the training scripts of a plan.",
            "Set training_trainer=primus_cli to train with Primus, use an image of rocm/megatron-lm, or mount a "
            f"checkout of ROCm's Megatron-LM at {root}.",
        )


def _check_devices(reading: Reading) -> None:
    config = reading.config
    check_rdma_devices(reading, "nccl_ib_hca_list", "nccl_ib_hca")
    if not any(reading.is_given(key) for key in ("nccl_ib_hca_list", "nccl_ib_hca")) and _needs_network(reading):
        reading.warn(
            "config.nccl_ib_hca_list",
            f"No RDMA devices are set: the training script uses {OWN_RDMA_DEVICES[generation_for(reading)]}.",
            "Name those that carry the training, for example bnxt_re0,bnxt_re1.",
        )
    index = config.nccl_ib_gid_index
    if index == AUTO:
        reading.warn(
            "config.nccl_ib_gid_index",
            "The GID index is not set: the training script uses its default, 3.",
            "Run playbooks/preflight.yml, which proposes one that fits every node.",
        )
    elif config.nic_type and _BROADCOM.search(config.nic_type) and index not in (None, _BROADCOM_GID_INDEX):
        reading.warn(
            "config.nccl_ib_gid_index",
            f"On Broadcom cards ({config.nic_type}) RoCE v2 usually has GID index {_BROADCOM_GID_INDEX}.",
            "Compare with the output of show_gids on a node.",
        )


def _check_interfaces(reading: Reading) -> None:
    for key in ("nccl_socket_ifname", "gloo_socket_ifname"):
        if not reading.is_given(key) and _needs_network(reading):
            reading.warn(
                f"config.{key}",
                f"{key} is missing: the training script uses {OWN_INTERFACE[generation_for(reading)]}.",
                "Give the interface that connects the nodes.",
            )


def _needs_network(reading: Reading) -> bool:
    return len(reading.nodes) > 1 and not on_one_machine(reading.nodes)


def _check_data(reading: Reading) -> None:
    mock, source = reading.config.mock_data, reading.given.get("dataset_source")
    if mock:
        for key in ("data_path", "dataset_source"):
            if reading.given.get(key):
                warn_of_no_effect(reading, key, "mock_data is True", "Set mock_data to False, or leave it out.")
    elif source and reading.is_given("data_path"):
        reason = "data_path names an existing dataset"
        warn_of_no_effect(reading, "dataset_source", reason, "Leave one of the two out.")
    elif isinstance(source, dict) and source:
        _check_dataset_source(reading, source)
    elif mock is False and not source and not reading.is_given("data_path"):
        reading.fault(
            "config.data_path",
            "mock_data is False, but data_path is not set.",
            "Give the dataset's prefix, for example /data/bookcorpus_text_sentence, set dataset_source to fetch "
            "one, or set mock_data to True.",
        )


def _check_dataset_source(reading: Reading, given: Mapping[str, t.Any]) -> None:
    for name, field in DatasetSource.model_fields.items():
        if given.get(name) is None:
            key, remedy = f"config.dataset_source.{name}", f"Give {words_of(field)}."
            reading.fault(key, f"{name} is missing.", remedy)


def _check_mounts(reading: Reading) -> None:
    """Report paths that the training reads but no mount covers."""
    if reading.nnodes > 1:
        warn_unmounted(
            reading,
            "config.data_cache_dir",
            "each container has its own, but the nodes must share it",
            "Mount a folder that all nodes share, and use a path in it.",
        )
    if reading.config.mock_data is False:
        warn_unmounted(reading, "config.data_path", "it must be in the image", "Mount the dataset's folder.")
    warn_unmounted(
        reading,
        "config.dataset_source.data_dir",
        "each container fetches the dataset, and loses it when it ends",
        "Mount a folder, ideally one that all nodes share, and use a path in it.",
    )
