# SPDX-License-Identifier: GPL-3.0-or-later
"""Doing tests on nodes: all singles at once, a round of pairs or groups at once, and holding the nodes meanwhile."""

from __future__ import annotations

import contextlib
import secrets
import time
import typing as t
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...module_utils.node.contracts import Asked, Group, MachineChanges, Partner
from ...module_utils.node.phase import NodeError, NodeHeldError, RunGoneError
from ...module_utils.node.probes.known import Of, Probe
from ..run.answers import STAGE, STOP, Ask
from ..run.node_errors import NodeLostError
from ..run.on_each import on_each
from .answers import PROBE, START, TOOLS, FoundHere, Present, Probed, Telemetry
from .choice import BUILT_IN, Chosen
from .measured import Measured, Stage
from .models import Models, model_of, model_of_nics
from .pairs import Pair
from .readings import one_way_readings_of, readings_of

_PATIENCE_SECONDS = 20.0
_GRACE_SECONDS = 1.0
# A node whose reservation has ended, or that no longer answers, says nothing about its speed.
_GONE = (RunGoneError, NodeHeldError, NodeLostError)
# If a group fails, most of its nodes report the same error.
_MOST_PROBLEMS = 3
Nodes = t.TypeVar("Nodes", bound=tuple[str, ...])


@dataclass(frozen=True)
class ProbedNode:
    """A node in its tests: its address for partners, and its slowdown factor in a rehearsal.

    ``gpus`` is how many GPUs it has according to the inventory, 0 where that says nothing.
    """

    address: str
    slowdown: float = 1.0
    gpus: int = 0


