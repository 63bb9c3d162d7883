# SPDX-License-Identifier: GPL-3.0-or-later
"""A job: a trainer's config, resolved, before it is placed on nodes.

A workload on GKE: the ``xpk workload create`` command line that starts a run through Google's XPK.

Source: the option parser of XPK 1.16 (xpk/parser/workload.py).
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ....module_utils.node.contracts import ContainerOptions, Dataset, Mount, Secret
from ...contracts import Bound, GkeLaunch, NodePlan, Parameters
from ...text.words import shown
from ..config.field_types import with_user
from ..config.findings import Findings
from .architecture import Architecture
from .memory import Keeping
from .ranks import Node

MODES = ("single_node", "multi_node")
_OF_FOLDERS, _LONGEST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*"), 60


def check_name(name: str, key: str, findings: Findings) -> None:
    """Report a name that cannot become part of folder names."""
    reason = None if _OF_FOLDERS.fullmatch(name) else "has characters that are not allowed there"
    if len(name) > _LONGEST:
        reason = f"has more than {_LONGEST} characters"
    if reason:
        findings.fault(
            key,
            name,
            f"{shown(name)} becomes a part of folder names, and {reason}.",
            "Use letters, digits and . _ -, starting with a letter or digit.",
        )


@dataclass(frozen=True)
class Branch:
    """What a run trains: ``path`` is the key path of its part of the config, ``values`` the content."""

    mode: str
    model: str
    gpu: str
    path: str
    values: dict[str, t.Any]


LONGEST_NAME = 40
_NOT_IN_NAME = re.compile(r"[^a-z0-9]+")


def launch_of(run_id: str, options: Sequence[str]) -> GkeLaunch:
    """Return ``workload`` (its name) and ``argv`` of a run; ``options`` of XPK are all but that name."""
    name = workload_name(run_id)
    return {"workload": name, "argv": ["xpk", "workload", "create", "--workload", name, *options]}


def workload_name(run_id: str) -> str:
    """Return a run's name as XPK accepts it: at most 40 lowercase letters, digits and ``-``, starting with a letter."""
    name = _NOT_IN_NAME.sub("-", run_id.casefold()).strip("-")
    if not name[:1].isalpha():
        name = f"run-{name}"
    return name[:LONGEST_NAME].rstrip("-")


LOG_NAME = "train.log"
# In memory, so that a secret never reaches a disk.
SECRETS_FOLDER = "/dev/shm"


