# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of a plan that Slurm starts: what sbatch is given.

Formats: https://slurm.schedmd.com/sbatch.html
"""

from __future__ import annotations

import typing as t

from ..config.field_types import Flag, NaturalInteger
from ..config.fields import key
from ..config.kinds import OneOf
from ..config.texts import Several, Written
from ..job.options import RunOptions

SSH, SLURM, SRUN = "ssh", "slurm", "srun"

# A #SBATCH line is split at blanks, and quotes and # mean something in it.
_WORD = r"""[^\s"'\\#]*"""


Word = t.Annotated[str, Written(_WORD, "one word for sbatch", "a text without blanks and quotes", free=True)]
_TIME = Written(
    r"(|\d+|(\d+-)?\d+:\d+(:\d+)?|\d+-\d+)",
    "a time limit",
    "a time as sbatch takes it, for example 90 (minutes), 01:30:00 or 1-12 (days-hours)",
    free=True,
)
_JOB = Written(r"\d*", "the number of a job", "a number as squeue prints it, for example 4711", free=True)
_LINE = Written(r"--[a-z][^\n\r]*", "an option of sbatch", "options of sbatch, for example --mail-type=END", free=True)


class SlurmOptions(RunOptions):
    """The variables of a plan that only a launch by Slurm reads."""

    training_launcher: t.Annotated[str, OneOf((SSH, SLURM, SRUN))] = key(
        "What starts the ranks: Ansible's own connections to the hosts of the inventory (ssh), one job of "
        "Slurm, submitted from the machine that runs Ansible (slurm), or a step of the allocation that Ansible runs in "
        "(srun).",
        default=SSH,
    )
    training_slurm_job: t.Annotated[str, _JOB] = key(
        "Job of Slurm whose nodes are taken with training_launcher=srun; without it the one that SLURM_JOB_ID names.",
        default="",
    )
    training_slurm_nodes: NaturalInteger = key(
        "Nodes of the job; 0 takes as many as the training config asks for.", default=0, unit="nodes"
    )
    training_slurm_partition: Word = key("Partition of the job.", default="")
    training_slurm_account: Word = key("Account that is charged.", default="")
    training_slurm_qos: Word = key("Quality of service.", default="")
    training_slurm_reservation: Word = key("Reservation whose nodes are taken.", default="")
    training_slurm_time_limit: t.Annotated[str, _TIME] = key(
        "When Slurm ends the job; without it the partition's limit holds.", default=""
    )
    training_slurm_exclusive: Flag = key("Share the nodes with no other job.", default=True)
    training_slurm_constraint: Word = key("Features that the nodes must have.", default="")
    training_slurm_exclude: Word = key("Nodes that are left out.", default="")
    training_slurm_gres: Word = key("Generic resources of each node, where the cluster counts GPUs.", default="")
    training_slurm_pyxis: Flag = key(
        "Let Pyxis hold the training where container_engine is auto. It does so anyway where srun, on the "
        "machine that runs Ansible, has --container-image.",
        default=False,
    )
    training_slurm_preflight: Flag = key(
        "Do the preflight on the nodes of the job before their ranks start, and end the job where it is red.",
        default=True,
    )
    training_slurm_options: t.Annotated[list[str], Several(_LINE, "options of sbatch, as a list", at_least=0)] = key(
        "Further options of sbatch, one per line of the script, as the site asks for them.", default=[]
    )
