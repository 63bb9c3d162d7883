# SPDX-License-Identifier: GPL-3.0-or-later
"""The first cause of a failed run: which node failed first, and how.

Failures in logs have a blame on the scale of the log signatures: below 50 a cause on the node itself (GPU or host
fault, out of memory, NaN, the program), from 50 the network, which also fails on healthy nodes when a peer goes away,
then echoes. The nodes are ordered like this:

1. nodes with a cause of their own, by its kind; within a kind, failed nodes before nodes that we stopped, then by
   blame, then by time,
2. nodes that failed otherwise, by time: a bare exit status here may cause a network error elsewhere,
3. nodes whose log says that they waited for a peer, by time.

Within 2. and 3. a node with a link that went down during the run comes first. A bare exit status 0 is never the first
cause if another node has a nonzero one.

A node that we stopped is not to blame, but its log may contain the cause: a launcher takes time to end after a rank has
failed, and other nodes may end before it. If somebody interrupted the run, the failures of 2. and 3. are consequences.
"""

from __future__ import annotations

import math
import re
import typing as t
from collections.abc import Collection, Iterable, Mapping

from ...module_utils.logs.grammars.known import grammar_name, grammar_of
from ...module_utils.logs.signature import Failure, is_warning
from ...module_utils.node.contracts import RankSeen
from ...module_utils.node.machine_changes import broken_links
from ..contracts import Echo, EndedBy, FirstFailure, Machine, NodeLog, Origin, Plan, Status
from ..run.status import ended_well, has_failed
from ..text.failures import ENDS
from ..text.nodes import alike, nameless
from ..text.problems import remedy_of
from .hung_ranks import Lagging, lagging, unresponsive
from .machine_events import broken_links_in_words
from .missing_ranks import Late, missing_ranks
from .named_nodes import NodeNames
from .node_end import end_of_node, held_up, said_of_node, with_sentence

_FIRST_OF_NETWORK = 50
# Echoes that come from another node. The others, of launchers and launch scripts, come from a process of this one.
_OF_A_PEER = frozenset({"watchdog", "peer_died", "coordinator_died"})
_HANGS = frozenset({"stalled", "watchdog"})
# Ranks, times and sizes of a part.
_DIGITS = re.compile(r"\d+")


def first_failure(
    statuses: Iterable[Status],
    unfinished: Collection[str] = (),
    together: bool = True,
    goal: int | None = None,
    names: NodeNames | None = None,
    ranks_per_node: int = 1,
) -> FirstFailure | None:
    """Return the first failure of a run, or None if no node failed.

    A failure that a log shows has its ``line``; how a node ended has a ``case`` and ``values``, see `text.failures`.
    ``message`` is that line or sentence. ``evidence`` are lines. ``rank`` is the rank that the line blames, or that
    printed it, or None; ``named`` maps host names and addresses in the line to inventory hosts. ``exit_code`` is the
    node's exit status, or None. ``echoes`` are failures of other nodes that only follow from this one; separate jobs
    (not ``together``) have none. The ``unfinished`` nodes ended with exit status 0 before the last step, which is the
    ``goal``. Logs count ``ranks_per_node``, and ``names`` finds nodes in lines: if a log shows which rank or node went
    away, that node is to blame.
    """
    statuses, names = list(statuses), names or NodeNames()
    hangs = any(status["status"] == "stalled" for status in statuses)
    seen = {status["node"]: status["hang"] for status in statuses if together}
    recorded = missing_ranks(seen)
    silent, report = unresponsive(seen.values(), names)
    last = (recorded.late or lagging(statuses, goal) or recorded.silent or silent) if together and hangs else None
    causes = [cause for status in statuses if (cause := _cause(status, status["node"] in unfinished, last))]
    for cause in causes:
        if last and last.node == cause["node"] and cause["class"] == "stalled":
            cause["order"] = (*cause["order"][:1], 0.0)
    if together and was_interrupted(statuses):
        causes = [cause for cause in causes if cause["own"]]
    if not any(cause["failed"] for cause in causes):
        return _unfit(statuses)
    causes.sort(key=lambda cause: cause["order"])
    if causes[0]["class"] == "exit_status" and causes[0]["exit_code"] == 0:
        causes.sort(key=lambda cause: cause["class"] != "exit_status" or not cause["exit_code"])
    first, *others = causes
    if first["class"] in _HANGS:
        first = {**first, "evidence": [*recorded.lines, *report, *first["evidence"]]}
    if first["class"] == "watchdog" and recorded.late:
        first = {**first, **_watched(recorded.late, statuses)}
        others = [other for other in causes if other["node"] != first["node"]]
    place = _Place(names, ranks_per_node, statuses)
    named = place.named_in(first) if together else {}
    if together and (gone := _gone(first, causes, place)):
        others = [other for other in causes if other["node"] != gone["node"]]
        first = {**first, **gone}
    return {
        **echo_of(first),
        "node_rank": first["node_rank"],
        "origin": _origin(first, causes, statuses, last) if together else "node",
        "evidence": [*first["evidence"], *([] if first["own"] else broken_links_in_words(statuses))],
        "rank": first["rank"],
        "named": named,
        "remedy": first["remedy"],
        "exit_code": first["exit_code"],
        "echoes": [echo_of(other) for other in others if together],
    }


