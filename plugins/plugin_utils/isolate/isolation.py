# SPDX-License-Identifier: GPL-3.0-or-later
"""One isolation from the first test to the last: a sweep of all nodes, and a confirmation of whom it made suspect."""

from __future__ import annotations

import math
import time
import typing as t
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType

from typing_extensions import TypedDict

from ...module_utils.node.phase import NodeError
from ..run.node_errors import NodeLostError
from ..text.folding import told
from ..text.isolation import ISOLATION
from ..text.nodes import folded_messages
from ..text.problems import cause_of
from ..text.words import counted
from .answers import Telemetry
from .judge import (
    Confirmation,
    Verdict,
    best_references,
    confirming_tests,
    judged,
    suspects_of_sweep,
    verdicts_of,
)
from .means import with_means
from .measured import Measured, Score, Suspect, Unproved, ends_of
from .models import SlowerModel, pairs_without_peers, slower_models, within_models, without_peers
from .node_facts import foreign_processes, missing_parts, reported_faults, with_facts
from .peaks import BelowFloor, believable, below_floor
from .planned import CONFIRMING_ROUNDS, PlannedTests, smallest_group
from .prober import Prober
from .scale import GroupFound, SizeFound, SlowAtScale, again_at_scale, at_scale, groups_of, sizes_of
from .score import LEAST_EFFECT, SUSPECTED, Scored, scores_of, unmeasured
from .together import SlowTogether, part_of, slow_part, slow_places

Say: t.TypeAlias = Callable[[str], None]
Settle: t.TypeAlias = Callable[[Prober, Sequence[str]], tuple[PlannedTests, Mapping[str, NodeError]]]


class StoppedError(Exception):
    """Somebody has stopped the isolation."""


class NodeVerdict(TypedDict):
    """What is concluded of a node: its verdict, and by how much it is slower (a fraction), and why.

    ``unreachable`` says that it could not even be asked, and ``cause`` is the code of why, if ssh gave one.
    """

    verdict: Verdict
    slower_by: float | None
    reason: str
    unreachable: bool
    cause: t.NotRequired[str]


class FleetFound(TypedDict):
    """How far good nodes differ in a probe: their ``spread``, a standard deviation, and the ``last`` of them.

    The last one is slower than usual by ``slower_by``. Both numbers are fractions.
    """

    spread: float
    last: str
    part: str
    slower_by: float


class Suspicion(TypedDict):
    """A node that a run made suspect, why, and its test result: None if it was not tested."""

    node: str
    reason: str
    confirmed: bool | None


class Isolation(TypedDict):
    """The findings of tests of nodes.

    ``groups`` has the tested groups by probe, ``sizes`` how long groups of each size take, and ``at_scale`` the sizes
    that are slow although no node is. ``unproved`` were slow twice, but by too little to prove anything among so few
    nodes, so nobody is accused. ``unmeasured`` are probes that failed in all pairs or groups, each with one error
    message. ``proof`` has by probe the smallest slowdown, as a fraction, that would accuse a node, None if no slowdown
    would, and ``fleet`` how far good nodes differ. ``probes`` has by probe and part of a node the fraction of time
    beyond the usual, None if it could not be measured, and ``seconds`` the time by itself; ``links`` has the same
    for pairs, as lists of two nodes and the fraction. ``suspicion`` is the result for earlier suspects, ``telemetry``
    the readings of accelerators during the tests, by node, and ``gpus`` their models. ``without_peers`` are nodes whose
    model too few others have, each with its model, so that their speed is compared with nothing;
    ``links_without_peers`` the same for their links, by the models of adapters too, and ``pairs_without_peers`` how
    many pairs of two models were too few to be compared. ``together`` are nodes
    that are slow together: most of a place, or about half of all. ``slower_models`` are the models that take longer
    than the commonest one, and ``below_floor`` nodes whose GPUs are slower than their maker's figures allow. ``facts``
    are findings about nodes that no probe measured: foreign processes, and faults
    that they reported.
    """

    suspects: list[Suspect]
    unproved: list[Unproved]
    suspicion: list[Suspicion]
    nodes: dict[str, NodeVerdict]
    proof: dict[str, float | None]
    fleet: t.NotRequired[dict[str, FleetFound]]
    probes: dict[str, dict[str, float | None]]
    seconds: dict[str, dict[str, float]]
    links: dict[str, list[tuple[str, str, float | None]]]
    groups: dict[str, list[GroupFound]]
    sizes: dict[str, list[SizeFound]]
    at_scale: list[SlowAtScale]
    node_minutes: float
    unmeasured: t.NotRequired[dict[str, str]]
    tests: t.NotRequired[PlannedTests]
    telemetry: t.NotRequired[dict[str, list[Telemetry]]]
    gpus: t.NotRequired[dict[str, str]]
    without_peers: t.NotRequired[dict[str, str]]
    links_without_peers: t.NotRequired[dict[str, str]]
    pairs_without_peers: t.NotRequired[dict[str, int]]
    together: t.NotRequired[list[SlowTogether]]
    slower_models: t.NotRequired[list[SlowerModel]]
    below_floor: t.NotRequired[list[BelowFloor]]
    facts: t.NotRequired[list[t.Any]]


