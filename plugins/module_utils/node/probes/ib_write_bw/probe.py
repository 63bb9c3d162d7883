# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast each RDMA adapter of a node writes to the one of the same name of another node: ib_write_bw of perftest.

Both ends take one adapter after the other, on ports of its own. Before each they wait for each other, and say whether
they have it, so that one that is dead keeps none of the others from being measured. Then both write at the same time,
as in a training, and each measures its own writes. The end that writes connects, and tries until the other one listens.
"""

from __future__ import annotations

import time
import typing as t
from concurrent.futures import ThreadPoolExecutor

from ...inspection.rdma import rdma_devices
from ...phase import NodeError
from ..face import Found, Reading
from ..known import PROBES
from ..meeting import met, received
from .output import bits_per_second

if t.TYPE_CHECKING:
    from ...contracts import Asked, Partner
    from ..programs import Programs

NAME = PROGRAM = "ib_write_bw"
_SECONDS = 1
# The client's message when nobody listens at the port yet.
_NOT_YET = "Unable to init the socket connection"
_POLL_SECONDS = 0.2
# Before each adapter, both ends exchange whether they have it.
_HERE, _NOT_HERE = b"1", b"0"
# Nodes that share an address use neighbouring ports, so each adapter has a block of them for each direction.
_PORTS = 64
# A reading is the time for one gigabyte.
BITS = 8e9


def found(programs: Programs) -> Found:
    """Return whether there is the program, and the adapters that a training would use."""
    units = adapters(programs.node["env"].get("NCCL_IB_HCA", ""), _active())
    if not units:
        return Found("no RDMA adapter has a port that is ACTIVE")
    return Found("" if programs.where(PROGRAM) else f"{PROGRAM} is not installed", units)


def measure(asked: Asked, programs: Programs) -> list[Reading]:
    """Return the seconds that each adapter of this node takes to write a gigabyte to the other node."""
    partner, readings = asked["partner"], []
    with met(partner, NAME) as stream:
        for place, adapter in enumerate(asked["units"][NAME]):
            is_here = adapter in _active()
            stream.sendall(_HERE if is_here else _NOT_HERE)
            is_there = received(stream, 1) == _HERE
            if not is_here:
                readings.append(_failed(adapter, f"{adapter} is not there, or has no port that is ACTIVE"))
            elif is_there:
                readings += _measured(adapter, place, partner, programs)
    return readings


def adapters(chosen: str, active: list[str]) -> list[str]:
    """Return the adapters that NCCL_IB_HCA chooses.

    It is a list of prefixes; a leading ``=`` makes them whole names, ``^`` leaves those out (NCCL, Environment
    Variables).
    """
    without, exact = chosen.startswith("^"), chosen.lstrip("^").startswith("=")
    named = [name.partition(":")[0] for name in chosen.lstrip("^=").split(",") if name]
    if not named:
        return active
    return [
        adapter
        for adapter in active
        if without is not any(adapter == name if exact else adapter.startswith(name) for name in named)
    ]


def command(adapter: str, port: int, environment: t.Mapping[str, str], address: str = "") -> list[str]:
    """Return the command that writes to an address, or listens without one; RoCE takes the GID of a training."""
    index = environment.get("NCCL_IB_GID_INDEX", "")
    return [
        *(PROGRAM, "-d", adapter, "-p", str(port), "-D", str(_SECONDS), "-s", "65536", "-F", "--report_gbits"),
        *(("-x", index) if index.isdigit() else ()),
        *((address,) if address else ()),
    ]


def _measured(adapter: str, place: int, partner: Partner, programs: Programs) -> list[Reading]:
    """Return the reading of this end's writes, while the other end writes as well."""
    serves, environment = partner["serves"], programs.node["env"]
    # The first port of an adapter is for writes of the connecting node, the second for writes of the serving one.
    to_serving, to_other = (partner["port"] + _PORTS * (2 * place + number) for number in (1, 2))
    own, others = (to_other, to_serving) if serves else (to_serving, to_other)
    address = partner["addresses"][1 if serves else 0]
    with ThreadPoolExecutor(1) as beside:
        listening = beside.submit(_listened, adapter, command(adapter, others, environment), programs)
        reading = _written(adapter, command(adapter, own, environment, address), partner, programs)
        problem = listening.result()
    return [_failed(adapter, problem) if problem and not reading.problem else reading]


def _listened(adapter: str, argv: list[str], programs: Programs) -> str:
    """Let the other end write to an adapter, and return why that failed."""
    try:
        programs.run(f"{NAME}_{adapter}_listens", argv, PROBES[NAME].more)
    except (NodeError, OSError) as error:
        return str(error)
    return ""


def _written(adapter: str, argv: list[str], partner: Partner, programs: Programs) -> Reading:
    deadline = time.monotonic() + PROBES[NAME].more
    while True:
        left = max(deadline - time.monotonic(), _SECONDS + 1)
        try:
            output = programs.run(f"{NAME}_{adapter}", argv, left)
            return _reading(adapter, [BITS / bits_per_second(output)])
        except (NodeError, OSError, ValueError) as error:
            if _NOT_YET not in str(error):
                return _failed(adapter, str(error))
            if time.monotonic() > deadline:
                return _failed(adapter, f"{partner['node']} at {argv[-1]} does not listen for it")
        time.sleep(_POLL_SECONDS)


def _reading(adapter: str, samples: list[float], problem: str = "") -> Reading:
    return Reading(f"{NAME} {adapter}", f"HCA {adapter}", samples, problem)


def _failed(adapter: str, problem: str) -> Reading:
    return _reading(adapter, [], problem)


def _active() -> list[str]:
    return [
        str(device["name"])
        for device in rdma_devices("/")
        if any(port["state"] == "ACTIVE" for port in device["ports"])
    ]
