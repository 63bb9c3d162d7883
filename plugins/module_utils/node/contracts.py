# SPDX-License-Identifier: GPL-3.0-or-later
"""The data that a node gets and keeps for a run: types alone, which no node loads."""

from __future__ import annotations

import typing as t

from ..logs.signature import Failure

Status = t.Literal["staged", "running", "exited", "killed", "stopped"]


class Mount(t.TypedDict):
    """A path of the node in the container; a ``staged`` one is made by the run."""

    source: str
    target: str
    read_only: t.NotRequired[bool]
    staged: t.NotRequired[bool]


class Secret(t.TypedDict):
    """A file with a secret: its source, its place on the node, and the variables that contain its path or its value."""

    name: str
    source: str
    target: str
    variable: str
    value_variable: t.NotRequired[str]


class Dataset(t.TypedDict):
    """The data to fetch before a training; see `dataset`."""

    name: str
    folder: str
    prefix: str
    script: t.NotRequired[str]
    tokenizer: t.NotRequired[str]
    urls: t.NotRequired[list[str]]


class ContainerOptions(t.TypedDict, total=False):
    """How a container is started; empty where training runs without one."""

    name: str
    network: str
    ipc: str
    privileged: bool
    group_add: list[str]
    cap_drop: list[str]
    cap_add: list[str]
    security_opt: list[str]
    shm_size: str
    ulimits: dict[str, str]


class Place(t.TypedDict):
    """The places where a node keeps a run."""

    node: str
    run_folder: str


class Node(Place):
    """The work of one node; an interface that is ``auto`` is found on the node."""

    node_rank: int
    address: str
    nnodes: int
    master_address: str
    master_port: int
    image: str | None
    image_archive: str
    env: dict[str, str]
    argv: list[str]
    script: str
    working_dir: str
    mounts: list[Mount]
    secrets: list[Secret]
    devices: list[str]
    container_options: ContainerOptions
    log_file: str
    dataset: t.NotRequired[Dataset]


class Identity(t.TypedDict):
    """The facts that distinguish a run from another one of its name; see `identity`."""

    nonce: str
    plan: dict[str, str]


class KeptRuns(t.TypedDict):
    """How many runs stay on a node, and for how many days; see `old_runs`."""

    keep_runs: int
    keep_days: float


class Partner(t.TypedDict):
    """The other node of a pair, or a neighbour in a group.

    It says who the partner is, where one of the two listens, and how long one waits for the other. ``addresses`` are
    both nodes' addresses, the listening one first. ``slowdown`` is how many times as slow the link is made in a
    rehearsal.
    """

    node: str
    address: str
    addresses: list[str]
    port: int
    serves: bool
    secret: str
    patience: float
    slowdown: float


class Group(t.TypedDict):
    """The group that a node is tested in: how many nodes it has, and the place of this one among them.

    The first of them listens at ``address`` and ``port``. Nodes are in a ring: each connects to the one ``before`` it,
    and serves the one ``after`` it.
    """

    size: int
    place: int
    address: str
    port: int
    before: Partner
    after: Partner


class Asked(t.TypedDict):
    """Which probes a node does, with whom if with anybody, and how many times as slow a rehearsal makes it.

    ``units`` are the parts that a probe measures one after the other on all nodes, such as adapters by their names.
    ``product`` are the rows, the inner size and the columns of a training's largest product of matrices.
    """

    probes: list[str]
    units: dict[str, list[str]]
    rehearsal: bool
    slowdown: float
    product: t.NotRequired[list[int]]
    partner: t.NotRequired[Partner]
    group: t.NotRequired[Group]


class Inspection(t.TypedDict):
    """What an inspection looks at beside the machine itself; see the module node_inspect."""

    paths: list[str]
    master_address: str | None
    master_port: int | None
    image: str | None


class PhaseNeeds(t.TypedDict, total=False):
    """The needs of single phases beside a `Request`; each says which."""

    check_mode: bool
    environment: dict[str, str]
    keep: KeptRuns | None
    gpu: str | None
    files: dict[str, str]
    given_secrets: dict[str, str]
    secrets: dict[str, str]
    start: bool
    wait_seconds: float
    cursor: t.Mapping[str, t.Any]
    sample: bool
    look_at_ranks: bool
    finish_grace_seconds: float
    grace_seconds: float
    with_log: bool
    offset: int
    dump_of_rank: int
    probe: Asked
    tools: list[str]
    inspection: Inspection
    shared_file: str


class Request(PhaseNeeds):
    """A request to a node, with the data that the phase needs."""

    phase: str
    run_id: str
    framework: str
    container_engine: str
    identity: Identity
    tokens_per_step_per_gpu: int | None
    tokens_per_sequence_per_gpu: int | None
    node: Node


class Handle(t.TypedDict):
    """The first process of a training, and its container if it has one."""

    pid: int
    start_time: str | None
    container: t.NotRequired[str]


class Outcome(t.TypedDict):
    """How a training ended; an ``exit_status`` of None means that it was killed."""

    exit_status: int | None
    oom_killed: bool
    engine_problem: t.NotRequired[str]
    container_removed: t.NotRequired[bool]


