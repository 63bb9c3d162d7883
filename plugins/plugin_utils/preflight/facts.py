# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts that a node may report about itself, as documented in the module ``node_inspect``."""

from __future__ import annotations

import ipaddress
import re
import typing as t

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from ..answer_values import Count, Finite, Line, Number, Time, first_wrong
from ..plan.job.options import LONGEST_RUN_ID

# Commands that fix a node contain its answers; a shell must see nothing but words in them.
_NO_WORD = re.compile(r"[^\w.:@%+=,/-]")
_RUN_ID = re.compile(rf"[A-Za-z0-9][\w.-]{{0,{LONGEST_RUN_ID - 1}}}", re.ASCII)
_MOST = 4096
T = t.TypeVar("T")

# A file system may claim to be larger than any disk; -1 is no limit.
_Bytes = t.Annotated[int, Field(ge=-1, le=2**80)]
_Some = t.Annotated[list[T], Field(max_length=_MOST)]
_Word = t.Annotated[Line, AfterValidator(lambda text: _NO_WORD.sub("\ufffd", text))]
_Named = t.Annotated[dict[Line, T], Field(max_length=_MOST)]
_ByWord = t.Annotated[dict[_Word, T], Field(max_length=_MOST)]
_OwnRun = t.Annotated[Line | None, AfterValidator(lambda name: name if name and _RUN_ID.fullmatch(name) else None)]


def _with_length(address: str) -> str:
    ipaddress.ip_interface(address)
    return address


_InterfaceAddress = t.Annotated[Line, AfterValidator(_with_length)]


class _Driver(TypedDict):
    name: Line | None
    version: Line | None


class _System(TypedDict):
    name: Line | None
    id: Line | None
    version: Line | None
    family: Line | None


class _Sensors(TypedDict):
    power_limit: Finite | None
    clock_limit: Finite | None
    ecc_uncorrected: Finite | None


class _Gpu(TypedDict):
    name: Line | None
    memory_bytes: _Bytes | None
    firmware: _Named[Line | None]
    sensors: _Sensors | None


class Process(TypedDict):
    """A process that computes on a GPU."""

    pid: Count
    command: Line
    user: Line
    run_id: _OwnRun


class Gpus(TypedDict):
    """The accelerators of a node."""

    vendor: Line | None
    devices: _Some[_Gpu]
    driver: _Driver
    on_bus: Count | None
    processes: _Some[Process] | None
    problems: _Some[Line]


class Gid(TypedDict):
    """An entry of a GID table."""

    index: Count
    type: Line | None
    address: Line
    netdev: _Word | None


class Port(TypedDict):
    """A port of an RDMA device."""

    state: Line | None
    physical_state: Line | None
    link_layer: Line | None
    netdev: _Word | None
    mtu: Number | None
    gids: _Some[Gid]


class RdmaDevice(TypedDict):
    """An RDMA device."""

    name: _Word
    provider: _Word | None
    driver: _Word | None
    driver_version: Line | None
    firmware: Line | None
    kernel_abi: Number | None
    ports: _Some[Port]


class _Library(TypedDict):
    rdma_abi: t.NotRequired[Number | None]
    problem: t.NotRequired[Line]


class _Provider(TypedDict):
    driver: _Word


class _Verbs(TypedDict):
    devices: Count | None
    warnings: _Some[Line]


class _Rdma(TypedDict):
    devices: _Some[RdmaDevice]
    libraries: _Some[_Provider]
    verbs: _Verbs | None


class Interface(TypedDict):
    """A network interface."""

    mtu: Number
    up: bool
    addresses: _Some[_InterfaceAddress]


class _Hostname(TypedDict):
    addresses: _Some[Line]
    loopback: bool


class _Master(TypedDict):
    address: _Word
    interface: _Word | None
    source: _Word | None
    own: bool
    mtu: Number | None
    path_mtu: Number | None


class _Network(TypedDict):
    interfaces: _ByWord[Interface] | None
    hostname: _Hostname | None
    master: _Master | None
    master_port_problem: Line | None


class _Limit(TypedDict):
    soft: _Bytes
    hard: _Bytes


class _SharedMemory(TypedDict):
    total_bytes: _Bytes | None


class _Limits(TypedDict):
    memlock: _Limit
    uid: Count
    nr_open: _Bytes | None
    shm: _SharedMemory


class PcieLink(TypedDict):
    """The link of a GPU or an adapter: GT/s, lanes, and what both ends can do."""

    device: _Word
    address: _Word
    kind: t.Literal["gpu", "nic"]
    pcie_speed: Finite | None
    pcie_width: Number | None
    pcie_speed_limit: Finite | None
    pcie_width_limit: Number | None


class _Rail(TypedDict):
    rp_filter: Number | None
    arp_ignore: Number | None
    arp_announce: Number | None


class Roce(TypedDict):
    """Priorities of an adapter with PFC and with DCQCN, and the priority of each DSCP; None if unknown."""

    pfc: _Some[Count] | None
    dscp: _Named[Count] | None
    ecn: _Some[Count] | None


class FirmwareSetting(TypedDict):
    """A setting of an adapter's firmware: its value now, and from the next boot on."""

    now: Line | None
    next: Line | None


class Settings(TypedDict):
    """Settings that cost speed, as in the node's inspection."""

    virtual_machine: bool
    command_line: Line | None
    acs_bridges: _Some[_Word] | None
    iommu: _Some[Line]
    pcie: _Some[PcieLink]
    peer_memory: bool
    open_kernel_module: bool
    governors: _Some[Line]
    c2: bool
    rails: _ByWord[_Rail]
    shared_rails: _Some[_Word]
    slurmd_memlock: _Bytes | None
    roce_dscp: _ByWord[Number | None]
    roce: _ByWord[Roce]
    nic_firmware: _ByWord[_ByWord[FirmwareSetting]]
    relaxed_ordering: _ByWord[bool | None]
    port_range: _Some[Count]
    reserved_ports: Line


class Path(TypedDict):
    """What is at a path, and the room there."""

    kind: t.Literal["file", "directory", "other", "missing"]
    nearest: Line
    writable: bool
    file_system: Line | None
    free_bytes: _Bytes | None
    free_inodes: _Bytes | None
    library: t.NotRequired[_Library]


class _Storage(Path):
    path: Line


class _Image(TypedDict):
    id: Line


class _Engine(TypedDict):
    version: Line | None
    storage: _Storage | None
    image: _Image | None
    knows_registry: bool
    problem: Line | None


class _Numa(TypedDict):
    auto_balancing: Number | None


class _Clock(TypedDict):
    began: Time
    time: Time
    synchronized: bool | None
    offset_seconds: t.Annotated[list[Finite], Field(min_length=2, max_length=2)]


class Facts(TypedDict):
    """All about a node that a check reads."""

    hostname: _Word | None
    kernel: _Word | None
    bios: Line | None
    os: _System
    memory_bytes: _Bytes | None
    numa: _Numa
    gpus: Gpus | None
    rdma: _Rdma
    network: _Network
    limits: _Limits
    settings: Settings
    paths: dict[str, Path | None]
    engines: _Named[_Engine | None]
    clock: _Clock
    problems: dict[str, Line]


_FACTS = TypeAdapter(Facts)


def believed(said: t.Any) -> Facts:
    """Return the used part of a node's facts; ValueError if they are invalid."""
    try:
        return _FACTS.validate_python(said, strict=True)
    except ValidationError as error:
        raise ValueError(f"its answer is invalid: {first_wrong(error)}") from None
