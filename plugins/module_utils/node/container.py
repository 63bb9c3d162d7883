# SPDX-License-Identifier: GPL-3.0-or-later
"""Training in a container of docker or podman, through their command line with argument lists.

The container is the training: its first process is the launch script, its exit status is the run's. Its labels carry
run_id, node and node rank; a container without our labels is never stopped or removed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import typing as t

from . import processes
from .engine_words import REFUSED, engine_problem, image_problem
from .inspection.engines import version_in
from .inspection.tools import ToolError
from .launch import LAUNCH_NAME, recorded_outcome
from .problems import Problem, ProblemError, problem
from .rdma_library import FUNCTION, library_lines, mount_problems

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from .contracts import ContainerOptions, Handle, Mount, Node, Outcome, Place

RDMA_CLASS = "/sys/class/infiniband"
RUN_LABEL = "trainops.run_id"
NODE_LABEL = "trainops.node"
RANK_LABEL = "trainops.node_rank"

_ANSWER_SECONDS = 60
_PULL_SECONDS = 3600
_REMOVAL_SECONDS, _REMOVAL_POLL_SECONDS = 10.0, 0.2
# The messages of an engine that does not know a name. If the daemon is gone, its socket is the missing file.
_UNKNOWN = re.compile("no such (container|image|object)|not known", re.IGNORECASE)


class EngineError(ProblemError):
    """A container engine refused a command, or does not answer."""


class ContainerEngine:
    """docker or podman; ``name`` is the command."""

    def __init__(self, name: str) -> None:
        """Use the engine whose command has this name."""
        self.name = name

    def problems(self, node: Node) -> list[Problem]:
        """Return an engine that does not answer, a taken name, and devices that are not there."""
        problems = [problem("device_missing", path=device) for device in node["devices"] if not os.path.exists(device)]
        problems += mount_problems(node["mounts"])
        try:
            problems += self._no_image(node)
            taken = self._inspect("container", node["container_options"]["name"])
        except EngineError as error:
            return [*problems, *error.problems]
        if taken and not self._is_ours(taken, node):
            problems.append(
                problem(
                    "container_name_taken",
                    name=taken["Name"].lstrip("/"),
                    image=_image_name(taken),
                    status=taken["State"]["Status"],
                    created=taken["Created"][:19],
                )
            )
        return problems

    def _no_image(self, node: Node) -> list[Problem]:
        image, archive = _image(node), node.get("image_archive")
        if not archive or os.path.isfile(archive) or self._inspect("image", image) is not None:
            return []
        return [problem("image_missing", image=image, archive=archive)]

    def room(self, node: Node) -> dict[str, int]:
        """Return where a missing image will be stored, and its size if it is loaded from an archive."""
        archive = node.get("image_archive")
        if not archive or not os.path.exists(archive) or self._inspect("image", _image(node)) is not None:
            return {}
        try:
            _version, folder = version_in(self.name, self._call(["info", "--format", "{{json .}}"]))
        except ToolError as error:
            raise EngineError("engine_silent", said=str(error)) from None
        return {folder: os.path.getsize(archive)}

    def prepare(self, node: Node) -> dict[str, t.Any]:
        """Have the image here, from its archive or its registry, and clear away our own ended container.

        Returns ``image_id``, which identifies the image's content whatever its tag is.
        """
        image = self._inspect("image", _image(node))
        if image is None:
            self._fetch(node)
            image = self._inspect("image", _image(node))
        if image is None:
            raise EngineError("not_in_archive", archive=node.get("image_archive"), image=node["image"])
        left_over = self._inspect("container", node["container_options"]["name"])
        if left_over and self._is_ours(left_over, node) and not left_over["State"]["Running"]:
            self._call(["rm", left_over["Id"]])
        return {"image_id": image["Id"] if image["Id"].startswith("sha256:") else f"sha256:{image['Id']}"}

    def _fetch(self, node: Node) -> None:
        archive = node.get("image_archive")
        arguments = ["load", "--input", archive] if archive else ["pull", "--quiet", _image(node)]
        done = self._run(arguments, _PULL_SECONDS)
        if done.returncode != 0:
            raise self._refused(arguments, done, _image(node))

    def preparation(self, node: Node) -> dict[str, list[str]]:
        """Return the command that puts a mounted RDMA provider library of the node in place in the container."""
        lines = library_lines(node["mounts"], len(os.listdir(RDMA_CLASS)) if os.path.isdir(RDMA_CLASS) else 0)
        return {FUNCTION: lines} if lines else {}

    def start(self, node: Node, run_id: str) -> Handle:
        """Run the launch script in a container."""
        identifier = self._call(self.run_arguments(node, run_id)).strip()
        container = self._inspect("container", identifier)
        pid = container["State"]["Pid"] if container else 0
        return {"container": identifier, "pid": pid, "start_time": processes.start_time(pid)}

    def run_arguments(self, node: Node, run_id: str) -> list[str]:
        """Return the arguments of the engine that start the container of a node's plan."""
        options = node["container_options"]
        arguments = ["run", "--detach", "--name", options["name"]]
        for label, value in ((RUN_LABEL, run_id), (NODE_LABEL, node["node"]), (RANK_LABEL, node["node_rank"])):
            arguments += ["--label", f"{label}={value}"]
        arguments += self.container_arguments(options, node["devices"], node["mounts"])
        if options.get("cap_drop") and self.name == "docker" and os.geteuid() != 0:
            # The root of its container is not who owns the run's folder.
            arguments += ["--cap-add", "DAC_OVERRIDE"]
        return [*arguments, "--entrypoint", "bash", _image(node), os.path.join(node["run_folder"], LAUNCH_NAME)]

    def container_arguments(
        self, options: ContainerOptions, devices: Iterable[str], mounts: Iterable[Mount]
    ) -> list[str]:
        """Return the arguments that give a container its view of the node, and its limits."""
        arguments = ["--network", options["network"], "--ipc", options["ipc"]]
        # podman refuses a size for the host's own /dev/shm; docker accepts both, and the host's size applies.
        if not (self.name == "podman" and options["ipc"] == "host"):
            arguments += ["--shm-size", options["shm_size"]]
        if options["privileged"]:
            arguments.append("--privileged")
        for option, values in (
            ("--group-add", options.get("group_add")),
            ("--cap-drop", options.get("cap_drop")),
            ("--cap-add", options.get("cap_add")),
            ("--security-opt", options.get("security_opt")),
        ):
            for value in values or ():
                arguments += [option, value]
        for limit, value in options["ulimits"].items():
            arguments += ["--ulimit", f"{limit}={value}"]
        for device in devices:
            arguments += ["--device", device]
        for mount in mounts:
            arguments += ["--volume", f"{mount['source']}:{mount['target']}{':ro' if mount.get('read_only') else ''}"]
        return arguments

    def outcome(self, node: Place, handle: Handle) -> Outcome:
        """Return the container's exit status and whether the kernel killed it because memory ran out.

        If the engine does not answer, the result is the launch script's record, and ``engine_problem``. The same goes
        for a removed container, with ``container_removed`` if the script recorded no end.
        """
        # The process is gone before the engine has taken note of it, so the engine is waited for.
        try:
            self._run(["wait", handle["container"]])
            container = self._inspect("container", handle["container"])
        except EngineError as error:
            return {**recorded_outcome(node), "engine_problem": str(error)}
        if container is None:
            recorded = recorded_outcome(node)
            return recorded if recorded["exit_status"] is not None else {**recorded, "container_removed": True}
        state = container["State"]
        return {"exit_status": state["ExitCode"], "oom_killed": bool(state.get("OOMKilled"))}

    def stop(self, node: Node, run_id: str, grace_seconds: float) -> bool:
        """Stop and remove the containers that carry the labels of this run on this node."""
        found = self._labelled([f"{RUN_LABEL}={run_id}", f"{NODE_LABEL}={node['node']}"])
        running = [container for container in found if container["State"]["Running"]]
        for container in running:
            # Removing a container fails if another stop has removed it meanwhile, and the caller checks for leftovers
            # in any case.
            self._run(["stop", "--time", str(int(grace_seconds)), container["Id"]], grace_seconds + _ANSWER_SECONDS)
        for container in found:
            self._remove(container["Id"])
        return bool(running)

    def _remove(self, identifier: str) -> None:
        done = self._run(["rm", "--force", identifier])
        deadline = time.monotonic() + _REMOVAL_SECONDS
        # Another stop may be about to remove it, which an engine refuses to do twice.
        while done.returncode != 0 and self._inspect("container", identifier):
            if time.monotonic() > deadline:
                raise self._refused(["rm", "--force"], done)
            time.sleep(_REMOVAL_POLL_SECONDS)

    def left(self, node: Node, run_id: str) -> list[str]:
        """Return the containers that carry the labels of this run on this node."""
        found = self._labelled([f"{RUN_LABEL}={run_id}", f"{NODE_LABEL}={node['node']}"])
        return [f"container {container['Name'].lstrip('/')} ({container['State']['Status']})" for container in found]

    def holder(self, run_id: str) -> str | None:
        """Return another run that has a running container on this machine."""
        for container in self._labelled([RUN_LABEL]):
            other = container["Config"]["Labels"][RUN_LABEL]
            if container["State"]["Running"] and other != run_id:
                return str(other)
        return None

    def _is_ours(self, container: dict[str, t.Any], node: Node) -> bool:
        return bool((container["Config"]["Labels"] or {}).get(NODE_LABEL) == node["node"])

    def _labelled(self, labels: list[str]) -> list[dict[str, t.Any]]:
        filters = [word for label in labels for word in ("--filter", f"label={label}")]
        identifiers = self._call(["ps", "--all", "--quiet", "--no-trunc", *filters]).split()
        found = [self._inspect("container", identifier) for identifier in identifiers]
        return [container for container in found if container]

    def _inspect(self, kind: str, name: str) -> dict[str, t.Any] | None:
        done = self._run([kind, "inspect", name])
        if done.returncode == 0:
            return t.cast("dict[str, t.Any]", json.loads(done.stdout)[0])
        if _UNKNOWN.search(done.stderr):
            return None
        raise self._refused([kind, "inspect", name], done)

    def _call(self, arguments: list[str], seconds: float = _ANSWER_SECONDS) -> str:
        done = self._run(arguments, seconds)
        if done.returncode != 0:
            raise self._refused(arguments, done)
        return done.stdout

    def _run(self, arguments: list[str], seconds: float = _ANSWER_SECONDS) -> subprocess.CompletedProcess[str]:
        try:
            # Runs on a node without AnsibleModule.
            return subprocess.run(  # pylint: disable=ansible-bad-function
                [self.name, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise EngineError("engine_slow", command=f"{self.name} {arguments[0]}", seconds=seconds) from None

    def _refused(self, arguments: list[str], done: subprocess.CompletedProcess[str], fetched: str = "") -> EngineError:
        """Return the error of a command that failed; it may have ``fetched`` an image."""
        said = _said(done)
        found = engine_problem(self.name, f"{self.name} {' '.join(arguments[:2])}", said)
        if fetched and found["code"] == REFUSED:
            found = image_problem(self.name, fetched, said) or found
        return EngineError(found["code"], **found["values"])


def _said(done: subprocess.CompletedProcess[str]) -> str:
    """Return the end of an engine's message, without warnings such as podman's about each try."""
    lines = done.stderr.strip().splitlines()
    lines = [line for line in lines if "level=warning" not in line] or lines
    return " / ".join(lines[-3:]) or f"exit status {done.returncode}"


def _image(node: Node) -> str:
    """Return the image, which a plan for a container always has."""
    return t.cast("str", node["image"])


def _image_name(container: dict[str, t.Any]) -> str:
    return str(container.get("ImageName") or container["Config"].get("Image") or container["Image"])
