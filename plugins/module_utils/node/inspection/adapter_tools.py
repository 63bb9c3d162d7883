# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of RDMA adapters that only programs show: iproute2's dcb, and the tools of the adapters' vendors.

`TOOLS` has a row for each program. A program runs only if adapters of its provider are there, and a fact of theirs is
still open. A program says nothing if it is not installed, fails, prints something else or takes too long.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from .rdma import interface_of
from .tools import ToolError, run_tool, together

# All that is run for one adapter, one after the other, has to end before the inspection does.
_DCB_SECONDS = 2.0
_SECONDS = 3.0
_MARGIN_SECONDS = 0.2
_PRIORITIES = 8
_PFC = re.compile(r"\b([0-7]):on\b")
_DSCP_PRIORITY = re.compile(r"\b([0-9]+):([0-7])\b")
_ADDRESS = re.compile(r"\b[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b", re.IGNORECASE)
_NICCLI_DEVICE = re.compile(r"^\s*(\d+)\s*\)", re.MULTILINE)
_NICCLI_PFC = re.compile(r"PFC enabled:(.*)")
# IEEE 802.1Q gives the selector 5 to DSCP.
_NICCLI_DSCP = re.compile(r"Priority:\s*([0-7])\s+Sel:\s*5\s+DSCP:\s*(\d+)")
# How to list the adapters, and to show one of them; the newer releases first.
_NICCLI_FORMS = {
    "--list_devices": ("--dev", "{}", "qos", "--ets", "--show"),
    "--list": ("-i", "{}", "getqos"),
}
_NICCTL_NIC = re.compile(r"^NIC\s*:.*\(([0-9a-f:.]+)\)", re.MULTILINE | re.IGNORECASE)
_NICCTL_PORT = re.compile(r"^Port\s*:", re.MULTILINE)
_NICCTL_DSCP = re.compile(r"^\s*DSCP\s*:\s*([0-9, -]+?)\s*==> priority\s*:\s*([0-7])", re.MULTILINE)
_SPAN = re.compile(r"(\d+)(?:-(\d+))?")
_NICCTL_PFC = re.compile(r"^\s*PFC no-drop priorities\s*:(.*)", re.MULTILINE)
_NICCTL_STATUS = re.compile(r"^ROCE device\s*:\s*(\S+)(?:\n(?!ROCE device).*)*?\nStatus\s*:\s*(\w+)", re.MULTILINE)
# AMD asks for values of these in ConnectX-7 (NIC installation).
FIRMWARE_SETTINGS = ("ATS_ENABLED", "P2P_ORDERING_MODE", "PCI_WR_ORDERING", "RDMA_SELECTIVE_REPEAT_EN")
_NOW = "Current"
_NEXT = "Next Boot"

Adapters = t.List[t.Dict[str, t.Any]]
# The facts of adapters by their names.
Answers = t.Dict[str, t.Dict[str, t.Any]]


class Tool(t.NamedTuple):
    """A program, the ``provider`` of the adapters that it is for (None for any), and the facts that it may know.

    ``shows`` describes these facts in words, and ``source`` is a link to a description of the output.
    """

    name: str
    provider: str | None
    facts: t.Tuple[str, ...]
    shows: str
    source: str
    ask: Callable[[Adapters], Answers]


def tool_facts(adapters: Adapters) -> Answers:
    """Return the facts that programs know of adapters, by the name of each.

    ``pfc`` are the priorities with flow control, ``dscp`` is the priority of each DSCP, ``ecn`` are the priorities with
    DCQCN, and ``firmware`` has some settings of the adapter's firmware with the values ``now`` and ``next``, which is
    from the next boot on. Facts that no program knows are left out.
    """
    found: Answers = {one["name"]: {} for one in adapters}
    for tool in TOOLS:
        asked = [
            one
            for one in adapters
            if tool.provider in (None, one["provider"])
            and any(_is_open(found[one["name"]].get(fact)) for fact in tool.facts)
        ]
        for name, facts in (tool.ask(asked) if asked else {}).items():
            found[name] = {**facts, **{fact: value for fact, value in found[name].items() if not _is_open(value)}}
    return found


