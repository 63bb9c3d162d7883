# SPDX-License-Identifier: GPL-3.0-or-later
"""The changes on a machine during a run: boots, memory kills, links and error counters of its network, kernel log.

Counters of ports come from Linux, Documentation/ABI/stable/sysfs-class-infiniband, and from a driver's own
(``hw_counters``); the counters of interfaces from Documentation/ABI/testing/sysfs-class-net-statistics. A record of
/dev/kmsg is ``priority,sequence,microseconds,flags;message`` (Documentation/ABI/testing/dev-kmsg). When memory runs out
and the kernel kills a process, it increases ``oom_kill`` in /proc/vmstat, and logs ``oom-kill:`` with the control group
(mm/oom_kill.c): podman's own flag misses such kills.
"""

from __future__ import annotations

import os
import re
import time
import typing as t
from collections.abc import Iterator

from .inspection.files import below, fields, line, names, number, text
from .rdma_traffic import bytes_moved

if t.TYPE_CHECKING:
    from ..logs.signature import Failure
    from .contracts import Before, MachineChanges, MachineFact

_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_INFINIBAND = "/sys/class/infiniband"
_NETWORK = "/sys/class/net"
_RECORD = re.compile(r"([0-9]+),[^,;]*,([0-9]+)(?:,[^;]*)?;(.*)")
_MEMORY_KILL = re.compile(r"oom-kill:.*\btask_memcg=([^,]*)")
# Words in the names of counters that grow when something is wrong, or when the network is congested.
_TROUBLE = re.compile(
    "err|discard|drop|retrans|retry|timeout|downed|recovery|nak|out_of_sequence|overrun|integrity|missing_resp|cnp|ecn"
    "|xmit_wait|carrier_changes"
)
# Counters of corrupt or lost packets. Congestion (ECN, CNP, discards, waits) is normal, and no fault.
_ERRORS = re.compile(
    "symbol_error|link_integrity|port_rcv_errors|phy_errors|crc_errors|retry_exc|max_retry_exceeded|unrecoverable_err"
)
_WENT_DOWN = re.compile("(?:link_downed|link_error_recovery|carrier_changes)$")
_WARNING = 4  # include/linux/kern_levels.h; greater means less severe
_SEVERITY = 7  # the bits of a priority that are not the facility
_KEPT_LINES = 60
_KEPT_CHARACTERS = 400
_RECORD_BYTES = 8192
# How much older a record may be than the one before it, because each processor stamps its own.
_OUT_OF_ORDER_SECONDS = 10.0


def boot_id(root: str = "/") -> str | None:
    """Return the identifier of this boot of the machine."""
    return line(root, _BOOT_ID)


def noted(root: str = "/") -> Before:
    """Return the values to compare later.

    ``boot_id``, ``uptime`` in seconds, ``memory_kills``, ``counters``, ``traffic`` (`rdma_traffic.bytes_moved`) and
    ``links``, the ports and interfaces that have one. The starter of the training then adds its ``memory_group``.
    """
    return {
        "boot_id": boot_id(root),
        "uptime": time.monotonic(),
        "memory_kills": _memory_kills(root),
        "counters": _counters(root),
        "traffic": bytes_moved(root),
        "links": _links(root),
    }


def memory_group(pid: int, root: str = "/") -> str | None:
    """Return the control group that counts the memory of a process, of version 1 or 2; None without one."""
    groups = dict(row.split(":", 2)[1:] for row in (text(root, f"/proc/{pid}/cgroup") or "").splitlines())
    return next((group for kinds, group in groups.items() if "memory" in kinds.split(",")), groups.get(""))


def killed_for_memory(before: Before, by_sigkill: bool, root: str = "/") -> bool:
    """Return whether the kernel killed a process of the training since ``before`` because memory ran out.

    If the kernel does not say whose process it killed, ``by_sigkill`` decides: whether SIGKILL ended the training.
    """
    kills = _memory_kills(root)
    if kills is None or kills == before["memory_kills"]:
        return False
    was_here = _killed_in(before["memory_group"], _kernel_log(root, before["uptime"]) or [])
    return by_sigkill if was_here is None else was_here


def _killed_in(group: str | None, records: list[_Record]) -> bool | None:
    """Return whether memory ran out for a process of a control group; None if the records do not say which group."""
    groups = [found.group(1) for record in records for found in [_MEMORY_KILL.match(record.message)] if found]
    if not groups or not group:
        return None
    # A container may have groups inside of its own. Where the machine is a container, its groups are the end of a path.
    inside = re.compile("^/$" if group == "/" else re.escape(group) + "(/|$)")
    return any(inside.search(killed) for killed in groups)


def _memory_kills(root: str) -> int | None:
    count = fields(text(root, "/proc/vmstat"), " ").get("oom_kill")
    return int(count) if count else None


