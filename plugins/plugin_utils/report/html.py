# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a run as one HTML page that opens anywhere, without a network.

Its frame is ``page/report.html.j2``. Each section is a file of its own in ``page/sections``; the number in front of the
name is its place on the page. A section gets everything that `render` gives the page, and is empty if it has nothing to
show.
"""

from __future__ import annotations

import json
import shlex
import statistics
import typing as t
from collections.abc import Mapping, Sequence

from ..contracts import Plan, Status, Summary
from .deviations import COLOURS, heat_map
from .history import charts_of
from .ledger_rows import ledger_rows
from .machines import hardware_rows, machine_change_rows, unread_kernel_logs
from .messages import echoes_of, messages_of, reasons_of
from .pages import page_of
from .plots import Bound, draw
from .readable import LABELS, duration, exact, measured, number, shown, titled, unit_of
from .telemetry import telemetry_plots, telemetry_rows
from .thresholds import threshold_rows

if t.TYPE_CHECKING:
    import pandas as pd

PAGE_TEMPLATE = "report.html.j2"
SYMBOLS = {"PASS": "✓", "FAIL": "✗", "INCONCLUSIVE": "?", "ERROR": "!"}
FIGURES = ("tokens_per_sec_per_gpu", "tflops_per_gpu", "step_time_ms", "loss", "memory_fraction")
_ENDED = ("exited", "log_only")
_NOT_TO_THE_END = ("last_step_missing", "no_steps", "began_anew")
_NAMES = {"gpu": "GPU", "gpus_per_node": "GPUs per node", "nnodes": "Nodes", "fsdp": "FSDP"}
PLOTTED = ("step_time_ms", "tokens_per_sec_per_gpu", "loss")


def render(
    summary: Summary,
    plan: Plan,
    steps: pd.DataFrame,
    history: dict[str, t.Any] | None = None,
    statuses: Sequence[Status] = (),
    logs: Mapping[str, str] | None = None,
    telemetry: pd.DataFrame | None = None,
) -> str:
    """Return the report of a run as a self-contained HTML page.

    ``summary`` is the judged run, ``plan`` what was launched, both as written to their JSON files. ``steps`` is what
    `verdict.frame.steps_frame` returns; it may be empty. ``history`` is what `history.history_of` says, ``statuses``
    what is known of each node, ``logs`` where each node's log is, as the page links to it, ``telemetry`` what
    `telemetry.telemetry_frame` makes of its samples.
    """
    thresholds = threshold_rows(summary)
    stragglers = [found["node"] for found in summary["stragglers"]["nodes"]]
    labels = {metric: (titled(metric), unit_of(metric)) for metric in PLOTTED}
    plots, traces = draw(steps, labels, _bounds(thresholds), stragglers)
    deviation_of = deviations_of_nodes(summary)
    of_history = charts_of(history) if history else {}
    nodes = plan["nodes"]
    sampled, sampled_traces = ([], []) if telemetry is None or telemetry.empty else telemetry_plots(telemetry)
    return page_of(
        PAGE_TEMPLATE,
        {f"history {name}": chart for name, chart in of_history.items()},
        summary=summary,
        plan=plan,
        symbol=SYMBOLS[summary["verdict"]],
        symbols=SYMBOLS,
        reasons=reasons_of(summary["reasons"]),
        notes=messages_of(summary["notes"]),
        echoes=echoes_of(
            summary["first_failure"].get("echoes", ()) if summary["first_failure"] else (), "class", "message"
        ),
        ledger=ledger_rows(summary["ledger"]),
        duration=duration(summary["started_at"], summary["ended_at"]),
        thresholds=thresholds,
        figures=figures_of(summary),
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
        node_metrics=[metric for metric in LABELS if any(metric in node["metrics"] for node in summary["nodes"])],
        steps_recorded=len(steps),
        nodes=sorted(summary["nodes"], key=lambda node: -abs(deviation_of.get(node["node"], 0.0))),
        deviation_of=deviation_of,
        logs=logs or {},
        finished=all(node["state"] in _ENDED and not node["exit_code"] for node in summary["nodes"])
        and not any(reason["code"] in _NOT_TO_THE_END for reason in summary["reasons"]),
        undrawn=[f"{plot.not_finite} × {LABELS[plot.metric].lower()}" for plot in plots if plot.not_finite],
        heat=next(filter(None, (heat_map(steps, metric) for metric in PLOTTED[:2])), None) if plots else None,
        heat_colours=COLOURS,
        plots=plots,
        traces=traces,
        not_plotted=[LABELS[metric] for metric in PLOTTED if metric not in {plot.metric for plot in plots}],
        history=history,
        history_metrics=list(of_history),
    )


def deviations_of_nodes(summary: Summary) -> dict[str, float]:
    """Return each node's deviation from the median of all nodes, in percent, for the first metric there is."""
    for metric in PLOTTED[:2]:
        values = {
            node["node"]: node["metrics"][metric]["value"] for node in summary["nodes"] if metric in node["metrics"]
        }
        middle = statistics.median(values.values()) if len(values) > 1 else 0.0
        if middle:
            return {node: (value / middle - 1) * 100 for node, value in values.items()}
    return {}


def figures_of(summary: Summary) -> list[tuple[str, str, str]]:
    """Return the figures that a reader looks for first: label, value with unit, and origin."""
    metrics = {metric: found for metric, found in summary["metrics"].items() if found["value"] is not None}
    last = max((found["last_step"] for found in metrics.values()), default=0)
    rows = []
    for metric in FIGURES:
        if metric in metrics:
            found = metrics[metric]
            value = f"{measured(found['value'], metric)} {unit_of(metric)}".rstrip()
            origin = f"{found['statistic']} of {found['value_node']}"
            if found["statistic"] == "last" and found["last_step"] < last:
                origin += f", at step {found['last_step']} of {last}"
            rows.append((LABELS[metric], value, origin))
            rows += _by_the_clock(summary, found) if metric == "tokens_per_sec_per_gpu" else []
    if summary["mfu"] is not None:
        rows.append(("MFU", f"{number(summary['mfu'] * 100, 3)} %", f"from {summary['mfu_basis']}"))
    return rows


def _by_the_clock(summary: Summary, found: Mapping[str, t.Any]) -> list[tuple[str, str, str]]:
    """Return the throughput over the time that really passed, if timestamps show it."""
    spent = next((node.get("time_spent") for node in summary["nodes"] if node["node"] == found["value_node"]), None)
    if not spent or not spent.get("wall_clock"):
        return []
    rate = found["value"] * spent["median"] / spent["wall_clock"]
    return [("Throughput by the clock", f"{number(rate)} tokens/s", "including the time between steps")]


def _bounds(thresholds: Sequence[Mapping[str, t.Any]]) -> dict[str, Bound]:
    """Return the thresholds that can be drawn: the first with a limit of each metric."""
    bounds: dict[str, Bound] = {}
    for row in thresholds:
        if row["least"] is not None or row["greatest"] is not None:
            bounds.setdefault(row["metric"], Bound(row["least"], row["greatest"], row["bound"]))
    return bounds


def facts(plan: Plan) -> list[tuple[str, str]]:
    """Return what was run in short, as pairs of label and value."""
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
    """Return how the settings of each further node differ from the first: pairs of name and value (None: not set)."""
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