class Traffic(t.TypedDict):
    """The bytes that an RDMA port moved since a training was started; see `rdma_traffic`."""

    sent: int
    received: int


class Before(t.TypedDict):
    """The state of a machine before a training; see `machine_changes.noted`.

    ``traffic`` and ``links`` are missing if an earlier release started the training.
    """

    boot_id: str | None
    uptime: float
    memory_kills: int | None
    counters: dict[str, int]
    memory_group: t.NotRequired[str | None]
    traffic: t.NotRequired[dict[str, list[int]]]
    links: t.NotRequired[list[str]]


class State(t.TypedDict):
    """A node's record of a run; see `run_state`."""

    run_id: str
    node: str
    node_rank: int
    engine: str
    identity: Identity
    status: Status
    handle: t.NotRequired[Handle]
    started_at: t.NotRequired[float]
    before: t.NotRequired[Before]
    stop_requested: t.NotRequired[bool]
    exit_status: t.NotRequired[int | None]
    oom_killed: t.NotRequired[bool]
    engine_problem: t.NotRequired[str]
    container_removed: t.NotRequired[bool]
    booted: t.NotRequired[bool]
    full_disk: t.NotRequired[str | None]
    ran_seconds: t.NotRequired[float | None]
    ended_at: t.NotRequired[float | None]
    traffic: t.NotRequired[dict[str, Traffic]]


class Reading(t.TypedDict):
    """The readings of an accelerator's driver at one moment; units and meaning as in `inspection.sensors.measured`."""

    temperature: float | None
    power: float | None
    power_limit: float | None
    clock: float | None
    clock_limit: float | None
    utilization: float | None
    memory_used: float | None
    memory_total: float | None
    ecc_corrected: float | None
    ecc_uncorrected: float | None
    ecc_uncorrected_ever: float | None
    held_down_by: list[str] | None


class PcieLink(t.TypedDict):
    """The PCIe link of a device, see `inspection.sensors`."""

    pcie_speed: float | None
    pcie_speed_limit: float | None
    pcie_width: int | None
    pcie_width_limit: int | None


class Telemetry(PcieLink):
    """The readings of an accelerator while it was tested; see `telemetry`. Units as in `Reading`."""

    part: str
    temperature: float | None
    power: float | None
    power_limit: float | None
    clock: float | None
    clock_limit: float | None
    ecc_corrected: float | None
    ecc_uncorrected: float | None
    held_down_by: list[str] | None


class RankSeen(t.TypedDict):
    """The state of a rank while the run hung; see `hang.ranks_here`."""

    rank: int
    local_rank: t.NotRequired[int]
    state: str
    waits_in: str | None
    busy: float
    stack: list[str] | None


class Pending(t.TypedDict):
    """A collective, or a transfer to or from a ``peer``, that a rank has entered and not finished; see `recorded`."""

    number: int
    operation: str
    sizes: str
    started: bool
    is_transfer: bool
    peer: int | None


class GroupSeen(t.TypedDict):
    """The state of a rank in a process group; see `recorded.groups_in`."""

    name: str
    description: str
    members: list[list[int]]
    entered: int
    pending: list[Pending]


class Recorded(t.TypedDict):
    """The content of a rank's flight-recorder dump; see `flight_recorder.recorded_here`."""

    rank: int
    file: str
    groups: list[GroupSeen] | None


class Process(t.TypedDict):
    """A process of a node, see `inspection.processes`; ``cores`` is how many it keeps busy."""

    pid: int
    command: str
    user: str
    run_id: str | None
    cores: t.NotRequired[float]


class PortState(t.TypedDict):
    """The state and the rate of an RDMA port, in the words of its driver: ``ACTIVE``, ``400 Gb/sec (4X NDR)``.

    ``model`` is the one of its adapter.
    """

    state: str | None
    rate: str | None
    model: str | None


class Present(t.TypedDict):
    """What is present on a node before it is tested; see `roll_call`."""

    gpus: list[str]
    on_bus: int | None
    ports: dict[str, PortState]
    on_gpus: list[Process] | None
    busy: list[Process]
    busy_cores: float
    cores: int


class MachineFact(t.TypedDict):
    """An event of a node's device during a run; see `machine_facts.facts_in`."""

    fact: str
    device: str
    line: str
    count: int
    seconds: float
    recovered: bool


class MachineChanges(t.TypedDict):
    """The changes on a node from start to stop; see `machine_changes.changes_since`."""

    booted: bool
    counters: dict[str, int]
    links_down: list[str]
    kernel_log: list[str] | None
    kernel_lines: int
    kernel_failures: list[Failure]
    facts: list[MachineFact]


class Accelerators(t.TypedDict):
    """The accelerators of a node in short; ``firmware`` is the version that all of them have."""

    name: str | None
    count: int
    driver: str | None
    driver_version: str | None
    firmware: dict[str, str]


class Nic(t.TypedDict):
    """An RDMA device in short."""

    name: str
    driver: str | None
    driver_version: str | None
    firmware: str | None
    rate: str | None


class Hardware(t.TypedDict):
    """The hardware of a node; see `hardware.hardware_facts`."""

    os: str | None
    kernel: str | None
    cpu: str | None
    accelerators: Accelerators | None
    nics: list[Nic]
