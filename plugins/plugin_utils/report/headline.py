# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run came to, in the order in which a reader wants to know it: the first screen of page, terminal and mail.

A headline in one sentence, the leads (what is wrong with a run although it passed, such as a slow node), the reasons
that neither of them tells, and the notes that are not true of every run.
"""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Mapping, Sequence

from ..contracts import FirstFailure, JudgedBound, NodeSummary, Reason, Summary
from ..inventory.folded_names import folded
from ..plan.config.words import all_of, counted
from ..verdict.first_cause import NOBODY_TOLD
from .failure_titles import failure_title
from .messages import reasons_of
from .readable import LABELS, exact, machine_name, measured, percent, scaled, with_unit
from .thresholds import limits_in_words, margin_of

# These rows of the ledger follow from a node that failed: it did not end well, and no step came after it.
_FOLLOWS = frozenset({"exit status", "steps", "failures"})
# Notes that figures and leads tell, or that are true of every run that is judged from its logs.
_TOLD_ELSEWHERE = frozenset(
    {"mfu", "stragglers", "warm_up", "logs_as_named", "survived_fault", "unusual_last_lines", "world_unknown"}
)
# After a failure, these say no more than that there are few steps.
_OF_FEW_STEPS = frozenset({"loss_not_judged", "not_steady"})
_UNSTARTED = frozenset({"not_started", "staged"})
_MOST_NAMED = 4


class Lead(t.NamedTuple):
    """What a reader must not miss although it is not the verdict: its kind, its beginning in bold, and the rest."""

    kind: t.Literal["regression", "slow", "survived"]
    strong: str
    rest: str


def headline(summary: Summary) -> str:
    """Return what the run came to, in one sentence without a full stop."""
    failure = summary["first_failure"]
    if summary["verdict"] == "PASS":
        return _speed(summary)
    if summary.get("mode") == "single_node" and len(summary["nodes"]) > 1:
        return _qualification(summary)
    if failure:
        return _failed(summary, failure)
    missed = missed_bounds(summary)
    if summary["verdict"] == "FAIL" and missed and not _untold(summary, missed):
        more = f", and {counted(len(missed) - 1, 'more threshold')} missed" if missed[1:] else ""
        return f"{bound_sentence(missed[0])}{more}"
    message, _code = next(iter(reasons_of(summary["reasons"])), ("Nothing is known of this run.", ""))
    return message.rstrip(".")


def numbers(summary: Summary) -> list[str]:
    """Return the numbers of a run that its headline does not tell, short enough to stand in one line."""
    metrics, told = summary["metrics"], headline(summary)
    found = [
        f"{label}{text}"
        for metric, label in (
            ("tokens_per_sec_per_gpu", ""),
            ("tflops_per_gpu", ""),
            ("step_time_ms", "step time "),
            ("loss", "loss "),
        )
        if metric in metrics
        and metrics[metric]["value"] is not None
        and (text := with_unit(metrics[metric]["value"], metric)) not in told
    ]
    if summary.get("mfu") is not None:
        found.insert(0, f"MFU {measured(summary['mfu'], 'mfu')} %")
    return found


def fleet(summary: Summary) -> str:
    """Return on what a run ran, such as ``16 nodes × 8 MI300X``."""
    nodes = len(summary["nodes"])
    workload = summary.get("workload")
    gpus, gpu = workload["gpus"] if workload else 0, machine_name(summary["gpu"] or "")
    per_node = f" × {gpus // nodes}" if gpus and nodes and gpus % nodes == 0 else ""
    return f"{counted(nodes, 'node')}{per_node}{' ' + (gpu if per_node or not gpu else f'with {gpu}') if gpu else ''}"


def steps_told(summary: Summary) -> str:
    """Return how far the run came, such as ``11 of 60 steps``; empty without a step."""
    known = [node for node in summary["nodes"] if node.get("last_step") is not None]
    if not known:
        return ""
    # A trainer that counts from 0 has done one step more than the number of its last one.
    least = min(known, key=lambda node: node["last_step"] or 0)
    total = least.get("steps_total")
    if summary["verdict"] == "PASS":
        return counted(total, "step") if total else f"step {least['last_step']}"
    return f"step {least['last_step']}{f' of {total}' if total else ''}"


def leads_of(summary: Summary) -> list[Lead]:
    """Return what has to stand right below the headline."""
    leads = []
    regression = summary.get("regression")
    if regression:
        leads.append(Lead("regression", regression_in_words(regression), ""))
    slow = summary["stragglers"]["nodes"]
    if slow:
        leads.append(_slow(summary))
    survived = survived_faults(summary)
    if survived:
        nodes = folded({row["node"] for row in survived})
        classes = ", ".join(dict.fromkeys(failure_title(row["class"]) for row in survived))
        leads.append(Lead("survived", f"The run survived {counted(len(survived), 'fault')} on {nodes}:", classes))
    return leads


def regression_in_words(regression: Mapping[str, t.Any]) -> str:
    """Return a proven regression as a sentence."""
    return f"{regression['message']}. This is a real change, not noise."


def survived_faults(summary: Summary) -> list[dict[str, t.Any]]:
    """Return the faults that the run survived, each with ``node``, ``class``, ``line`` and ``step`` (None: not known).

    The same line of a node, or of several, is one fault each.
    """
    rows = []
    for note in summary["notes"]:
        if note.get("code") == "survived_fault":
            found = {**note.get("evidence", {}), **note}
            rows.append(
                {
                    "node": found.get("node"),
                    "class": found.get("class") or "unnamed",
                    "line": found.get("line") or found.get("message"),
                    "step": found.get("step"),
                }
            )
    return rows


def unusual_lines(summary: Summary) -> list[tuple[str, list[str]]]:
    """Return the unusual last lines of logs, nodes with the same ones together: folded names and lines."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for note in summary["notes"]:
        if note.get("code") == "unusual_last_lines":
            found = {**note.get("evidence", {}), **note}
            lines = tuple(found.get("lines") or [found["message"]])
            alike.setdefault(lines, []).append(found.get("node", ""))
    return [(folded(nodes), list(lines)) for lines, nodes in alike.items()]


