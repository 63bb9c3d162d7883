# SPDX-License-Identifier: GPL-3.0-or-later
"""MaxText on GKE: the ``xpk workload create`` line of a run, which Google's XPK starts on the nodes.

GKE provides the hosts, and XPK or GKE itself gives each of them its rank and rendezvous address. Nothing is staged, so
MaxText's keys are arguments. Sources: the option parser of XPK 1.16 (xpk/parser/workload.py), its names of TPU types
(xpk/core/system_characteristics.py), and README.md of MaxText's high-performance configs.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import typing as t
from collections.abc import Mapping, Sequence

from ....text.words import counted, listed
from ...config.field_types import USER_FIELD
from ...config.kinds import Whole
from ...formats.cvs1.maxtext.models import DIMENSIONS, WITHOUT_PRESET
from ...job.job import LONGEST_NAME, workload_name
from ...job.ranks import Node
from .options import PLATFORM, MaxTextOptions
from .reading import BranchReading, Reading, model_of

_HOSTS = Whole(1, 99999)
# The TensorCores of a chip, which the number of a TPU type counts, and how many devices JAX sees in it.
_CHIPS = {"v4": (2, 1), "v5p": (2, 1), "v5litepod": (1, 1), "v6e": (1, 1), "tpu7x": (2, 2)}
_TPU_TYPE = re.compile(r"([a-z0-9]+)-([0-9]+(?:x[0-9]+)*)")
# XPK, GKE and the image set these themselves, or they name folders of a node.
_OF_HOSTS = {
    *("JAX_COORDINATOR_IP", "JAX_COORDINATOR_ADDRESS", "JAX_COORDINATOR_PORT", "NNODES", "NODE_RANK", "HF_HOME"),
}
# Keys of config that only an inventory host would read.
_WITHOUT_EFFECT = ("hf_token_file", "coordinator_ip")


def pods(nnodes: t.Any) -> list[Node]:
    """Return as many nodes as a config asks for, instead of the inventory's: GKE names and numbers its own."""
    try:
        number = _HOSTS.read(nnodes)
    except ValueError:
        number = 0
    return [Node(name=f"pod{place}", address=f"pod{place}", user=PLATFORM) for place in range(number)]


def check_gke(reading: Reading) -> None:
    """Report missing and wrong settings of an XPK workload, and settings without effect there."""
    gke, findings = reading.config.gke, reading.findings
    if gke is None:
        if not reading.is_given("gke"):
            remedy = 'Give "gke": {"cluster": …, "tpu_type": …}.'
            reading.fault("config.gke", "gke is missing; it sets the cluster of a workload on GKE.", remedy)
        return
    if reading.config.nnodes and reading.config.nnodes > _HOSTS.maximum:
        message = f"nnodes is {reading.config.nnodes}, more hosts than a GKE cluster can have."
        findings.fault("config.nnodes", reading.given["nnodes"], message, f"Give {_HOSTS}.")
    if not reading.multi_node:
        message = "A workload on GKE is one job over all its hosts."
        findings.fault(
            "training_mode", reading.mode, message, "Choose multi_node, or a config with model_params.multi_node."
        )
    given = reading.given["gke"]
    if not isinstance(given, dict):
        return
    kinds = [key for key in ("tpu_type", "device_type") if given.get(key) is not None]
    if len(kinds) != 1:
        findings.fault(
            "config.gke",
            None,
            f"XPK takes either tpu_type or device_type, but {'both are' if kinds else 'neither is'} set.",
            "Set one of the two, such as tpu_type v5p-256 or device_type h100-mega-80gb-8.",
        )
    if reading.config.container_image is None and not reading.is_given("container_image"):
        message = "container_image is missing: a workload on GKE runs in a container."
        reading.fault("config.container_image", message, "Give an image with MaxText from your registry.")
    _check_chips(reading)
    if reading.options.training_run_id:
        _check_name(reading, reading.options.training_run_id)
    unread = [key for key in _WITHOUT_EFFECT if reading.given.get(key) not in (None, "auto")]
    if unread:
        message = f"These keys of config have no effect on GKE, which provides its own hosts: {listed(unread)}."
        findings.warn("training_platform", PLATFORM, message, "Leave them out; store secrets in GKE itself.")


