# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user reads whose controller was interrupted: the run, and the commands that go on with it."""

from __future__ import annotations

import os
import shlex
import typing as t
from collections.abc import Sequence
from pathlib import Path

from .board import PLAN_NAME

_DEFAULT_FOLDER: t.Final = "runs"


def interrupted_lines(run_dir: str, playbook: str, inventories: Sequence[str]) -> list[str]:
    """Return lines about a run that is not followed any more; none where its folder was not written, as in check mode.

    ``playbook`` and ``inventories`` are those of the call, as it named them.
    """
    folder = Path(run_dir)
    if not (folder / PLAN_NAME).exists():
        return []
    variables = [f"training_run_id={folder.name}"]
    if folder.parent != Path(os.path.abspath(_DEFAULT_FOLDER)):
        variables.append(f"training_output_dir={folder.parent}")
    options = [word for inventory in inventories for word in ("-i", inventory)]
    options += [word for variable in variables for word in ("-e", variable)]

    def command(name: str) -> str:
        installed = not playbook.endswith((".yml", ".yaml"))
        there = f"trainops.cluster.{name}" if installed else os.path.join(os.path.dirname(playbook), f"{name}.yml")
        return shlex.join(["ansible-playbook", there, *options])

    return [
        f"The run {folder.name} is not followed any more. What it has started on its nodes goes on.",
        f"  Follow it again:  {command('attach')}",
        f"  Stop it:          {command('stop')}",
    ]