def notes_of(summary: Summary) -> list[str]:
    """Return the notes that only some runs have, and that nothing else on the first screen tells."""
    told = _TOLD_ELSEWHERE | (_OF_FEW_STEPS if summary["first_failure"] else set())
    notes = [note for note in summary["notes"] if note.get("code") not in told]
    return [message for message, _code in reasons_of(notes)]


def open_reasons(summary: Summary) -> list[tuple[str, str]]:
    """Return the reasons against a PASS, each with its code, that do not follow from the headline; none for a PASS."""
    if summary["verdict"] == "PASS":
        return []
    missed = missed_bounds(summary)
    told = headline(summary)
    found = reasons_of(_untold(summary, missed))
    of_bounds = [(f"{bound_sentence(bound)}.", "threshold_missed") for bound in missed]
    return [(message, code) for message, code in [*found, *of_bounds] if not told.startswith(message.rstrip("."))]


def others_in_words(summary: Summary) -> str:
    """Return what became of the nodes that did not fail first, in one or two sentences; empty where nothing is known."""
    failure = summary["first_failure"]
    others = [node for node in summary["nodes"] if failure and node["node"] != failure["node"]]
    if not failure or not others or summary.get("mode") == "single_node":
        return ""
    if nobody_is_blamed(failure):
        silent = sum(node["state"] == "stalled" for node in summary["nodes"])
        whole = silent == len(others) + 1
        which = all_of(silent, "node") if whole else f"{silent} of {len(others) + 1} nodes"
        return f"{which} went silent; which one was first proves nothing."
    echoes: dict[str, list[str]] = {}
    for echo in failure.get("echoes") or ():
        echoes.setdefault(echo["class"], []).append(echo["node"])
    if all(node["state"] in _UNSTARTED for node in others):
        if not echoes:
            return f"The other {counted(len(others), 'node')} could have started."
    told = [f"{_named(nodes)} ({failure_title(name)})" for name, nodes in echoes.items()]
    echoing = {name for nodes in echoes.values() for name in nodes}
    stopped = [node["node"] for node in others if was_stopped(node) and node["node"] not in echoing]
    sentences = []
    if stopped:
        which = "The other node was" if len(stopped) == len(others) == 1 else (
            f"The other {len(stopped)} nodes were" if len(stopped) == len(others) else f"{_named(stopped)} were"
            if len(stopped) > 1 else f"{stopped[0]} was"
        )
        sentences.append(f"{which} stopped because {failure['node']} failed.")
    if told:
        sentences.append(f"Followed by {', '.join(told)}.")
    return " ".join(sentences)


