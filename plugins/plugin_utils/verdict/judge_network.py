# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the nodes of one job trained together, and over which network, according to NCCL and the trainers."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ...module_utils.logs.frameworks.known import grammar_of
from ...module_utils.logs.grammar import LAST_RANK
from ..contracts import Plan, Status, Workload
from ..plan.config.words import counted
from ..plan.job.rdma import asks_for_rdma, level_that_hides_the_network
from .judge_log import communicators
from .reasons import FAIL, INCONCLUSIVE, PASS, Reasons

if t.TYPE_CHECKING:
    from ..contracts import Statistics

_TCP = "NET/Socket"
# Trainers print TFLOP/s for the ranks that they see, so that a node alone shows as many times more as there are nodes.
# They count FLOPs in ways that differ by less than this.
_SURELY_MORE = 1.6


def judge_transport(plan: Plan, statuses: list[Status], reasons: Reasons) -> None:
    """Note whether a job that is planned with RDMA used it; what no log shows is not assumed."""
    if plan.get("rehearsal") or not asks_for_rdma(plan["mode"], plan["nodes"]):
        return
    networks_of = {status["node"]: status["transports"] for status in statuses if status.get("transports")}
    over_tcp = [node for node, networks in networks_of.items() if _TCP in networks]
    for node in over_tcp:
        message = f"NCCL uses TCP on {node}, but the plan uses RDMA: its log names {_TCP}."
        reasons.add(FAIL, "tcp_transport", message, node, transports=networks_of[node])
    if over_tcp:
        return
    for node in [status["node"] for status in statuses if networks_of and status["node"] not in networks_of]:
        message = f"Whether {node} uses RDMA is not known: only the logs of other nodes name NCCL's network."
        reasons.add(INCONCLUSIVE, "transport_unknown", message, node, transports=networks_of)
    if networks_of:
        names = sorted({name for networks in networks_of.values() for name in networks})
        message = f"NCCL uses {' and '.join(names)} on {counted(len(networks_of), 'node')}."
        reasons.add(PASS, "transport", message, transports=networks_of)
    else:
        level = level_that_hides_the_network(plan["nodes"])
        message = "Whether RDMA was used is not known: "
        if level is None:
            message += "NCCL_DEBUG makes NCCL name its network, but no log does."
        else:
            message += f"NCCL names its network only with NCCL_DEBUG=INFO; here it is {level or 'not set'}."
        reasons.add(INCONCLUSIVE, "transport_unknown", message)


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
    elif not sizes and grammar_of(plan["framework"]).printed_by == LAST_RANK and len(by_node) > 1:
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
