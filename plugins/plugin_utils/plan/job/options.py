# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of a plan: the user's settings for a run in addition to the training config.

Only the field of an option is written by hand: ``make generated`` generates the documentation of roles and modules, the
role defaults and the surveys from it, and the action plugins use it by name.
"""

from __future__ import annotations

import typing as t

from ..config.field_types import (
    NAME,
    Flag,
    Line,
    NaturalInteger,
    PathOrNothing,
    PortOrNothing,
    Several,
    TextOrNothing,
    Written,
)
from ..config.kinds import OneOf, Whole
from ..config.model import ConfigSection, key, optional
from ..config.overrides import Overrides

# The platform whose nodes are inventory hosts.
ON_HOSTS = "gce"
# The launchers of a run: Ansible's own connections, a job of Slurm, or a step in an allocation of Slurm.
SSH, SLURM, SRUN = "ssh", "slurm", "srun"
# The engines that srun itself starts, in place of an engine on the node.
PYXIS, APPTAINER = "pyxis", "apptainer"
# Together with a node's name, it becomes part of a file name.
LONGEST_RUN_ID = 128

HostNames = t.Annotated[
    list[str], Several(NAME, "names of inventory hosts, as a list or separated by commas", at_least=0)
]
RunId = t.Annotated[
    str,
    Written(
        "([A-Za-z0-9][A-Za-z0-9_.-]*)?",
        "a name for folders and containers",
        f"a name of letters, digits and . _ -, starting with a letter or digit, at most {LONGEST_RUN_ID} characters",
        free=True,
        longest=LONGEST_RUN_ID,
    ),
]
# Options of sbatch: https://slurm.schedmd.com/sbatch.html. A #SBATCH line is split at spaces, and quotes and # have a
# meaning in it.
_WORD = r"""[^\s"'\\#]*"""
_Word = t.Annotated[str, Written(_WORD, "one word for sbatch", "a string without spaces and quotes", free=True)]
_TIME = Written(
    r"(|\d+|(\d+-)?\d+:\d+(:\d+)?|\d+-\d+)",
    "a time limit",
    "a time in the format of sbatch, for example 90 (minutes), 01:30:00 or 1-12 (days-hours)",
    free=True,
)
_JOB = Written(r"\d*", "a job ID", "a job ID as squeue prints it, for example 4711", free=True)
_LINE = Written(r"--[a-z][^\n\r]*", "an option of sbatch", "options of sbatch, for example --mail-type=END", free=True)


class Selection(t.NamedTuple):
    """Which branch of a config is asked for; a name is empty where it is not set, and None where it is wrong.

    ``lower_unknown`` tells whether an unknown key only gives a warning.
    """

    model: str | None
    gpu: str | None
    lower_unknown: bool


class ConfigOptions(ConfigSection):
    """The variables for reading a training config, for a run or for existing logs.

    Values may be strings, because extra variables and surveys give strings.
    """

    training_framework: str = key("Framework of the training config; auto detects it from the file.", default="auto")
    training_trainer: str = key(
        "What trains, and how it is started; auto chooses it by the config. The plan says which one, and why.",
        default="auto",
    )
    training_log_grammar: str = key(
        "How the lines of the training log are read; auto means the lines that the trainer writes.", default="auto"
    )
    training_mode: t.Annotated[str, OneOf(("auto", "single_node", "multi_node"))] = key(
        "One job across all nodes (multi_node), one on each node (single_node), or what the config offers (auto).",
        default="auto",
    )
    training_model: Line = key("Model in the config's model_params; optional where there is only one.", default="")
    training_gpu: Line = key(
        "GPU of the model's branch; MI300X, mi300x and mi300 mean the same. Optional where there is only one.",
        default="",
    )
    training_gpus_per_node: t.Annotated[int, Whole(1, 1024)] = key(
        "GPUs per node that the training uses.", default=8, unit="GPUs"
    )
    training_unknown_keys: t.Annotated[str, OneOf(("fault", "warn"))] = key(
        "Whether an unknown key in the config stops the run (fault) or only gives a warning (warn).", default="fault"
    )
    training_record_only: Flag = key(
        "Record the run without judging thresholds; the config may leave them unfilled. A run that has none is "
        "also only recorded, with a warning.",
        default=False,
    )
    training_max_skipped: NaturalInteger = key(
        "How many iterations may be skipped after the warm-up, not counting those that search for a loss scale.",
        default=0,
        unit="iterations",
    )
    training_scale_batch: t.Annotated[str, OneOf(("none", "reference_nodes"))] = key(
        "Use the global batch size as given (none), or scale it from the config's number of nodes to the "
        "run (reference_nodes); the two may then differ.",
        default="none",
    )
    training_thresholds: Line = key(
        "Thresholds file, such as a *_threshold.json of AMD CVS, in place of the config's thresholds. The cell "
        "that matches the run applies.",
        default="",
    )
    training_overrides: Overrides = key(
        "Values that replace the config's, by key path: "
        '{"batch_size": 256, "config.training_iterations": 50}. In a CVS config a path starts with a section, or with '
        "a key of config or of the branch; in any other config it starts at the top level.",
        default={},
    )
    container_engine: t.Annotated[str, OneOf(("auto", "docker", "podman", "apptainer", "none"))] = key(
        "Container engine on the nodes; auto takes the installed one. apptainer is for Slurm jobs only.",
        default="auto",
    )

    @property
    def lower_unknown(self) -> bool:
        """Return whether an unknown key of the config only gives a warning."""
        return self.training_unknown_keys == "warn"

    @property
    def is_judged(self) -> bool:
        """Return whether the thresholds of the config itself are judged."""
        return not (self.training_record_only or self.training_thresholds)

    @property
    def selection(self) -> Selection:
        """Return which branch of a config is asked for."""
        return Selection(self.training_model, self.training_gpu, self.lower_unknown)


class RunOptions(ConfigOptions):
    """The plan variables of every trainer."""

    training_platform: str = key(
        "Train on inventory hosts, in any cloud or on premises (gce), or have Google's XPK start a workload on GKE "
        "(gke), as config.gke describes.",
        default=ON_HOSTS,
    )
    training_rehearsal: Flag = key(
        "Run the plan for a minute, with the embedded trainer in place of the real one.", default=False
    )
    training_rank_order: HostNames = key(
        "All hosts of the run in rank order, to override the inventory's order. The first is rank 0.",
        default=[],
    )
    training_exclude: HostNames = key("Hosts to leave out of the run.", default=[])
    training_master_port: PortOrNothing = optional("Rendezvous port on rank 0, in place of the framework's default.")
    training_hf_token_file: Line = key(
        "File on the controller with the Hugging Face token, in place of the config's hf_token_file. A vaulted "
        "variable training_hf_token takes precedence.",
        default="",
    )
    training_run_id: RunId = key("Name of the run; by default made of time, model and GPU.", default="")
    training_spares: Line = key(
        "Inventory group of spare hosts, which train only in place of a quarantined host.", default=""
    )
    training_retries: NaturalInteger = key(
        "How many times a job over all nodes is retried after a node failure: with a spare in the node's place, or "
        "else on fewer nodes. The failed node is quarantined. Failures of the config or the model are not retried, "
        "nor are the runs of a sweep.",
        default=0,
    )
    training_abort_on_nan: Flag = key(
        "Stop the run on every node as soon as a step reports a NaN or infinite loss; skipped steps do not count. "
        "In single-node mode only that node is no longer followed.",
        default=False,
    )
    training_require_gpu: Flag = key(
        "Refuse a node that certainly has no accelerator, or another GPU model than the plan is for, before it trains. "
        "false trains on it anyway.",
        default=True,
    )
    training_keep_runs: NaturalInteger = key(
        "How many of the latest ended runs keep their folders on a node; 0 keeps all. Staging a run removes the "
        "same user's older folders with everything the trainer wrote there, such as checkpoints. The controller "
        "keeps its own records.",
        default=0,
        unit="runs",
    )
    training_keep_days: NaturalInteger = key(
        "training_keep_runs removes no folder of a run that ended within this many days.", default=7, unit="days"
    )
    training_on_interrupt: t.Annotated[str, OneOf(("detach", "stop"))] = key(
        "What the first Ctrl-C or SIGTERM does while the run is followed: leave the training running (detach), or "
        "stop it on every node and judge the run (stop).",
        default="detach",
    )
    container_profile: t.Annotated[str, OneOf(("privileged", "hardened"))] = key(
        "Start containers privileged, as AMD's guide does, or hardened: with only the named devices and the "
        "capabilities that RDMA and GPUs need.",
        default="privileged",
    )
    training_image: TextOrNothing = optional("Container image, for a training config that sets none.")
    training_image_archive: PathOrNothing = key(
        "Image archive on the nodes, loaded instead of pulling the image where it is missing.", default=""
    )


class SlurmOptions(ConfigSection):
    """The plan variables that only a launch by Slurm reads."""

    training_launcher: t.Annotated[str, OneOf((SSH, SLURM, SRUN))] = key(
        "What starts the ranks: Ansible's own connections to the inventory hosts (ssh), a Slurm job submitted from "
        "the machine that runs Ansible (slurm), or a step in the allocation that Ansible runs in (srun).",
        default=SSH,
    )
    training_slurm_job: t.Annotated[str, _JOB] = key(
        "Slurm job whose nodes training_launcher=srun uses; by default the one in SLURM_JOB_ID.",
        default="",
    )
    training_slurm_nodes: NaturalInteger = key(
        "Number of nodes; 0 uses the number in the training config.", default=0, unit="nodes"
    )
    training_slurm_partition: _Word = key("Partition of the job.", default="")
    training_slurm_account: _Word = key("Account to charge.", default="")
    training_slurm_qos: _Word = key("Quality of service.", default="")
    training_slurm_reservation: _Word = key("Reservation to use.", default="")
    training_slurm_time_limit: t.Annotated[str, _TIME] = key(
        "Time limit of the job; by default the partition's.", default=""
    )
    training_slurm_exclusive: Flag = key("Do not share the nodes with other jobs.", default=True)
    training_slurm_constraint: _Word = key("Features that the nodes must have.", default="")
    training_slurm_exclude: _Word = key("Nodes to leave out.", default="")
    training_slurm_gres: _Word = key("Generic resources per node, if the cluster counts GPUs as such.", default="")
    training_slurm_pyxis: Flag = key(
        "Run the training in Pyxis when container_engine is auto. That is the default if srun, on the machine that "
        "runs Ansible, has --container-image.",
        default=False,
    )
    training_slurm_preflight: Flag = key(
        "Run the preflight on the nodes of the job before the ranks start, and end the job if it is red.",
        default=True,
    )
    training_slurm_options: t.Annotated[list[str], Several(_LINE, "options of sbatch, as a list", at_least=0)] = key(
        "Further sbatch options that the site requires, one per line of the script.", default=[]
    )


class LaunchOptions(SlurmOptions, RunOptions):
    """The plan variables that do not belong to one trainer."""


PartT = t.TypeVar("PartT", bound=ConfigSection)


def part_of(part: type[PartT], options: ConfigSection) -> PartT:
    """Return the plan variables, already checked, that a room needs."""
    named = {name: getattr(options, name) for name in part.model_fields}
    return t.cast("PartT", part.model_construct(**named))
