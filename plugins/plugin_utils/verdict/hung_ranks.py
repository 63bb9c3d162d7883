# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rank blocks the others in a run that hangs, and which processes do not answer: by evidence only."""

from __future__ import annotations

import re
import typing as t
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from ...module_utils.node.contracts import RankSeen
from ..contracts import Hang, Status
from .missing_ranks import Late
from .named_nodes import NodeNames

# proc(5); a process that sleeps (S), runs (R) or idles in the kernel (I) may be waiting for a peer.
_HALTED = {"T": "is stopped by a signal", "t": "is stopped by a debugger", "Z": "has ended"}
_IN_KERNEL = {"D": "waits in the kernel"}
_BUSY = 0.5
_COMPARED_FRAMES = 3
# Nodes of one job take each step together; a log may lag by one buffer.
_MOST_AHEAD = 1000


class Lagging(t.NamedTuple):
    """The node, its rank if known, and the evidence as a sentence."""

    node: str
    rank: int | None
    evidence: str


class _Seen(t.NamedTuple):
    node: str
    rank: RankSeen


def lagging(statuses: Iterable[Status], goal: int | None = None) -> Lagging | None:
    """Return which rank or node blocks the others, or None if the nodes' statuses do not show it.

    ``goal`` is the last step of the run, None if unknown.
    """
    statuses = list(statuses)
    seen = [_Seen(status["node"], rank) for status in statuses for rank in status["hang"]["ranks"]]
    return (
        _odd_state(seen, _HALTED)
        or _behind(statuses, goal)
        or _odd_state(seen, _IN_KERNEL)
        or _odd_stack(seen)
        or _odd_load(seen)
    )


def _behind(statuses: Sequence[Status], goal: int | None) -> Lagging | None:
    """Return the node whose log is steps behind all other logs, if each node prints steps.

    Impossible step numbers in a log show nothing.
    """
    steps = {status["node"]: status["steps"]["last_step"] for status in statuses}
    known = {node: step for node, step in steps.items() if step is not None and (goal is None or step <= goal)}
    if len(known) < max(2, len(steps)):
        return None
    (last, behind), (_other, step) = sorted(known.items(), key=lambda item: item[1])[:2]
    if not 0 < step - behind <= _MOST_AHEAD:
        return None
    return Lagging(last, None, f"its last step is {behind}; every other node reached {step} or later")


def _odd_state(seen: Sequence[_Seen], states: Mapping[str, str]) -> Lagging | None:
    odd = [one for one in seen if one.rank["state"] in states]
    if not odd or 2 * len(odd) > len(seen):
        return None
    rank = odd[0].rank
    where = f" in {rank['waits_in']}" if rank["state"] in _IN_KERNEL and rank["waits_in"] else ""
    return _named(odd[0], f"it {states[rank['state']]}{where} ({len(odd)} of {len(seen)} ranks)")


def _odd_stack(seen: Sequence[_Seen]) -> Lagging | None:
    known = [one for one in seen if one.rank["stack"]]
    # Without line numbers: ranks that wait in one loop may be on different lines of it.
    odd, most = _minority(
        known, lambda one: tuple(frame.rpartition(":")[0] for frame in _frames(one)[:_COMPARED_FRAMES])
    )
    if odd is None or most is None:
        return None
    evidence = f"it is in {_frames(odd)[0]}, while most of the {len(known)} ranks are in {_frames(most)[0]}"
    return _named(odd, evidence)


def _frames(seen: _Seen) -> list[str]:
    return seen.rank["stack"] or []


def _odd_load(seen: Sequence[_Seen]) -> Lagging | None:
    odd, most = _minority(seen, lambda one: one.rank["busy"] > _BUSY)
    if odd is None or most is None:
        return None
    used, others = (round(one.rank["busy"] * 100) for one in (odd, most))
    return _named(odd, f"it uses {used} % of a processor, while most of the {len(seen)} ranks use about {others} %")


def _minority(seen: Sequence[_Seen], key: Callable[[_Seen], Hashable]) -> tuple[_Seen | None, _Seen | None]:
    """Return one of the rarest kind and one of the majority kind; None if no kind has more than half."""
    kinds = Counter(map(key, seen)).most_common()
    if len(kinds) < 2 or 2 * kinds[0][1] <= len(seen):
        return None, None
    most, rarest = kinds[0][0], kinds[-1][0]
    return next(one for one in seen if key(one) == rarest), next(one for one in seen if key(one) == most)


def _named(seen: _Seen, evidence: str) -> Lagging:
    return Lagging(seen.node, seen.rank["rank"], evidence)


# "Process 3487984 on node 172.16.64.213 managing GPU 5", below one of these; see docs.nvidia.com, NCCL, RAS.
_TITLES = ("INCOMPLETE", "DEAD")
_OTHER_TITLE = re.compile(r"#.*|[A-Z]+|Errors|Warnings")
_PROCESS = re.compile(r"Process \d+ on node (\S+) managing GPUs? ([\d, ]+)")
_PREFIX = "NCCL RAS: "


def unresponsive(hangs: Iterable[Hang], names: NodeNames) -> tuple[Late | None, list[str]]:
    """Return the process that does not answer, if all that do not are on one node, and the report as evidence.

    ``names`` finds the nodes in the report; unknown ones are ignored.
    """
    report = next((hang["ras"] for hang in hangs if hang["ras"]), [])
    found: dict[str, set[str]] = {}
    below = False
    for line in map(str.strip, report):
        process = _PROCESS.fullmatch(line)
        if _OTHER_TITLE.fullmatch(line):
            below = line in _TITLES
        elif below and process:
            found.setdefault(names.host(process[1]) or "", set()).update(re.findall(r"\d+", process[2]))
    lines = [f"{_PREFIX}{line.strip()}" for line in report]
    if len(found) != 1 or "" in found:
        return None, lines
    node, gpus = next(iter(found.items()))
    which = f"GPU {', '.join(sorted(gpus, key=int))}"
    return Late(node, None, "its process does not answer to NCCL's RAS", f"{which} of {node}"), lines
