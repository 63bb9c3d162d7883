# SPDX-License-Identifier: GPL-3.0-or-later
"""What to do about a node on which a run could not begin, by what the node said.

Most of what a node says has its own remedy in it; these are the causes that need one more sentence.
"""

from __future__ import annotations

import re

_REMEDIES = tuple(
    (re.compile(said), remedy)
    for said, remedy in (
        (
            r"port (?P<port>[0-9]+) is not free",
            "Find what holds it on the node (ss -ltnp 'sport = :{port}') and end it, or set training_master_port to "
            "another port.",
        ),
        (
            "held by (?:another )?run",
            "Wait for that run to end, or stop it with the command above and the inventory of its nodes.",
        ),
        (
            "Python 3|did not run the program",
            "Install Python 3.8 or newer there, or set ansible_python_interpreter for the host to the one that it has.",
        ),
        ("no container engine is installed", "Install docker or podman there, or set container_engine=none."),
        ("free up space|No space left", "Free space there, or put log_dir on another disk."),
        (
            "(?:folder|script) .* does not exist",
            "Put it there, mount it into the container, or correct its path in the config or the inventory.",
        ),
        ("run: chmod", "Run that command on the node as the owner of the folder, or choose another log_dir."),
        (
            "none to follow or to judge",
            "Give the training_run_id of a run that was started; stop.yml without one lists the latest runs.",
        ),
        ("sudo", "Check the login with: ansible HOST -i INVENTORY -m ansible.builtin.command -a id --become."),
    )
)
_OTHERWISE = "playbooks/preflight.yml, with --limit and the name of the node, checks everything that a run needs there."


def remedy_of(said: str) -> str:
    """Return what to do about a node that said this."""
    for pattern, remedy in _REMEDIES:
        if found := pattern.search(said):
            return remedy.format(**found.groupdict())
    return _OTHERWISE
