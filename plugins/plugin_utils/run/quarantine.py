# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that are kept out of runs: a file on the controller next to the runs, with a list for each inventory.

::

    {"/etc/ansible/hosts": {"gpu07": {"since": "2026-11-21T08:17:57+00:00", "run_id": "...", "reason": "..."}}}

A host is listed when it made a run fail that may be retried, and released when its preflight is green. An isolation may
list hosts that it found to be bad: then ``isolation`` is its name in place of the ``run_id``, ``until`` is when the
entry ends by itself, and ``findings`` has the ``reason`` as data. An isolation that finds such a host good by the same
``probes`` releases it; a preflight cannot, because it does not see slowness. Anyone who can write the file can keep
every host out, so it is read only if nobody but this user or root can write it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import typing as t
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import TypedDict

from ...module_utils.node.files import write_bytes
from ..text.isolation import QUARANTINE
from ..text.sentences import filled


class Fault(TypedDict):
    """Why a host is kept out: a code with its case and values, and the sentence for people, without a full stop."""

    code: str
    case: str
    values: dict[str, t.Any]
    message: str


class Found(t.NamedTuple):
    """Why an isolation found a host to be bad, and by which probes."""

    findings: list[Fault]
    probes: tuple[str, ...]


@dataclass(frozen=True)
class Held:
    """Since and until when a host is in quarantine (ISO 8601), which run or isolation brought it there, and why.

    ``probes`` are the ones that an isolation found it to be bad by. ``findings`` are the ``reason`` as data; an entry
    of an earlier version, or one written by hand, has none.
    """

    since: str
    run_id: str
    reason: str
    isolation: str = ""
    until: str = ""
    probes: tuple[str, ...] = ()
    findings: list[Fault] = field(default_factory=list)

    def has_ended(self, now: datetime) -> bool:
        """Return whether the entry has ended by itself; a hand-written end that is not a time means never."""
        until = _time(self.until)
        return until is not None and until <= now

    def in_words(self) -> str:
        """Return why the host is kept out, without a full stop."""
        case = "run" if not self.isolation else "isolation" if self.until else "isolation_without_end"
        return filled(QUARANTINE["held"][case].one, asdict(self))

    def release_in_words(self) -> str:
        """Return, as a sentence, how the host is released."""
        return QUARANTINE["released"]["isolation" if self.isolation else "run"].one


def _time(text: str) -> datetime | None:
    """Return a time, in UTC unless it says otherwise; None if it is invalid."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


_LISTS = TypeAdapter(dict[str, dict[str, Held]], config=ConfigDict(strict=True))


class Quarantine:
    """The list of one inventory in a file, which need not be there; ValueError where the file cannot be trusted."""

    def __init__(self, path: str | Path, inventory: str) -> None:
        """Look at the list of an inventory, by the name that all of its calls have in common."""
        self.path, self._inventory = Path(path), inventory

    def hosts(self) -> dict[str, Held]:
        """Return the hosts in quarantine."""
        now = datetime.now(UTC)
        return {host: held for host, held in self._read().get(self._inventory, {}).items() if not held.has_ended(now)}

    def add(self, reasons: Mapping[str, str], run_id: str, faults: Mapping[str, Fault] = MappingProxyType({})) -> None:
        """Add hosts, each with why the run failed, and that as data; a host that is listed gets the new reason."""
        since = datetime.now(UTC).isoformat(timespec="seconds")
        with self._locked() as lists:
            held = lists.setdefault(self._inventory, {})
            for host, reason in reasons.items():
                findings = [faults[host]] if host in faults else []
                held[host] = Held(since=since, run_id=run_id, reason=reason, findings=findings)

    def add_found(self, found: Mapping[str, Found], isolation: str, days: float) -> None:
        """Add hosts that an isolation found to be bad, for so many days.

        An entry from a run is left alone: it has no end.
        """
        now = datetime.now(UTC)
        since, until = (at.isoformat(timespec="seconds") for at in (now, now + timedelta(days=days)))
        with self._locked() as lists:
            held = lists.setdefault(self._inventory, {})
            for host, (findings, probes) in found.items():
                if host not in held or held[host].isolation:
                    reason = "; ".join(one["message"] for one in findings)
                    held[host] = Held(since, "", reason, isolation, until, probes, findings)

    def release(self, hosts: Iterable[str]) -> list[str]:
        """Take hosts off the list that runs brought there, and return those that were there."""
        return self._release(hosts, lambda held: not held.isolation)

    def release_found(self, hosts: Iterable[str], probes: Collection[str]) -> list[str]:
        """Take hosts off the list that isolations brought there, and return them.

        They were found good by these ``probes``: a host that another probe found to be bad stays.
        """
        return self._release(hosts, lambda held: bool(held.isolation) and set(held.probes) <= set(probes))

    def _release(self, hosts: Iterable[str], is_free: Callable[[Held], bool]) -> list[str]:
        there = self.hosts()
        released = [host for host in hosts if host in there and is_free(there[host])]
        if released:
            with self._locked() as lists:
                for host in released:
                    lists.get(self._inventory, {}).pop(host, None)
        return released

    @contextlib.contextmanager
    def _locked(self) -> Iterator[dict[str, dict[str, Held]]]:
        """Give all lists to change, and write them in one step, locked against other controllers."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            lists = self._read()
            yield lists
            filled = _LISTS.dump_json({name: held for name, held in lists.items() if held}, indent=2)
            write_bytes(str(self.path), filled + b"\n", 0o644)
        finally:
            os.close(folder)

    def _read(self) -> dict[str, dict[str, Held]]:
        try:
            file = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ValueError(f"{self.path} cannot be read: {error.strerror}") from None
        with open(file, encoding="utf-8") as stream:
            found = os.fstat(file)
            mine = stat.S_ISREG(found.st_mode) and found.st_uid in (0, os.geteuid())
            if not mine or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise ValueError(
                    f"Users other than you and root can write {self.path}, so its list of hosts cannot be trusted. "
                    "Check it, then take it over (chown, chmod 644) or remove it"
                )
            try:
                return _LISTS.validate_json(stream.read())
            except ValueError:
                raise ValueError(f"{self.path} is not a list of quarantined hosts. Fix it or remove it") from None
