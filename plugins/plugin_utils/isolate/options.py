# SPDX-License-Identifier: GPL-3.0-or-later
"""What an isolation is asked for: its hosts and options, and everything that is wrong with them."""

from __future__ import annotations

import re
import typing as t
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from ...module_utils.node.probes.known import PROBES
from ..answer_values import first_wrong
from ..contracts import Plan
from .choice import looked_for
from .planned import PlannedTests

# How many times as slow a rehearsal makes a bad link.
BAD_LINK = 1.5
_MOST_SLOWDOWN = 10.0
_MOST_EFFECT = 1000
MOST_DAYS = 36500
# ib_write_bw takes two ports for each adapter, 64 ports further each time; a node has up to 16 adapters.
_PORTS_OF_ADAPTERS = 64 * 32
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass
class Options:
    """The hosts in the order of the inventory, how many times as slow a rehearsal makes each, and all arguments.

    ``training`` is the plan of the training that the hosts are held as, if any.
    """

    hosts: list[str]
    slowdowns: dict[str, t.Any]
    arguments: dict[str, t.Any]
    training: Plan | None = None

    def bad_links(self) -> dict[frozenset[str], float]:
        """Return the links that are made slow, and how many times as slow."""
        if not self.arguments["rehearsal"]:
            return {}
        return {frozenset(_ends(link)): BAD_LINK for link in self.arguments["rehearsal_bad_links"]}

    def slowdown(self, host: str) -> float:
        """Return how many times as slow a host is made; an inventory may have it as text."""
        return float(self.slowdowns.get(host, 1.0))

    def plan(self, tests: PlannedTests) -> dict[str, t.Any]:
        """Return the content of plan.json: the tests, their nodes, and the options."""
        slow = {host: by for host in self.hosts if (by := self.slowdown(host)) != 1.0}
        asked = {name: value for name, value in self.arguments.items() if name != "name"}
        if self.training:
            asked["image"] = self.training["nodes"][0]["image"]
        return {"nodes": self.hosts, "options": asked, "rehearsal_slowdowns": slow, "tests": tests}


class _Options(TypedDict):
    node_dir: str


class _Planned(TypedDict):
    nodes: list[str]
    options: _Options


def held_by(plan: t.Any) -> tuple[list[str], str]:
    """Return the nodes of an isolation with such a plan.json, and its folder on each; ValueError for other plans."""
    try:
        planned = TypeAdapter(_Planned).validate_python(plan, strict=True)
    except ValidationError as error:
        raise ValueError(f"its plan.json does not belong to an isolation ({first_wrong(error)})") from None
    return planned["nodes"], planned["options"]["node_dir"]


def not_in_play(name: str, nodes: Iterable[str], hosts: Collection[str]) -> list[str]:
    """Return an error for each node of the isolation that is not in the play that stops it."""
    return [
        f"{node} is not in this play, so isolation {name} keeps it: stop it with the inventory and the limit of that "
        "isolation"
        for node in nodes
        if node not in hosts
    ]


def wrong_quarantine(name: str, days: float, bad: Collection[str], hosts: Collection[str]) -> list[str]:
    """Return the errors that keep the ``bad`` nodes of an isolation from being left out for so many days."""
    wrong = []
    if not 0 < days <= MOST_DAYS:
        wrong.append(f"isolate_quarantine_days is {days:g}, but must be more than 0 and at most {MOST_DAYS}, such as 7")
    if not bad:
        wrong.append(f"Isolation {name} suspects nobody, so there is no node to leave out")
    wrong += [
        f"{node} is not in this inventory; pass the isolation's inventory with -i, or slurm_exclude.txt to Slurm"
        for node in bad
        if node not in hosts
    ]
    return wrong


def wrong_options(options: Options) -> list[str]:
    """Return every error in the options, as sentences without their full stop."""
    arguments = options.arguments
    wrong = []
    if arguments["name"] and not _NAME.fullmatch(arguments["name"]):
        wrong.append(
            f"isolate_name is {arguments['name']!r}, but must be up to 100 letters, digits, dots, dashes and "
            "underscores"
        )
    with_adapters = "ib_write_bw" in looked_for(arguments["probes"], arguments["rehearsal"])
    highest = 65535 - len(options.hosts) - (_PORTS_OF_ADAPTERS if with_adapters else 0)
    if not 0 < arguments["port"] <= highest:
        wrong.append(f"isolate_port is {arguments['port']}, but must be between 1 and {highest}")
    wrong += [
        f"isolate_probes contains {name!r}, but the probes are {', '.join(PROBES)}"
        for name in arguments["probes"]
        if name not in PROBES
    ]
    wrong += [
        f"isolate_probes contains {name!r} {count} times, but may list each probe only once"
        for name, count in Counter(arguments["probes"]).items()
        if count > 1
    ]
    if arguments["rounds"] < 0:
        wrong.append(f"isolate_rounds is {arguments['rounds']}, but must be 0 or more")
    if not 0 <= arguments["least_effect"] < _MOST_EFFECT:
        wrong.append(
            f"isolate_least_effect is {arguments['least_effect']:g}, but must be between 0 and {_MOST_EFFECT} percent, "
            "such as 3"
        )
    if not 0 <= arguments["quarantine_days"] <= MOST_DAYS:
        wrong.append(
            f"isolate_quarantine_days is {arguments['quarantine_days']:g}, but must be between 0 and {MOST_DAYS}"
        )
    if not arguments["slurm_wait"] > 0:
        wrong.append(f"isolate_slurm_wait is {arguments['slurm_wait']:g}, but must be more than 0 minutes")
    for host, by in options.slowdowns.items():
        if not _is_slowdown(by):
            wrong.append(
                f"isolate_rehearsal_slowdown of {host} is {by!r}, but must be a number from 1 to {_MOST_SLOWDOWN:g}, "
                "such as 1.3"
            )
    for link in arguments["rehearsal_bad_links"]:
        ends = _ends(link)
        if len(set(ends)) != 2 or not set(ends) <= set(options.hosts):
            wrong.append(
                f"isolate_rehearsal_bad_links contains {link!r}, but must contain two hosts of the play with a comma "
                f"between them, such as {','.join(options.hosts[:2])!r}"
            )
    if not arguments["rehearsal"] and arguments["rehearsal_bad_links"]:
        wrong.append("isolate_rehearsal_bad_links has no effect without isolate_rehearsal")
    return wrong


def _ends(link: str) -> list[str]:
    return [end.strip() for end in link.split(",")]


def _is_slowdown(by: t.Any) -> bool:
    try:
        return 1.0 <= float(by) <= _MOST_SLOWDOWN
    except (TypeError, ValueError):
        return False
