# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the nodes of one job trained together, and their network: by port counters, NCCL and the trainers."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from statistics import median

from ...module_utils.logs.grammar import LAST_RANK
from ...module_utils.logs.grammars.known import grammar_name, grammar_of
from ...module_utils.logs.ranks import widest_communicator
from ..contracts import Plan, Status, Workload
from ..plan.job.rdma import TCP, level_that_hides_the_network, requires_rdma
from .judge_log import communicators
from .rdma_traffic import RdmaTraffic
from .reasons import FAIL, INCONCLUSIVE, PASS, Reasons

if t.TYPE_CHECKING:
    from ..contracts import Statistics

# Trainers print TFLOP/s for the ranks that they see, so a node that trains alone prints the true value times the number
# of nodes. Their ways of counting FLOPs differ by less than this factor.
_SURELY_MORE = 1.6


def judge_transport(
    plan: Plan, statuses: list[Status], traffic_of: Mapping[str, RdmaTraffic], reasons: Reasons
) -> None:
    """Note whether a job that is planned with RDMA used it.

    There are two sources: the counters of the RDMA ports (``traffic_of``, by node), which must show at least the
    traffic that the training needs, and NCCL's lines in the log. TCP in a node's log fails the run; a node without
    either source leaves the verdict open.
    """
    if not requires_rdma(plan):
        return
    networks_of = {status["node"]: found for status in statuses if (found := status["trainer"]["transports"])}
    over_tcp = [node for node, networks in networks_of.items() if TCP in networks]
    for node in over_tcp:
        reasons.argue(FAIL, "tcp_transport", node, transports=networks_of[node])
    if over_tcp:
        return
    _judge_unproven(plan, statuses, networks_of, traffic_of, reasons)
    proven = {node: moved for node, moved in traffic_of.items() if moved.suffices}
    if proven:
        totals = [moved.sent for moved in proven.values()]
        reasons.argue(
            PASS,
            "transport",
            case="rdma" if len(proven) == 1 else "rdma_each",
            nodes=len(proven),
            lowest=min(totals),
            highest=max(totals),
            least=next(iter(proven.values())).least,
            sent={node: moved.by_device for node, moved in proven.items()},
        )
    elif networks_of:
        names = sorted({name for networks in networks_of.values() for name in networks})
        reasons.argue(PASS, "transport", case="nccl", networks=names, nodes=len(networks_of), transports=networks_of)
    for node, moved in traffic_of.items():
        if node in networks_of and not moved.suffices:
            networks = networks_of[node]
            reasons.remark("low_traffic", node, case="named_by_nccl", networks=networks, **_too_little(moved))
    for node, moved in proven.items():
        if moved.idle:
            usual = float(median(moved.by_device.values()))
            reasons.remark("uneven_traffic", node, idle=moved.idle, median=usual)


def _judge_unproven(
    plan: Plan,
    statuses: list[Status],
    networks_of: Mapping[str, list[str]],
    traffic_of: Mapping[str, RdmaTraffic],
    reasons: Reasons,
) -> None:
    """Note the nodes without a source that shows RDMA."""
    nodes = [status["node"] for status in statuses]
    proven = [node for node in nodes if node in networks_of or (node in traffic_of and traffic_of[node].suffices)]
    unproven = [node for node in nodes if node not in proven]
    for node in unproven:
        moved = traffic_of.get(node)
        if moved:
            reasons.argue(INCONCLUSIVE, "low_traffic", node, **_too_little(moved))
    unknown = [node for node in unproven if node not in traffic_of]
    if not unknown:
        return
    level = level_that_hides_the_network(plan["nodes"])
    if plan.get("logs") and not networks_of and level is not None:
        reasons.remark("transport_unknown", case="no_counters_read")
        return
    if len(unknown) < len(nodes):
        for node in unknown:
            reasons.argue(INCONCLUSIVE, "transport_unknown", node, case="of_some_nodes", transports=dict(networks_of))
        return
    if level is None:
        reasons.argue(INCONCLUSIVE, "transport_unknown")
    else:
        case = "debug_level" if level else "debug_level_not_set"
        reasons.argue(INCONCLUSIVE, "transport_unknown", case=case, level=level)