def _is_open(fact: t.Any) -> bool:
    """Return whether a fact is not known yet; no DSCP with a priority is none that a program knows."""
    return fact is None or fact == {}


def _printed(commands: Mapping[str, Sequence[str]], seconds: float = _SECONDS) -> dict[str, str]:
    """Return the output of commands by their names, run side by side; without those that fail."""
    tasks = {name: partial(run_tool, argv, seconds) for name, argv in commands.items()}
    found = together(tasks, seconds + _MARGIN_SECONDS)
    return {name: answer[0] for name, answer in found.items() if not isinstance(answer, ToolError)}


def _address(adapter: dict[str, t.Any]) -> str:
    return str(adapter["pci_address"]).lower()


def _dcb(adapters: Adapters) -> Answers:
    with_any = {one["name"]: interface_of(one) for one in adapters}
    interfaces = {name: interface for name, interface in with_any.items() if interface}
    of_pfc = {name: ["dcb", "pfc", "show", "dev", interface] for name, interface in interfaces.items()}
    pfc = _printed(of_pfc, _DCB_SECONDS)
    # A driver that does not know the one does not know the other.
    of_dscp = {name: ["dcb", "-N", "app", "show", "dev", interfaces[name], "dscp-prio"] for name in pfc}
    dscp = _printed(of_dscp, _DCB_SECONDS)
    return {name: {"pfc": dcb_pfc_in(pfc[name]), "dscp": dcb_dscp_in(output)} for name, output in dscp.items()}


def dcb_pfc_in(output: str) -> list[int]:
    """Return the priorities with flow control in the output of ``dcb pfc show``."""
    return [int(priority) for priority in _PFC.findall(output.partition("prio-pfc")[2])]


def dcb_dscp_in(output: str) -> dict[str, int]:
    """Return the priority of each DSCP in the output of ``dcb -N app show``."""
    return {dscp: int(priority) for dscp, priority in _DSCP_PRIORITY.findall(output.partition("dscp-prio")[2])}


def _niccli(adapters: Adapters) -> Answers:
    lists = _printed({listing: ["niccli", listing] for listing in _NICCLI_FORMS})
    for listing, form in _NICCLI_FORMS.items():
        numbers = niccli_devices_in(lists.get(listing, ""))
        known = {one["name"]: numbers[_address(one)] for one in adapters if _address(one) in numbers}
        if known:
            commands = {name: ["niccli", *(word.format(number) for word in form)] for name, number in known.items()}
            return {name: niccli_qos_in(output) for name, output in _printed(commands).items()}
    return {}


def niccli_devices_in(output: str) -> dict[str, str]:
    """Return niccli's number of each adapter by its PCI address, in the output of ``--list_devices`` or ``--list``."""
    _head, *parts = _NICCLI_DEVICE.split(output)
    found = {}
    for number, described in zip(parts[::2], parts[1::2]):
        address = _ADDRESS.search(described)
        if address:
            found[address[0].lower()] = number
    return found


def niccli_qos_in(output: str) -> dict[str, t.Any]:
    """Return ``pfc`` and ``dscp`` in the output of niccli's ``qos --ets --show``, or ``getqos``."""
    pfc = _NICCLI_PFC.search(output)
    return {
        "pfc": _priorities(pfc[1]) if pfc else None,
        "dscp": {dscp: int(priority) for priority, dscp in _NICCLI_DSCP.findall(output)},
    }


def _priorities(listed: str) -> list[int]:
    return [int(priority) for priority in re.findall(r"\b[0-7]\b", listed)]


def _nicctl(adapters: Adapters) -> Answers:
    printed = _printed({what: ["nicctl", "show", what] for what in ("qos", "dcqcn")})
    qos, dcqcn = nicctl_qos_in(printed.get("qos", "")), nicctl_dcqcn_in(printed.get("dcqcn", ""))
    found = {}
    for one in adapters:
        card, ecn = dcqcn.get(one["name"], (_address(one), None))
        found[one["name"]] = {**qos.get(card, {}), "ecn": ecn}
    return found


