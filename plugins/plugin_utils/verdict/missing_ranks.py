# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the rank that did not enter the collective that others wait in, from the dumps of PyTorch's flight recorder.

A rank that others wait for may itself wait for a third rank, in a collective of another process group. The rank to
blame is at the end of that chain: others wait for it, and it waits for nobody.
"""

from __future__ import annotations

import re
import typing as t
from collections import Counter
from collections.abc import Collection, Mapping
from math import prod

from ...module_utils.node.contracts import GroupSeen, Pending
from ..contracts import Hang

# Every rank contributes the same amount to these.
_SAME_SIZES = frozenset({"all_reduce", "broadcast", "_allgather_base", "_reduce_scatter_base"})
_SHAPE = re.compile(r"\[(\d+(?:, \d+)*)?\]")
_MOST_LINES = 12
_MOST_NAMED = 8

_Key = tuple[str, str, tuple[tuple[int, ...], ...]]


class Late(t.NamedTuple):
    """The node, its first rank that others wait for, the evidence as a sentence, and the ranks in words (``who``).

    The rank is None if only its GPU is known. ``several`` tells whether ``who`` means several ranks.
    """

    node: str
    rank: int | None
    evidence: str
    who: str
    several: bool = False


class Found(t.NamedTuple):
    """The result of the dumps: a rank that is ``late``, one without a dump that may be, and each group's collective."""

    late: Late | None
    silent: Late | None
    lines: list[str]


class _Dumps(t.NamedTuple):
    """Each rank's collectives by group, its node and GPU, and the ranks that left no dump."""

    groups: dict[int, dict[_Key, GroupSeen]]
    nodes: dict[int, str]
    places: dict[int, int]
    silent: set[int]

    def members(self, key: _Key, ranks: Collection[int]) -> list[int]:
        """Return which of some ranks belong to a group: by its list, or else because they have used it."""
        spans = [range(first, first + count * step, step) for first, count, step in key[2] if step]
        if not spans:
            return sorted(rank for rank in ranks if key in self.groups.get(rank, ()))
        if sum(map(len, spans)) <= len(ranks):
            return sorted(rank for span in spans for rank in span if rank in ranks)
        return sorted(rank for rank in ranks if any(rank in span for span in spans))


class _Stuck(t.NamedTuple):
    """A collective, or a transfer, that some ranks are ``inside`` of, and the ranks that are ``absent`` from it."""

    key: _Key
    number: int
    inside: dict[int, Pending]
    absent: list[int]
    silent: list[int]


def missing_ranks(hangs: Mapping[str, Hang]) -> Found:
    """Return the rank that others wait for, as far as the dumps of a run's nodes show it."""
    dumps = _dumps_of(hangs)
    stuck = [*_stuck_collectives(dumps), *_stuck_transfers(dumps)]
    late = _different(dumps, stuck) or _absent(dumps, stuck) or _not_started(dumps, stuck)
    return Found(late, _silent(dumps, stuck), [_in_words(one, dumps) for one in stuck[:_MOST_LINES]])


def _dumps_of(hangs: Mapping[str, Hang]) -> _Dumps:
    groups: dict[int, dict[_Key, GroupSeen]] = {}
    nodes: dict[int, str] = {}
    places: dict[int, int] = {}
    unread: set[int] = set()
    for node, hang in hangs.items():
        for seen in hang["ranks"]:
            nodes[seen["rank"]] = node
            places |= {seen["rank"]: seen["local_rank"]} if "local_rank" in seen else {}
        for recorded in hang["recorded"]:
            nodes[recorded["rank"]] = node
            if recorded["groups"] is None:
                unread.add(recorded["rank"])
            else:
                groups[recorded["rank"]] = {_key(group): group for group in recorded["groups"]}
    return _Dumps(groups, nodes, places, nodes.keys() - groups.keys() - unread)


def _key(group: GroupSeen) -> _Key:
    return group["name"], group["description"], tuple(tuple(span) for span in group["members"])


def _stuck_collectives(dumps: _Dumps) -> list[_Stuck]:
    """Return for each group the first collective that a rank is inside of."""
    first: dict[_Key, int] = {}
    pending: dict[tuple[_Key, int], dict[int, Pending]] = {}
    for rank, groups in sorted(dumps.groups.items()):
        for key, group in groups.items():
            for one in group["pending"]:
                if not one["is_transfer"]:
                    pending.setdefault((key, one["number"]), {})[rank] = one
                    first[key] = min(first.get(key, one["number"]), one["number"])
    return [
        _Stuck(
            key,
            number,
            pending[key, number],
            [rank for rank in dumps.members(key, dumps.groups) if _entered(dumps, rank, key) < number],
            dumps.members(key, dumps.silent),
        )
        for key, number in first.items()
    ]


def _entered(dumps: _Dumps, rank: int, key: _Key) -> int:
    group = dumps.groups[rank].get(key)
    return group["entered"] if group else 0


def _stuck_transfers(dumps: _Dumps) -> list[_Stuck]:
    """Return the transfers that the other end has not begun."""
    waiting = {
        (rank, one["peer"]): (key, one)
        for rank, groups in sorted(dumps.groups.items())
        for key, group in groups.items()
        for one in group["pending"]
        if one["is_transfer"] and one["peer"] is not None
    }
    return [
        _Stuck(
            key,
            one["number"],
            {rank: one},
            [peer] if peer in dumps.groups and (peer, rank) not in waiting else [],
            [peer] if peer in dumps.silent else [],
        )
        for (rank, peer), (key, one) in waiting.items()
        if peer is not None
    ]


