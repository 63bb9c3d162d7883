# SPDX-License-Identifier: GPL-3.0-or-later
"""The engines that can run the training on a node, and the one without a container.

Other modules use only the public methods of an engine that `NoContainer` has. Whether a training still runs is asked of
its first process, which needs no call of an engine.
"""

from __future__ import annotations

import os
import typing as t

from . import processes
from .launch import LAUNCH_NAME, recorded_outcome
from .problems import Problem, ProblemError, problem

if t.TYPE_CHECKING:
    from .container import ContainerEngine
    from .contracts import Handle, Node, Outcome, Place

CONTAINER_COMMANDS = ("docker", "podman")
# Those that a job of Slurm puts its tasks into.
AROUND_US = ("pyxis", "apptainer")
ENGINES = ("none", *AROUND_US, *CONTAINER_COMMANDS)


class NoContainer:
    """The launch script is a process of its own session on the node.

    The ``name`` is empty, or says what a job of Slurm put us into: then its container is around us already.
    """

    def __init__(self, name: str = "none") -> None:
        """Take the name of the engine."""
        self.name = name

    def problems(self, node: Node) -> list[Problem]:
        """Return whether the training script is missing here; scripts in the run's folder are staged with it.

        A run is staged outside the container of a Slurm job, so its files cannot be checked here.
        """
        working_dir = node["working_dir"]
        if self.name in AROUND_US or working_dir.startswith(node["run_folder"]):
            return []
        if not os.path.isdir(working_dir):
            return [problem("checkout_missing", path=working_dir)]
        dataset = node.get("dataset") or {"script": ""}
        scripts = {"training script": node["script"], "dataset script": dataset["script"]}
        paths = {what: os.path.join(working_dir, script) for what, script in scripts.items() if script}
        return [
            problem("script_missing", what=what, path=path) for what, path in paths.items() if not os.path.isfile(path)
        ]

    def room(self, node: Node) -> dict[str, int]:  # noqa: ARG002
        """Return how many bytes the preparation will write, by path. It writes only the run's own files."""
        return {}

    def prepare(self, node: Node) -> dict[str, t.Any]:  # noqa: ARG002
        """Fetch and clear away whatever the start needs, and return facts for the controller: here nothing."""
        return {}

    def preparation(self, node: Node) -> dict[str, list[str]]:  # noqa: ARG002
        """Return functions of bash that the launch script calls before the training, as lines by their names: none."""
        return {}

    def start(self, node: Node, run_id: str) -> Handle:
        """Start the launch script, detached from its caller; return the handle that the state of the run keeps."""
        left = self.left(node, run_id)
        if left:
            raise ProblemError("already_running", run_id=run_id, what=left[0])
        script = os.path.join(node["run_folder"], LAUNCH_NAME)
        environment = dict(os.environ, **processes.labels(run_id, node["node"]))
        pid = processes.begin(["bash", script], env=environment).pid
        return {"pid": pid, "start_time": processes.start_time(pid)}

    def outcome(self, node: Place, handle: Handle) -> Outcome:  # noqa: ARG002
        """Return ``exit_status`` (None: killed) and ``oom_killed`` of a training that runs no longer."""
        return recorded_outcome(node)

    def stop(self, node: Node, run_id: str, grace_seconds: float) -> bool:
        """End every process that carries the run's labels, and return whether there was any."""
        return processes.end_members(run_id, node["node"], grace_seconds)

    def left(self, node: Node, run_id: str) -> list[str]:
        """Return the processes that carry the run's labels, in words."""
        return [processes.process_text(pid) for pid in processes.members(run_id, node["node"])]

    def holder(self, run_id: str) -> str | None:
        """Return the run_id of another run whose processes are on this machine, or None."""
        return next((other for other in processes.runs_here() if other != run_id), None)


Engine = t.Union[NoContainer, "ContainerEngine"]


def engine_of(name: str) -> Engine:
    """Return the engine of a name; ``auto`` is the first container engine that is installed here.

    `ProblemError` if no engine is installed, or if the name is not an engine's.
    """
    if name in ("none", *AROUND_US):
        return NoContainer(name)
    if name == "auto":
        name = next(iter(_installed()), "")
        if not name:
            raise ProblemError("no_engine", looked_for=list(CONTAINER_COMMANDS))
    if name not in CONTAINER_COMMANDS:
        raise ProblemError("engine_unknown", name=name, known=list(CONTAINER_COMMANDS))
    if name not in _installed():
        raise ProblemError("engine_missing", name=name)
    from .container import ContainerEngine  # noqa: PLC0415

    return ContainerEngine(name)


def _installed() -> list[str]:
    import shutil  # noqa: PLC0415

    return [command for command in CONTAINER_COMMANDS if shutil.which(command)]


def engines_to_look_at(name: str) -> list[Engine]:
    """Return all engines that may still have something of a run that uses the engine of a name."""
    if name in ("none", *AROUND_US):
        return [engine_of(name)]
    names = _installed() if name == "auto" else [name]
    # The leftovers of a container are found as processes.
    return [*map(engine_of, names), NoContainer()]
