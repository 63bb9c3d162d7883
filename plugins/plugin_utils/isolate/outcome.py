# SPDX-License-Identifier: GPL-3.0-or-later
"""What follows from an isolation: its findings, its verdict, which hosts are red, and which may train."""

from __future__ import annotations

import typing as t

from ...module_utils.node.probes.known import PROBES
from ..contracts import Reason
from ..run.blame import FAILED, UNREACHABLE, Blame
from ..text.isolation import isolation_finding, title_of
from .isolation import Isolation, Suspicion
from .means import MEAN
from .measured import Suspect, Unproved
from .peaks import BelowFloor, peaks_of
from .readings import OF_GPUS, OF_SCALE, probe_of
from .scale import SlowAtScale
from .together import SlowTogether

# Operators rarely send a node away for less than this. A node that took longer without proof is not called good.
_ACCEPTED = 0.1
# By the code of the headline.
_VERDICTS = {
    **dict.fromkeys(("slow", "broken", "missing", "reported"), "suspects"),
    **dict.fromkeys(("none_tested", "some_tested"), "incomplete"),
    **dict.fromkeys(("unmeasured", "unproved", "coarse", "slow_together"), "unproved"),
    "slow_at_scale": "slow_at_scale",
    "below_floor": "below_floor",
    "good": "good",
}


def blame_of(isolation: Isolation) -> dict[str, Blame]:
    """Return why hosts are red: who is suspected, both ends of a suspected link, and who could not be tested.

    What fails between all nodes is the fault of none, but none has shown that it works: all are red. So are nodes below
    the floor of their model, though the others may be no faster.
    """
    blamed: dict[str, Blame] = {}
    for suspect in isolation["suspects"]:
        reason = f"{finding_of(suspect)['message']}: {suspect['evidence']}."
        for node in filter(None, (suspect["node"], suspect["other"])):
            blamed.setdefault(node, Blame(state=FAILED, reason=reason, cause=""))
    for finding in untested_nodes(isolation):
        state = UNREACHABLE if isolation["nodes"][finding["node"]]["unreachable"] else FAILED
        cause = finding.get("case", "")
        blamed.setdefault(finding["node"], Blame(state=state, reason=f"{finding['message']}.", cause=cause))
    for below in isolation.get("below_floor", []):
        for node in below["nodes"]:
            blamed.setdefault(node, Blame(state=FAILED, reason=f"{_below(below)['message']}.", cause=""))
    for finding in unmeasured_probes(isolation):
        for node in isolation["nodes"]:
            blamed.setdefault(node, Blame(state=FAILED, reason=f"{finding['message']}.", cause=""))
    return blamed


def finding_of(suspect: Suspect) -> Reason:
    """Return the fault as text: ``node3 (cpu) is 31.0 % slower (30.1 to 33.0 %)``."""
    if "fact" in suspect:
        return t.cast("Reason", suspect["fact"])
    values: dict[str, t.Any] = {"slower_by": suspect["slower_by"], "interval": suspect["interval"]}
    occupied = ("occupied",) if suspect.get("occupied") else ()
    if suspect["interval"] is None:
        return _of_unit("broken", suspect, *occupied)
    return _of_unit("slow", suspect, *occupied, **{**values, "interval": list(suspect["interval"])})


def _of_unit(code: str, one: Suspect | Unproved, *cases: str, **values: t.Any) -> Reason:
    """Return a finding of a node, or of a link, with its probe; the kind of link ends its case."""
    kind = "" if not one["other"] else "one_way" if one.get("one_way") else "link"
    case = "_".join(filter(None, (*cases, kind)))
    of = {"other": one["other"]} if one["other"] else {"part": one["part"]}
    return isolation_finding(code, case, one["node"], **of, probe=one["probe"], **values)


def findings_of(isolation: Isolation) -> list[Reason]:
    """Return all that was found, the suspects first."""
    suspects = isolation["suspects"]
    return [
        *map(finding_of, suspects),
        *map(_together, isolation.get("together", [])),
        *below_floor(isolation),
        *unmeasured_probes(isolation),
        *(_unproved(one) for one in isolation["unproved"]),
        *map(_suspicion, isolation["suspicion"]),
        *untested_nodes(isolation),
        *(_at_scale(one) for one in isolation["at_scale"]),
        # Slow nodes make larger groups slower, too.
        *([] if suspects else _sizes(isolation)),
        *peaks_of(isolation.get("gpus", {}), isolation["seconds"]),
        *_without_peers(isolation),
        *(isolation_finding("slower_model", **t.cast("t.Any", one)) for one in isolation.get("slower_models", [])),
        *isolation.get("facts", []),
        *_fleet(isolation),
        proof_of(isolation),
    ]


