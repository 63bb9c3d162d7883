# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns existing logs into the folder of a run, which is then judged and reported like any other."""

from __future__ import annotations

import json
import os
import shutil
import typing as t
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ...module_utils.logs.grammar import LAST_RANK
from ...module_utils.logs.grammars.known import UNKNOWN, grammar_name, grammar_of
from ..contracts import Plan
from ..plain_text import one_line
from ..run.board import PLAN_NAME, Board
from ..run.status import said_interval
from ..run.whole_file import write_whole
from ..text.words import counted
from .forms import plain_logs
from .log import Log, chosen, frameworks_of, read_file, step_lines, with_errors
from .plan import config_plan, lack, nodes_meant, plan_of_logs

if t.TYPE_CHECKING:
    from .files import LoggedRun
    from .forms import LogFile, PlainLogs
    from .plan import Known


_ELSEWHERE = "choose another name with -e training_run_id, or another folder with -e training_output_dir"

# Fields of a `Log` that a status has under another name, or in another place.
_OF_FILE = ("path", "blocks", "began", "problem")


class ConfigFaultsError(ValueError):
    """The training config has faults; they are in ``plan``."""

    def __init__(self, plan: Plan) -> None:
        """Keep the plan that has the faults."""
        super().__init__(f"the training config has {counted(len(plan['faults']), 'error')}")
        self.plan = plan


@dataclass(frozen=True)
class ReadRun:
    """A run according to its logs, and the folder that it gets; ``plan`` is None if the folder is the run's own."""

    run_id: str
    run_dir: Path
    plan: Plan | None = None
    logs: dict[str, Log] = field(default_factory=dict)


def read_runs(run: LoggedRun, output_dir: Path, framework: str | None, mode: str | None, known: Known) -> list[ReadRun]:
    """Read a run from its logs, with a folder under ``output_dir``; one run per framework if the logs have several.

    A run of this collection stays in its folder. ``framework`` and ``mode`` are None if the logs or the config decide.
    Logs without a step, of another framework than requested, or with unreadable parts are read as far as possible; the
    plan lists the missing facts. Raises ValueError if the config has faults, or if the folder belongs to another run
    or has other files that would be removed.
    """
    if run.known:
        return [ReadRun(run.name, run.folder)]
    if framework is not None:
        grammar_of(framework)
    if run.problem:
        lacks = [lack("logs_missing", "unreadable", problem=run.problem)]
        plan = plan_of_logs(run, framework or UNKNOWN, mode or "single_node", [run.name], known, None, None, lacks)
        return [_in_its_folder(run, output_dir, plan, {})]
    with TemporaryDirectory(prefix="trainops-logs-") as scratch:
        logs = plain_logs(run, nodes_meant(known, list(run.files)), Path(scratch))
        groups = _by_framework(logs, framework)
        return [
            _read(
                run if len(groups) == 1 else replace(run, name=f"{run.name}-{found or UNKNOWN}"),
                _Group(found, nodes, logs.errors, logs.notes),
                _Asked(known, framework, mode, len(groups) > 1),
                output_dir,
            )
            for found, nodes in groups.items()
        ]


@dataclass(frozen=True)
class _Group:
    """The logs of one framework, or of None if no log has a step."""

    framework: str | None
    nodes: dict[str, list[LogFile]]
    errors: Mapping[Path, Sequence[LogFile]]
    notes: Sequence[str]

    def first_with_steps(self) -> Path:
        """Return the user's path of a file in the group."""
        return next(file.named for files in self.nodes.values() for file in files)


@dataclass(frozen=True)
class _Asked:
    """The user's facts about the logs; ``is_part`` means that the folder has logs of other frameworks as well."""

    known: Known
    framework: str | None
    mode: str | None
    is_part: bool


def _by_framework(logs: PlainLogs, wanted: str | None) -> dict[str | None, dict[str, list[LogFile]]]:
    """Group the nodes by the framework of their logs: a job has one framework, so several mean several runs.

    Nodes without steps belong to the most frequent framework.
    """
    found = frameworks_of(logs.files(), wanted)

    def framework_of(files: Sequence[LogFile]) -> str | None:
        both = [one for file in files for one in (file, *logs.errors.get(file.path, ()))]
        return next((name for name in map(found.__getitem__, both) if name), None)

    of_nodes = {node: framework_of(files) for node, files in logs.nodes.items()}
    counts = Counter(name for name in of_nodes.values() if name)
    usual = max(counts, key=lambda name: (counts[name], name == wanted)) if counts else None
    groups: dict[str | None, dict[str, list[LogFile]]] = {}
    for node, files in logs.nodes.items():
        groups.setdefault(of_nodes[node] or usual, {})[node] = files
    return groups


