# SPDX-License-Identifier: GPL-3.0-or-later
"""The command of the step that asks nodes: srun with an allocation of its own, or in one that there is.

Options: https://slurm.schedmd.com/srun.html
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from ....module_utils.slurm.desk import STARTER
from ...plan.slurm.options import SRUN, SlurmOptions
from ...plan.slurm.script import SBATCH
from ...text.nodes import folded

# The task of a node measures all of its processors, and the others go on without it.
_TASKS = ("--label", "--cpu-bind=none", "--kill-on-bad-exit=0", "--wait=0", "--no-kill", "--chdir=/")
_SERVE = ("python3", "-I", "-c", STARTER, "serve")


def options_of_job(settings: SlurmOptions, nodes: Sequence[str], minutes: int) -> dict[str, str]:
    """Return what is asked of Slurm for some nodes, by the names of sbatch; ``minutes`` where no time is set."""
    given = {option: getattr(settings, name) for name, option in SBATCH.items() if option != "exclude"}
    size = {"nodes": str(len(nodes)), "nodelist": folded(nodes)}
    return {"time": str(minutes), **{option: value for option, value in given.items() if value}, **size}


def command_of(name: str, settings: SlurmOptions, asked: Mapping[str, str], container: str) -> list[str]:
    """Return the command of an isolation, given `options_of_job`; ``container`` is text of shell that goes around."""
    if settings.training_launcher == SRUN:
        own = [f"--{option}={asked[option]}" for option in ("nodes", "nodelist")] + ["--overlap"]
    else:
        own = [f"--{option}={value}" for option, value in asked.items()]
        own += ["--exclusive"] if settings.training_slurm_exclusive else []
        own += settings.training_slurm_options
    owned = () if settings.training_launcher == SRUN else ("owned",)
    size = (f"--ntasks={asked['nodes']}", "--ntasks-per-node=1")
    return ["srun", f"--job-name=trainops-{name}", *own, *size, *_TASKS, *shlex.split(container), *_SERVE, *owned]


def script_of(asked: Mapping[str, str], settings: SlurmOptions) -> str:
    """Return a script that asks for the same nodes, by which Slurm says whether it can give them."""
    lines = [f"--{option}={value}" for option, value in asked.items()]
    lines += ["--exclusive"] if settings.training_slurm_exclusive else []
    return "\n".join(["#!/bin/sh", *(f"#SBATCH {line}" for line in [*lines, *settings.training_slurm_options]), ""])
