# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a run as one HTML page that opens anywhere, without a network."""

from __future__ import annotations

import json
import math
import shlex
import statistics
import typing as t
from collections.abc import Mapping, Sequence

from ..contracts import LedgerRow, Plan, Status, Summary
from ..metrics import FIGURES, IN_SHORT, LABELS, PLOTTED
from ..run.blame import nobody_is_blamed, origin_of
from ..text.failures import named_in_words
from .charts import nodes_chart
from .deviations import COLOURS, heat_map
from .failures import (
    causes_of_no_start,
    echoes_of,
    failure_title,
    never_began,
    others_in_words,
    reasons_of,
    remedy_of_all,
)
from .files import HELP
from .headline import fleet, headline, headline_of, open_reasons, steps_told, trained_model
from .history import charts_of
from .leads import leads_of, notes_of, survived_faults, unusual_lines
from .node_rows import hardware_rows, ledger_rows, machine_change_rows, unread_kernel_logs, whole_in_words
from .pages import page_of
from .plots import LEAST_STEPS, Bound, are_enough, draw, without_repetition
from .readable import duration, exact, in_a_sentence, instant, shown, titled, unit_of
from .telemetry import telemetry_plots, telemetry_rows
from .text import decisive_lines, is_shown_by
from .thresholds import threshold_rows
from .tiles import tiles_of

if t.TYPE_CHECKING:
    import pandas as pd
    from markupsafe import Markup


PAGE_TEMPLATE = "report.html.j2"
SYMBOLS = {"PASS": "✓", "FAIL": "✗", "INCONCLUSIVE": "?", "ERROR": "!"}
_ENDED = ("exited", "log_only")
_NOT_TO_THE_END = ("last_step_missing", "no_steps", "began_anew")
_NAMES = {"gpu": "GPU", "gpus_per_node": "GPUs per node", "nnodes": "Nodes", "fsdp": "FSDP"}
# The first available of these shows, also as a chart, how far a node is off the others.
_COMPARED = ("step_time_ms", "tokens_per_sec_per_gpu")
# For fewer nodes, the table is enough.
_LEAST_BARS = 3


class Links(t.NamedTuple):
    """The links of a page, relative to itself: logs by node, reports of earlier runs by name, and all runs.

    They work only while the page is in the ``folder`` of its run; a page that was sent on has no links.
    """

    logs: Mapping[str, str] = {}
    reports: Mapping[str, str] = {}
    all_runs: str = ""
    folder: str = ""


