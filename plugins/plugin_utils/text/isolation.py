# SPDX-License-Identifier: GPL-3.0-or-later
"""The sentences of an isolation's findings, and the reasons for quarantine. Codes and cases are public."""

from __future__ import annotations

import typing as t

from ..contracts import Reason
from .problems import UNREACHABLE
from .sentences import Form, sentence

_SLOW = "is {slower_by:slower}{interval:bounds}"
_OCCUPIED = ", but other processes used it, so nothing is proved about the hardware"
_REPORTED = "{fact:fact}{details:details}"
# A node or link that was not proved to be bad: slow twice, slow or failed once.
_UNPROVED = {
    "": "took {slower_by:longer} both times; on these nodes only {proof:at_most} or more is proof",
    "once": "took {slower_by:longer}, and isolate_budget left no time for a second test",
    "failed": "failed once, and isolate_budget left no time for a second test",
}
_AT_SCALE = "{nodes} nodes are {slower_by:slower 0} than groups of {than} ({probe})"
_FAIL_AT_SCALE = "{nodes} nodes fail, and groups of {than} do not ({probe})"
_WHAT = {
    "": "{node} ({part})",
    "link": "The link {node}–{other}",
    "one_way": "The link from {node} to {other}",
}
_BELOW = (
    "{rate:,.0f} {unit} ({probe}): {share:share 2} of the maker's peak, and healthy ones reach at least {least:share 2}"
)
_NOT_PROVED = "Nothing is proved to be slow, but "
_SUSPECT_OF_RUN = "{node} was a suspect of the run ({reason}): "