def _read(run: LoggedRun, group: _Group, asked: _Asked, output_dir: Path) -> ReadRun:
    """Return the run whose logs have one framework."""
    known, lacks = asked.known, []
    planned = config_plan(known, list(group.nodes)) if known.source else None
    if planned and planned["faults"]:
        raise ConfigFaultsError(planned)
    meant = nodes_meant(known, list(group.nodes))
    wanted = grammar_name(planned) if planned else asked.framework
    framework = group.framework or wanted or UNKNOWN
    if wanted and framework != wanted:
        case = "other_framework_in_config" if planned else "other_framework"
        first = str(group.first_with_steps())
        lacks.append(lack("other_workload", case, framework=wanted, file=first, found=framework))
        planned = None
    if group.framework is None:
        where = os.path.commonpath([file.named.parent for files in group.nodes.values() for file in files])
        lacks.append(lack("no_steps", "not_recognized", folder=where, step_lines=step_lines(wanted)))
    per_step = planned["tokens_per_step_per_gpu"] if planned else None
    per_sequence = planned["tokens_per_sequence_per_gpu"] if planned else None

    def log_of(file: LogFile) -> Log:
        errors = [read_file(other, framework, per_step, per_sequence) for other in group.errors.get(file.path, ())]
        return _with_steps_told(with_errors(read_file(file, framework, per_step, per_sequence), errors), known.steps)

    picked = {node: chosen([log_of(file) for file in files]) for node, files in group.nodes.items()}
    logs = {node: log for node, (log, _why) in picked.items()}
    mode = planned["mode"] if planned else asked.mode or _mode_in(framework, logs)
    plan = plan_of_logs(run, framework, mode, list(logs), known, planned, meant, lacks)
    several = (
        [f"{run.folder} has logs of several frameworks; each framework is a separate run."] if asked.is_part else []
    )
    for note in (*several, *group.notes, *(why for _log, why in picked.values() if why)):
        plan["warnings"].append({"key": "training_logs", "value": "", "message": one_line(note), "remedy": ""})
    return _in_its_folder(run, output_dir, plan, logs)


def _with_steps_told(log: Log, steps: int | None) -> Log:
    """Return a log with the user's number of steps."""
    if steps is None:
        return log
    settings = {name: values for name, values in log.settings.items() if name != "iterations"}
    blocks = [{**block, "steps_total": steps} for block in log.blocks]
    return replace(log, steps_total=steps if log.blocks else None, settings=settings, blocks=t.cast("t.Any", blocks))


def _in_its_folder(run: LoggedRun, output_dir: Path, plan: Plan, logs: dict[str, Log]) -> ReadRun:
    run_dir = output_dir / run.name
    if (run_dir / PLAN_NAME).exists():
        _refuse_another_run(run_dir, plan)
    elif (run_dir / "nodes").exists():
        raise ValueError(
            f"{run_dir} is not a run, but has a folder named nodes that the report would replace; {_ELSEWHERE}"
        )
    return ReadRun(run.name, run_dir, plan, logs)


def write_run(run: ReadRun, exit_status: int | None) -> bool:
    """Write the folder of a run from its logs, and return whether that changed it.

    ``exit_status`` is the training's exit status on every node, None if it is not known.
    """
    if run.plan is None:
        return False
    before = _content(run.run_dir)
    shutil.rmtree(run.run_dir / "nodes", ignore_errors=True)
    run.run_dir.mkdir(parents=True, exist_ok=True)
    write_whole(run.run_dir / PLAN_NAME, json.dumps(run.plan, indent=2) + "\n")
    board = Board(run.run_dir)
    interval = said_interval(log.settings for log in run.logs.values())
    ended = {"status": "log_only" if exit_status is None else "exited", "exit_status": exit_status}
    for node in (node["node"] for node in run.plan["nodes"]):
        log = run.logs.get(node)
        if log is None:
            board.update(node, **ended)
            continue
        board.append_steps(node, log.blocks)
        board.update(
            node,
            **ended,
            first_step=run.plan["first_step"],
            last_step=log.last_step,
            interval=interval,
            log_file=str(log.path),
            started_at=log.began,
            **({"log_problem": log.problem} if log.problem else {}),
            **{name: value for name, value in vars(log).items() if name not in _OF_FILE},
        )
    return _content(run.run_dir) != before


def _refuse_another_run(run_dir: Path, plan: Plan) -> None:
    there = Board(run_dir).plan().get("logs", {}).get("folder")
    if there != plan["logs"]["folder"]:
        held = f"of the logs in {there}" if there else "that was started here"
        raise ValueError(f"{run_dir} already contains a run {held}; {_ELSEWHERE}")


def _content(run_dir: Path) -> dict[Path, bytes]:
    files = (run_dir / PLAN_NAME, *run_dir.glob("nodes/*/*"))
    return {path: path.read_bytes() for path in files if path.is_file()}


def _mode_in(framework: str, logs: dict[str, Log]) -> str:
    """Return the mode: one job, or a job on each node. In one job, some trainers print steps on the last rank only."""
    with_steps = sum(bool(log.blocks) for log in logs.values())
    each = len(logs) == 1 or (grammar_of(framework).printed_by == LAST_RANK and with_steps > 1)
    return "single_node" if each else "multi_node"