def isolate(
    prober: Prober,
    tests: PlannedTests,
    say: Say,
    settle: Settle | None = None,
    *,
    before: Mapping[str, str] = MappingProxyType({}),
    is_stopped: Callable[[], bool] = lambda: False,
    least: float = LEAST_EFFECT,
    places: Mapping[str, str] = MappingProxyType({}),
) -> Isolation:
    """Run the tests, and return their findings. All nodes are free again afterwards, whatever happens.

    ``settle`` chooses the probes once the nodes are reserved, and returns the tests with them, and the nodes that
    cannot run them. ``before`` are the suspects of a run, each with the reason: they are tested again whatever their
    first test shows. A bad node is slower than the last good one by at least the fraction ``least``. ``places`` says
    where nodes are in the network. Once it ``is_stopped``, nothing more is tested: StoppedError, because nodes were
    already free during the last measurements.
    """

    def goes_on(text: str = "") -> None:
        if is_stopped():
            raise StoppedError
        if text:
            say(text)

    refused: dict[str, NodeError] = {}
    not_held: Collection[str] = ()
    try:
        refused = prober.hold()
        not_held = list(refused)
        nodes = [node for node in tests["singles"] if node not in refused]
        if settle:
            tests, unable = settle(prober, nodes)
            refused = {**refused, **unable}
            nodes = [node for node in nodes if node not in unable]
        for text in _folded(refused, "is not tested"):
            say(text)
        inventory = {node: one.gpus for node, one in prober.nodes.items()}
        missing = missing_parts(prober.present, prober.models, inventory)
        occupied = foreign_processes(prober.present)
        for fact in (*told(ISOLATION, missing), *told(ISOLATION, occupied)):
            say(fact.message)
        began = time.monotonic()
        measured = sweep(prober, nodes, tests, goes_on)
        saved = tests["seconds"]["sweep"] - (time.monotonic() - began)
        measured += confirmation(
            prober, nodes, believable(measured, prober.gpus)[0], tests, goes_on, before, least, saved
        )
        goes_on()
        for text in _folded(prober.gone, "is not tested to the end"):
            say(text)
    finally:
        left = {node: error for node, error in prober.let_go().items() if node not in not_held}
        for text in _folded(left, "may still be reserved"):
            say(text)
    measured, impossible = believable(measured, prober.gpus)
    models = prober.all_models()
    of_models = with_means(within_models(measured, models))
    reported = reported_faults(prober.changes, prober.present)
    found = judged(of_models, before, least)
    suspects, unproved = with_facts(found, [*missing, *impossible], occupied, reported)
    refused |= prober.gone
    verdicts = verdicts_of(tests["singles"], measured, suspects)
    # A node whose reservation ended early may have passed only a few of its tests.
    verdicts.update((node, "untested") for node in prober.gone if verdicts[node] == "good")
    scored = scores_of(of_models, least=least)
    return {
        "suspects": suspects,
        "unproved": unproved,
        "suspicion": [
            Suspicion(node=node, reason=reason, confirmed=_confirmed(node, verdicts, suspects))
            for node, reason in before.items()
        ],
        "nodes": {node: _of_node(node, verdict, suspects, refused.get(node)) for node, verdict in verdicts.items()},
        "proof": {probe: _proof(found) for probe, found in scored.items()},
        "fleet": {probe: fleet for probe, found in scored.items() if (fleet := _fleet(found))},
        "probes": {probe: _excess_of_nodes(found) for probe, found in scored.items()},
        "seconds": {
            probe: _seconds_of_nodes(found) for probe, found in scores_of(measured).items() if found.of == "nodes"
        },
        "links": {probe: _excess_of_links(found) for probe, found in scored.items() if found.of == "pairs"},
        "groups": {probe: groups_of(probe, of_models) for probe, found in scored.items() if found.of == "groups"},
        "sizes": {probe: sizes_of(probe, of_models) for probe, found in scored.items() if found.of == "groups"},
        "at_scale": at_scale(of_models, suspects),
        "node_minutes": prober.node_minutes,
        "unmeasured": unmeasured(measured),
        "tests": tests,
        "telemetry": prober.telemetry,
        "gpus": prober.gpus,
        "without_peers": without_peers(prober.models),
        "links_without_peers": without_peers({node: models.with_nic(node) for node in models.of_nics}),
        "pairs_without_peers": pairs_without_peers(measured, models),
        "slower_models": slower_models(measured, prober.models, least),
        "below_floor": below_floor(measured, prober.gpus),
        "together": _together(of_models, suspects, places, least),
        "facts": [*occupied, *reported],
    }


