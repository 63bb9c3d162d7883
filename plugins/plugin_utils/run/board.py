# SPDX-License-Identifier: GPL-3.0-or-later
"""The run's folder on the controller: the known state of each node, written by its follower, read by all.

::

    <run>/plan.json                     the plan
    <run>/nonce                         what tells the run from others of its name; ``adopt`` where it is to be taken
                                        up as the nodes hold it
    <run>/made_plan.json                the plan as it was made, where its nodes were chosen afterwards
    <run>/stop                          there once somebody wants those who follow the run to stop it
    <run>/nodes/<node>/status.json      the last that was heard of the node
    <run>/nodes/<node>/steps.jsonl      its steps, one step block a line
    <run>/nodes/<node>/telemetry.jsonl  readings of its accelerators, one sample a line
    <run>/nodes/<node>/train.log        its log, once collected

The nodes of a run are followed by separate processes; through this folder they learn that another node has failed.
"""

from __future__ import annotations

import contextlib
import json
import math
import secrets
import typing as t
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ...module_utils.node.contracts import Reading
from ...module_utils.node.phases.collect import KEPT_OF_BEGIN, KEPT_OF_END
from ...module_utils.slurm.placement import MADE_NAME
from ..contracts import Plan, Sample, Status
from .status import UNENDED, status_of
from .whole_file import alone_in, write_new, write_whole, writing

if t.TYPE_CHECKING:
    from ...module_utils.logs.rows import StepBlock

PLAN_NAME = "plan.json"
LOG_NAME = "train.log"
_DUMPS_NAME = "flight_recorder"
_STATUS_NAME = "status.json"
_STEPS_NAME = "steps.jsonl"
_TELEMETRY_NAME = "telemetry.jsonl"
_STOP_NAME = "stop"
_NONCE_NAME = "nonce"
_LEAST_BYTES = 10 << 20
# A run's steps, its log and its part of the report each take about as much as a node's log.
_TIMES_OF_LOG = 3


