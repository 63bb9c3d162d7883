# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a run that has only logs, with its known and unknown facts.

With a training config it is that config's plan, for hosts that fit it; without one it has the facts in the logs. No
other facts are assumed: the plan lists them in ``not_known``, and the verdict cannot be PASS.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle

from ...module_utils.logs.grammars.known import grammar_of
from ..contracts import Lack, NodePlan, Parameters, Plan, Reason
from ..plain_text import one_line
from ..plan.job.ranks import Node
from ..plan.plan import SCHEMA_VERSION, asked_by, make_plan
from ..text.catalogue import VERDICT
from ..text.sentences import sentence
from .files import is_core
from .packed import is_packed

if t.TYPE_CHECKING:
    from pathlib import Path

    from ..plan.threshold_files import ThresholdsFile
    from .files import LoggedRun

_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Known:
    """The user's facts about a run, in addition to its logs.

    ``config`` is the text of the training config and ``source`` its file name, both empty without one. ``options`` are
    the plan's options, ``thresholds`` is the file in training_thresholds. ``nodes`` is the number of nodes that were
    meant to take part, ``exit_status`` the training's exit status on every node, ``steps`` the planned number of
    steps; None means not known.
    """

    config: str
    source: str
    options: Mapping[str, t.Any]
    nodes: int | None
    exit_status: int | None
    thresholds: ThresholdsFile | None = None
    steps: int | None = None


def nodes_meant(known: Known, names: Sequence[str]) -> int | None:
    """Return the number of nodes that were meant to take part in a run with these logs, None if it is not given.

    Raises ValueError if the user gives a different number than the config.
    """
    asked = asked_by(known.config, known.source, known.options, len(names)) if known.source else None
    if asked and asked.nodes and known.nodes and asked.nodes != known.nodes:
        raise ValueError(f"training_nodes is {known.nodes}, but the training config asks for {asked.nodes} nodes")
    return known.nodes or (asked.nodes if asked else None)


def config_plan(known: Known, names: Sequence[str]) -> Plan:
    """Return the plan of the training config.

    The hosts in a config may belong elsewhere, so neither their number nor the address of rank 0 is a fault here: the
    plan has the config's number of nodes, or else the named nodes. Raises ValueError if the user gives a
    different number of nodes or steps than the config.
    """
    asked = asked_by(known.config, known.source, known.options, len(names))
    nodes = _nodes(nodes_meant(known, names) or len(names), names)
    if asked.master:
        nodes = [replace(nodes[0], address=asked.master, local=False), *nodes[1:]]
    plan = make_plan(known.config, known.source, known.options, nodes, thresholds=known.thresholds)
    steps = plan["parameters"].get("iterations")
    if known.steps and steps and known.steps != steps:
        raise ValueError(
            f"training_steps_expected is {known.steps}, but the training config asks for {steps} steps; leave it out, "
            "or change the config's number with training_overrides"
        )
    return plan


def plan_of_logs(
    run: LoggedRun,
    framework: str,
    mode: str,
    names: Sequence[str],
    known: Known,
    planned: Plan | None,
    meant: int | None,
    lacks: Sequence[Lack] = (),
) -> Plan:
    """Return the plan of a run with logs of the named nodes, in rank order, and its unknown facts.

    ``planned`` is the plan of its training config, None without one, ``meant`` the number of nodes that were to take
    part. ``lacks`` are further unknown facts.
    """
    plan: Plan = planned or {
        "schema_version": SCHEMA_VERSION,
        "framework": framework,
        "mode": mode,
        "model": known.options.get("training_model", ""),
        "gpu": known.options.get("training_gpu", ""),
        "run_id": "",
        "config_file": "",
        "container_engine": None,
        "rehearsal": False,
        "record_only": bool(known.options.get("training_record_only")),
        "parameters": t.cast(Parameters, {"iterations": known.steps}),
        "first_step": grammar_of(framework).first_step,
        "tokens_per_step_per_gpu": None,
        "tokens_per_sequence_per_gpu": None,
        "workload": None,
        "expected": [],
        "faults": [],
        "warnings": [],
        "notes": [],
        "nodes": [],
    }
    environments: Sequence[dict[str, str]] = [node["env"] for node in plan["nodes"]] or [{}]
    nodes = [
        {"env": environment, "node": name, "node_rank": 0 if mode == "single_node" else rank}
        for (rank, name), environment in zip(enumerate(names), cycle(environments))
    ]
    return {
        **plan,
        "run_id": run.name,
        "nodes": t.cast(list[NodePlan], nodes),
        "logs": {"folder": str(run.folder)},
        "not_known": [
            *lacks,
            *([] if run.problem else _lack_of_nodes(len(names), meant)),
            *_lacks_of_strays(run),
            *_lack_of_thresholds(plan),
        ],
    }


def _nodes(count: int, names: Sequence[str]) -> list[Node]:
    names = [*names[:count], *(f"unseen{place}" for place in range(count - len(names)))]
    return [Node(name=name, address=_LOOPBACK, user="user", local=True) for name in names]


def lack(code: str, case: str = "", **values: t.Any) -> Lack:
    """Return a finding about an unknown fact, each text in it on one line."""
    found: Lack = {"code": code, "message": ""}
    if case:
        found["case"] = case
    if values:
        found["values"] = {name: one_line(one) if isinstance(one, str) else one for name, one in values.items()}
    return {**found, "message": sentence(VERDICT, t.cast(Reason, found))}


def _lack_of_nodes(logs: int, meant: int | None) -> list[Lack]:
    case = "one_node" if logs == 1 else ""
    if meant is None:
        return [lack("nodes_unknown", case, nodes=logs)]
    if logs < meant:
        return [lack("logs_missing", case, nodes=logs, meant=meant)]
    return [lack("logs_left_over", nodes=logs, meant=meant)] if logs > meant else []


def _lacks_of_strays(run: LoggedRun) -> list[Lack]:
    def case_of(file: Path) -> str:
        return "core_dump" if is_core(file) else "compressed" if is_packed(file) else "unmatched"

    return [lack("logs_left_over", case_of(file), file=_within(run, file)) for file in sorted(run.strays)]


def _within(run: LoggedRun, file: Path) -> str:
    return str(file.relative_to(run.folder)) if run.folder in file.parents else file.name


def _lack_of_thresholds(plan: Plan) -> list[Lack]:
    return [] if plan["expected"] or plan["record_only"] else [lack("no_thresholds")]
