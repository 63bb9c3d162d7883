# SPDX-License-Identifier: GPL-3.0-or-later
"""The content of a rank's flight-recorder dump: the collectives that it has entered, and those not finished.

A dump has ``entries``, a row for each of the last collectives and transfers of the rank, and ``pg_config``, by process
group; see torch/csrc/distributed/c10d/FlightRecorder.hpp (version 2.10 of the format, in PyTorch 2.13) and
FlightRecorderDetail.hpp. Collectives of a group are numbered from 1 on, the same on each of its ranks. ``pg_status`` is
of no use: in a group with both, its last numbers may be of collectives or of transfers.
"""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from .contracts import GroupSeen, Pending

# "nccl:all_reduce", "nccl:send 1->2", "nccl:recv 3<-0"; the ranks are those within the group.
_NAME = re.compile(r"(?:\w+:)?(?P<operation>\w+)(?: (?P<own>\d+)(?:->|<-)(?P<peer>\d+))?")
_NAME_OF_END = re.compile(r"(?:\w+:)?coalesced")
_MOST_GROUPS = 64
_MOST_PENDING = 3
_MOST_RANKS = 1 << 20
_MOST_SPANS = 64
_CHARACTERS = 80

_Row = t.Dict[str, t.Any]


def groups_in(dump: t.Any) -> list[GroupSeen]:
    """Return the process groups that a rank has used, at most 64; ValueError if it is not such a dump.

    ``members`` are global ranks as spans of ``[first, count, step]``, empty if the dump does not have them. ``entered``
    is the number of the last collective that the rank has entered, and ``pending`` are the first three collectives, and
    the first three transfers, that it has entered and not finished.
    """
    if not isinstance(dump, dict) or not isinstance(dump.get("entries", []), list):
        raise ValueError("no dump of the flight recorder: it has no entries")
    rows: dict[tuple[str, str], list[_Row]] = {}
    for row in dump.get("entries", []):
        named = row.get("process_group") if isinstance(row, dict) else None
        if isinstance(named, (tuple, list)) and len(named) == 2:
            name, description = (_text(part)[:_CHARACTERS] for part in named)
            rows.setdefault((name, description), []).append(row)
    return [_group(key, of_group, dump) for key, of_group in sorted(rows.items())[:_MOST_GROUPS]]


def _group(key: tuple[str, str], rows: list[_Row], dump: _Row) -> GroupSeen:
    name, description = key
    members = _ranks(_of(_of(dump, "pg_config"), name).get("ranks"))
    collectives, open_transfers = _sorted(rows)
    entered = max([0, *(_number(row, "collective_seq_id") for row in collectives)])
    # Collectives of a group run one after the other; if several are started as one, only their end has a state.
    done = max([0, *(_number(row, "collective_seq_id") for row in collectives if _is_done(row))])
    first: dict[int, _Row] = {}
    for row in collectives:
        if _number(row, "collective_seq_id") > done:
            first.setdefault(_number(row, "collective_seq_id"), row)
    return {
        "name": name,
        "description": "" if description == "undefined" else description,
        "members": _spans(members),
        "entered": entered,
        "pending": [
            *(_pending(row, number, members) for number, row in sorted(first.items())[:_MOST_PENDING]),
            *(_pending(row, _number(row, "p2p_seq_id"), members) for row in open_transfers[:_MOST_PENDING]),
        ],
    }


def _sorted(rows: list[_Row]) -> tuple[list[_Row], list[_Row]]:
    """Return the collectives of a group, and its transfers that are not done.

    Transfers that are started together have only the state of their end, which is recorded as a collective with their
    numbers (initWork and endCoalescing in ProcessGroupNCCL.cpp). Others are done in any order, because each pair of
    ranks has a communicator of its own.
    """
    collectives, transfers = [], []
    end: _Row = {}
    for before, row in zip(reversed([{}, *rows[:-1]]), reversed(rows)):
        is_end = _NAME_OF_END.fullmatch(_text(row.get("profiling_name"))) is not None
        if is_end and (row.get("is_p2p") or (before.get("is_p2p") and _numbers(before) == _numbers(row))):
            end = row
        elif not row.get("is_p2p"):
            collectives.append(row)
        elif not _is_done(end if end and _numbers(end) == _numbers(row) else row):
            transfers.append(row)
    return collectives[::-1], transfers[::-1]


def _pending(row: _Row, number: int, members: list[int]) -> Pending:
    named = _NAME.match(_text(row.get("profiling_name")))
    peer = int(named["peer"]) if named and named["peer"] and len(named["peer"]) < 10 else None
    sizes = row.get("input_sizes") or row.get("output_sizes") or []
    return {
        "number": number,
        "operation": named["operation"][:_CHARACTERS] if named else "",
        "sizes": ", ".join(map(_size, sizes))[:_CHARACTERS] if isinstance(sizes, list) else "",
        "started": row.get("state") == "started",
        "is_transfer": bool(row.get("is_p2p")),
        "peer": members[peer] if peer is not None and peer < len(members) else None,
    }


def _is_done(row: _Row) -> bool:
    # Gloo records no events, so the state of its rows stays the first one.
    return row.get("state") == "completed" or row.get("retired") is True


def _numbers(row: _Row) -> tuple[int, int]:
    return _number(row, "collective_seq_id"), _number(row, "p2p_seq_id")


def _text(value: t.Any) -> str:
    """Return a text; nothing for other values, because writing out nested values may take for ever."""
    return value if isinstance(value, str) else ""


def _size(size: t.Any) -> str:
    return str([number for number in size if isinstance(number, int)]) if isinstance(size, list) else ""


def _of(values: _Row, name: str) -> _Row:
    found = values.get(name)
    return found if isinstance(found, dict) else {}


def _number(row: _Row, name: str) -> int:
    found = row.get(name)
    return found if isinstance(found, int) and 0 <= found < 2**53 else 0


def _ranks(text: t.Any) -> list[int]:
    """Return the ranks of a group from a text such as ``[0, 8, 16]``."""
    numbers = re.findall(r"\b\d{1,9}\b", text) if isinstance(text, str) else []
    return [int(number) for number in numbers[:_MOST_RANKS]]


def _spans(ranks: list[int]) -> list[list[int]]:
    """Return ranks as spans of first, count and step; none if they are too irregular to be short."""
    spans: list[list[int]] = []
    for rank in ranks:
        last = spans[-1] if spans else [rank, 0, 0]
        first, count, step = last
        if count == 1 and rank > first:
            last[1:] = [2, rank - first]
        elif count > 1 and rank == first + count * step:
            last[1] += 1
        else:
            spans.append([rank, 1, 1])
    return spans if len(spans) <= _MOST_SPANS else []
