# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the nodes of one job trained together, and over which network: by port counters, NCCL and the trainers."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from ...module_utils.logs.grammar import LAST_RANK
from ...module_utils.logs.grammars.known import grammar_name, grammar_of
from ..contracts import Plan, Status, Workload
from ..plan.job.gradient_traffic import least_bytes_sent
from ..plan.job.rdma import asks_for_rdma, device_names, devices_of, level_that_hides_the_network
from ..text.nodes import folded_messages
from ..text.words import counted
from .facts import trains_on_cpus
from .judge_log import communicators
from .reasons import FAIL, INCONCLUSIVE, PASS, Reasons

if t.TYPE_CHECKING:
    import pandas as pd

    from ..contracts import Statistics

_TCP = "NET/Socket"
# Trainers print TFLOP/s for the ranks that they see, so that a node alone shows as many times more as there are nodes.
# They count FLOPs in ways that differ by less than this.
_SURELY_MORE = 1.6
# A device that sent less than this share of the median of a node's devices.
_IDLE = 0.5


def judge_transport(plan: Plan, statuses: list[Status], attempts: Mapping[str, pd.DataFrame], reasons: Reasons) -> None:
    """Note whether a job that is planned with RDMA used it.

    Two sources say so: the counters of the RDMA ports, which hold at least what the training has to exchange, and NCCL
    in the log. TCP in the log of a node fails the run; a node of which neither source says anything leaves it open.
    """
    if not is_asked(plan, statuses):
        return
    networks_of = {status["node"]: status["transports"] for status in statuses if status.get("transports")}
    over_tcp = [node for node, networks in networks_of.items() if _TCP in networks]
    for node in over_tcp:
        message = f"NCCL uses TCP on {node}, but the plan uses RDMA: its log names {_TCP}."
        reasons.add(FAIL, "tcp_transport", message, node, transports=networks_of[node])
    if over_tcp:
        return
    traffic_of = {status["node"]: moved for status in statuses if (moved := rdma_traffic(plan, status, attempts))}
    _judge_unproven(plan, statuses, networks_of, traffic_of, reasons)
    proven = {node: moved for node, moved in traffic_of.items() if moved.suffices}
    if proven:
        sent = [moved.sent for moved in proven.values()]
        each = _gigabytes(min(sent)) if len(sent) == 1 else f"{_gigabytes(min(sent))} to {_gigabytes(max(sent))} each"
        least = next(iter(proven.values())).least
        message = (
            f"RDMA devices of {counted(len(proven), 'node')} sent {each}; this training needs {_gigabytes(least)}."
        )
        reasons.add(PASS, "transport", message, sent={node: moved.by_device for node, moved in proven.items()})
    elif networks_of:
        names = sorted({name for networks in networks_of.values() for name in networks})
        message = f"NCCL uses {' and '.join(names)} on {counted(len(networks_of), 'node')}."
        reasons.add(PASS, "transport", message, transports=networks_of)
    for node, moved in traffic_of.items():
        if node in networks_of and not moved.suffices:
            named = " and ".join(networks_of[node])
            message = f"NCCL names {named} on {node}, but {_too_little(moved)}."
            reasons.note("low_traffic", message, node, sent=moved.by_device, least=moved.least)
    for message in folded_messages(_uneven(node, moved) for node, moved in proven.items() if moved.idle):
        reasons.note("uneven_traffic", message)


def _judge_unproven(
    plan: Plan,
    statuses: list[Status],
    networks_of: Mapping[str, list[str]],
    traffic_of: Mapping[str, RdmaTraffic],
    reasons: Reasons,
) -> None:
    """Note the nodes of which no source says that they used RDMA."""
    nodes = [status["node"] for status in statuses]
    proven = [node for node in nodes if node in networks_of or (node in traffic_of and traffic_of[node].suffices)]
    unproven = [node for node in nodes if node not in proven]
    for node in unproven:
        moved = traffic_of.get(node)
        if moved:
            message = f"Nothing shows that {node} used RDMA: {_too_little(moved)}."
            reasons.add(INCONCLUSIVE, "low_traffic", message, node, sent=moved.by_device, least=moved.least)
    unknown = [node for node in unproven if node not in traffic_of]
    if not unknown:
        return
    level = level_that_hides_the_network(plan["nodes"])
    if plan.get("logs") and not networks_of and level is not None:
        reasons.note("transport_unknown", "Nothing in the logs shows whether RDMA was used; no counters were read.")
        return
    if len(unknown) < len(nodes):
        for node in unknown:
            message = f"Whether {node} uses RDMA is unknown: only other nodes have counters, or name NCCL's network."
            reasons.add(INCONCLUSIVE, "transport_unknown", message, node, transports=dict(networks_of))
        return
    message = "Whether RDMA was used is unknown: no RDMA device that the plan names has counters, "
    if level is None:
        message += "and no log names NCCL's network although NCCL_DEBUG makes NCCL do so."
    else:
        message += f"and NCCL names its network only with NCCL_DEBUG=INFO; here it is {level or 'not set'}."
    reasons.add(INCONCLUSIVE, "transport_unknown", message)


def is_asked(plan: Plan, statuses: list[Status]) -> bool:
    """Return whether a run has to show that it used RDMA.

    A rehearsal need not, nor does a job on nodes without any accelerator.
    """
    if plan.get("rehearsal") or not asks_for_rdma(plan["mode"], plan["nodes"]):
        return False
    return not trains_on_cpus(statuses)