def render(
    summary: Summary,
    plan: Plan,
    steps: pd.DataFrame,
    history: dict[str, t.Any] | None = None,
    statuses: Sequence[Status] = (),
    links: Links | None = None,
    telemetry: pd.DataFrame | None = None,
) -> str:
    """Return the report of a run as a self-contained HTML page.

    ``summary`` is the judged run and ``plan`` the launched plan, both as written to their JSON files. ``steps`` comes
    from `verdict.frame.steps_frame`; it may be empty. ``history`` comes from `history.history_of`, ``statuses`` are the
    nodes' statuses, and ``telemetry`` comes from `telemetry.telemetry_frame`.
    """
    links = links or Links()
    thresholds = threshold_rows(summary)
    stragglers = [found["node"] for found in summary["stragglers"]["nodes"]]
    began, causes = not never_began(summary), causes_of_no_start(summary)
    bounds = _bounds(thresholds)
    enough = are_enough(steps)
    plotted = without_repetition(PLOTTED, steps, bounds) if enough else []
    plots, traces = draw(steps, {metric: (titled(metric), unit_of(metric)) for metric in plotted}, bounds, stragglers)
    deviation_of = deviations_of_nodes(summary)
    of_history = charts_of(history) if history else {}
    nodes, failure = plan["nodes"], summary["first_failure"]
    nobody = failure is not None and nobody_is_blamed(failure)
    hung = failure is not None and origin_of(failure) == "unknown"
    decisive = decisive_lines(failure) if failure and not hung else []
    heat = next(filter(None, (heat_map(steps, metric) for metric in _COMPARED)), None) if plots else None
    # In the order of the heat map, which also begins with nodes that are slow now and then.
    first = [*(heat.nodes if heat else ()), *deviation_of, *(node["node"] for node in summary["nodes"])]
    order = list(dict.fromkeys(first))
    sampled, sampled_traces = ([], []) if telemetry is None or telemetry.empty else telemetry_plots(telemetry)
    return page_of(
        PAGE_TEMPLATE,
        {f"history {name}": chart for name, chart in of_history.items()},
        summary=summary,
        plan=plan,
        symbol=SYMBOLS[summary["verdict"]],
        symbols=SYMBOLS,
        headline=headline(summary).replace(" %", "\N{NO-BREAK SPACE}%"),
        subtitle=_subtitle(summary, plan),
        leads=leads_of(summary),
        open_reasons=open_reasons(summary),
        reasons=reasons_of(summary["reasons"]),
        notes=notes_of(summary),
        survived=survived_faults(summary),
        unusual=unusual_lines(summary),
        failure_title=failure_title,
        decisive=decisive,
        named=named_in_words(failure.get("named", {})) if failure and not hung else "",
        message_told=not failure or bool(causes) or is_shown_by(decisive, failure),
        nobody_is_blamed=nobody,
        hung=hung,
        others=others_in_words(summary),
        echoes=echoes_of(failure["echoes"] if failure and began and not nobody else (), "class", "message"),
        began=began,
        remedy=remedy_of_all(summary),
        help=HELP if summary["verdict"] != "PASS" else "",
        ledger=ledger_rows(summary["ledger"], _known_of_ends(summary)) if began else [],
        ledger_whole=whole_in_words(summary),
        thresholds=thresholds,
        tiles=tiles_of(summary, history),
        stragglers=stragglers,
        hardware=hardware_rows(statuses),
        machine_changes=machine_change_rows(statuses),
        telemetry=[] if telemetry is None else telemetry_rows(telemetry),
        telemetry_plots=sampled,
        telemetry_traces=sampled_traces,
        unread_kernel_logs=unread_kernel_logs(statuses),
        facts=facts(plan),
        command=shlex.join(map(str, nodes[0].get("argv", []))),
        differences=differences(nodes),
        node_metrics=_telling_metrics(summary),
        steps_recorded=len(steps),
        nodes=sorted(summary["nodes"], key=lambda node: order.index(node["node"])),
        deviation_of=deviation_of,
        links=links,
        finished=all(node["state"] in _ENDED and not node["exit_code"] for node in summary["nodes"])
        and not any(reason["code"] in _NOT_TO_THE_END for reason in summary["reasons"]),
        undrawn=[f"{plot.not_finite} × {in_a_sentence(LABELS[plot.metric])}" for plot in plots if plot.not_finite],
        bars=_bars(summary, stragglers, bounds) if plots else None,
        heat=heat,
        heat_colours=COLOURS,
        plots=plots,
        traces=traces,
        # Every log has the metrics of the short line, so a missing plot needs an explanation.
        not_plotted=[LABELS[one] for one in plotted if one in IN_SHORT and one not in {plot.metric for plot in plots}],
        least_steps=None if enough else LEAST_STEPS,
        history=history,
        history_metrics=list(of_history),
    )


def _subtitle(summary: Summary, plan: Plan) -> str:
    """Return the model, progress, duration and start of the run, unless the headline already has them."""
    workload = summary.get("workload")
    tells, first = headline_of(summary).tells, summary["first_failure"]
    step, lasted = steps_told(summary), duration(summary["started_at"], summary["ended_at"])
    parts = [
        summary["run_id"],
        None if summary["framework"] == "unknown" else summary["framework"],
        None if "model" in tells else trained_model(summary),
        None if "fleet" in tells else fleet(summary),
        (workload["precision"] if workload else plan["parameters"].get("precision") or "").upper(),
        None if first or "steps" in tells else step,
        lasted,
        instant(summary["started_at"]) if summary["started_at"] else None,
    ]
    return " · ".join(filter(None, parts))


