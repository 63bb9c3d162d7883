"""The program as it is sent to a node, which is another process of this machine."""

from __future__ import annotations

import os
import subprocess

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.program import answer_in, command, standard_input


def send(
    python: str, request: dict, shell: str = 'eval "$0"', kept: tuple | None = None
) -> subprocess.CompletedProcess[str]:
    """Send the program as the action plugin does; the login shell of the node may print anything."""
    return subprocess.run(
        ["bash", "-c", shell, command(python)],
        input=standard_input(request, kept).decode(),
        # A node has nothing of ours: no import path, and no way to write compiled files beside the sources.
        env={name: os.environ[name] for name in ("PATH", "TRAINOPS_LOCK_FOLDER")},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )


def answer_of(python: str, request: dict, kept: tuple | None = None) -> dict:
    done = send(python, request, kept=kept)
    assert (done.returncode, done.stderr) == (0, "")
    return answer_in(done.stdout)