@dataclass(frozen=True)
class RdmaTraffic:
    """What the RDMA devices that the plan names sent on a node during a run, in bytes, and what they had to at least.

    ``idle`` are the devices that sent less than half of the median.
    """

    by_device: dict[str, int]
    least: int

    @property
    def sent(self) -> int:
        """Return what all of them sent."""
        return sum(self.by_device.values())

    @property
    def suffices(self) -> bool:
        """Return whether that is at least what the training has to exchange."""
        return self.sent >= self.least > 0

    @property
    def idle(self) -> dict[str, int]:
        """Return the devices that sent much less than the others."""
        usual = median(self.by_device.values())
        return {device: sent for device, sent in self.by_device.items() if sent < _IDLE * usual}


def rdma_traffic(plan: Plan, status: Status, attempts: Mapping[str, pd.DataFrame]) -> RdmaTraffic | None:
    """Return what the RDMA devices of a node sent; None if they have no counters, or no step is known.

    ``attempts`` are the steps of the nodes' last attempts: what was sent in earlier ones comes on top.
    """
    wanted = next((devices_of(node) for node in plan["nodes"] if node["node"] == status["node"]), device_names(None))
    by_device: dict[str, int] = {}
    for port, moved in status.get("traffic", {}).items():
        device = port.partition("/")[0]
        if wanted.select(device):
            by_device[device] = by_device.get(device, 0) + moved["sent"]
    steps = max((int(rows["step"].max() - rows["step"].min()) for rows in attempts.values()), default=0)
    if not by_device or not steps:
        return None
    return RdmaTraffic(by_device, least_bytes_sent(plan.get("workload"), plan["parameters"], len(plan["nodes"]), steps))


def traffic_in_words(moved: RdmaTraffic) -> str:
    """Return the traffic of a node in words, for its ledger."""
    devices = counted(len(moved.by_device), "RDMA device")
    return f"{_gigabytes(moved.sent)} sent by {devices}, at least {_gigabytes(moved.least)} needed"


def _too_little(moved: RdmaTraffic) -> str:
    devices = ", ".join(moved.by_device)
    return (
        f"its RDMA devices ({devices}) sent {_gigabytes(moved.sent)} of the {_gigabytes(moved.least)} that this "
        "training has to send at least"
    )


def _uneven(node: str, moved: RdmaTraffic) -> tuple[str, str]:
    few = ", ".join(f"{device} {_gigabytes(sent)}" for device, sent in moved.idle.items())
    usual = _gigabytes(median(moved.by_device.values()))
    return node, f"The RDMA devices of {node} shared the traffic unevenly: {few}, against a median of {usual}."


def _gigabytes(size: float) -> str:
    """Return a number of bytes in words, with three digits."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            value = size / factor
            return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}"
    return f"{size:.0f} B"


def judge_world(
    plan: Plan,
    statuses: list[Status],
    by_node: Mapping[str, Mapping[str, Statistics]],
    reasons: Reasons,
) -> None:
    """Note where nodes of one job trained alone: each sees fewer ranks than the job has.

    If no trainer says how many ranks it sees, steps on several nodes show it, if only the last rank prints steps.
    """
    nodes, workload = len(plan["nodes"]), plan.get("workload")
    if plan["mode"] != "multi_node" or nodes < 2 or not workload:
        return
    ranks = workload["gpus"]
    sizes = {status["node"]: size for status in statuses if (size := status.get("world_size"))}
    wrong = {node: size for node, size in sizes.items() if size != ranks}
    for node, size in wrong.items():
        alone = size * nodes == ranks
        what = "trained alone" if alone else "trained with the wrong world size"
        message = f"{node} {what}: it sees {counted(size, 'rank')}, but the job has {ranks}."
        reasons.add(FAIL, "trained_alone" if alone else "world_size", message, node, world_size=size, ranks=ranks)
    for status in statuses:
        _judge_communicator(status, ranks, reasons)
    if sizes and not wrong:
        every = "both" if ranks == 2 else f"all {ranks}"
        reasons.add(PASS, "world", f"The trainer sees {every} ranks of the job.", world_size=sizes)
    elif not sizes and grammar_of(grammar_name(plan)).printed_by == LAST_RANK and len(by_node) > 1:
        _judge_several_that_print(ranks, workload, by_node, reasons)
    elif not sizes and by_node:
        reasons.note("world_unknown", "No log says how many ranks the trainer sees.")


def _judge_communicator(status: Status, ranks: int, reasons: Reasons) -> None:
    """Note a node whose first communicator of NCCL has more ranks than the job: parts of a job have fewer."""
    for size, _name in communicators(status):
        if size > ranks:
            message = f"{status['node']} trained with the wrong world size: NCCL has {size} ranks, the job {ranks}."
            reasons.add(FAIL, "world_size", message, status["node"], world_size=size, ranks=ranks)


def _judge_several_that_print(
    ranks: int, workload: Workload, by_node: Mapping[str, Mapping[str, Statistics]], reasons: Reasons
) -> None:
    message = f"{counted(len(by_node), 'node')} print steps, but in one job only the last rank does"
    flops = workload["model_flops_per_token"]
    counted_by_trainer = [
        found["tflops_per_gpu"]["median"] * 1e12 / (flops * found["tokens_per_sec_per_gpu"]["median"])
        for found in by_node.values()
        if flops and {"tflops_per_gpu", "tokens_per_sec_per_gpu"} <= found.keys()
    ]
    nodes = sorted(by_node)
    if counted_by_trainer and min(counted_by_trainer) > _SURELY_MORE:
        seen = ranks / min(counted_by_trainer)
        alone = f"{message}, and their TFLOP/s match about {seen:.0f} of the {ranks} ranks: they trained alone."
        reasons.add(FAIL, "trained_alone", alone, nodes=nodes, ratio=min(counted_by_trainer))
    else:
        reasons.add(INCONCLUSIVE, "alone_suspected", f"{message}: they may have trained alone.", nodes=nodes)
