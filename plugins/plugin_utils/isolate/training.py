# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of the training whose image, devices and environment programs of probes run with."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping, Sequence

from ..contracts import Plan
from ..plan.job.ranks import Node
from ..plan.plan import asked_by, make_plan

# Which hosts would train does not matter here.
_LEFT_OUT = ("training_exclude", "training_hosts", "training_rank_order", "training_spares")


# More rows take no longer for each.
_MOST_ROWS = 32768


def product_of(plan: Plan | None) -> list[int]:
    """Return the rows, the inner size and the columns of a training's largest product on a GPU; empty if not known.

    It is the first product of a feed-forward part: the tokens of a micro batch times the weights of one GPU.
    """
    work = plan and plan["workload"]
    if not plan or not work:
        return []
    batch, length, inner = work["micro_batch_size"], work["sequence_length"], work["hidden_size"]
    columns, tensor = work.get("feed_forward_size"), plan["parameters"].get("tensor_parallelism") or 1
    if not batch or not length or not inner or not columns:
        return []
    rows = round(batch * length) // (plan["parameters"].get("context_parallelism") or 1)
    return [min(max(rows, 1), _MOST_ROWS), inner, max(columns // tensor, 1)]


def training_plan(
    text: str,
    source: str,
    unreadable: str | None,
    options: Mapping[str, t.Any],
    hosts: Sequence[Node],
    make: Callable[..., Plan] = make_plan,
) -> Plan:
    """Return the plan of a training config on as many of some hosts as it asks for; ValueError says each fault of it.

    ``options`` are the variables of a run, and ``make`` is `make_plan` or another function that plans one.
    """
    kept = {name: value for name, value in options.items() if name not in _LEFT_OUT}
    asked = None if unreadable else asked_by(text, source, kept, len(hosts)).nodes
    plan = make(text, source, kept, hosts[: asked or None], "", unreadable)
    faults = [f"{fault['key']}: {fault['message']} {fault['remedy']}" for fault in plan["faults"]]
    if not faults and not plan["nodes"]:
        faults = ["It does not train on hosts, so there is no image to test them with."]
    if faults:
        raise ValueError(f"{source} gives no image and environment to test with. " + " ".join(faults))
    return plan