def ranks_per_node(plan: Plan) -> int:
    """Return how many ranks per node the logs count: JAX and the embedded trainer have one process per node."""
    one_process = plan.get("rehearsal") or grammar_of(grammar_name(plan)).one_process
    return 1 if one_process else plan["parameters"].get("gpus_per_node") or 1


def _origin(
    first: Mapping[str, t.Any],
    causes: Collection[Mapping[str, t.Any]],
    statuses: Collection[Status],
    last: Lagging | Late | None,
) -> Origin:
    """Return whether a node is at fault; it is the run if each node's log has the same error of its own."""
    if first["class"] == "stalled" and not last:
        return "unknown"
    said = {(cause["class"], _DIGITS.sub("0", alike(nameless(cause["line"] or "", cause["node"])))) for cause in causes}
    same = len(said) == 1 and all(cause["own"] and cause["line"] for cause in causes)
    return "run" if same and len(causes) == len(statuses) > 1 else "node"


class _Place(t.NamedTuple):
    """Finds the node that a log line means, by host name, address or rank."""

    names: NodeNames
    ranks_per_node: int
    statuses: list[Status]

    def of_rank(self, rank: int | None) -> Status | None:
        """Return the status of the node that has a rank."""
        place = None if rank is None else rank // max(1, self.ranks_per_node)
        return next((one for one in self.statuses if place is not None and one["node_rank"] == place), None)

    def named_in(self, failure: Mapping[str, t.Any]) -> dict[str, str]:
        """Return the addresses and host names of other nodes in a failure's line, each with its inventory host."""
        said = self.names.in_line(failure["line"] or "")
        return {name: host for name, host in said.items() if host not in (name, failure["node"])}

    def of_peer(self, failure: Mapping[str, t.Any]) -> tuple[Status, str | None] | None:
        """Return the other node in a failure's line, and its name there; None for no node or several.

        Without a name, the line gives the rank.
        """
        of_rank = self.of_rank(failure["rank"])
        if of_rank:
            return None if of_rank["node"] == failure["node"] else (of_rank, None)
        found = {host: name for name, host in self.names.in_line(failure["line"] or "").items()}
        found.pop(failure["node"], None)
        named = [(one, found[one["node"]]) for one in self.statuses if one["node"] in found]
        return named[0] if len(named) == 1 else None


def _gone(
    failure: Mapping[str, t.Any], causes: Collection[Mapping[str, t.Any]], place: _Place
) -> dict[str, t.Any] | None:
    """Return the failure of the node that went away according to others; None if unknown.

    A node that reports another one is alive, and the one that it reports is nearer to the cause.
    """
    tell = {cause["node"]: cause for cause in causes if cause["class"] == "peer_died"}
    told = set[str]()
    while failure["node"] in tell and failure["node"] not in told:
        told.add(failure["node"])
        found = place.of_peer(failure)
        if found is None or ended_well(found[0]):
            return None
        status, name = found
        if status["node"] not in tell:
            return _went_away(failure, status, name)
        failure = tell[status["node"]]
    return None


def _went_away(failure: Mapping[str, t.Any], status: Status, name: str | None) -> dict[str, t.Any]:
    case = "named" if name else "went_away"
    which = {"name": name} if name else {"rank": failure["rank"]}
    values = {"node": status["node"], **which, "told_by": failure["node"], "line": failure["line"]}
    return {
        "node": status["node"],
        "node_rank": status["node_rank"],
        "line": None,
        "rank": None if name else failure["rank"],
        "evidence": failure["evidence"],
        "exit_code": status["process"]["exit_status"],
        "remedy": ENDS["peer_died"][case].remedy,
        **with_sentence("peer_died", case, values),
    }


def echo_of(failure: Mapping[str, t.Any]) -> Echo:
    """Return the fields to keep of a failure that follows from another one."""
    kept = ("node", "class", "message", "line", "case", "values")
    return t.cast("Echo", {name: failure[name] for name in kept if failure.get(name) is not None})


def _unfit(statuses: list[Status]) -> FirstFailure | None:
    """Return the failure of nodes that could not start although others could, so that the config is fine; else None."""
    unfit = [status for status in statuses if status["unfit"]]
    if not unfit or len(unfit) == len(statuses):
        return None
    first, *others = unfit
    return {
        **_not_ready(first),
        "node_rank": first["node_rank"],
        "origin": "node",
        "evidence": [],
        "rank": None,
        "named": {},
        "remedy": remedy_of(first["problems"]),
        "exit_code": None,
        "echoes": [_not_ready(other) for other in others],
    }


