# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a run of which there are only logs: what is known of it, and what is not.

With a training config it is the plan of that config, for hosts that fit it; without one it holds what the logs tell.
What neither says is not assumed: it stands in the plan's ``not_known`` and keeps the verdict from PASS.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...module_utils.logs.grammar import grammar_of
from ..plan.job.ranks import Node
from ..plan.plan import SCHEMA_VERSION, make_plan

if t.TYPE_CHECKING:
    from ..plan.threshold_files import ThresholdsFile
    from .files import LoggedRun

_LOOPBACK = "127.0.0.1"
_KEYS_OF_NODES = ("config.nnodes", "trainer.num_nodes")
_KEYS_OF_MASTER = ("config.master_address", "config.coordinator_ip", "trainops.master_address")


@dataclass(frozen=True)
class Known:
    """What the user knows of a run besides its logs.

    ``config`` is the text of the training config and ``source`` its file name, both empty without one. ``options`` are
    those of a plan, ``thresholds`` is the file that its option training_thresholds names. ``nodes`` is the number of
    nodes that were meant to take part, ``exit_status`` that with which the training ended on every node; None is not
    known.
    """

    config: str
    source: str
    options: Mapping[str, t.Any]
    nodes: int | None
    exit_status: int | None
    thresholds: ThresholdsFile | None = None

    def plan_for(self, nodes: Sequence[Node]) -> dict[str, t.Any]:
        """Return the plan of the training config for nodes."""
        return make_plan(self.config, self.source, self.options, nodes, thresholds=self.thresholds)


def config_plan(known: Known, names: Sequence[str]) -> dict[str, t.Any]:
    """Return the plan of the training config for nodes of these names, or of as many as the config asks for.

    The hosts that a config names are those of another place, so that neither their number nor the address of rank 0 is
    a fault of it here. ``meant`` in the plan is the number of nodes that were to take part, or None. Raises ValueError
    where the user says another number than the config.
    """
    asked = _asked_nodes(known, names)
    if asked and known.nodes and asked != known.nodes:
        raise ValueError(f"training_nodes is {known.nodes}, but the training config asks for {asked} nodes")
    meant = known.nodes or asked
    nodes = _nodes(meant or len(names), names)
    plan = known.plan_for(nodes)
    master = next(filter(None, _said(plan, _KEYS_OF_MASTER)), None)
    if master:
        nodes = [replace(nodes[0], address=master, local=False), *nodes[1:]]
        plan = known.plan_for(nodes)
    return {**plan, "meant": meant}


def _asked_nodes(known: Known, names: Sequence[str]) -> int | None:
    """Return the number of nodes that the config asks for: a plan for another number says so, whichever that is."""
    for count in (len(names), len(names) + 1):
        plan = known.plan_for(_nodes(count, names))
        asked = next(filter(str.isdecimal, _said(plan, _KEYS_OF_NODES)), None)
        if asked:
            return int(asked)
    return None


def plan_of_logs(
    run: LoggedRun, framework: str, mode: str, names: Sequence[str], known: Known, planned: dict[str, t.Any] | None
) -> dict[str, t.Any]:
    """Return the plan of a run whose logs are of the named nodes, in rank order.

    ``planned`` is the plan of its training config, None without one. Besides the keys of a plan it has ``logs`` (the
    ``folder``) and ``not_known`` (``code`` and ``message`` of each lack).
    """
    grammar = grammar_of(framework)
    record_only = bool(known.options.get("training_record_only"))
    plan = planned or {
        "schema_version": SCHEMA_VERSION,
        "framework": framework,
        "mode": mode,
        "model": known.options.get("training_model", ""),
        "gpu": known.options.get("training_gpu", ""),
        "config_file": "",
        "container_engine": None,
        "rehearsal": False,
        "record_only": record_only,
        "parameters": {"iterations": None},
        "first_step": grammar.first_step,
        "tokens_per_step_per_gpu": None,
        "tokens_per_sequence_per_gpu": None,
        "expected": [],
        "faults": [],
        "warnings": [],
    }
    meant = planned["meant"] if planned else known.nodes
    nodes = [{"node": name, "node_rank": 0 if mode == "single_node" else rank} for rank, name in enumerate(names)]
    plan = {key: value for key, value in plan.items() if key != "meant"}
    return {
        **plan,
        "run_id": run.name,
        "nodes": nodes,
        "logs": {"folder": str(run.folder)},
        "not_known": [*_lack_of_nodes(len(names), meant), *_lack_of_thresholds(plan)],
    }


def _nodes(count: int, names: Sequence[str]) -> list[Node]:
    names = [*names[:count], *(f"unseen{place}" for place in range(count - len(names)))]
    return [Node(name=name, address=_LOOPBACK, user="user", local=True) for name in names]


def _said(plan: dict[str, t.Any], keys: Sequence[str]) -> list[str]:
    """Return what the config says under keys that a plan finds fault with, as these hosts are not the config's."""
    return [str(found["value"] or "") for found in (*plan["faults"], *plan["warnings"]) if found["key"] in keys]


def _lack_of_nodes(logs: int, meant: int | None) -> list[dict[str, str]]:
    there = f"There {'is the log of 1 node' if logs == 1 else f'are the logs of {logs} nodes'}"
    if meant is None:
        message = f"{there}; whether others took part is not known. Say training_nodes, or name the training config."
        return [{"code": "nodes_unknown", "message": message}]
    if logs < meant:
        return [{"code": "logs_missing", "message": f"{there}, but {meant} were to take part."}]
    if logs > meant:
        message = f"{there}, but only {meant} were to take part: some may be of another run."
        return [{"code": "logs_left_over", "message": message}]
    return []


def _lack_of_thresholds(plan: Mapping[str, t.Any]) -> list[dict[str, str]]:
    if plan["expected"] or plan["record_only"]:
        return []
    message = "There is no threshold to judge by. Name the training config, or say training_record_only=true."
    return [{"code": "no_thresholds", "message": message}]
