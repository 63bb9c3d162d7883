# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of a plan that Slurm starts: what sbatch is given.

Formats: https://slurm.schedmd.com/sbatch.html
"""

from __future__ import annotations

import typing as t

from pydantic import Field

from ..config.field_types import Flag, NaturalInteger
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

    training_launcher: t.Annotated[str, OneOf((SSH, SLURM, SRUN))] = Field(
        default=SSH,
        description="What starts the ranks: Ansible's own connections to the hosts of the inventory (ssh), one job of "
        "Slurm, submitted from the machine that runs Ansible (slurm), or a step of the allocation that Ansible runs in "
        "(srun).",
    )
    training_slurm_job: t.Annotated[str, _JOB] = Field(
        default="",
        description="Job of Slurm whose nodes are taken with training_launcher=srun; without it the one that "
        "SLURM_JOB_ID names.",
    )
    training_slurm_nodes: NaturalInteger = Field(
        default=0,
        description="Nodes of the job; 0 takes as many as the training config asks for.",
        json_schema_extra={"unit": "nodes"},
    )
    training_slurm_partition: Word = Field(default="", description="Partition of the job.")
    training_slurm_account: Word = Field(default="", description="Account that is charged.")
    training_slurm_qos: Word = Field(default="", description="Quality of service.")
    training_slurm_reservation: Word = Field(default="", description="Reservation whose nodes are taken.")
    training_slurm_time_limit: t.Annotated[str, _TIME] = Field(
        default="", description="When Slurm ends the job; without it the partition's limit holds."
    )
    training_slurm_exclusive: Flag = Field(default=True, description="Share the nodes with no other job.")
    training_slurm_constraint: Word = Field(default="", description="Features that the nodes must have.")
    training_slurm_exclude: Word = Field(default="", description="Nodes that are left out.")
    training_slurm_gres: Word = Field(
        default="", description="Generic resources of each node, where the cluster counts GPUs."
    )
    training_slurm_pyxis: Flag = Field(
        default=False,
        description="Let Pyxis hold the training where container_engine is auto. It does so anyway where srun, on the "
        "machine that runs Ansible, has --container-image.",
    )
    training_slurm_preflight: Flag = Field(
        default=True,
        description="Do the preflight on the nodes of the job before their ranks start, and end the job where it is "
        "red.",
    )
    training_slurm_options: t.Annotated[list[str], Several(_LINE, "options of sbatch, as a list", at_least=0)] = Field(
        default=[], description="Further options of sbatch, one per line of the script, as the site asks for them."
    )