def _not_ready(status: Status) -> Echo:
    said, problems = said_of_node(status), status["problems"]
    case = problems[0]["code"] if problems else "said" if said else ""
    values = {**({"said": said} if said else {}), **({"problems": problems} if problems else {})}
    return echo_of({"node": status["node"], "class": "not_ready", **with_sentence("not_ready", case, values)})


def was_interrupted(statuses: Iterable[Status]) -> bool:
    """Return whether somebody stopped the run, or a node of it, while it was followed."""
    return any(status["following"]["interrupted"] for status in statuses)


def _cause(status: Status, unfinished: bool, last: Lagging | Late | None) -> dict[str, t.Any] | None:
    """Return the most likely cause in a node's log and end, and the node's place in the order."""
    failed = has_failed(status) or unfinished
    process, log, machine = status["process"], status["log"], status["machine"]
    texts = texts_of(log, machine)
    if not failed:
        # A node that ended well has no failure, whatever its log says; a node that we stopped only has its own causes.
        texts = [text for text in texts if status["status"] != "exited" and is_own(text)]
    end = end_of_node(status, last) if failed else None
    found_in: list[EndedBy] = [*t.cast("list[EndedBy]", texts), *([end] if end else [])]
    found = min(found_in, key=_nearness, default=None)
    if found is None:
        return None
    ended_at = process["ended_at"] or math.inf
    order: tuple[float, ...]
    if is_own(found):
        order = (1, found["blame"] // 10, not failed, found["blame"], ended_at)
    else:
        tier = 3 if any(text["class"] in _OF_A_PEER for text in texts) else 2
        order = (tier, not broken_links(machine["changes"]), ended_at, found["blame"])
    last_lines = log["last_lines"]
    is_ours = "case" in found
    evidence = [*map(_rank_in_words, status["hang"]["ranks"]), *last_lines]
    return {
        "node": status["node"],
        "node_rank": status["node_rank"],
        "class": found["class"],
        "message": found["line"],
        "line": None if is_ours else found["line"],
        "case": found.get("case"),
        "values": found.get("values"),
        "evidence": evidence if is_ours else _around(found["line"], last_lines),
        "rank": found.get("rank"),
        "remedy": found["remedy"],
        "exit_code": process["exit_status"],
        "failed": failed,
        "own": is_own(found),
        "order": order,
    }


def texts_of(log: NodeLog, machine: Machine) -> list[Failure]:
    """Return the possible causes: failures in the log and the kernel log, else the log's warnings and last lines."""
    changes = machine["changes"]
    known = [*log["failures"], *(changes["kernel_failures"] if changes else [])]
    errors = [failure for failure in known if not is_warning(failure)]
    last = [*(log["failures_at_end"] or []), *log["unusual_at_end"]]
    # A launcher stops its processes for a reason, which another line may show.
    says_more = any(failure["class"] != "sigterm" for failure in known)
    return errors or (known if says_more else [*known, *last])


def is_own(failure: Failure) -> bool:
    """Return whether a failure lies on the node that printed it, not on the network or a peer."""
    return not failure["echo"] and failure["blame"] < _FIRST_OF_NETWORK


def _nearness(failure: Failure) -> tuple[bool, bool, int]:
    """Order the failures of one node: its own causes, then a peer's, then the failure of one of its processes."""
    return failure["echo"], failure["class"] not in _OF_A_PEER, failure["blame"]


def _rank_in_words(rank: RankSeen) -> str:
    """Return what a rank was doing while the run hung, innermost frame first."""
    parts = [f"rank {rank['rank']}: state {rank['state']}", f"{rank['busy']:.0%} of a processor"]
    parts += [rank["waits_in"]] if rank["waits_in"] else []
    return ", ".join([*parts, " < ".join(rank["stack"] or ["no stack"])])


def _watched(late: Late, statuses: Iterable[Status]) -> dict[str, t.Any]:
    """Return the known facts of a hang that a watchdog ended: no rank that waited is to blame."""
    status = next(status for status in statuses if status["node"] == late.node)
    case, values = held_up(late)
    return {
        "node": late.node,
        "node_rank": status["node_rank"],
        "rank": late.rank,
        "exit_code": status["process"]["exit_status"],
        "remedy": ENDS["watchdog"][case].remedy,
        **with_sentence("watchdog", case, values),
    }


def _around(line: str, last_lines: list[str]) -> list[str]:
    """Return the last lines of a log if they contain the evidence, else the evidence alone."""
    return last_lines if any(line in " ".join(candidate.split()) for candidate in last_lines) else [line]