ISOLATION: t.Final[dict[str, dict[str, Form]]] = {
    **{
        code: {
            "_".join(filter(None, (occupied, kind))): Form(f"{what} {said}{meanwhile}")
            for occupied, meanwhile in (("", ""), ("occupied", _OCCUPIED))
            for kind, what in _WHAT.items()
        }
        for code, said in (("slow", _SLOW), ("broken", "is broken"))
    },
    # What a node lacks, by the roll-call before the tests.
    "missing": {
        "others": Form("{node} has {gpus:count GPU}, and {others} others have {usual}"),
        "others_at": Form("{node} has {gpus:count GPU}, and {others} others have {usual}: {missing:list 4} is missing"),
        "inventory": Form("{node} has {gpus:count GPU}, and the inventory expects {asked}"),
        "driver": Form("{node} has {on_bus:count GPU} on its PCI bus, and its driver sees {gpus}"),
        "port": Form("{node} has no RDMA port {port}, and {others} others have it"),
        "link": Form("The RDMA port {port} of {node} is {state}, and ACTIVE on {others} others"),
        "rate": Form("The RDMA port {port} of {node} runs at {rate:g} Gb/s, and at {usual:g} Gb/s on {others} others"),
    },
    # No part of a node can measure that.
    "impossible": {
        "above_peak": Form(
            "{node} ({part}) states {rate:,.0f} {unit} ({probe}), and the peak of {model} is {peak:,.0f}: its readings "
            "are not to be believed"
        ),
        "too_long": Form(
            "{node} ({part}) states {seconds:duration} ({probe}), and that test ends after {limit:duration}: its "
            "readings are not to be believed"
        ),
    },
    "occupied": {
        "gpus": Form("{node} has other processes on its GPUs: {processes:processes}"),
        "cores": Form("{node} has {busy:.0f} of {cores} cores busy with other processes: {processes:processes}"),
    },
    # The kernel and the counters of network ports, from the reservation of the node to its release.
    "reported": {
        "": Form(f"{{node}} reported during its tests: {_REPORTED}"),
        "slow": Form(f"{{node}} ({{part}}) took {{slower_by:longer}} both times, and reported meanwhile: {_REPORTED}"),
    },
    "fact": {
        "missing": Form("Seen before the tests"),
        "impossible": Form("The other readings of that part are not used"),
        "reported": Form("From its kernel log and its counters, before and after the tests"),
    },
    # A node or link was a suspect in both tests.
    "tested_again": {
        "slow": Form(
            "{probe:probe} takes {times:times} as long as usual, and {times_again:times} when tested again against "
            "proven nodes, which is beyond the noise and {beyond:longer} than the last good one"
        ),
        "broken": Form("{probe} fails, and again when repeated: {said}"),
    },
    "unproved": {
        "_".join(filter(None, (title, known, kind))): Form(
            f"{before}{what.replace('The', 'the') if title else what} {took}"
        )
        for title, before in (("", ""), ("title", _NOT_PROVED))
        for known, took in _UNPROVED.items()
        for kind, what in _WHAT.items()
    },
    "slow_together": {
        "": Form("{count} of {of} nodes are {slower_by:slower} than the others ({probe:probe}): {nodes:nodes}"),
        "place": Form(
            "{count} of the {of} nodes of {places:list} are {slower_by:slower} ({probe:probe}). Check first "
            "their power, cooling and switches"
        ),
    },
    "below_floor": {
        "": Form("{nodes:nodes}: below the floor of {model}, " + _BELOW),
        "all": Form("{count:all node} with {model} are below its floor, " + _BELOW),
    },
    "unmeasured": {
        "nodes": Form("{probe} failed on all nodes: {said}"),
        "between": Form("{probe} failed between all nodes: {said}"),
        "title": Form(_NOT_PROVED + "{probes:failed_probes}"),
    },
    "slow_at_scale": {
        "": Form(f"Groups of {_AT_SCALE}"),
        "fails": Form(f"Groups of {_FAIL_AT_SCALE}"),
        "title": Form(f"No node is slow, but groups of {_AT_SCALE}"),
        "title_fails": Form(f"No node is slow, but groups of {_FAIL_AT_SCALE}"),
    },
    "coarse": {"": Form(_NOT_PROVED + "some differences are too uncertain to call all nodes good")},
    "good": {
        "": Form("{nodes:all node} are good"),
        "one_node": Form("The node is good"),
        "with_links": Form("{nodes:all node} and their links are good"),
    },
    "some_tested": {
        "": Form("{good:count node} good, {untested} not tested"),
        "in_doubt": Form("{good:count node} tested without a clear result, {untested} not tested"),
    },
    "none_tested": {"": Form("No node was tested")},
    "untested": {
        "": Form("{node} was not tested: {said}", many="{node} were not tested: {said}"),
        **{
            code: Form("{node} was not tested: {said}", many=f"{{node}} were not tested: {one.cause}")
            for code, one in UNREACHABLE.items()
        },
    },
    "suspicion": {
        "confirmed": Form(_SUSPECT_OF_RUN + "confirmed"),
        "not_confirmed": Form(_SUSPECT_OF_RUN + "not confirmed by these tests"),
        "not_tested": Form(_SUSPECT_OF_RUN + "not tested"),
    },
    "gpus_untested": {"": Form("GPUs were not tested")},
    "sizes": {"": Form("Against groups of {least} nodes: {sizes:group_sizes} ({probe})")},
    "without_peers": {
        "": Form("{node} is compared with nothing: too few other nodes have {model}"),
        "links": Form("The links of {node} are compared with nothing: too few other nodes have {model}"),
        "pairs": Form("{count:count pair} of {models} are compared with nothing: too few are alike"),
    },
    "slower_model": {"": Form("Nodes with {model} take longer than nodes with {than}: {slower_by:percents}")},
    "next_steps": {
        "leave_out": Form("Leave {nodes:nodes} out of trainings until repaired: {command}"),
        "cost": Form(
            "A training with {node} is slower on all nodes, because each step waits for it: {probe:probe} "
            "{slower_by:longer}"
        ),
        "free": Form("End the other processes on {node}, or wait for them, and test again before any repair"),
        "link": Form("Check cables, switch ports and routes between {node} and {other}; either one can train alone"),
        "test_again": Form("After the repair, test again: {command}"),
    },
    "fleet": {"": Form("Good nodes differ by {spread:percents}; the last of them are {last:last_nodes}")},
    "proof": {
        "": Form("Proof that a node is slower begins at {least:proofs}"),
        "none": Form("No measurement proves here that a node is slower"),
    },
    "peak": {
        "": Form("{model}: usually {tflops:,.0f} TFLOP/s in {precision} ({probe}), {share:share 2} of the peak"),
        "unknown": Form("{model}: usually {tflops:,.0f} TFLOP/s in {precision} ({probe})"),
    },
}
# Why a host is in quarantine, and how it is released.
QUARANTINE: t.Final[dict[str, dict[str, Form]]] = {
    "held": {
        "run": Form("it made run {run_id} fail at {since} ({reason})"),
        "isolation": Form("isolation {isolation} found on {since} that {reason}; it is held until {until}"),
        "isolation_without_end": Form(
            "isolation {isolation} found on {since} that {reason}; it is held without an end"
        ),
    },
    "released": {
        "run": Form("Once it is repaired, a green preflight takes it out of quarantine."),
        "isolation": Form("Once it is repaired, an isolation that finds it good takes it out of quarantine."),
    },
}


def isolation_finding(code: str, case: str = "", node: str = "", **values: t.Any) -> Reason:
    """Return a finding of an isolation with its sentence, which has no full stop."""
    finding: Reason = {"code": code, "message": ""}
    if case:
        finding["case"] = case
    if node:
        finding["node"] = node
    if values:
        finding["values"] = values
    return {**finding, "message": sentence(ISOLATION, finding)}


def title_of(finding: Reason, more: int, *, gpus_untested: bool) -> str:
    """Return the title of an isolation: its main finding, and how many more suspects there are."""
    others = f", and {more} more" if more else ""
    untested = f"; {ISOLATION['gpus_untested'][''].one}" if gpus_untested else ""
    return f"{finding['message']}{others}{untested}"