def _together(
    measured: Sequence[Measured], suspects: Sequence[Suspect], places: Mapping[str, str], least: float
) -> list[SlowTogether]:
    found = slow_places(suspects, {node: place for node, place in places.items() if place})
    part = None if suspects else slow_part(measured, places, least)
    return [*found, *([part] if part else [])]


def sweep(prober: Prober, nodes: Sequence[str], tests: PlannedTests, say: Say) -> list[Measured]:
    """Return the measurements of all planned tests of some nodes."""
    measured = prober.singles(nodes, "sweep")
    for number, planned in enumerate(tests["pairs"], 1):
        held = set(nodes) - prober.gone.keys()
        if there := [pair for pair in planned if set(pair) <= held]:
            say(f"Round {number} of {len(tests['pairs'])}: {counted(len(there), 'pair')}")
            measured += prober.pairs(there, "sweep")
    for number, split in enumerate(tests["groups"], 1):
        held = set(nodes) - prober.gone.keys()
        of_held = [[node for node in group if node in held] for group in split]
        if groups := [group for group in of_held if len(group) > 1]:
            most = max(map(len, groups))
            say(f"Groups {number} of {len(tests['groups'])}: {counted(len(groups), 'group')} of {most} nodes")
            measured += prober.groups(groups, "sweep")
    return measured


def _folded(errors: Mapping[str, NodeError], what: str) -> list[str]:
    """Return a line for each cause; nodes with the same one share it."""
    causes = {node: cause_of(error.problems) for node, error in errors.items()}
    return folded_messages(((node, f"{node} {what}: {error}") for node, error in errors.items()), causes)