def headline_of(isolation: Isolation) -> Reason:
    """Return the main finding: a slow place, the worst suspect, untested nodes, or else why the result is not clean."""
    if isolation["suspects"] and (together := isolation.get("together")):
        return _together(together[0])
    if isolation["suspects"]:
        return finding_of(isolation["suspects"][0])
    good, untested = len(passing_nodes(isolation)), untested_nodes(isolation)
    if not good:
        return isolation_finding("none_tested")
    doubt = _doubt_of(isolation)
    if untested:
        return isolation_finding("some_tested", "in_doubt" if doubt else "", good=good, untested=len(untested))
    if doubt:
        return doubt
    case = "one_node" if good == 1 else "with_links" if isolation["links"] else ""
    return isolation_finding("good", case, nodes=good)


def _doubt_of(isolation: Isolation) -> Reason | None:
    """Return why the result is not clean although nobody is accused; None if it is clean."""
    if below := below_floor(isolation):
        return below[0]
    if isolation["at_scale"]:
        return _at_scale(isolation["at_scale"][0], title="title")
    if unmeasured := isolation.get("unmeasured"):
        return isolation_finding("unmeasured", "title", probes=[{"probe": one, "of": _of(one)} for one in unmeasured])
    if together := isolation.get("together"):
        return _together(together[0])
    if isolation["unproved"]:
        return _unproved(isolation["unproved"][0], title="title")
    return isolation_finding("coarse") if _is_coarse(isolation) else None


def verdict_of(isolation: Isolation) -> str:
    """Return the verdict of an isolation.

    ``good``, ``suspects``, ``incomplete``, ``below_floor``, ``slow_at_scale`` or ``unproved``.
    """
    return "suspects" if isolation["suspects"] else _VERDICTS[headline_of(isolation)["code"]]


def title_of_isolation(isolation: Isolation) -> str:
    """Return the headline of an isolation, with how many more suspects there are."""
    first = isolation.get("together", [])[:1]
    of_first = {node for one in first for node in one["nodes"]}
    links = {(one["node"], one["other"]) for one in isolation["suspects"] if one["node"] not in of_first}
    return title_of(
        headline_of(isolation),
        len(links) if first else max(0, len(links) - 1),
        gpus_untested=gpus_are_untested(isolation),
    )


def _together(one: SlowTogether) -> Reason:
    """Return the finding of nodes that are slow together: with their names, unless a place says it."""
    values: dict[str, t.Any] = {**one, "count": len(one["nodes"])}
    return isolation_finding("slow_together", "place" if one["places"] else "", **values)


def below_floor(isolation: Isolation) -> list[Reason]:
    """Return the nodes whose GPUs are below the floor of their model, unless all of them are suspects already."""
    suspects = {one["node"] for one in isolation["suspects"]}
    return [_below(one) for one in isolation.get("below_floor", []) if not suspects >= {*one["nodes"]}]


def _below(one: BelowFloor) -> Reason:
    values: dict[str, t.Any] = {**one, "count": len(one["nodes"])}
    return isolation_finding("below_floor", "all" if len(one["nodes"]) == one["of"] else "", **values)


def _unproved(one: Unproved, title: str = "") -> Reason:
    values = {"slower_by": one["slower_by"], "proof": one["proof"]}
    known = "failed" if one["slower_by"] is None else "" if one.get("tested_again", True) else "once"
    return _of_unit("unproved", one, title, known, **values)


def unmeasured_probes(isolation: Isolation) -> list[Reason]:
    """Return which probes could not be measured anywhere, and how they failed."""
    return [
        isolation_finding("unmeasured", _of(probe), probe=probe, said=problem)
        for probe, problem in isolation.get("unmeasured", {}).items()
    ]


def _of(probe: str) -> str:
    """Return whether a probe fails on nodes or between them."""
    known = PROBES.get(probe_of(probe))
    return "nodes" if known and known.of == "nodes" else "between"


def untested_nodes(isolation: Isolation) -> list[Reason]:
    """Return which nodes were not tested, and why."""
    return [
        isolation_finding("untested", one.get("cause", ""), node, said=one["reason"])
        for node, one in isolation["nodes"].items()
        if one["verdict"] == "untested"
    ]


def _suspicion(one: Suspicion) -> Reason:
    """Return the result for a node that a run made suspect."""
    case = {True: "confirmed", False: "not_confirmed", None: "not_tested"}[one["confirmed"]]
    return isolation_finding("suspicion", case, one["node"], reason=one["reason"].rstrip("."))


def proof_of(isolation: Isolation) -> Reason:
    """Return how much slower a node has to be to be accused, probe by probe: how far to trust that all are good."""
    least = {probe: by for probe, by in isolation["proof"].items() if by is not None}
    return isolation_finding("proof", least=least) if least else isolation_finding("proof", "none")


def _fleet(isolation: Isolation) -> list[Reason]:
    """Return how far good nodes differ in each probe, and which of them is the last."""
    fleet = isolation.get("fleet", {})
    if not fleet:
        return []
    last = [{"probe": probe, "node": one["last"], "slower_by": one["slower_by"]} for probe, one in fleet.items()]
    return [isolation_finding("fleet", spread={probe: one["spread"] for probe, one in fleet.items()}, last=last)]


