# SPDX-License-Identifier: GPL-3.0-or-later
"""Inspecting the nodes of a plan, all at once, while a file of rank 0 is in the data cache that they should share."""

from __future__ import annotations

import contextlib
import time
import typing as t
from collections.abc import Callable, Iterator, Mapping

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from ...module_utils.node.phase import NodeError
from ..answer_values import Line
from ..contracts import Plan
from ..preflight.clock import with_offset
from ..preflight.needs import inspection_of, shared_folder
from .answers import Ask, Phase
from .on_each import Done, on_each


class _Inspected(TypedDict):
    # Each fact is looked at by `preflight.facts.believed`.
    facts: dict[str, t.Any]


class _Shared(TypedDict):
    file: Line | None


INSPECT = Phase("inspect", TypeAdapter(_Inspected))
SHARED_FILE = Phase("shared_file", TypeAdapter(_Shared))


class Inspected(t.NamedTuple):
    """The ``facts`` of nodes, the ``errors`` of those without, and the path of the file that was in the data cache."""

    facts: dict[str, dict[str, t.Any]]
    errors: dict[str, NodeError]
    probe: str | None


def inspected(
    plan: Plan,
    ask: Mapping[str, Ask],
    at_once: int,
    late: Callable[[], Mapping[str, NodeError]] = dict,
    *,
    check_mode: bool = False,
) -> Inspected:
    """Inspect the nodes of a plan that ``ask`` has, ``at_once`` at the same time.

    ``late`` returns the nodes that take too long, see `on_each`. Nothing changes on a node but for the file, which is
    gone at the end; in check mode there is none.
    """
    parts = {part["node"]: part for part in plan["nodes"] if part["node"] in ask}

    def inspect(name: str, probe: str | None) -> dict[str, t.Any]:
        asked = inspection_of(plan, parts[name])
        if probe:
            asked["paths"].append(probe)
        sent = time.time()
        facts = ask[name](INSPECT, inspection=asked, check_mode=True)["facts"]
        try:
            return with_offset(facts, sent, time.time())
        except ValueError as error:
            raise NodeError(str(error)) from None

    def given_up() -> Iterator[Done[dict[str, t.Any]]]:
        for name, error in late().items():
            yield name, None, error

    rank_0 = plan["nodes"][0]["node"]
    folder = shared_folder(plan) if rank_0 in ask and not check_mode else None
    names, probe, refused = list(parts), None, {}
    if folder:
        try:
            probe = ask[rank_0](SHARED_FILE, shared_file=folder, check_mode=True)["file"]
        except NodeError as error:
            names.remove(rank_0)
            refused[rank_0] = error
    try:
        facts, errors = on_each(names, lambda name: inspect(name, probe), at_once, given_up)
    finally:
        if probe:
            with contextlib.suppress(NodeError):
                ask[rank_0](SHARED_FILE, shared_file=probe, check_mode=True)
    return Inspected(facts, refused | errors, probe)