def was_stopped(node: NodeSummary) -> bool:
    """Return whether a node's training was ended from outside, so that its own end says nothing."""
    return node["state"] == "stopped" or (node["state"] == "exited" and node["exit_code"] is None)


def nobody_is_blamed(failure: FirstFailure) -> bool:
    """Return whether a run hung and nothing tells which node holds up the others."""
    return failure["class"] == "stalled" and failure["message"].endswith(NOBODY_TOLD)


def missed_bounds(summary: Summary) -> list[JudgedBound]:
    """Return the thresholds that were measured and missed, the one missed by most first."""
    codes = {reason.get("code") for reason in summary["reasons"]}
    if not codes & {"threshold_missed"}:
        return []
    missed = [
        bound for bound in summary["thresholds"] if bound["met"] is False and bound["measured"] is not None
    ]
    return sorted(missed, key=lambda bound: margin_of(bound) or 0.0)


def bound_sentence(bound: JudgedBound) -> str:
    """Return how a measured value stands to its threshold, such as ``… 8,725 tokens/s per GPU; at least 8,800 …``."""
    metric = bound["metric"]
    where = f" on {bound['node']}" if bound["node"] else ""
    return f"{LABELS[metric]} {with_unit(bound['measured'], metric).removesuffix(' per GPU')}{where}; {against(bound)}"


def required(bound: JudgedBound) -> str:
    """Return what a threshold asks for in short, and the margin, such as ``required ≥ 9,000 · +2.9 %``."""
    margin = margin_of(bound)
    word = "allowed" if bound["least"] is None else "required"
    return f"{word} {limits_in_words(bound)}{'' if margin is None else f' · {percent(margin, signed=True)}'}"


def against(bound: JudgedBound) -> str:
    """Return what a threshold asks for, and by how much it is met, such as ``at least 8,800 required (−0.9 %)``."""
    metric, margin = bound["metric"], margin_of(bound)
    least, greatest = (scaled(bound[side], metric) for side in ("least", "greatest"))
    if least is not None and greatest is not None:
        text = f"{exact(least)} to {exact(greatest)} required"
    elif least is not None:
        text = f"at least {exact(least)} required"
    elif greatest is not None:
        text = f"at most {exact(greatest)} allowed"
    else:
        return "for information"
    return text if margin is None else f"{text} ({percent(margin, signed=True)})"


def _speed(summary: Summary) -> str:
    """Return what a run that passed achieved."""
    model, metrics = summary["model"], summary["metrics"]
    metric = next((name for name in ("tokens_per_sec_per_gpu", "step_time_ms") if _value(metrics, name)), None)
    who = f"{fleet(summary)} trained{' ' + model if model else ''}"
    if not metric:
        return f"{who} for {steps_told(summary)}" if steps_told(summary) else who
    how = "at" if metric == "tokens_per_sec_per_gpu" else "with a step time of"
    text = f"{who} {how} {with_unit(_value(metrics, metric), metric)}"
    bound = next((one for one in summary["thresholds"] if one["metric"] == metric and one.get("met")), None)
    margin = margin_of(bound) if bound else None
    if bound and margin is not None and (bound["least"] is None) != (bound["greatest"] is None):
        limit = bound["least"] if bound["greatest"] is None else bound["greatest"]
        side = ("above", "required") if bound["greatest"] is None else ("below", "allowed")
        text += f", {percent(margin)} {side[0]} the {exact(scaled(limit, metric))} {side[1]}"
    return text