class Board:
    """What is known of a run's nodes. A status is replaced in one step, and steps are added by whole lines."""

    def __init__(self, run_dir: str | Path) -> None:
        """Look at the run in a folder, which need not exist yet."""
        self.run_dir = Path(run_dir)

    def plan(self) -> Plan:
        """Return the plan of the run; ValueError if the folder has none."""
        path = self.run_dir / PLAN_NAME
        try:
            return t.cast("Plan", json.loads(path.read_text(encoding="utf-8")))
        except (FileNotFoundError, NotADirectoryError):
            raise ValueError(f"{self.run_dir} contains no run: there is no {PLAN_NAME} in it") from None
        except ValueError as error:
            raise ValueError(f"{path} is not a plan: its JSON is incomplete ({error})") from None

    def made_plan(self) -> Plan:
        """Return the plan of the run as made, before its nodes were chosen; ValueError as for `plan`."""
        path = self.run_dir / MADE_NAME
        return t.cast("Plan", json.loads(path.read_text(encoding="utf-8"))) if path.exists() else self.plan()

    def write_plan(self, plan: Plan) -> None:
        """Write the plan, which makes the run's folder; FileExistsError if there is a run in it already."""
        path, text = self.run_dir / PLAN_NAME, json.dumps(plan, indent=2) + "\n"
        with writing(path):
            self.run_dir.mkdir(parents=True, exist_ok=True)
        write_new(path, text)

    def nonce(self) -> str:
        """Return the nonce that tells the run from others of its name; its nodes keep it too, see `node.identity`."""
        try:
            return (self.run_dir / _NONCE_NAME).read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return self.begin_anew()

    def begin_anew(self) -> str:
        """Let the run be one that begins in this folder, unless it is so already, and return its nonce."""
        with contextlib.suppress(FileExistsError):
            write_new(self.run_dir / _NONCE_NAME, secrets.token_hex(16) + "\n")
        return (self.run_dir / _NONCE_NAME).read_text(encoding="ascii").strip()

    def adopt(self, nonce: str) -> None:
        """Set the nonce of the run; with ADOPTS, take up the run of this name and plan that is on the nodes."""
        write_whole(self.run_dir / _NONCE_NAME, nonce + "\n")

    def request_stop(self) -> None:
        """Ask those who follow the run to stop it."""
        path = self.run_dir / _STOP_NAME
        with writing(path):
            path.touch()

    def stop_is_requested(self) -> bool:
        """Return whether somebody wants the run to be stopped."""
        return (self.run_dir / _STOP_NAME).exists()

    def forget_stop(self) -> None:
        """Follow the run, whatever was wanted of those who followed it before."""
        path = self.run_dir / _STOP_NAME
        # On a file system that is read-only not even a file that is not there can be removed.
        with writing(path):
            if path.exists():
                path.unlink(missing_ok=True)

    def node_dir(self, node: str) -> Path:
        """Return the folder of a node; make it if needed."""
        folder = self.run_dir / "nodes" / node
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        return folder

    def update(self, node: str, **changes: t.Any) -> Status:
        """Merge changes into a node's known state, and return its status; `status_of` has their names."""
        folder = self.node_dir(node)
        with alone_in(folder):
            known = {**self._known(node), **changes}
            write_whole(folder / _STATUS_NAME, json.dumps(known, indent=1) + "\n")
        return status_of(known)

    def status(self, node: str) -> Status:
        """Return a node's known state; its status is ``not_started`` if nothing is known."""
        return status_of(self._known(node))

    def _known(self, node: str) -> dict[str, t.Any]:
        path = self.run_dir / "nodes" / node / _STATUS_NAME
        try:
            return t.cast("dict[str, t.Any]", json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return {"node": node, "status": "not_started"}

    def has_finished(self, node: str) -> bool:
        """Return whether a node need not be asked again: it has ended, and reported how.

        A controller may be killed between the two.
        """
        known = self.status(node)
        return known["following"]["finished"] and known["status"] not in UNENDED

    def append_steps(self, node: str, blocks: Iterable[StepBlock]) -> None:
        """Add steps of a node."""
        self._append(node, _STEPS_NAME, blocks)

    def append_readings(self, node: str, seconds: float, readings: Sequence[Reading]) -> None:
        """Add a sample of a node's accelerators, taken at a time in seconds since the epoch by our own clock."""
        if readings:
            self._append(node, _TELEMETRY_NAME, [{"time": seconds, "accelerators": readings}])

    def _append(self, node: str, name: str, values: Iterable[t.Mapping[str, t.Any]]) -> None:
        """Add lines of JSON to a file of a node. What a writer that was killed left of a line is ended first."""
        lines = "".join(json.dumps(value) + "\n" for value in values).encode()
        if not lines:
            return
        path = self.node_dir(node) / name
        with writing(path), open(path, "ab+") as stream:
            stream.seek(max(0, stream.tell() - 1))
            torn = stream.read() not in (b"", b"\n")
            stream.write(b"\n" + lines if torn else lines)

    def samples(self, node: str) -> Iterator[Sample]:
        """Yield the samples of a node's accelerators, without incomplete lines."""
        yield from _whole_lines(self.run_dir / "nodes" / node / _TELEMETRY_NAME)

    def blocks(self, node: str) -> Iterator[StepBlock]:
        """Yield the step blocks of a node, without incomplete lines; ValueError if a line is not a step block.

        The last line may be incomplete. An earlier one is incomplete if its writer was killed; the next follower of the
        node reads all of its steps again.
        """
        path = self.run_dir / "nodes" / node / _STEPS_NAME
        for block in _whole_lines(path):
            if "steps" not in block:
                raise ValueError(f"{path} was written before release 1.0.0 and can no longer be read")
            yield block

    def log_path(self, node: str) -> Path:
        """Return the path of a node's collected log."""
        return self.node_dir(node) / LOG_NAME

    def dump_path(self, rank: int) -> Path:
        """Return the path of a rank's collected flight-recorder dump, next to the dumps of all other ranks."""
        return self.run_dir / _DUMPS_NAME / f"nccl_trace_rank_{rank}"

    def room_needed(self) -> int:
        """Return about how many bytes the run takes here in the end, by its nodes' logs and how far these got."""
        size = 0.0
        for node in self.plan()["nodes"]:
            known = self.status(node["node"])
            steps = known["steps"]
            share = (steps["last_step"] or 0) / (steps["steps_total"] or math.inf)
            size += min(known["log"]["bytes"] / max(share, 0.01), KEPT_OF_BEGIN + KEPT_OF_END)
        return max(_LEAST_BYTES, int(_TIMES_OF_LOG * size))


def _whole_lines(path: Path) -> Iterator[t.Any]:
    """Yield the JSON of each line of a file, which need not be there."""
    with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8") as stream:
        for line in stream:
            with contextlib.suppress(json.JSONDecodeError):
                yield json.loads(line)