def confirmation(
    prober: Prober,
    nodes: Sequence[str],
    measured: Sequence[Measured],
    tests: PlannedTests,
    say: Say,
    before: Collection[str] = (),
    least: float = LEAST_EFFECT,
    saved: float = 0.0,
) -> list[Measured]:
    """Return the measurements of suspects; the seconds that the sweep ``saved`` are for more of them."""
    cost = prober.chosen.cost()
    # What came and went since the first time was not the node's.
    spare = tests.get("spare", 0.0) + max(saved, 0)
    times = CONFIRMING_ROUNDS if spare >= cost.single else 1
    spare -= (times - 1) * cost.single
    rounds = CONFIRMING_ROUNDS + (int(spare // cost.pair) if cost.pair else 0)
    of_groups = tests["confirming_groups"]
    measured = with_means(within_models(measured, prober.all_models()))
    scored = scores_of(measured, least=least)
    suspects = suspects_of_sweep(scored, before)
    held = [node for node in nodes if node not in prober.gone]
    again = Confirmation([], [], [])
    part = part_of(scored, {}, least)
    if suspects:
        good = best_references(scored, held, [score.unit for score in suspects])
        again = confirming_tests(suspects, scored, good, smallest_group(tests))
    if part:
        again = again._replace(singles=held)
        say(f"All nodes are tested again, because {len(part['nodes'])} are slower than the others")
    if again.singles or again.pairs or again.groups:
        if named := dict.fromkeys("–".join(score.unit.nodes) for score in suspects):
            say(f"Tested again: {', '.join(named)}")
        for what, there, left in (("rounds", again.pairs, rounds), ("rounds of groups", again.groups, of_groups)):
            if len(there) > left:
                say(f"The budget leaves {left} of {len(there)} {what} for that")
        again = Confirmation(again.singles, again.pairs[:rounds], again.groups[:of_groups])
        seconds, node_minutes = again.price(cost, times)
        say(f"That takes at most {seconds / 60:.1f} minutes and {node_minutes:.1f} node-minutes more")
    found = prober.singles(again.singles, "confirmation") if again.singles else []
    for pairs in again.pairs:
        found += prober.pairs(pairs, "confirmation")
    for split in again.groups or again_at_scale(measured, tests["groups"])[:of_groups]:
        if not again.groups:
            say(f"Tested again: groups of {len(split[0])} nodes")
        found += prober.groups(split, "confirmation")
    for _time in range(times - 1 if again.singles else 0):
        found += prober.singles(again.singles, "confirmation")
    return found


def _confirmed(node: str, verdicts: Mapping[str, Verdict], suspects: Sequence[Suspect]) -> bool | None:
    if verdicts.get(node, "untested") == "untested":
        return None
    return any(node in (one["node"], one["other"]) for one in suspects)


def _of_node(node: str, verdict: Verdict, suspects: Sequence[Suspect], error: NodeError | None) -> NodeVerdict:
    own = [one for one in suspects if one["node"] == node and one["other"] is None]
    found: NodeVerdict = {
        "verdict": verdict,
        "slower_by": own[0]["slower_by"] if own else None,
        "reason": _reason(own[0]) if own else str(error or ""),
        "unreachable": isinstance(error, NodeLostError),
    }
    cause = cause_of(error.problems) if error else ""
    return {**found, "cause": cause} if cause else found


def _reason(suspect: Suspect) -> str:
    return suspect["fact"]["message"] if "fact" in suspect else suspect["evidence"]


def _proof(found: Scored) -> float | None:
    """Return the slowdown that would prove a node slow; all nodes of a probe are compared alike."""
    return next((score.proof for score in found.scores if len(score.unit.nodes) == 1), None)


def _fleet(found: Scored) -> FleetFound | None:
    of_nodes = [one for one in found.scores if len(one.unit.nodes) == 1 and not one.broken and one.nearness < SUSPECTED]
    if not of_nodes:
        return None
    last = max(of_nodes, key=lambda one: one.effect)
    node, part = last.unit.nodes[0], last.unit.part
    return {"spread": _fraction(last.spread), "last": node, "part": part, "slower_by": _fraction(last.effect)}


def _excess_of_nodes(found: Scored) -> dict[str, float | None]:
    of_nodes = [score for score in found.scores if len(score.unit.nodes) == 1]
    several = len({score.unit.nodes for score in of_nodes}) < len(of_nodes)
    return {
        f"{score.unit.nodes[0]} {score.unit.part}" if several else score.unit.nodes[0]: _excess(score)
        for score in of_nodes
    }


def _seconds_of_nodes(found: Scored) -> dict[str, float]:
    excess = _excess_of_nodes(found)
    return {name: math.exp(found.usual) * (1 + by) for name, by in excess.items() if by is not None}


def _excess_of_links(found: Scored) -> list[tuple[str, str, float | None]]:
    """Return for each pair its total time beyond the usual, with the shares that its nodes and its link add.

    Of what goes one way the first node sends. Time saved by fast nodes counts in the link's share, see `scores_of`.
    """
    return [
        (
            score.unit.nodes[0],
            score.unit.nodes[1],
            None
            if score.broken
            else _fraction(score.effect + max(0.0, sum(found.ends[end] for end in ends_of(score.unit)))),
        )
        for score in found.scores
        if len(score.unit.nodes) == 2
    ]


def _excess(score: Score) -> float | None:
    return None if score.broken else _fraction(score.effect)


def _fraction(effect: float) -> float:
    return math.expm1(effect)
