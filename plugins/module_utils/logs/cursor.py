# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of reading a log: a *cursor*, plain data that survives JSON::

{"offset": 5120, "fingerprint": 2774340567, "memory": {},
 "attempt": 1, "step": 7, "steps_seen": 7, "steps_total": 30,
 "transports": ["NET/IB"], "world_size": 16,
 "settings": {"iterations": [30.0]}, "signs": ["[rank-"], "ranks": ["rank 15"], "conflicts": 0,
 "starts": {"node1:77": {"count": 1, "last": ""}}, "arguments": {"fp8": ["hybrid"]}}
"""

from __future__ import annotations

import typing as t

from .starts import Start


class Seen(t.TypedDict):
    """The facts from the log so far beside its steps.

    ``transports`` lists what ``named_networks`` found in the whole log, sorted. ``world_size`` is the last number of
    ranks that a process reported, or None. ``settings`` is the result of ``add_settings``, ``ranks`` of ``add_ranks``,
    and ``arguments`` of ``add_arguments``. ``signs`` lists the grammar's texts that prove a rank took part, sorted.
    ``conflicts`` counts the steps that were printed again in a row with another step time or loss.
    """

    transports: list[str]
    world_size: int | None
    settings: dict[str, list[float]]
    signs: list[str]
    ranks: list[str]
    conflicts: int
    arguments: dict[str, list[str]]


class Cursor(Seen):
    """How far a log has been read.

    ``offset`` is the number of bytes read, and ``fingerprint`` a checksum of the last of them: it shows when a log was
    replaced or cut off. ``step`` and ``steps_total`` come from the last step line and are None before the first;
    ``steps_seen`` is how many steps the attempt has so far. ``starts`` is the result of ``add_starts``, and ``memory``
    is the grammar's.
    """

    offset: int
    fingerprint: int
    attempt: int
    step: int | None
    steps_seen: int
    steps_total: int | None
    starts: dict[str, Start]
    memory: dict[str, t.Any]


def new_cursor(attempt: int = 1) -> Cursor:
    """Return the cursor at the beginning of a log."""
    return {
        "offset": 0,
        "fingerprint": 0,
        "attempt": attempt,
        "step": None,
        "steps_seen": 0,
        "steps_total": None,
        "transports": [],
        "world_size": None,
        "settings": {},
        "signs": [],
        "ranks": [],
        "conflicts": 0,
        "starts": {},
        "arguments": {},
        "memory": {},
    }


def checked_cursor(given: t.Mapping[str, t.Any] | None) -> Cursor:
    """Return a cursor that can be changed: a copy of the given one, or a first one; ValueError if it is not one."""
    start = new_cursor()
    if not given:
        return start
    if set(given) != set(start):
        raise ValueError(f"cursor has the keys {sorted(given)}, but must have {sorted(start)}, as returned by a call")
    if not isinstance(given["memory"], dict):
        raise ValueError(f"cursor.memory is {given['memory']!r}, but must be a dict, as returned by a call")
    for key in ("transports", "signs", "ranks"):
        texts = given[key]
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ValueError(f"cursor.{key} is {texts!r}, but must be a list of strings, as returned by a call")
    for key, is_value in (("settings", _are_numbers), ("arguments", _are_texts), ("starts", _is_start)):
        if not isinstance(given[key], dict) or not all(map(is_value, given[key].values())):
            raise ValueError(f"cursor.{key} is {given[key]!r}, but must be a dict, as returned by a call")
    for key, first in sorted(start.items()):
        if isinstance(first, (dict, list)) or (given[key] is None and first is None):
            continue
        value, least = given[key], 1 if key == "attempt" else 0
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"cursor.{key} is {value!r}, but must be a whole number of at least {least}")
    return t.cast("Cursor", {**given, "memory": dict(given["memory"])})


def _are_numbers(value: t.Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, (int, float)) for one in value)


def _are_texts(value: t.Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_start(value: t.Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("count"), int) and isinstance(value.get("last"), str)
