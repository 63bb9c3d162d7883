# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of a plan that Slurm starts: the options of sbatch.

Formats: https://slurm.schedmd.com/sbatch.html
"""

from __future__ import annotations

import typing as t

from ..config.field_types import Flag, NaturalInteger, Several, Written
from ..config.kinds import OneOf
from ..config.model import ConfigSection, key
from ..job.options import RunOptions

SSH, SLURM, SRUN = "ssh", "slurm", "srun"

# A #SBATCH line is split at spaces, and quotes and # have a meaning in it.
_WORD = r"""[^\s"'\\#]*"""


Word = t.Annotated[str, Written(_WORD, "one word for sbatch", "a string without spaces and quotes", free=True)]
_TIME = Written(
    r"(|\d+|(\d+-)?\d+:\d+(:\d+)?|\d+-\d+)",
    "a time limit",
    "a time in the format of sbatch, for example 90 (minutes), 01:30:00 or 1-12 (days-hours)",
    free=True,
)
_JOB = Written(r"\d*", "a job ID", "a job ID as squeue prints it, for example 4711", free=True)
_LINE = Written(r"--[a-z][^\n\r]*", "an option of sbatch", "options of sbatch, for example --mail-type=END", free=True)


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
    training_slurm_partition: Word = key("Partition of the job.", default="")
    training_slurm_account: Word = key("Account to charge.", default="")
    training_slurm_qos: Word = key("Quality of service.", default="")
    training_slurm_reservation: Word = key("Reservation to use.", default="")
    training_slurm_time_limit: t.Annotated[str, _TIME] = key(
        "Time limit of the job; by default that of the partition.", default=""
    )
    training_slurm_exclusive: Flag = key("Do not share the nodes with other jobs.", default=True)
    training_slurm_constraint: Word = key("Features that the nodes must have.", default="")
    training_slurm_exclude: Word = key("Nodes to leave out.", default="")
    training_slurm_gres: Word = key("Generic resources per node, if the cluster counts GPUs as such.", default="")
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
    """The plan variables that are not those of one trainer."""
