"""A training on this machine, which stands for a node: a real script, a real folder, real processes."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import socket
import time
import typing as t
import uuid
import zlib
from pathlib import Path

from ansible_collections.trainops.cluster.plugins.module_utils.node.agent import phase_of
from ansible_collections.trainops.cluster.plugins.module_utils.node.identity import identity_of


def wait_until(condition: t.Callable[[], t.Any], seconds: float = 60.0) -> t.Any:
    """Return the first true value of a condition; fail if there is none in time."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, "this did not come true in time"
        time.sleep(0.01)


def processes_with(variable: str) -> set[int]:
    """Return the live processes that have a variable, given as NAME=VALUE, in their environment."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                has = variable.encode() in (entry / "environ").read_bytes().split(b"\0")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if has and state != "Z":
                found.add(int(entry.name))
    return found


def iteration(step: int, total: int = 10) -> str:
    """Return an iteration line of Megatron-LM, fit to be echoed by a script."""
    return f" iteration {step}/ {total} | elapsed time per iteration (ms): 50.0 | lm loss: 4.0E+00 |"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


class Training:
    """One run on one node whose training script does what its test needs.

    The script runs in ``workspace``; ``mark`` is a variable, as NAME=VALUE, that all of its processes have.
    """

    def __init__(self, folder: Path, script: str, run_id: str, node_name: str) -> None:
        self.folder = folder
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        (self.workspace / "train.sh").write_text(script + "\n")
        self.run_id = run_id
        self.nonce = uuid.uuid5(uuid.NAMESPACE_OID, run_id).hex
        self.framework = "megatron"
        self.node: dict[str, t.Any] = {
            "node_rank": 0,
            "address": "127.0.0.1",
            "image": None,
            "nnodes": 2,
            "master_port": free_port(),
            "script": "train.sh",
            "argv": ["bash", "train.sh", "NNODES=2"],
            "working_dir": str(self.workspace),
            "mounts": [],
            "devices": [],
            "container_options": {},
            "secrets": [],
        }
        self.rename(node_name)

    def rename(self, node_name: str) -> None:
        """Give the node another name, because another inventory may have one for the same machine."""
        self.node_name = node_name
        self.mark = f"TRAINOPS_NODE={node_name}"
        self.node |= {"node": node_name, "env": {"TRAINOPS_RUN_ID": self.run_id, "TRAINOPS_NODE": node_name}}
        self.move_to(self.folder / "logs")

    def move_to(self, log_dir: Path) -> None:
        """Let the run have its folder in another log_dir."""
        self.node["run_folder"] = str(log_dir / self.run_id / self.node_name)
        self.node["log_file"] = f"{self.node['run_folder']}/train.log"

    def environment(self) -> dict[str, str]:
        """Return the environment of a process of this machine that bears no label."""
        return {name: os.environ[name] for name in ("PATH", "TRAINOPS_LOCK_FOLDER")}

    def request(self, **needs: t.Any) -> dict[str, t.Any]:
        return {
            "check_mode": False,
            "run_id": self.run_id,
            "framework": self.framework,
            "container_engine": "none",
            "identity": identity_of({"container_engine": "none", "framework": self.framework}, self.node, self.nonce),
            "tokens_per_step_per_gpu": 1000.0,
            "tokens_per_sequence_per_gpu": 100.0,
            "environment": {},
            "secrets": {},
            "given_secrets": {},
            "files": {},
            "node": self.node,
            **needs,
        }

    def stage(self, **needs: t.Any) -> dict[str, t.Any]:
        return phase_of("stage")(self.request(**needs))

    def start(self) -> dict[str, t.Any]:
        return phase_of("start")(self.request())

    def follow(
        self, cursor: dict[str, t.Any] | None = None, wait_seconds: float = 0, **needs: t.Any
    ) -> dict[str, t.Any]:
        return phase_of("follow")(self.request(cursor=cursor or {}, wait_seconds=wait_seconds, **needs))

    def stop(self, grace_seconds: float = 30, **needs: t.Any) -> dict[str, t.Any]:
        return phase_of("stop")(self.request(grace_seconds=grace_seconds, **needs))

    def collect(self, offset: int = 0, **needs: t.Any) -> tuple[bytes, dict[str, t.Any]]:
        answer = phase_of("collect")(self.request(offset=offset, **needs))
        return zlib.decompress(base64.b64decode(answer["data"])) if answer["data"] else b"", answer

    def begin(self) -> None:
        self.stage()
        self.start()

    def begin_until(self, *names: str) -> None:
        """Stage and start, and wait until the script has made files of these names in its workspace."""
        self.begin()
        wait_until(lambda: all(self.in_workspace(name).exists() for name in names))

    def run_to_its_end(self) -> dict[str, t.Any]:
        """Stage, start and follow; the answer is the result. It takes as long as the script takes."""
        self.begin()
        return self.follow(wait_seconds=600)

    def end(self) -> None:
        """Leave nothing of a test behind, neither a process nor a lock, even if the phases are broken."""
        with contextlib.suppress(Exception):
            self.stop(grace_seconds=0)
        for pid in processes_with(self.mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def launch_pid(self) -> int:
        state = json.loads(Path(self.node["run_folder"], "state.json").read_text())
        return int(state["handle"]["pid"])

    def in_workspace(self, name: str) -> Path:
        return self.workspace / name

    def log(self) -> str:
        path = Path(self.node["log_file"])
        return path.read_text() if path.exists() else ""
