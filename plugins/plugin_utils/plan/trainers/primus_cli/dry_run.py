# SPDX-License-Identifier: GPL-3.0-or-later
"""The command that shows on a node what Primus would start there, without training.

Primus' hooks run all the same. Source: runner/primus-cli-direct.sh of AMD-AGI/Primus, August 2026, which runs them
before it looks at ``--dry-run``.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from .....module_utils.node.container import ContainerEngine
from .....module_utils.node.interfaces import AUTO
from ....contracts import NodePlan, Plan
from ...job.environment_variables import without_recording

# An engine that the node chooses; podman takes the same arguments.
_USUAL = "docker"
_ENGINES = ("auto", "docker", "podman")
_SEPARATOR = "--"
# They make a process one of the run's.
_OF_RUN = ("TRAINOPS_RUN_ID", "TRAINOPS_NODE")


def dry_run(plan: Plan) -> str:
    """Return the command for the first node of a plan, an option with its value on each line; empty if there is none.

    It is the node's own, with ``--dry-run``, in the same container. A staged file is its input, and lies in /tmp. There
    is no such command under Slurm, which chooses the nodes, or for a rehearsal.
    """
    engine = plan["container_engine"]
    if plan["rehearsal"] or "slurm" in plan or engine not in (*_ENGINES, "none"):
        return ""
    node = plan["nodes"][0]
    script = _script(node, f"/tmp/{plan['run_id']}")
    given = " < " + shlex.quote(next(iter(node["files"]))) if node["files"] else ""
    left_out = {*_OF_RUN, *(secret["variable"] for secret in node["secrets"])}
    given_to_run = without_recording(node["env"], node["run_folder"])
    variables = {name: value for name, value in given_to_run.items() if name not in left_out and value != AUTO}
    if engine == "none":
        pairs = [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
        return " \\\n    ".join(["env", *pairs, f"bash -c {shlex.quote(script)}{given}"])
    name = _USUAL if engine == "auto" else engine
    pairs = [*_options(name, node), *(f"--env {shlex.quote(f'{key}={value}')}" for key, value in variables.items())]
    # The token is in the environment of the user who runs it, or missing.
    pairs += [f"--env {secret['value_variable']}" for secret in node["secrets"] if "value_variable" in secret]
    head = f"{name} run --rm{' --interactive' if given else ''}"
    tail = f"--entrypoint bash {shlex.quote(node['image'] or '')} -c {shlex.quote(script)}{given}"
    return " \\\n    ".join([head, *pairs, tail])


def _script(node: NodePlan, scratch: str) -> str:
    """Return the shell text of the node's command without training; ``scratch`` begins the names of its files."""
    words = [word.replace(f"{node['run_folder']}/", f"{scratch}.") for word in node["argv"]]
    words.insert(words.index(_SEPARATOR), "--dry-run")
    staged = [f"cat > {shlex.quote(f'{scratch}.{name}')}" for name in node["files"]]
    return " && ".join([*staged, f"cd {shlex.quote(node['working_dir'])}", shlex.join(words)])


def _options(engine: str, node: NodePlan) -> Iterator[str]:
    """Yield the container's mounts and devices except for the run's folder, each option with its value."""
    mounts = [mount for mount in node["mounts"] if not mount.get("staged")]
    for word in ContainerEngine(engine).container_arguments(node["container_options"], node["devices"], mounts):
        if word == "--privileged":
            yield word
        elif word.startswith("--"):
            option = word
        else:
            yield f"{option} {shlex.quote(word)}"