def _known_of_ends(summary: Summary) -> dict[tuple[str, LedgerRow], str]:
    """Return the titles of the first failure and its echoes, by node and row of the ledger."""
    failure = summary["first_failure"]
    if not failure:
        return {}
    ends = [(failure["node"], failure["class"], failure["message"])]
    ends += [(echo["node"], echo["class"], echo["message"]) for echo in failure["echoes"]]
    return {(node, "failures"): f"{failure_title(failure_class)}: {message}" for node, failure_class, message in ends}


def _telling_metrics(summary: Summary) -> list[str]:
    """Return the metrics in the table of nodes: the figures, and metrics that differ between nodes."""
    found = []
    for metric in dict.fromkeys((*FIGURES, *LABELS)):
        values = {node["metrics"][metric].get("value") for node in summary["nodes"] if metric in node["metrics"]}
        if values and (metric in FIGURES or len(values) > 1):
            found.append(metric)
    return found


def _bars(summary: Summary, stragglers: Sequence[str], bounds: Mapping[str, Bound]) -> tuple[str, Markup] | None:
    """Return a chart of the nodes' values, sorted, and its metric: throughput, or without throughput step time."""
    for metric in reversed(_COMPARED):
        values = {
            node["node"]: value
            for node in summary["nodes"]
            if metric in node["metrics"] and math.isfinite(value := node["metrics"][metric]["value"])
        }
        if len(values) >= _LEAST_BARS:
            return metric, nodes_chart(values, stragglers, titled(metric), bounds.get(metric))
    return None


def deviations_of_nodes(summary: Summary) -> dict[str, float]:
    """Return each node's deviation from the median of all, in percent, the furthest off first."""
    for metric in _COMPARED:
        values = {
            node["node"]: node["metrics"][metric]["value"] for node in summary["nodes"] if metric in node["metrics"]
        }
        middle = statistics.median(values.values()) if len(values) > 1 else 0.0
        if middle:
            off = {node: (value / middle - 1) * 100 for node, value in values.items()}
            return dict(sorted(off.items(), key=lambda item: -abs(item[1])))
    return {}


def _bounds(thresholds: Sequence[Mapping[str, t.Any]]) -> dict[str, Bound]:
    """Return the thresholds that can be drawn: the first with a limit of each metric."""
    bounds: dict[str, Bound] = {}
    for row in thresholds:
        if row["least"] is not None or row["greatest"] is not None:
            bounds.setdefault(row["metric"], Bound(row["least"], row["greatest"], row["bound"]))
    return bounds


def facts(plan: Plan) -> list[tuple[str, str]]:
    """Return the short facts of the plan, as pairs of label and value."""
    pairs: dict[str, t.Any] = {key: plan[key] for key in ("framework", "model", "gpu", "mode")}
    pairs |= {"image": plan["nodes"][0].get("image"), "container_engine": plan["container_engine"]}
    pairs |= {**plan["parameters"], "config_file": plan["config_file"]}
    return [
        (
            _NAMES.get(key, key.replace("_", " ").capitalize()),
            exact(value) if type(value) in (int, float) else _as_given(shown(value)),
        )
        for key, value in pairs.items()
        if value is not None and value != ""
    ]


def differences(nodes: Sequence[Mapping[str, t.Any]]) -> list[tuple[str, list[tuple[str, str | None]]]]:
    """Return how each further node's settings differ from the first's: pairs of name and value (None: not set)."""
    first = _given(nodes[0])
    rows = []
    for node in nodes[1:]:
        given = _given(node)
        changes = [(key, given.get(key)) for key in first | given if first.get(key) != given.get(key)]
        if changes:
            rows.append((node["node"], changes))
    return rows


def _given(node: Mapping[str, t.Any]) -> dict[str, str]:
    """Return all settings of a node of the plan as one flat mapping."""
    given = {
        key: node[key] for key in ("image", "devices", "container_options", "working_dir", "log_file") if key in node
    }
    given |= {f"mount {mount['target']}": mount["source"] for mount in node.get("mounts", [])}
    given |= {f"argument {place}": argument for place, argument in enumerate(node.get("argv", []))}
    given |= node.get("env", {})
    return {key: _as_given(value) for key, value in given.items()}


def _as_given(value: t.Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