def _absent(dumps: _Dumps, stuck: list[_Stuck]) -> Late | None:
    """Return the ranks that others wait for and that wait for nobody, unless most ranks are like that."""
    waiting = {rank for one in stuck for rank in one.inside}
    late = {rank for one in stuck for rank in one.absent} - waiting
    if not late or 2 * len(late) > len(dumps.groups):
        return None
    node, named = _of_one_node(late, dumps)
    example = next(one for one in stuck if set(one.absent) & set(named))
    what = _what(next(iter(example.inside.values())), example)
    waits = "waits" if len(example.inside) == 1 else "wait"
    evidence = f"{_is(named)} not in {what}, where {_ranks(example.inside)} {waits}"
    return Late(node, named[0], evidence, _who(named, dumps), len(named) > 1)


def _different(dumps: _Dumps, stuck: list[_Stuck]) -> Late | None:
    """Return the ranks that are in another collective than most of their group, or that pass another size."""
    for one in stuck:
        kinds = {rank: (at["operation"], _amount(at)) for rank, at in one.inside.items()}
        counted = Counter(kinds.values()).most_common()
        if len(counted) > 1 and 2 * counted[0][1] > len(kinds):
            usual = counted[0][0]
            node, named = _of_one_node({rank for rank, kind in kinds.items() if kind != usual}, dumps)
            as_usual = next(rank for rank, kind in kinds.items() if kind == usual)
            other, most = (_with_size(one.inside[rank]) for rank in (named[0], as_usual))
            evidence = f"as number {one.number} of {_group(one.key)} {_is(named)} in {other}, most others in {most}"
            return Late(node, named[0], evidence, _who(named, dumps), len(named) > 1)
    return None


def _amount(pending: Pending) -> str:
    """Return the amount that a rank passes if all pass the same; its shape may differ between ranks."""
    if pending["operation"] not in _SAME_SIZES:
        return ""
    return _SHAPE.sub(lambda shape: str(prod(map(int, (shape[1] or "1").split(", ")))), pending["sizes"])


def _with_size(pending: Pending) -> str:
    sizes = pending["sizes"] if pending["operation"] in _SAME_SIZES else ""
    return f"{pending['operation']} {sizes}".rstrip()


def _not_started(dumps: _Dumps, stuck: list[_Stuck]) -> Late | None:
    """Return the ranks whose GPU has not started what most others have, if the start is recorded."""
    for one in stuck:
        behind = {rank for rank, at in one.inside.items() if not at["started"]}
        if behind and not one.absent and 2 * len(behind) < len(one.inside):
            node, named = _of_one_node(behind, dumps)
            what = _what(one.inside[named[0]], one)
            evidence = f"its GPU has not started {what}; most others have"
            return Late(node, named[0], evidence, _who(named, dumps), len(named) > 1)
    return None


def _silent(dumps: _Dumps, stuck: list[_Stuck]) -> Late | None:
    """Return the only rank that left no dump, if others wait and it is in their group."""
    awaited = {rank for one in stuck for rank in one.silent}
    if len(dumps.silent) != 1 or not awaited or any(one.absent for one in stuck):
        return None
    (rank,) = awaited
    evidence = "it left no flight-recorder dump; the other ranks of its group did, and are waiting"
    return Late(dumps.nodes[rank], rank, evidence, _who([rank], dumps))


def _of_one_node(ranks: Collection[int], dumps: _Dumps) -> tuple[str, list[int]]:
    """Return the node that has most of some ranks, and its ranks among them."""
    by_node: dict[str, list[int]] = {}
    for rank in sorted(ranks):
        by_node.setdefault(dumps.nodes[rank], []).append(rank)
    return max(by_node.items(), key=lambda item: len(item[1]))


def _who(ranks: list[int], dumps: _Dumps) -> str:
    places = [dumps.places[rank] for rank in ranks if rank in dumps.places]
    gpus = f" (GPU {', '.join(map(str, places))})" if places and len(places) == len(ranks) else ""
    named = _ranks(ranks)
    return f"{named[0].upper()}{named[1:]} on {dumps.nodes[ranks[0]]}{gpus}"


def _is(ranks: list[int]) -> str:
    return "it is" if len(ranks) == 1 else "they are"


def _ranks(ranks: Mapping[int, t.Any] | Collection[int]) -> str:
    numbers = [str(rank) for rank in sorted(ranks)]
    more = len(numbers) - _MOST_NAMED
    text = ", ".join(numbers[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"rank{'s' if len(numbers) > 1 else ''} {text}"


def _group(key: _Key) -> str:
    return f"group {key[1] or key[0]}"


def _what(pending: Pending, stuck: _Stuck) -> str:
    sizes = f" of {pending['sizes']}" if pending["sizes"] else ""
    return f"{pending['operation']} {stuck.number}{sizes} of {_group(stuck.key)}"


def _in_words(stuck: _Stuck, dumps: _Dumps) -> str:
    """Return which ranks wait in a collective, and which are not in it."""
    what = _what(next(iter(stuck.inside.values())), stuck)
    parts = [f"flight recorder: {what}: {_ranks(stuck.inside)} inside"]
    if stuck.absent:
        nodes = ", ".join(dict.fromkeys(dumps.nodes[rank] for rank in stuck.absent))
        parts.append(f"{_ranks(stuck.absent)} not, on {nodes}")
    if stuck.silent:
        parts.append(f"{_ranks(stuck.silent)} without a dump")
    if len(stuck.inside) == sum(count for _first, count, _step in stuck.key[2]):
        parts.append("the whole group: a link or a GPU is stuck, and no rank is late")
    return ", ".join(parts)
