# SPDX-License-Identifier: GPL-3.0-or-later
"""What follows from an isolation: which hosts are red, which may train, and one sentence for each suspect."""

from __future__ import annotations

from collections.abc import Sequence

from ...module_utils.node.probes.known import PROBES
from ..run.blame import FAILED, UNREACHABLE, Blame
from .isolation import Isolation, Suspicion
from .measured import Suspect, Unproved
from .readings import OF_GPUS, probe_of
from .scale import SizeFound, SlowAtScale

# Operators hardly send a node away for less than this; if only more can be proved, nobody is called good.
_ACCEPTED = 0.1


def blame_of(isolation: Isolation) -> dict[str, Blame]:
    """Return why hosts are red: who is suspected, both ends of a suspected link, and who could not be tested.

    What fails between all nodes is the fault of none, but none has shown that it works: all are red.
    """
    blamed: dict[str, Blame] = {}
    for suspect in isolation["suspects"]:
        for node in filter(None, (suspect["node"], suspect["other"])):
            blamed.setdefault(node, Blame(state=FAILED, reason=f"{in_words(suspect)}: {suspect['evidence']}."))
    for node, found in isolation["nodes"].items():
        if found["verdict"] == "untested":
            state = UNREACHABLE if found["unreachable"] else FAILED
            blamed.setdefault(node, Blame(state=state, reason=f"{node} was not tested: {found['reason']}."))
    for probe, problem in isolation.get("unmeasured", {}).items():
        for node in isolation["nodes"]:
            blamed.setdefault(node, Blame(state=FAILED, reason=f"{unmeasured_in_words(probe, problem)}."))
    return blamed


def in_words(suspect: Suspect) -> str:
    """Return what is wrong: ``node3 is 31 % slower (30 to 33 %)``."""
    what = _what(suspect)
    if suspect["slower_by"] is None or suspect["interval"] is None:
        return f"{what} is broken"
    low, high = (100 * bound for bound in suspect["interval"])
    return f"{what} is {100 * suspect['slower_by']:.1f} % slower ({low:.1f} to {high:.1f} %)"


def unproved_in_words(one: Unproved) -> str:
    """Return what was slow without being proved."""
    return (
        f"{_what(one)} took {100 * one['slower_by']:.1f} % longer both times; among these nodes only "
        f"{100 * one['proof']:.0f} % would be proof"
    )


def unmeasured_in_words(probe: str, problem: str) -> str:
    """Return what could not be measured anywhere, and how that failed."""
    return f"{failed_everywhere(probe)}: {problem}"


def failed_everywhere(probe: str) -> str:
    """Return that a probe failed on all nodes, or between them."""
    known = PROBES.get(probe_of(probe))
    return f"{probe} failed {'on' if known and known.of == 'nodes' else 'between'} all nodes"


def suspicion_in_words(one: Suspicion) -> str:
    """Return what became of a node that a run made suspect."""
    found = {True: "confirmed", False: "not confirmed by these tests", None: "not tested"}[one["confirmed"]]
    return f"{one['node']} was a suspect of the run ({one['reason'].rstrip('.')}): {found}"


def proof_in_words(isolation: Isolation) -> str:
    """Return how much slower a node has to be to be accused, probe by probe: how far to trust that all are good."""
    least = [f"{100 * by:.0f} % ({probe})" for probe, by in isolation["proof"].items() if by is not None]
    if not least:
        return "No measurement proves here that a node is slower"
    return f"Proof that a node is slower begins at {', '.join(least)}"


def gpus_are_untested(isolation: Isolation) -> bool:
    """Return whether nodes have GPUs, but none of the probes that were done tests GPUs."""
    tests = isolation.get("tests")
    return bool(tests and isolation.get("telemetry") and not OF_GPUS & set(tests.get("probes", ())))


def is_coarse(isolation: Isolation) -> bool:
    """Return whether a node could be slower than anybody would accept without being accused.

    Groups do not count: what they prove comes on top of what nodes by themselves and in pairs do.
    """
    of_groups = isolation["groups"]
    return any(by is None or by > _ACCEPTED for probe, by in isolation["proof"].items() if probe not in of_groups)


def at_scale_in_words(one: SlowAtScale) -> str:
    """Return which groups are slow although none of their nodes is."""
    if one["slower_by"] is None:
        return f"Groups of {one['nodes']} nodes fail, and those of {one['than']} do not ({one['probe']})"
    by = f"{100 * one['slower_by']:.0f} % slower"
    return f"Groups of {one['nodes']} nodes are {by} than groups of {one['than']} ({one['probe']})"


def sizes_in_words(probe: str, sizes: Sequence[SizeFound]) -> str:
    """Return how much longer than the smallest groups all others take by a probe."""
    least, *larger = sizes
    more = [f"{one['nodes']} nodes {_percent_more(one['slower_by'])}" for one in larger]
    return f"Against groups of {least['nodes']} nodes: {', '.join(more)} ({probe})"


def _percent_more(by: float | None) -> str:
    return "failed" if by is None else f"{100 * by:+.1f} %".replace("-", "−")


def _what(one: Suspect | Unproved) -> str:
    return f"The link {one['node']}–{one['other']}" if one["other"] else f"{one['node']} ({one['part']})"


def passing_nodes(isolation: Isolation) -> list[str]:
    """Return the nodes that were tested and are good, and of each suspected link only one end."""
    failing = set(failing_nodes(isolation))
    return [node for node, one in isolation["nodes"].items() if one["verdict"] == "good" and node not in failing]


def proven_nodes(isolation: Isolation) -> list[str]:
    """Return the nodes that are good, and of which nothing was slow without being proved."""
    doubtful = {node for one in isolation["unproved"] for node in (one["node"], one["other"])}
    return [node for node in passing_nodes(isolation) if node not in doubtful]


def probes_against(isolation: Isolation, node: str) -> tuple[str, ...]:
    """Return the names of the probes by which a node, or a link of which it is the end to leave out, is a suspect."""
    found = (probe_of(one["probe"]) for one in isolation["suspects"] if one["node"] == node)
    return tuple(dict.fromkeys(filter(None, found)))


def reasons_of(isolation: Isolation) -> dict[str, str]:
    """Return the nodes to leave out, each with what was found of it."""
    failing = failing_nodes(isolation)
    return {node: "; ".join(in_words(one) for one in isolation["suspects"] if one["node"] == node) for node in failing}


def failing_nodes(isolation: Isolation) -> list[str]:
    """Return the nodes to leave out: slow and broken ones, and of each suspected link the end that is named first."""
    found = {suspect["node"] for suspect in isolation["suspects"]}
    return [node for node in isolation["nodes"] if node in found]
