"""Nodes that only give answers, so that a test says what each measures, lacks or gets wrong."""

from __future__ import annotations

import random
import typing as t
from collections.abc import Callable, Sequence

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.answers import PROBE, TOOLS
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.choice import Chosen
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.isolation import Isolation, isolate
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.options import Options
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.prober import ProbedNode, Prober
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.settling import planned_with, settled
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.answers import STOP, accepted

NODES = [f"n{number}" for number in range(8)]
Answer = dict[str, t.Any]


def reading(probe: str, part: str, samples: Sequence[float] = (), problem: str = "") -> Answer:
    return {"probe": probe, "part": part, "samples": list(samples), "problem": problem}


def healthy(node: str, asked: t.Any) -> Answer:
    """Answer as a good node does to the probes that need nothing; all others find no problem."""
    draw = random.Random(f"{node} {asked['probes']} {asked.get('partner', {}).get('node')}")
    measured = [reading(name, name, _near(draw)) for name in asked["probes"] if name in ("cpu", "memory")]
    if "tcp" in asked["probes"]:
        measured.append(reading("tcp_throughput", "link", _near(draw)))
    return {"measured": measured, "problems": {}}


def there(gpus: int = 8, on_bus: int | None = None, **ports: str) -> Answer:
    """Return the roll-call of a node with so many GPUs, and two RDMA ports, some in another state or at a rate."""
    states = {"mlx5_0": "ACTIVE at 400", "mlx5_1": "ACTIVE at 400", **ports}
    return {
        "gpus": [f"0000:{bus:02x}:00.0" for bus in range(gpus)],
        "on_bus": on_bus,
        "ports": {
            f"{device}/1": {"state": state.split()[0], "rate": f"{state.split()[-1]} Gb/sec (4X NDR)"}
            for device, state in states.items()
            if state
        },
        "on_gpus": [],
        "busy": [],
        "busy_cores": 0.0,
        "cores": 128,
    }


def changed(*facts: Answer, booted: bool = False, links_down: Sequence[str] = (), **counters: int) -> Answer:
    """Return what a machine reports of its tests: facts of its kernel's log, lost links, counters that grew."""
    grown = {name.replace("__", " "): growth for name, growth in counters.items()}
    of_kernel = {"kernel_log": None, "kernel_lines": 0, "kernel_failures": [], "facts": list(facts)}
    return {"booted": booted, "counters": grown, "links_down": list(links_down), **of_kernel}


def has_all(_node: str, names: Sequence[str]) -> Answer:
    return {name: {"lacks": "", "units": []} for name in names}


def has_none(_node: str, names: Sequence[str]) -> Answer:
    return {name: {"lacks": f"{name} is not installed", "units": []} for name in names}


def isolated(
    answer: Callable[[str, t.Any], Answer] = healthy,
    named: Sequence[str] = (),
    tools: Callable[[str, Sequence[str]], Answer] = has_none,
    said: list[str] | None = None,
    before: t.Mapping[str, str] | None = None,
    gpu: str | None = None,
    budget: float = 60.0,
    places: t.Mapping[str, str] | None = None,
    present: Callable[[str], Answer] | None = None,
    inventory: int = 0,
    changes: Callable[[str], Answer | None] = lambda _node: None,
) -> Isolation:
    """Return an isolation's findings for nodes with these answers, and collect its output."""
    arguments = {"probes": list(named), "rehearsal": False, "budget": budget, "rounds": 0}
    lines = [] if said is None else said

    def ask_of(node: str) -> t.Any:
        def ask(phase: t.Any, **needs: t.Any) -> t.Any:
            if phase is PROBE:
                return accepted(PROBE, {**_WELL, **answer(node, needs["probe"])})
            if phase is TOOLS:
                here = {"present": present(node)} if present else {}
                return accepted(TOOLS, {**_WELL, **here, "found": tools(node, needs["tools"])})
            if phase is STOP:
                return {"machine_changes": changes(node)}
            return {"hardware": {"accelerators": {"name": gpu}}}

        return ask

    prober = Prober(
        {node: ProbedNode(f"{node}.example", gpus=inventory) for node in NODES},
        {node: ask_of(node) for node in NODES},
        8,
        1,
    )
    choice = Chosen(tuple(named)) if named else prober.chosen
    options = Options(NODES, {}, arguments)
    return isolate(
        prober,
        planned_with(choice, arguments, NODES),
        lines.append,
        lambda prober, nodes: settled(prober, nodes, options, lines.append),
        before=before or {},
        places=places or {},
    )


_WELL: Answer = {"failed": False, "changed": False, "status": "running"}


def _near(draw: random.Random) -> list[float]:
    return [0.01 * draw.uniform(0.995, 1.005) for _sample in range(5)]