def _check_chips(reading: Reading) -> None:
    """Report hosts and chips that do not match the slices."""
    gke, nnodes, per_node = reading.config.gke, reading.config.nnodes, reading.options.training_gpus_per_node
    if gke is None or not gke.tpu_type or not gke.num_slices or not nnodes or not per_node:
        return
    found = _TPU_TYPE.fullmatch(gke.tpu_type)
    if found is None or found.group(1) not in _CHIPS:
        return
    cores, devices = _CHIPS[found.group(1)]
    # A topology counts chips, and a number their cores.
    chips = math.prod(map(int, found.group(2).split("x"))) // (1 if "x" in found.group(2) else cores)
    each, total = "chip" if devices == 1 else "device", chips * devices * gke.num_slices
    if total != nnodes * per_node:
        reading.fault(
            "config.gke.tpu_type",
            f"{counted(gke.num_slices, 'slice')} of {gke.tpu_type} {'has' if gke.num_slices == 1 else 'have'} "
            f"{counted(total, each)}, but nnodes × training_gpus_per_node is {nnodes} × {per_node}.",
            f"Set nnodes to the hosts of all slices, and training_gpus_per_node to the {each}s of one host.",
        )


def _check_name(reading: Reading, run_id: str) -> None:
    if len(run_id) > LONGEST_NAME or workload_name(run_id) != run_id:
        reading.findings.fault(
            "training_run_id",
            run_id,
            "XPK does not accept this workload name.",
            f"Use at most {LONGEST_NAME} lowercase letters, digits and -, starting with a letter.",
        )


def check_branch_on_gke(reading: BranchReading) -> None:
    """Report a missing output location, because there is no run folder, and fields that only a host resolves."""
    for key, value in reading.branch.values.items():
        if isinstance(value, str) and USER_FIELD in value:
            message = f"{USER_FIELD} stands for the user who connects to a host; on GKE there is none."
            reading.findings.fault(
                reading.key(key), value, message, "Give a path that the workload can reach, such as gs://…."
            )
    if not reading.parameters.base_output_directory and not reading.branch.values.get("base_output_directory"):
        reading.findings.fault(
            reading.key("base_output_directory"),
            None,
            "A workload on GKE keeps only what it writes to a bucket, and none is set.",
            "Set one, such as gs://my-bucket/maxtext.",
        )


def workload_of(
    reading: BranchReading, maxtext: Mapping[str, t.Any], environment: Mapping[str, str], entry_point: str
) -> list[str] | None:
    """Return the XPK options for a run without faults; None if it does not run on GKE.

    ``maxtext`` are the keys of MaxText, ``environment`` its own.
    """
    gke = reading.config.gke
    if gke is None:
        return None
    options = {
        "--cluster": gke.cluster,
        "--project": gke.project,
        "--zone": gke.zone,
        "--tpu-type": gke.tpu_type,
        "--device-type": gke.device_type,
        "--num-slices": str(gke.num_slices) if gke.tpu_type else None,
        "--num-nodes": str(reading.config.nnodes) if gke.device_type else None,
        "--priority": gke.priority,
        "--docker-image": reading.config.container_image,
    }
    words = [word for option, value in options.items() if value for word in (option, value)]
    for name, value in environment.items():
        if name not in _OF_HOSTS:
            # XPK writes it between the double quotes of a YAML file.
            quoted = value.replace("\\", "\\\\").replace('"', '\\"')
            words += ["--env", f"{name}={_unexpanded(quoted)}"]
    return [*words, "--command", _unexpanded(shlex.join(_command(reading, maxtext, entry_point)))]


def _unexpanded(text: str) -> str:
    """Return a text escaped so that Kubernetes, which reads $(NAME) and $$, turns it into the given one."""
    return text.replace("$", "$$")


def _command(reading: BranchReading, maxtext: Mapping[str, t.Any], entry_point: str) -> list[str]:
    is_script = "/" in entry_point or entry_point.endswith(".py")
    package = "src/MaxText" if entry_point.startswith("MaxText.") else "src/maxtext"
    if is_script and "trainers" not in entry_point:
        package = entry_point.rsplit("/", 1)[0]
    # Keys in the model's preset must not be arguments: MaxText exits on them.
    left_out = {"base_config", *(DIMENSIONS if model_of(reading) != WITHOUT_PRESET else ())}
    return [
        "python3",
        *([] if is_script else ["-m"]),
        entry_point,
        f"{package}/configs/base.yml",
        *(f"{key}={_argument(value)}" for key, value in maxtext.items() if key not in left_out),
    ]


def _argument(value: t.Any) -> str:
    """Return a value as MaxText reads it from an argument."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def slices_of(reading: Reading) -> int:
    """Return the slices of a job of TPUs: one, unless a workload on GKE has more."""
    gke = reading.config.gke
    return (gke.num_slices or 1) if gke else 1


def hosts_of(options: MaxTextOptions, given: t.Any, inventory: Sequence[Node]) -> Sequence[Node]:
    """Return the nodes of a run: the inventory's, or on GKE as many as the section ``config`` asks for."""
    if options.training_platform != PLATFORM:
        return inventory
    return pods(given.get("nnodes") if isinstance(given, dict) else None)
