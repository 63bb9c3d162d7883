"""Nodes that are processes of this machine: the program is sent to each as it is to a real one."""

from __future__ import annotations

import subprocess
import sys
import typing as t
from pathlib import Path

from ansible_collections.trainops.cluster.plugins.module_utils.node.identity import identity_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.holding import held_nodes
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.prober import ProbedNode, Prober
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.asking import Asker, Output


def sent(command: str, program: bytes) -> Output:
    done = subprocess.run(["bash", "-c", command], input=program, capture_output=True, check=False)
    return Output(done.returncode, done.stdout.decode(), done.stderr.decode())


def prober(
    folder: Path,
    nodes: t.Mapping[str, ProbedNode],
    port: int,
    name: str = "isolation",
    environments: t.Mapping[str, dict[str, str]] | None = None,
    **more: t.Any,
) -> Prober:
    """Return a prober of the nodes, some with an environment of their own."""
    own = environments or {}
    plan, parts = held_nodes(name, {node: one.address for node, one in nodes.items()}, str(folder), 60)
    asks = {
        part["node"]: Asker(
            plan,
            part,
            sent,
            sys.executable,
            own.get(part["node"], {}),
            False,
            identity_of(plan, part, name[0] * 32),
            lost=60,
        ).ask
        for part in parts
    }
    return Prober(nodes, asks, at_once=8, port=port, rehearsal=True, **more)