def _qualification(summary: Summary) -> str:
    """Return how many nodes passed, where each trains by itself, and which did not."""
    bad = {reason["node"] for reason in summary["reasons"] if reason.get("node") and reason.get("verdict") != "PASS"}
    bad |= {bound["node"] for bound in missed_bounds(summary) if bound["node"]}
    slow = {one["node"]: one["slower"] for one in summary["stragglers"]["nodes"]}
    good = len(summary["nodes"]) - len(bad | set(slow))
    parts = [f"{good} of {counted(len(summary['nodes']), 'node')} passed"]
    if bad:
        parts.append(f"{len(bad)} did not ({_named(bad)})")
    if slow.keys() - bad:
        named = ", ".join(f"{node} {percent(-100 * by)}" for node, by in slow.items() if node not in bad)
        parts.append(f"{len(slow.keys() - bad)} slow ({named})")
    return ", ".join(parts)


def _failed(summary: Summary, failure: FirstFailure) -> str:
    node = next((one for one in summary["nodes"] if one["node"] == failure["node"]), None)
    last, total = (node.get("last_step"), node.get("steps_total")) if node else (None, None)
    step = f"at step {last}{f' of {total}' if total else ''}" if last is not None else ""
    if nobody_is_blamed(failure):
        return f"Training hung {step}".rstrip() + "; no log tells which rank blocks the others"
    if failure["class"] == "not_ready":
        return f"{failure['node']} could not start: {failure['message'].rstrip('.')}"
    title = failure_title(failure["class"])
    if failure["class"] == "exit_status" and failure.get("exit_code"):
        title += f" with exit status {failure['exit_code']}"
    rank = f", rank {failure['rank']}" if failure.get("rank") is not None else ""
    before = "before the first step" if node and node["state"] not in _UNSTARTED else ""
    return f"{title} on {failure['node']}{rank}, {step or before}".rstrip(", ")


def _slow(summary: Summary) -> Lead:
    found = summary["stragglers"]
    slow, median, cost = found["nodes"], found.get("median"), found.get("throughput_cost")
    together = summary.get("mode") != "single_node"
    worst = slow[0]
    if cost and together:
        whose = "One slow node costs" if len(slow) == 1 else f"{len(slow)} slow nodes cost"
        strong = f"{whose} {percent(100 * cost)} of throughput:"
    else:
        strong = f"{counted(len(slow), 'slow node')}:"
    against_median = f" ({measured(worst['value'], found.get('metric', 'step_time_ms'))} against {with_unit(median, 'step_time_ms')})" if median else ""
    rest = f"{worst['node']} is {percent(100 * worst['slower'])} slower than the median of the nodes{against_median}"
    others = [f"{one['node']} {percent(100 * one['slower'])}" for one in slow[1 : 1 + _MOST_NAMED]]
    more = f", and {len(slow) - 1 - _MOST_NAMED} more" if len(slow) > 1 + _MOST_NAMED else ""
    return Lead("slow", strong, f"{rest}{', ' + ', '.join(others) if others else ''}{more}.")


def _untold(summary: Summary, missed: Sequence[JudgedBound]) -> list[Reason]:
    """Return the reasons that neither a first failure nor a missed threshold tells.

    After a failure much is missing; that this proves nothing is no news.
    """
    proven = summary["verdict"] in ("FAIL", "ERROR")
    failed = proven and bool(summary["first_failure"])
    much_missing = failed or (proven and all(node.get("last_step") is None for node in summary["nodes"]))
    return [
        reason
        for reason in summary["reasons"]
        if not (missed and reason.get("code") == "threshold_missed")
        and not (failed and reason.get("row") in _FOLLOWS)
        and not (much_missing and reason.get("verdict") == "INCONCLUSIVE")
    ]


def _value(metrics: Mapping[str, t.Any], metric: str) -> float | None:
    return metrics[metric]["value"] if metric in metrics else None


def _named(nodes: Collection[str]) -> str:
    return folded(nodes)
