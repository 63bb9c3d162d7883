# SPDX-License-Identifier: GPL-3.0-or-later
"""The outcome of a run in one sentence, and the next things a reader wants: numbers and open reasons."""

from __future__ import annotations

import typing as t

from ..contracts import FirstFailure, NodeSummary, Reason, Summary
from ..metrics import IN_SHORT, ROWS
from ..run.blame import origin_of
from ..text.nodes import folded
from ..text.words import counted, every
from .failures import causes_of_no_start, failure_title, reasons_of
from .leads import slowness
from .readable import in_a_sentence, is_nothing, machine_name, measured, unit_in_words, with_unit
from .thresholds import margin, missed_bounds, required

# If a node failed, these rows of the ledger fail as well: it did not end well, and no step followed.
_FOLLOWS = frozenset({"exit status", "steps", "failures"})


# Some reasons, shown as the headline, already say how far the run came or on how many nodes it ran.
_TELLS = {"last_step_missing": frozenset({"steps"}), "exit_status_unknown": frozenset({"fleet"})}


class Headline(t.NamedTuple):
    """The outcome of a run in one sentence without a full stop, and the facts that this sentence states.

    ``tells`` contains metrics, and ``fleet``, ``model``, ``steps`` and ``reason`` (the first one) if stated.
    """

    text: str
    tells: frozenset[str] = frozenset()


def headline(summary: Summary) -> str:
    """Return the outcome of the run in one sentence without a full stop."""
    return headline_of(summary).text


def headline_of(summary: Summary) -> Headline:
    """Return the headline of a run and the facts that it states."""
    passed = summary["verdict"] == "PASS"
    found = _result(summary)
    taken_up = (note.get("values", {}) for note in summary.get("notes", ()) if note.get("code") == "taken_up")
    ended_at = next((values.get("ended_at") for values in taken_up), None)
    if passed and ended_at:
        return Headline(f"{found.text}; finished at {ended_at}, not started by this command", found.tells)
    return found


def _result(summary: Summary) -> Headline:
    failure, passed = telling_failure(summary), summary["verdict"] == "PASS"
    if causes := causes_of_no_start(summary):
        return Headline(causes[0][0].rstrip("."), frozenset({"reason"}))
    several = summary.get("mode") == "single_node" and len(summary["nodes"]) > 1
    if several and (passed or 0 < len(_not_passed(summary)) < len(summary["nodes"])):
        return _qualification(summary)
    if passed:
        return _speed(summary)
    if failure:
        return Headline(_failed(summary, failure))
    message, code = next(iter(reasons_of(_untold(summary))), ("Nothing is known of this run.", ""))
    return Headline(message.rstrip("."), frozenset({"reason"}) | _TELLS.get(code, frozenset()))


def numbers(summary: Summary) -> list[str]:
    """Return the numbers of a run that its headline does not state, short enough for one line."""
    metrics, tells = summary["metrics"], headline_of(summary).tells
    found = [
        f"{_label(metric)}{with_unit(metrics[metric]['value'], metric)}"
        for metric in IN_SHORT
        if metric in metrics and not is_nothing(metrics[metric]["value"], metric) and metric not in tells
    ]
    if summary.get("mfu") is not None:
        found.insert(0, f"MFU {measured(summary['mfu'], 'mfu')} %")
    return found


def _label(metric: str) -> str:
    """Return the label before a value of a metric; empty if its unit is its name."""
    name = ROWS[metric].name
    return "" if name == unit_in_words(metric) else f"{name} "


def trained_model(summary: Summary) -> str:
    """Return the model of a run; in a rehearsal that is not the config's model."""
    return "a toy model" if summary.get("rehearsal") else summary["model"]


def fleet(summary: Summary) -> str:
    """Return the hardware of a run, such as ``16 nodes × 8 MI300X``."""
    nodes = len(summary["nodes"])
    if summary.get("rehearsal"):
        return f"{counted(nodes, 'node')} on {'its CPU' if nodes == 1 else 'their CPUs'}"
    workload = summary.get("workload")
    gpus, gpu = workload["gpus"] if workload else 0, machine_name(summary["gpu"] or "")
    # If each node trains by itself, the workload describes one node.
    sharing = 1 if summary.get("mode") == "single_node" else nodes
    per_node = f" × {gpus // sharing}" if gpus and sharing and gpus % sharing == 0 else ""
    return f"{counted(nodes, 'node')}{per_node}{' ' + (gpu if per_node or not gpu else f'with {gpu}') if gpu else ''}"


def steps_told(summary: Summary) -> str:
    """Return how far the run came, such as ``11 of 60 steps``; empty without a step."""
    known = [node for node in summary["nodes"] if node.get("last_step") is not None]
    if not known:
        return ""
    # A trainer that counts from 0 has done one step more than its last step's number.
    least = min(known, key=lambda node: node["last_step"] or 0)
    total = least.get("steps_total")
    if summary["verdict"] == "PASS":
        return counted(total, "step") if total else f"step {least['last_step']}"
    return f"step {least['last_step']}{f' of {total}' if total else ''}"


def open_reasons(summary: Summary) -> list[tuple[str, str]]:
    """Return the reasons against a PASS, each with its code, that do not follow from the headline; none for a PASS."""
    if summary["verdict"] == "PASS":
        return []
    tells_first = "reason" in headline_of(summary).tells
    found = causes_of_no_start(summary) or reasons_of(_untold(summary))
    return found[1:] if tells_first else found