def changes_since(before: Before, root: str = "/") -> MachineChanges:
    """Return the changes since ``before`` was noted.

    ``booted`` says whether the machine did. ``counters`` are those that grew, with their growth; after a boot they
    count from zero. ``links_down`` are the ports and interfaces that had a link at the start and have none now.
    ``kernel_log`` has the first lines of warnings and worse, or None if it cannot be read; ``kernel_lines`` is how many
    there were, ``kernel_failures`` the known failures among them, and ``facts`` the kernel's reports about the machine
    (`machine_facts`). Both leave out a killed process of somebody else.
    """
    booted = before["boot_id"] != boot_id(root)
    old = {} if booted else before["counters"]
    grown = {name: value - old.get(name, 0) for name, value in _counters(root).items() if value > old.get(name, 0)}
    since = 0.0 if booted else before["uptime"]
    records = _kernel_log(root, since)
    said = [record.message[:_KEPT_CHARACTERS] for record in records or () if record.level <= _WARNING]
    failures = _failures(said) if said else []
    facts = _facts(records, since) if records else []
    if _killed_in(before["memory_group"], records or []) is False:
        failures = [failure for failure in failures if failure["class"] not in ("host_memory", "killed")]
        facts = [fact for fact in facts if fact["fact"] != "memory_kill"]
    links = set(_links(root))
    return {
        "booted": booted,
        "counters": grown,
        "links_down": [link for link in before.get("links", []) if link not in links],
        "kernel_log": None if records is None else said[:_KEPT_LINES],
        "kernel_lines": len(said),
        "kernel_failures": failures,
        "facts": facts,
    }


def broken_links(changes: MachineChanges | None) -> dict[str, int]:
    """Return the counters that show that one of the machine's links went down, and by how much they grew.

    After a boot, all counters have grown from zero and prove nothing.
    """
    if not changes or changes["booted"]:
        return {}
    return {name: growth for name, growth in changes["counters"].items() if _WENT_DOWN.search(name)}


def faults_of_links(changes: MachineChanges) -> dict[str, list[dict[str, t.Any]]]:
    """Return the details of faults of links by name: ``link_back`` went down and up, ``port_errors`` are counted."""
    down = changes.get("links_down", [])
    back = {name: grown for name, grown in broken_links(changes).items() if name.partition(" ")[0] not in down}
    errors = {name: grown for name, grown in changes["counters"].items() if _ERRORS.search(name)}
    ordered = {
        name: sorted(of.items(), key=lambda one: -one[1]) for name, of in (("link_back", back), ("port_errors", errors))
    }
    return {name: [{"counter": counter, "grown": grown} for counter, grown in of] for name, of in ordered.items()}


def _failures(lines: list[str]) -> list[Failure]:
    # Usually the kernel logged nothing, and loading hundreds of signatures is slow.
    from ..logs.failures import find_failures  # noqa: PLC0415
    from ..logs.find import Piece  # noqa: PLC0415

    return find_failures(Piece("".join(f"{line}\n" for line in lines).encode()))


def _facts(records: list[_Record], since: float) -> list[MachineFact]:
    # A process that starts a training does not load it.
    from .machine_facts import facts_in  # noqa: PLC0415

    return facts_in((record.seconds - since, record.message) for record in records)


def _counters(root: str) -> dict[str, int]:
    found = {}
    for owner, folder in _counter_folders(root):
        for name in names(root, folder):
            value = number(root, f"{folder}/{name}") if _TROUBLE.search(name) else None
            if value is not None:
                found[f"{owner} {name}"] = value
    return found


def _links(root: str) -> list[str]:
    """Return the ports of RDMA devices that are active, and the interfaces of adapters that have a link."""
    ports = (
        (f"{device}/{port}", f"{_INFINIBAND}/{device}/ports/{port}/state")
        for device in names(root, _INFINIBAND)
        for port in names(root, f"{_INFINIBAND}/{device}/ports")
    )
    active = [port for port, state in ports if "ACTIVE" in (line(root, state) or "")]
    adapters = [name for name in names(root, _NETWORK) if os.path.exists(below(root, f"{_NETWORK}/{name}/device"))]
    return [*active, *(name for name in adapters if line(root, f"{_NETWORK}/{name}/operstate") == "up")]


def _counter_folders(root: str) -> Iterator[tuple[str, str]]:
    """Yield the owner of the counters in each folder: each port of an RDMA device, and each interface of an adapter."""
    for device in names(root, _INFINIBAND):
        for port in names(root, f"{_INFINIBAND}/{device}/ports"):
            for kind in ("counters", "hw_counters"):
                yield f"{device}/{port}", f"{_INFINIBAND}/{device}/ports/{port}/{kind}"
    for interface in names(root, _NETWORK):
        if os.path.exists(below(root, f"{_NETWORK}/{interface}/device")):
            yield interface, f"{_NETWORK}/{interface}"
            yield interface, f"{_NETWORK}/{interface}/statistics"


class _Record(t.NamedTuple):
    """A message of the kernel: its severity, the seconds since boot, its text."""

    level: int
    seconds: float
    message: str


def _kernel_log(root: str, since: float) -> list[_Record] | None:
    """Return each message since some seconds after boot; None if they cannot be read."""
    try:
        log = os.open(below(root, "/dev/kmsg"), os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        records = b"".join(_reads(log)).decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    finally:
        os.close(log)
    said: list[_Record] = []
    for record in reversed(records):
        found = _RECORD.match(record)
        if not found:
            continue
        priority, microseconds, message = found.groups()
        seconds = int(microseconds) / 1e6
        if seconds < since - _OUT_OF_ORDER_SECONDS:
            break
        if seconds >= since:
            said.append(_Record(int(priority) & _SEVERITY, seconds, message))
    return said[::-1]


def _reads(log: int) -> Iterator[bytes]:
    """Yield the kernel's records, one per read."""
    while True:
        try:
            record = os.read(log, _RECORD_BYTES)
        except BlockingIOError:
            return
        except BrokenPipeError:  # Records were overwritten before they were read; the next one is there.
            continue
        if not record:
            return
        yield record