def next_steps(isolation: Isolation, leave_out: str, test_again: str) -> list[Reason]:
    """Return what to do about suspects, and what leaving them in costs, given the commands; none without a suspect."""
    suspects, failing = isolation["suspects"], failing_nodes(isolation)
    if not suspects:
        return []
    slow = [one for one in suspects if one["other"] is None and one["slower_by"] is not None]
    slowest = max(slow, key=lambda one: t.cast("float", one["slower_by"]), default=None)
    links = {(one["node"], one["other"]) for one in suspects if one["other"] is not None}
    occupied = {one["node"] for one in suspects if one.get("occupied")}
    return [
        *([isolation_finding("next_steps", "leave_out", nodes=failing, command=leave_out)] if failing else []),
        *(isolation_finding("next_steps", "free", node) for node in sorted(occupied)),
        *(
            [
                isolation_finding(
                    "next_steps", "cost", slowest["node"], probe=slowest["probe"], slower_by=slowest["slower_by"]
                )
            ]
            if slowest
            else []
        ),
        *(isolation_finding("next_steps", "link", node, other=other) for node, other in sorted(links)),
        isolation_finding("next_steps", "test_again", command=test_again),
    ]


def gpus_are_untested(isolation: Isolation) -> bool:
    """Return whether nodes have GPUs, but none of the probes that were done tests GPUs."""
    tests = isolation.get("tests")
    return bool(tests and isolation.get("telemetry") and not OF_GPUS & set(tests.get("probes", ())))


def _is_coarse(isolation: Isolation) -> bool:
    """Return whether a node took longer than anybody would accept without being accused, or nothing proves any slow.

    Groups do not count: their proof is in addition to the tests of single nodes and pairs.
    """
    fleet, of_groups = isolation.get("fleet", {}), isolation["groups"]
    return any(
        by is None or (fleet[probe]["slower_by"] if probe in fleet else by) > _ACCEPTED
        for probe, by in isolation["proof"].items()
        if probe not in of_groups
    )


def _without_peers(isolation: Isolation) -> list[Reason]:
    """Return the nodes, the links of nodes, and the pairs that are compared with nothing."""
    nodes = isolation.get("without_peers", {})
    links = {node: model for node, model in isolation.get("links_without_peers", {}).items() if node not in nodes}
    return [
        *(isolation_finding("without_peers", "", node, model=model) for node, model in nodes.items()),
        *(isolation_finding("without_peers", "links", node, model=model) for node, model in links.items()),
        *(
            isolation_finding("without_peers", "pairs", models=models, count=count)
            for models, count in isolation.get("pairs_without_peers", {}).items()
        ),
    ]


def _at_scale(one: SlowAtScale, title: str = "") -> Reason:
    """Return which groups are slow although none of their nodes is."""
    case = "_".join(filter(None, (title, "fails" if one["slower_by"] is None else "")))
    return isolation_finding("slow_at_scale", case, **t.cast("dict[str, t.Any]", one))


def _sizes(isolation: Isolation) -> list[Reason]:
    """Return the extra time of larger groups over the smallest, by probes that take as long in groups of any size."""
    found = []
    for probe, (least, *larger) in isolation["sizes"].items():
        if probe in OF_SCALE and larger:
            sizes = [{"nodes": one["nodes"], "slower_by": one["slower_by"]} for one in larger]
            found.append(isolation_finding("sizes", probe=probe, least=least["nodes"], sizes=sizes))
    return found


def passing_nodes(isolation: Isolation) -> list[str]:
    """Return the nodes that were tested and are good, and of each suspected link only one end."""
    failing = set(failing_nodes(isolation))
    return [node for node, one in isolation["nodes"].items() if one["verdict"] == "good" and node not in failing]


def proven_nodes(isolation: Isolation) -> list[str]:
    """Return the good nodes, without those that have an unproved slowness, or that are below a floor."""
    doubtful = {node for one in isolation["unproved"] for node in (one["node"], one["other"])}
    doubtful |= {node for one in isolation.get("together", []) for node in one["nodes"]}
    doubtful |= {node for one in isolation.get("below_floor", []) for node in one["nodes"]}
    return [node for node in passing_nodes(isolation) if node not in doubtful]


def probes_against(isolation: Isolation, node: str) -> tuple[str, ...]:
    """Return the names of the probes that suspect a node, or a link whose end to leave out is this node."""
    readings = [one["probe"] for one in isolation["suspects"] if one["node"] == node]
    found = [probe_of(reading) for reading in readings]
    if MEAN in readings:
        found += [name for name in isolation["tests"]["probes"] if PROBES[name].of == "nodes"]
    return tuple(dict.fromkeys(filter(None, found)))


def findings_against(isolation: Isolation) -> dict[str, list[Reason]]:
    """Return the nodes to leave out, each with the finding."""
    failing = failing_nodes(isolation)
    return {node: [finding_of(one) for one in isolation["suspects"] if one["node"] == node] for node in failing}


def failing_nodes(isolation: Isolation) -> list[str]:
    """Return the nodes to leave out: slow and broken ones, and of each suspected link the end that is named first.

    A node that others occupied need not be at fault.
    """
    found = {suspect["node"] for suspect in isolation["suspects"] if not suspect.get("occupied")}
    return [node for node in isolation["nodes"] if node in found]
