# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns logs that already exist into the folder of a run, from which it is judged and reported as any other."""

from __future__ import annotations

import json
import shutil
import typing as t
from dataclasses import dataclass, field

from ...module_utils.logs.frameworks.known import grammar_of
from ...module_utils.logs.grammar import LAST_RANK
from ..contracts import Plan
from ..plain_text import one_line
from ..plan.config.words import counted
from ..run.board import PLAN_NAME, Board
from ..run.status import said_interval
from ..run.whole_file import write_whole
from .log import Log, chosen, framework_in, read, with_errors
from .plan import config_plan, plan_of_logs

if t.TYPE_CHECKING:
    from pathlib import Path

    from .files import LoggedRun
    from .plan import Known


_ELSEWHERE = "choose another name with -e training_run_id, or another folder with -e training_output_dir"


class ConfigFaultsError(ValueError):
    """The training config has faults; ``plan`` holds them."""

    def __init__(self, plan: Plan) -> None:
        """Keep the plan that has the faults."""
        super().__init__(f"the training config has {counted(len(plan['faults']), 'fault')}")
        self.plan = plan


@dataclass(frozen=True)
class ReadRun:
    """A run according to its logs, and the folder that it gets; ``plan`` is None if the folder is the run's own."""

    run_id: str
    run_dir: Path
    plan: Plan | None = None
    logs: dict[str, Log] = field(default_factory=dict)


def read_run(run: LoggedRun, output_dir: Path, framework: str | None, mode: str | None, known: Known) -> ReadRun:
    """Return a run according to its logs, with a folder under ``output_dir``.

    A run of this collection stays where it is. ``framework`` and ``mode`` are None if the logs or the config decide.
    Raises ValueError if the logs cannot be read as those of one run, if the config has faults, and if the folder
    belongs to another run or holds other files that would be removed.
    """
    if run.known:
        return ReadRun(run.name, run.folder)
    files = [file for candidates in run.files.values() for file in candidates]
    files += [file for others in run.errors.values() for file in others]
    planned, meant = config_plan(known, list(run.files)) if known.source else (None, known.nodes)
    if planned and planned["faults"]:
        raise ConfigFaultsError(planned)
    framework = framework_in(files, planned["framework"] if planned else framework)
    per_step = planned["tokens_per_step_per_gpu"] if planned else None
    per_sequence = planned["tokens_per_sequence_per_gpu"] if planned else None
    picked = {
        node: chosen(
            [
                with_errors(
                    read(file, framework, per_step, per_sequence),
                    [read(other, framework, per_step, per_sequence) for other in run.errors.get(file, ())],
                )
                for file in candidates
            ]
        )
        for node, candidates in run.files.items()
    }
    logs = {node: log for node, (log, _why) in picked.items()}
    mode = planned["mode"] if planned else mode or _mode_in(framework, logs)
    plan = plan_of_logs(run, framework, mode, list(logs), known, planned, meant)
    notes = [*run.notes, *(why for _log, why in picked.values() if why)]
    for note in notes:
        plan["warnings"].append({"key": "training_logs", "value": "", "message": one_line(note), "remedy": ""})
    run_dir = output_dir / run.name
    if (run_dir / PLAN_NAME).exists():
        _refuse_another_run(run_dir, plan)
    elif (run_dir / "nodes").exists():
        raise ValueError(
            f"{run_dir} is not a run, but has a folder nodes, which the report would replace; {_ELSEWHERE}"
        )
    return ReadRun(run.name, run_dir, plan, logs)


def write_run(run: ReadRun, exit_status: int | None) -> bool:
    """Write the folder of a run from its logs, and return whether that changed it.

    ``exit_status`` is that with which the training ended on every node, None where it is not known.
    """
    if run.plan is None:
        return False
    before = _content(run.run_dir)
    shutil.rmtree(run.run_dir / "nodes", ignore_errors=True)
    run.run_dir.mkdir(parents=True, exist_ok=True)
    write_whole(run.run_dir / PLAN_NAME, json.dumps(run.plan, indent=2) + "\n")
    board = Board(run.run_dir)
    interval = said_interval(log.settings for log in run.logs.values())
    for node, log in run.logs.items():
        board.append_steps(node, log.blocks)
        board.update(
            node,
            status="log_only" if exit_status is None else "exited",
            exit_status=exit_status,
            first_step=run.plan["first_step"],
            last_step=log.last_step,
            interval=interval,
            log_file=str(log.path),
            **{name: value for name, value in vars(log).items() if name not in ("path", "blocks")},
        )
    return _content(run.run_dir) != before


def _refuse_another_run(run_dir: Path, plan: Plan) -> None:
    there = Board(run_dir).plan().get("logs", {}).get("folder")
    if there != plan["logs"]["folder"]:
        held = f"of the logs in {there}" if there else "that was started here"
        raise ValueError(f"{run_dir} holds a run {held}; {_ELSEWHERE}")


def _content(run_dir: Path) -> dict[Path, bytes]:
    files = (run_dir / PLAN_NAME, *run_dir.glob("nodes/*/*"))
    return {path: path.read_bytes() for path in files if path.is_file()}


def _mode_in(framework: str, logs: dict[str, Log]) -> str:
    """Tell a job over all nodes from one on each, where only the last rank of a job prints steps."""
    with_steps = sum(bool(log.blocks) for log in logs.values())
    each = len(logs) == 1 or (grammar_of(framework).printed_by == LAST_RANK and with_steps > 1)
    return "single_node" if each else "multi_node"