@dataclass(frozen=True)
class Job:
    """A resolved training job, before it is expanded per node.

    ``{user-id}`` may appear in any of its texts; ``environment`` and ``command`` may contain ``{node-rank}`` and
    ``{run-folder}`` as well. ``environment`` has the training's variables; with ``environment_as_arguments`` they are
    also given as KEY=VALUE arguments. ``files`` are texts by their file names in the run's folder. ``script`` is the
    file of ``command`` that has to be in ``working_dir``, if any. ``mounts`` maps paths on the node to paths in the
    container. ``token_file`` is the path of the user's Hugging Face token, empty if the run brings the token along;
    ``token_variable`` a variable that the launch script fills with the token itself, for a trainer that reads nothing
    else. The ``nnodes`` nodes of the job meet at ``master_address`` and ``master_port``.
    ``tokens_per_sequence_per_gpu`` (sequence length / devices of a job) is for trainers that print sequences/s.
    ``dataset`` is fetched by the launch script before the training, if set. ``architecture`` is the model's shape, or
    in words why it is not known; ``chips_per_gpu`` the part of an accelerator's chip that counts as a GPU;
    ``counts_routers`` tells whether the framework's own count of operations includes the routers of experts. ``gke``
    has the options of the workload that XPK starts if no node of the inventory trains. ``checkpoints`` is the folder
    whose last checkpoint the same command resumes from, empty if it begins with the first step. ``keeping`` is the
    content of a rank's memory, if known. ``recorder`` are variables that record its collectives (`recorder`); they are
    never arguments.
    """

    branch: Branch
    parameters: Parameters
    tokens_per_step_per_gpu: float | None
    expected: list[Bound]
    nnodes: int
    master_address: str
    master_port: int
    image: str | None
    environment: dict[str, str]
    token_file: str | None
    command: list[str]
    working_dir: str
    log_dir: str
    mounts: dict[str, str]
    devices: list[str]
    container_options: ContainerOptions
    environment_as_arguments: bool = False
    files: dict[str, str] = field(default_factory=dict)
    script: str = ""
    token_variable: str = ""
    tokens_per_sequence_per_gpu: float | None = None
    dataset: Dataset | None = None
    gke: list[str] | None = None
    architecture: Architecture | str = "The dimensions of the model are not known."
    chips_per_gpu: float = 1.0
    counts_routers: bool = False
    checkpoints: str = ""
    keeping: Keeping | None = None
    recorder: dict[str, str] = field(default_factory=dict)

    def for_node(self, node: Node, place: int, run_id: str, *, in_container: bool, image_archive: str) -> NodePlan:
        """Return one node's part of the plan. ``place`` is the node's position in rank order.

        In single-node mode every node is rank 0 of its own job.
        """
        node_rank = place if self.branch.mode == "multi_node" else 0
        # A node's name may be an IPv6 address, but a mount separates paths with :, and no name contains +.
        folder = node.name.replace(":", "+")
        run_folder = f"{self.log_dir.rstrip('/')}/{run_id}/{folder}"
        of_node = {"{node-rank}": str(node_rank), "{run-folder}": run_folder}
        environment, recorder = (
            {name: _resolved(value, of_node) for name, value in variables.items()}
            for variables in (self.environment, self.recorder)
        )
        arguments = [f"{name}={value}" for name, value in environment.items()] if self.environment_as_arguments else []
        labels = {"TRAINOPS_RUN_ID": run_id, "TRAINOPS_NODE": node.name}
        secrets = self._secrets(f"{SECRETS_FOLDER}/trainops-{run_id}-{folder}")
        token_path = {secret["variable"]: secret["target"] for secret in secrets}
        mounts: list[Mount] = [{"source": source, "target": target} for source, target in self.mounts.items()]
        if in_container:
            mounts.append({"source": run_folder, "target": run_folder, "staged": True})
            read_only = (secret["target"] for secret in secrets)
            mounts += [{"source": path, "target": path, "read_only": True, "staged": True} for path in read_only]
        plan: NodePlan = {
            "node": node.name,
            "node_rank": node_rank,
            "address": node.address,
            "nnodes": self.nnodes,
            "master_address": self.master_address,
            "master_port": self.master_port,
            "image": self.image,
            "image_archive": image_archive,
            "env": recorder | environment | token_path | labels,
            "argv": [*(_resolved(word, of_node) for word in self.command), *arguments],
            "script": self.script,
            "working_dir": self.working_dir,
            "files": self.files,
            "mounts": mounts,
            "secrets": secrets,
            "devices": self.devices,
            "container_options": self.container_options if in_container else {},
            "run_folder": run_folder,
            "log_file": f"{run_folder}/{LOG_NAME}",
        }
        if self.dataset:
            plan["dataset"] = self.dataset
        return t.cast("NodePlan", with_user(plan, node.user))

    def _secrets(self, folder: str) -> list[Secret]:
        """Return the secrets by the paths of their files; the plan never contains a secret itself."""
        if self.token_file is None:
            return []
        secret: Secret = {
            "name": "hf_token",
            "source": self.token_file,
            "target": f"{folder}/hf_token",
            "variable": "HF_TOKEN_PATH",
        }
        if self.token_variable:
            secret["value_variable"] = self.token_variable
        return [secret]


def _resolved(text: str, of_node: Mapping[str, str]) -> str:
    for name, value in of_node.items():
        text = text.replace(name, value)
    return text