@dataclass
class Prober:
    """Tests nodes through ``ask`` with the ``chosen`` probes; ``node_minutes`` is the cost so far.

    ``telemetry`` has the accelerator readings of each node's last test by itself, ``gpus`` their model, and ``models``
    the nodes' own. ``present`` is the roll-call of each node before the first test, and ``changes`` are the
    events on each machine until its release. ``gone`` are nodes that no longer answer, or whose reservation ended
    before their tests did, each with the way it ended: they are not asked again, and are not said to be slow.

    ``files`` go to the folder of each node, ``bad_links`` are pairs that a rehearsal makes slower, and ``port`` is the
    first port where nodes listen for partners. ``product`` are the sizes of a training's product, see `product_of`.
    """

    nodes: Mapping[str, ProbedNode]
    ask: Mapping[str, Ask]
    at_once: int
    port: int
    rehearsal: bool = False
    bad_links: Mapping[frozenset[str], float] = field(default_factory=dict)
    late: Callable[[], Mapping[str, NodeError]] = dict
    files: Mapping[str, str] = field(default_factory=dict)
    product: Sequence[int] = ()
    chosen: Chosen = BUILT_IN
    node_minutes: float = 0.0
    telemetry: dict[str, list[Telemetry]] = field(default_factory=dict)
    gpus: dict[str, str] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    present: dict[str, Present] = field(default_factory=dict)
    changes: dict[str, MachineChanges] = field(default_factory=dict)
    gone: dict[str, NodeError] = field(default_factory=dict)

    def hold(self) -> dict[str, NodeError]:
        """Reserve all nodes, and return why some cannot be reserved; those are left alone."""

        def stage(node: str) -> None:
            answer = self.ask[node](STAGE, files=dict(self.files), given_secrets={}, secrets={}, keep=None)
            hardware = answer.get("hardware")
            gpus = hardware["accelerators"] if hardware else None
            if gpus and gpus["name"]:
                self.gpus[node] = gpus["name"]
            self.models[node] = model_of(hardware.get("cpu") if hardware else None, gpus["name"] if gpus else None)

        staged, refused = self._on_each(list(self.nodes), stage)
        # A reservation lasts this long from its start; other nodes may still have to pull their image.
        return refused | self._on_each(list(staged), lambda node: self.ask[node](START), len(staged))[1]

    def tools(self, nodes: Sequence[str], names: list[str]) -> dict[str, dict[str, FoundHere]]:
        """Return the probe programs found on each node, and note who is present on it.

        A node that cannot be asked has no entry. A rehearsal needs no roll-call, because it measures no node.
        """
        if self.rehearsal and not names:
            return {}
        answers, errors = self._on_each(nodes, lambda node: self.ask[node](TOOLS, tools=names), len(nodes))
        self._note_gone(errors)
        self.present |= {node: answer["present"] for node, answer in answers.items() if "present" in answer}
        return {node: answer["found"] for node, answer in answers.items()}

    def all_models(self) -> Models:
        """Return the models of nodes, with the adapters of the roll-call; a node without any counts as the others."""
        ports = {node: one["ports"].values() for node, one in self.present.items()}
        of_nics = {node: model_of_nics(port.get("model") for port in of_node) for node, of_node in ports.items()}
        usual = Counter(filter(None, of_nics.values())).most_common(1)
        return Models(self.models, {node: model or usual[0][0] for node, model in of_nics.items()} if usual else {})

    def let_go(self) -> dict[str, NodeError]:
        """Release all nodes, and return why some could not be asked to."""

        def let_go(node: str) -> None:
            # The reservation may have ended already, as a Slurm step does.
            with contextlib.suppress(RunGoneError):
                answer = self.ask[node](STOP, grace_seconds=_GRACE_SECONDS, with_log=False)
                if changes := answer.get("machine_changes"):
                    self.changes[node] = changes

        return self._on_each(list(self.nodes), let_go)[1]

    def singles(self, nodes: Sequence[str], stage: Stage) -> list[Measured]:
        """Return the measurements of all probes of single nodes, on all of the nodes at the same time."""
        probes = self.chosen.probes("nodes")
        nodes = self._held(nodes)
        if not probes:
            return []

        def probe(node: str) -> Probed:
            return self.ask[node](PROBE, probe=self._asked(node, probes), wait_seconds=self.chosen.seconds("nodes"))

        answers, errors = self._tested(nodes, probe)
        self.telemetry |= {node: answer["telemetry"] for node, answer in answers.items() if answer.get("telemetry")}
        return [
            one
            for node in self._held(nodes)
            for one in self._of((node,), [answers.get(node)], [errors.get(node)], probes, stage)
            # A probe such as dcgm says something only where it finds a problem.
            or [Measured(probe.reading, probe.part, (node,), (), stage) for probe in probes]
        ]

    def pairs(self, pairs: Sequence[Pair], stage: Stage) -> list[Measured]:
        """Return the measurements of all probes of pairs, on pairs without a node in common, all at the same time."""
        pairs = self._all_held(pairs)
        ports = self._ports([one for one, _other in pairs])
        asked: dict[str, Asked] = {}
        for one, other in pairs:
            for node, partner in self._ends(one, other, ports[one]).items():
                asked[node] = {**self._asked(node, self.chosen.probes("pairs")), "partner": partner}
        return self._together(pairs, asked, "pairs", stage)

    def groups(self, groups: Sequence[Sequence[str]], stage: Stage) -> list[Measured]:
        """Return the measurements of all probes of groups, on groups without a common node, all at the same time.

        Nodes that are not reserved are missing in their group; a group with one node left is not measured.
        """
        there = [held for group in groups if len(held := tuple(self._held(group))) > 1]
        ports = self._ports([node for group in there for node in group])
        asked: dict[str, Asked] = {}
        for group in there:
            following = dict(zip(group, [*group[1:], group[0]], strict=True))
            links = {node: self._ends(node, after, ports[node]) for node, after in following.items()}
            before = {after: links[node][after] for node, after in following.items()}
            for place, node in enumerate(group):
                first = group[0]
                asked[node] = {
                    **self._asked(node, self.chosen.probes("groups")),
                    "group": Group(
                        size=len(group),
                        place=place,
                        address=self.nodes[first].address,
                        port=ports[first],
                        before=before[node],
                        after=links[node][node],
                    ),
                }
        return self._together(there, asked, "groups", stage)

    def _ends(self, serving: str, other: str, port: int) -> dict[str, Partner]:
        """Return, for both nodes of a link, who is at its other end."""
        secret, slowdown = secrets.token_hex(16), self.bad_links.get(frozenset((serving, other)), 1.0)
        return {
            node: Partner(
                node=partner,
                address=self.nodes[serving].address,
                addresses=[self.nodes[end].address for end in (serving, other)],
                port=port,
                serves=node == serving,
                secret=secret,
                patience=_PATIENCE_SECONDS,
                slowdown=slowdown,
            )
            for node, partner in ((serving, other), (other, serving))
        }

    def _together(
        self, tested: Sequence[tuple[str, ...]], asked: Mapping[str, Asked], of: Of, stage: Stage
    ) -> list[Measured]:
        """Return the measurements of pairs or groups, without those that lost a node before the end."""
        seconds = self.chosen.seconds(of)

        def probe(node: str) -> Probed:
            return self.ask[node](PROBE, probe=asked[node], wait_seconds=seconds)

        answers, errors = self._tested(list(asked), probe)
        return [
            measured
            for nodes in self._all_held(tested)
            for measured in self._of(
                nodes,
                [answers.get(node) for node in nodes],
                [errors.get(node) for node in nodes],
                self.chosen.probes(of),
                stage,
            )
        ]

    def _held(self, nodes: Iterable[str]) -> list[str]:
        return [node for node in nodes if node not in self.gone]

    def _all_held(self, together: Iterable[Nodes]) -> list[Nodes]:
        """Return the pairs or groups whose nodes are all still reserved: without one, the others' result is void."""
        return [nodes for nodes in together if not self.gone.keys() & set(nodes)]

    def _tested(
        self, nodes: Sequence[str], probe: Callable[[str], Probed]
    ) -> tuple[dict[str, Probed], dict[str, NodeError]]:
        """Test all nodes at the same time, as a pair or group requires, and note whose reservation is gone."""
        answers, errors = self._on_each(nodes, probe, len(nodes))
        self._note_gone(errors)
        return answers, errors

    def _note_gone(self, errors: Mapping[str, NodeError]) -> None:
        self.gone |= {node: error for node, error in errors.items() if isinstance(error, _GONE)}

    def _ports(self, serving: Iterable[str]) -> dict[str, int]:
        """Return where each node listens: nodes with the same address are on one machine, and need their own ports."""
        seen: Counter[str] = Counter()
        ports = {}
        for node in serving:
            address = self.nodes[node].address
            ports[node] = self.port + seen[address]
            seen[address] += 1
        return ports

    def _asked(self, node: str, probes: Sequence[Probe]) -> Asked:
        asked: Asked = {
            "probes": [probe.name for probe in probes],
            "units": {name: list(units) for name, units in self.chosen.units.items()},
            "rehearsal": self.rehearsal,
            "slowdown": self.nodes[node].slowdown,
        }
        return {**asked, "product": list(self.product)} if self.product else asked

    def _of(
        self,
        nodes: tuple[str, ...],
        answers: Sequence[Probed | None],
        errors: Sequence[NodeError | None],
        probes: Sequence[Probe],
        stage: Stage,
    ) -> list[Measured]:
        """Return the measurement of a node, pair or group; if one node failed, the others mostly only noticed."""
        problems: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
        measured: dict[tuple[str, str, tuple[str, ...]], Measured] = {}
        asked: set[str] = set()
        one_way: set[str] = set()
        for probe in probes:
            units = self.chosen.units.get(probe.name, ())
            asked |= readings_of(probe, units)
            one_way |= one_way_readings_of(probe, units)

        def failed(probe: Probe, problem: str) -> None:
            for name, part in probe.readings(self.chosen.units.get(probe.name, ())):
                for way in (nodes, nodes[::-1]) if name in one_way else (nodes,):
                    problems.setdefault((name, part, way), []).append(problem)

        for node, answer, error in zip(nodes, answers, errors, strict=True):
            of_node = f"{node}: " if len(nodes) > 1 else ""
            for probe in probes if error else ():
                failed(probe, f"{of_node}{error}")
            # Nodes are not trusted: values that were not asked for are ignored.
            said = answer["problems"] if answer else {}
            for probe in probes:
                if probe.name in said:
                    failed(probe, f"{of_node}{said[probe.name] or 'it failed without a reason'}")
            for one in answer["measured"] if answer else ():
                if one["probe"] not in asked:
                    continue
                # Each end measures its own sending.
                way = nodes[::-1] if one["probe"] in one_way and node != nodes[0] else nodes
                reading = (one["probe"], one["part"], way)
                if one["problem"]:
                    problems.setdefault(reading, []).append(f"{of_node}{one['problem']}")
                measured[reading] = Measured(*reading, tuple(one["samples"]), stage, one_way=one["probe"] in one_way)
        bad = [
            Measured(*reading, (), stage, _in_short(said), one_way=reading[0] in one_way)
            for reading, said in problems.items()
        ]
        return bad + [one for reading, one in measured.items() if reading not in problems]

    def _on_each(
        self, nodes: Sequence[str], work: Callable[[str], t.Any], at_once: int = 0
    ) -> tuple[dict[str, t.Any], dict[str, NodeError]]:
        began = time.monotonic()
        done = on_each(
            nodes, work, at_once or max(self.at_once, 1), lambda: [(n, None, e) for n, e in self.late().items()]
        )
        self.node_minutes += len(nodes) * (time.monotonic() - began) / 60
        return done


def _in_short(problems: Sequence[str]) -> str:
    more = len(problems) - _MOST_PROBLEMS
    return "; ".join([*problems[:_MOST_PROBLEMS], *([f"and {more} more"] if more > 0 else [])])
