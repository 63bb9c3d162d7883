# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks out another MaxText in the container, and installs it, before the training: CVS's keys maxtext_*.

Source: checkout_maxtext_branch in cvs/lib/training/jaxmaxtext/jaxmaxtext_training_lib.py of ROCm/cvs.
"""

from __future__ import annotations

from ....text.words import listed
from ...config.staged_secrets import check_secrets
from .options import PLATFORM
from .reading import BranchReading

_SCRIPT = "with_maxtext.sh"
_CHECK_OUT = """\
#!/bin/bash
# Checks out a branch of the MaxText in this folder, runs an install command, and then runs what follows.
branch=$1 install=$2
shift 2
if [ -n "$branch" ]; then
  # Without a connection, a branch that the image has still works.
  GIT_TERMINAL_PROMPT=0 git fetch --quiet --all --tags || echo "MaxText's branches could not be fetched." >&2
  git reset --quiet --hard && git checkout --quiet "$branch" -- || exit
  echo "MaxText is at commit $(git rev-parse HEAD) of $branch."
fi
if [ -n "$install" ]; then
  bash -c "$install" || exit
fi
exec "$@"
"""
_KEYS = ("maxtext_branch", "maxtext_install_cmd")


def check_checkout(reading: BranchReading) -> None:
    """Report a checkout that would change files of the node instead of the container's."""
    given = _given(reading)
    if not given:
        return
    check_secrets({name: getattr(reading.config, name) for name in given}, "config", reading.findings)
    options, mounts = reading.options, reading.config.container_config.volume_dict
    root = options.training_maxtext_root or reading.config.maxtext_root
    mounted = next((source for source, target in mounts.items() if f"{root}/".startswith(f"{target.rstrip('/')}/")), "")
    where = "on GKE" if options.training_platform == PLATFORM else "without a container"
    if options.training_platform == PLATFORM or options.container_engine == "none":
        message = f"{listed(given)} would have to change the MaxText of a container, which a run {where} lacks."
        reading.fault(f"config.{given[0]}", message, f"Provide that MaxText yourself, and leave {listed(given)} out.")
    elif mounted and reading.config.maxtext_branch:
        message = f"{root} is in the mount of {mounted}, where a checkout would discard changes on the node."
        reading.fault("config.maxtext_branch", message, "Check it out there yourself, and leave maxtext_branch out.")
    elif reading.config.maxtext_branch:
        reading.findings.note(
            f"Each node checks out {reading.config.maxtext_branch} of MaxText in {root} of its container before the "
            "training, and fetches it if it has a connection; the log has the commit."
        )


def checking_out(reading: BranchReading, command: list[str]) -> list[str]:
    """Return a command that first checks out and installs the MaxText that the config asks for, if any."""
    config = reading.config
    if not _given(reading):
        return command
    return ["bash", f"{{run-folder}}/{_SCRIPT}", config.maxtext_branch, config.maxtext_install_cmd, *command]


def script_of(reading: BranchReading) -> dict[str, str]:
    """Return the script of such a command by its name in the run's folder."""
    return {_SCRIPT: _CHECK_OUT} if _given(reading) else {}


def _given(reading: BranchReading) -> list[str]:
    return [name for name in _KEYS if getattr(reading.config, name)]
