# SPDX-License-Identifier: GPL-3.0-or-later
"""Doing tests on nodes: all singles at once, a round of pairs at once, and holding the nodes before and after."""

from __future__ import annotations

import secrets
import time
import typing as t
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...module_utils.node.contracts import Asked, Partner
from ...module_utils.node.phase import NodeError
from ...module_utils.node.probes.known import PROBES
from ..run.answers import STAGE, STOP, Ask
from ..run.on_each import on_each
from .answers import PROBE, START, Probed
from .measured import Measured, Stage
from .planned import Cost
from .rounds import Pair

SINGLES = [probe.name for probe in PROBES if not probe.of_pairs]
OF_PAIRS = [probe.name for probe in PROBES if probe.of_pairs]
# The most seconds that a test takes, including the round trip that asks for it.
_ROUND_TRIP_SECONDS = 2
COST = Cost(
    single=_ROUND_TRIP_SECONDS + sum(probe.seconds for probe in PROBES if not probe.of_pairs),
    pair=_ROUND_TRIP_SECONDS + sum(probe.seconds for probe in PROBES if probe.of_pairs),
)
_PATIENCE_SECONDS = 20.0
_GRACE_SECONDS = 1.0


@dataclass(frozen=True)
class ProbedNode:
    """A node as its tests see it: where its partners reach it, and how many times as slow a rehearsal makes it."""

    address: str
    slowdown: float = 1.0


@dataclass
class Prober:
    """Tests nodes through ``ask``; ``node_minutes`` is what this has cost so far.

    ``bad_links`` are pairs that a rehearsal makes slower, ``port`` the first port on which nodes listen for partners.
    """

    nodes: Mapping[str, ProbedNode]
    ask: Mapping[str, Ask]
    at_once: int
    port: int
    rehearsal: bool = False
    bad_links: Mapping[frozenset[str], float] = field(default_factory=dict)
    late: Callable[[], Mapping[str, NodeError]] = dict
    node_minutes: float = 0.0

    def hold(self) -> dict[str, NodeError]:
        """Hold all nodes, and return why some cannot be held; those are left alone."""

        def hold(node: str) -> None:
            self.ask[node](STAGE, files={}, given_secrets={}, secrets={}, keep=None)
            self.ask[node](START)

        return self._on_each(list(self.nodes), hold)[1]

    def let_go(self) -> dict[str, NodeError]:
        """Hold no node any longer, and return why some could not be asked for that."""

        def let_go(node: str) -> None:
            self.ask[node](STOP, grace_seconds=_GRACE_SECONDS, with_log=False)

        return self._on_each(list(self.nodes), let_go)[1]

    def singles(self, nodes: Sequence[str], stage: Stage) -> list[Measured]:
        """Return what all probes of single nodes measure, on all of the nodes at the same time."""

        def probe(node: str) -> Probed:
            return self.ask[node](PROBE, probe=self._asked(node, SINGLES))

        answers, errors = self._on_each(nodes, probe)
        found = []
        for node in nodes:
            if node in errors:
                found += [Measured(name, name, (node,), (), stage, str(errors[node])) for name in SINGLES]
            else:
                found += _readings(answers[node], (node,), stage)
        return found

    def pairs(self, pairs: Sequence[Pair], stage: Stage) -> list[Measured]:
        """Return what all probes of pairs measure, on pairs without a node in common, all at the same time."""
        ports = self._ports([one for one, _other in pairs])
        asked: dict[str, Asked] = {}
        for one, other in pairs:
            secret, link = secrets.token_hex(16), frozenset((one, other))
            for node, partner in ((one, other), (other, one)):
                asked[node] = self._asked(node, OF_PAIRS)
                asked[node]["partner"] = Partner(
                    node=partner,
                    address=self.nodes[one].address,
                    port=ports[one],
                    serves=node == one,
                    secret=secret,
                    patience=_PATIENCE_SECONDS,
                    slowdown=self.bad_links.get(link, 1.0),
                )
        # Both ends of a pair have to be asked at the same time.
        answers, errors = self._on_each(list(asked), lambda node: self.ask[node](PROBE, probe=asked[node]), len(asked))
        return [
            measured
            for pair in pairs
            for measured in _of_pair(pair, [answers.get(node) for node in pair], [errors.get(n) for n in pair], stage)
        ]

    def _ports(self, serving: Iterable[str]) -> dict[str, int]:
        """Return where each node listens: those with the same address are on one machine, and need their own ports."""
        seen: Counter[str] = Counter()
        ports = {}
        for node in serving:
            address = self.nodes[node].address
            ports[node] = self.port + seen[address]
            seen[address] += 1
        return ports

    def _asked(self, node: str, probes: list[str]) -> Asked:
        return {"probes": probes, "rehearsal": self.rehearsal, "slowdown": self.nodes[node].slowdown}

    def _on_each(
        self, nodes: Sequence[str], work: Callable[[str], t.Any], at_once: int = 0
    ) -> tuple[dict[str, t.Any], dict[str, NodeError]]:
        began = time.monotonic()
        done = on_each(
            nodes, work, at_once or max(self.at_once, 1), lambda: [(n, None, e) for n, e in self.late().items()]
        )
        self.node_minutes += len(nodes) * (time.monotonic() - began) / 60
        return done


def _readings(answer: Probed, nodes: tuple[str, ...], stage: Stage) -> list[Measured]:
    found = [Measured(one["probe"], one["part"], nodes, tuple(one["samples"]), stage) for one in answer["measured"]]
    return found + [Measured(name, name, nodes, (), stage, problem) for name, problem in answer["problems"].items()]


def _of_pair(
    pair: Pair, answers: Sequence[Probed | None], errors: Sequence[NodeError | None], stage: Stage
) -> list[Measured]:
    """Return what a pair measured; where one end failed, the other one mostly only noticed."""
    problems = [f"{node}: {error}" for node, error in zip(pair, errors, strict=True) if error]
    for node, answer in zip(pair, answers, strict=True):
        problems += [f"{node}: {problem}" for problem in answer["problems"].values()] if answer else []
    if problems:
        return [Measured("tcp_throughput", "link", pair, (), stage, "; ".join(problems))]
    return [measured for answer in answers if answer for measured in _readings(answer, pair, stage)]