def nicctl_qos_in(output: str) -> dict[str, dict[str, t.Any]]:
    """Return ``pfc`` and ``dscp`` of each card by its PCI address, in the output of ``nicctl show qos``.

    Of a card with several ports, it is the first one that counts.
    """
    _head, *parts = _NICCTL_NIC.split(output)
    found = {}
    for address, described in zip(parts[::2], parts[1::2]):
        port = _NICCTL_PORT.split(described)[:2][-1]
        pfc = _NICCTL_PFC.search(port)
        dscp = {
            str(number): int(priority)
            for spans, priority in _NICCTL_DSCP.findall(port)
            for first, last in _SPAN.findall(spans)
            for number in range(int(first), int(last or first) + 1)
        }
        found[address.lower()] = {"pfc": _priorities(pfc[1]) if pfc else None, "dscp": dscp}
    return found


def nicctl_dcqcn_in(output: str) -> dict[str, tuple[str, list[int]]]:
    """Return the PCI address of its card, and the priorities with DCQCN, of each RDMA device.

    ``output`` is the output of ``nicctl show dcqcn``. DCQCN is on for all priorities or for none.
    """
    _head, *parts = _NICCTL_NIC.split(output)
    found: dict[str, tuple[str, list[int]]] = {}
    for address, described in zip(parts[::2], parts[1::2]):
        for device, status in _NICCTL_STATUS.findall(described):
            on = found.get(device, ("", []))[1] or (list(range(_PRIORITIES)) if status == "Enabled" else [])
            found[device] = (address.lower(), on)
    return found


def _mlxconfig(tool: str, adapters: Adapters) -> Answers:
    printed = _printed({one["name"]: [tool, "-d", _address(one), "-e", "q"] for one in adapters})
    return {name: {"firmware": mlxconfig_in(output)} for name, output in printed.items()}


def mlxconfig_in(output: str) -> dict[str, dict[str, str | None]]:
    """Return the values ``now`` and ``next`` of `FIRMWARE_SETTINGS` in the output of ``mlxconfig query``.

    Without its option ``-e``, or of old firmware, the value now is not known (None).
    """
    columns: list[str] = []
    found = {}
    for row in output.splitlines():
        name, *values = re.split(r"\s{2,}|\t+", row.lstrip("* \t").rstrip())
        if name == "Configurations:":
            columns = values
        elif name in FIRMWARE_SETTINGS and len(values) == len(columns):
            known = {column: value for column, value in zip(columns, values) if value != "N/A"}
            found[name] = {"now": known.get(_NOW), "next": known.get(_NEXT)}
    return found


_NODE_SCRAPER = "https://github.com/amd/node-scraper"
_PRIORITY_FACTS = ("pfc", "dscp")
_PRIORITIES_SHOWN = "priorities with PFC, the priority of each DSCP"
_FIRMWARE_SHOWN = f"{', '.join(FIRMWARE_SETTINGS)}: the value now, and at the next boot"

# In the order of asking.
TOOLS: t.Tuple[Tool, ...] = (
    Tool(
        "dcb",
        None,
        _PRIORITY_FACTS,
        _PRIORITIES_SHOWN,
        "[iproute2, dcb(8)](https://man7.org/linux/man-pages/man8/dcb.8.html)",
        _dcb,
    ),
    Tool(
        "niccli",
        "bnxt_re",
        _PRIORITY_FACTS,
        _PRIORITIES_SHOWN,
        f"[AMD, Node Scraper]({_NODE_SCRAPER})",
        _niccli,
    ),
    Tool(
        "nicctl",
        "ionic",
        (*_PRIORITY_FACTS, "ecn"),
        f"{_PRIORITIES_SHOWN}, whether DCQCN is on",
        f"[AMD, Node Scraper]({_NODE_SCRAPER})",
        _nicctl,
    ),
    *(
        Tool(
            name,
            "mlx5",
            ("firmware",),
            _FIRMWARE_SHOWN,
            f"[NVIDIA, {name}]({page})",
            partial(_mlxconfig, name),
        )
        for name, page in (
            ("mlxconfig", "https://docs.nvidia.com/networking/display/mftv4330/examples+of+mlxconfig+usage"),
            (
                "mstconfig",
                "https://docs.nvidia.com/networking/display/msflintv4300/"
                "mstconfig+%E2%80%93+Changing+Device+Configuration+Tool",
            ),
        )
    ),
)