def _speed(summary: Summary) -> Headline:
    """Return the achievement of a run that passed."""
    model = trained_model(summary)
    metric, value = _of_speed(summary)
    who = f"{fleet(summary)} trained{' ' + model if model else ''}"
    if not metric:
        text = f"{who} for {steps_told(summary)}" if steps_told(summary) else who
        return Headline(text, frozenset({"fleet", "model", "steps"}))
    how = "at" if metric == "tokens_per_sec_per_gpu" else "with a step time of"
    text = f"{who} {how} {with_unit(value, metric)}"
    bound = next((one for one in summary["thresholds"] if one["metric"] == metric and one.get("met")), None)
    text = f"{text}, {required(bound)}" if bound and margin(bound) else text
    return Headline(text, frozenset({"fleet", "model", metric}))


def _qualification(summary: Summary) -> Headline:
    """Return how many self-contained nodes passed, which failed and why, and which are slow, whether they passed."""
    missed = {bound["node"] for bound in missed_bounds(summary) if bound["node"]}
    bad, nodes = _not_passed(summary), len(summary["nodes"])
    slow = summary["stragglers"]["nodes"]
    too_slow = [one for one in slow if one["node"] in missed]
    failed = (_blamed(summary, "FAIL", "ERROR") | missed) - {one["node"] for one in too_slow}
    parts = [f"{nodes - len(bad)} of {counted(nodes, 'node')} passed" if bad else f"{counted(nodes, 'node')} passed"]
    if failed:
        failure = summary["first_failure"]
        why = f", {in_a_sentence(failure_title(failure['class']))}" if failure and len(failed) == 1 else ""
        parts.append(f"{len(failed)} failed ({folded(failed)}{why})")
    if too_slow:
        parts.append(f"{len(too_slow)} failed because {slowness(too_slow)}")
    if undecided := bad - failed - missed:
        parts.append(f"{len(undecided)} {'is' if len(undecided) == 1 else 'are'} inconclusive ({folded(undecided)})")
    if passed_slowly := [one for one in slow if one["node"] not in bad]:
        return Headline("; ".join([", ".join(parts), slowness(passed_slowly)]))
    metric, value = _of_speed(summary)
    if not metric or bad:
        return Headline(", ".join(parts))
    worst = summary["metrics"][metric].get("value_node")
    parts.append(f"the slowest{f', {worst},' if worst else ''} at {with_unit(value, metric)}")
    return Headline(", ".join(parts), frozenset({metric}))


def _not_passed(summary: Summary) -> set[str]:
    missed = {bound["node"] for bound in missed_bounds(summary) if bound["node"]}
    return _blamed(summary, "FAIL", "ERROR", "INCONCLUSIVE") | missed


def _blamed(summary: Summary, *verdicts: str) -> set[str]:
    """Return the nodes with a reason for one of these verdicts."""
    return {reason["node"] for reason in summary["reasons"] if reason.get("node") and reason.get("verdict") in verdicts}


def _failed(summary: Summary, failure: FirstFailure) -> str:
    node = next((one for one in summary["nodes"] if one["node"] == failure["node"]), None)
    step = _step_of(summary, node)
    if origin_of(failure) == "unknown":
        return f"Training hung {step}".rstrip() + "; no log shows which rank blocks the others"
    title = failure_title(failure["class"])
    if failure["class"] == "exit_status" and failure.get("exit_code"):
        title += f" with exit status {failure['exit_code']}"
    if origin_of(failure) == "run":
        return f"{title} on {every(len(summary['nodes']))} nodes, {step or 'before the first step'}"
    rank = f", rank {failure['rank']}" if failure.get("rank") is not None else ""
    before = "before the first step" if node else ""
    return f"{title} on {failure['node']}{rank}, {step or before}".rstrip(", ")


def _step_of(summary: Summary, node: NodeSummary | None) -> str:
    """Return the step at which a node failed, such as ``at step 11 of 60``; empty before the first step.

    Nodes of one job take their steps together, so a node that prints no steps was where the others were.
    """
    telling = [one for one in (node,) if one and one.get("last_step") is not None]
    if not telling and summary.get("mode") != "single_node":
        telling = [one for one in summary["nodes"] if one.get("last_step") is not None]
    if not telling:
        return ""
    furthest = max(telling, key=lambda one: one["last_step"] or 0)
    last, total = furthest["last_step"], furthest.get("steps_total")
    return f"at step {last}{f' of {total}' if total else ''}"


def telling_failure(summary: Summary) -> FirstFailure | None:
    """Return the first failure, unless it only says that a node ended early: the reasons say how early."""
    failure = summary["first_failure"]
    return failure if failure and (failure["class"] != "exit_status" or failure["exit_code"]) else None


def _untold(summary: Summary) -> list[Reason]:
    """Return the reasons that do not follow from a first failure.

    After a failure, much evidence is missing anyway, so those reasons tell nothing new.
    """
    proven = summary["verdict"] in ("FAIL", "ERROR")
    failed = proven and telling_failure(summary) is not None
    much_missing = failed or (proven and all(node.get("last_step") is None for node in summary["nodes"]))
    return [
        reason
        for reason in summary["reasons"]
        if not (failed and reason.get("row") in _FOLLOWS)
        and not (much_missing and reason.get("verdict") == "INCONCLUSIVE")
    ]


def _of_speed(summary: Summary) -> tuple[str, float] | tuple[None, None]:
    """Return the metric of a run's speed and its value, or None for both if none was measured."""
    for metric in ("tokens_per_sec_per_gpu", "step_time_ms"):
        found = summary["metrics"].get(metric)
        if found and found["value"]:
            return metric, found["value"]
    return None, None