def _too_little(moved: RdmaTraffic) -> dict[str, t.Any]:
    return {"devices": list(moved.by_device), "total": moved.sent, "least": moved.least, "sent": moved.by_device}


def judge_world(
    plan: Plan,
    statuses: list[Status],
    by_node: Mapping[str, Mapping[str, Statistics]],
    reasons: Reasons,
) -> None:
    """Note where nodes of one job trained alone: each sees fewer ranks than the job has.

    If no trainer prints its number of ranks, steps on several nodes show it for trainers whose last rank alone prints.
    """
    nodes, workload = len(plan["nodes"]), plan.get("workload")
    if plan["mode"] != "multi_node" or nodes < 2 or not workload:
        return
    ranks = workload["gpus"]
    sizes = {status["node"]: size for status in statuses if (size := status["trainer"]["world_size"])}
    wrong = {node: size for node, size in sizes.items() if size != ranks}
    for node, size in wrong.items():
        alone = size * nodes == ranks
        reasons.argue(FAIL, "trained_alone" if alone else "world_size", node, world_size=size, ranks=ranks)
    for status in statuses:
        _judge_communicator(status, ranks, reasons)
    if sizes and not wrong:
        reasons.argue(PASS, "world", ranks=ranks, world_size=sizes)
    elif not sizes and _judge_width(statuses, ranks, reasons):
        return
    elif not sizes and grammar_of(grammar_name(plan)).printed_by == LAST_RANK and len(by_node) > 1:
        _judge_several_that_print(ranks, workload, by_node, reasons)
    elif not sizes and by_node:
        reasons.remark("world_unknown")


def _judge_communicator(status: Status, ranks: int, reasons: Reasons) -> None:
    """Note a node whose first NCCL communicator has more ranks than the job; parts of a job have fewer."""
    for size, _name in communicators(status["trainer"]):
        if size > ranks:
            reasons.argue(FAIL, "world_size", status["node"], case="nccl", world_size=size, ranks=ranks)


def _judge_width(statuses: list[Status], ranks: int, reasons: Reasons) -> bool:
    """Note nodes that NCCL connects with no other node, and return whether there are any.

    A smaller communicator alone shows nothing: tensor parallelism has some inside a node as well.
    """
    widest = {
        status["node"]: found for status in statuses if (found := widest_communicator(status["trainer"]["ranks"]))
    }
    alone = {node: of_all for node, (nodes, of_all) in widest.items() if nodes == 1 and of_all < ranks}
    for node, of_all in alone.items():
        reasons.argue(INCONCLUSIVE, "alone_suspected", node, case="nccl", world_size=of_all, ranks=ranks)
    return bool(alone)


def _judge_several_that_print(
    ranks: int, workload: Workload, by_node: Mapping[str, Mapping[str, Statistics]], reasons: Reasons
) -> None:
    flops = workload["model_flops_per_token"]
    counted_by_trainer = [
        found["tflops_per_gpu"]["median"] * 1e12 / (flops * found["tokens_per_sec_per_gpu"]["median"])
        for found in by_node.values()
        if flops and {"tflops_per_gpu", "tokens_per_sec_per_gpu"} <= found.keys()
    ]
    nodes = sorted(by_node)
    if counted_by_trainer and min(counted_by_trainer) > _SURELY_MORE:
        ratio = min(counted_by_trainer)
        matched = {"nodes": nodes, "matching_ranks": ranks / ratio, "ranks": ranks, "ratio": ratio}
        reasons.argue(FAIL, "trained_alone", case="several_print", **matched)
    else:
        reasons.argue(INCONCLUSIVE, "alone_suspected", nodes=nodes)
