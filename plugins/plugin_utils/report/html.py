# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a run as one HTML page that opens anywhere, without a network.

Its frame is ``page/report.html.j2``. Each section is a file of its own in ``page/sections``; the number in front of the
name is its place on the page. A section gets all that `render` gives the page, and leaves nothing where it has nothing
to say.
"""

from __future__ import annotations

import json
import shlex
import typing as t
from collections.abc import Mapping, Sequence

from bokeh.embed import components
from markupsafe import Markup

from ..contracts import Plan, Status, Summary
from .hardware import hardware_rows
from .history import charts_of
from .pages import bokeh_script, page_environment
from .plots import Bound, draw
from .readable import LABELS, duration, exact, number, shown, unit_of
from .thresholds import threshold_rows

if t.TYPE_CHECKING:
    import pandas as pd

PAGE_TEMPLATE = "report.html.j2"
SYMBOLS = {"PASS": "✓", "FAIL": "✗", "INCONCLUSIVE": "?", "ERROR": "!"}
FIGURES = ("tokens_per_sec_per_gpu", "tflops_per_gpu", "step_time_ms", "loss", "memory_fraction")
PLOTTED = ("step_time_ms", "tokens_per_sec_per_gpu", "loss")
STEP_COLUMNS = ("node", "node_rank", "attempt", "step", "counted")


def render(
    summary: Summary,
    plan: Plan,
    steps: pd.DataFrame,
    history: dict[str, t.Any] | None = None,
    statuses: Sequence[Status] = (),
) -> str:
    """Return the report of a run as a self-contained HTML page.

    ``summary`` is the judged run, ``plan`` what was launched, both as written to their JSON files; keys other than
    the summary's ``verdict`` may be missing. ``steps`` has one row per node, attempt and step with the columns node,
    node_rank, attempt, step, counted and one per canonical metric; it may be empty. ``history`` is what
    `_history.history_of` tells, ``statuses`` what is known of each node. Raises ValueError where the verdict is none of
    the four, or where steps that have rows lack one of those columns.
    """
    if summary.get("verdict") not in SYMBOLS:
        raise ValueError(f"summary: verdict is {summary.get('verdict')!r}, it must be one of {', '.join(SYMBOLS)}")
    missing = [column for column in STEP_COLUMNS if column not in steps]
    if missing and len(steps):
        raise ValueError(f"steps: {len(steps)} rows without the column(s) {', '.join(missing)}")
    thresholds = threshold_rows(summary)
    stragglers = {found["node"]: found for found in (summary.get("stragglers") or {}).get("nodes") or []}
    units = {metric: unit_of(metric) for metric in PLOTTED}
    plots, traces = draw(steps, units, _bounds(thresholds), stragglers) if len(steps) else ([], [])
    history_charts = charts_of(history) if history else {}
    drawings = {plot.metric: plot.figure for plot in plots} | {
        f"history {metric}": chart for metric, chart in history_charts.items()
    }
    script, places = components(drawings) if drawings else ("", {})
    nodes = plan.get("nodes") or []
    environment = page_environment()
    return environment.get_template(PAGE_TEMPLATE).render(
        sections=environment.list_templates(filter_func=lambda name: name.startswith("sections/")),
        summary=summary,
        plan=plan,
        symbol=SYMBOLS[summary["verdict"]],
        run_id=summary.get("run_id") or plan.get("run_id"),
        duration=duration(summary.get("started_at"), summary.get("ended_at")),
        thresholds=thresholds,
        figures=figures_of(summary),
        stragglers=stragglers,
        hardware=hardware_rows(statuses),
        facts=facts(plan),
        command=shlex.join(str(argument) for argument in nodes[0].get("argv") or []) if nodes else "",
        environment=nodes[0].get("env") or {} if nodes else {},
        differences=differences(nodes),
        node_metrics=[
            metric
            for metric in LABELS
            if any(metric in (node.get("metrics") or {}) for node in summary.get("nodes") or [])
        ],
        steps_recorded=len(steps),
        plots=plots,
        traces=traces,
        not_plotted=[LABELS[metric] for metric in PLOTTED if metric not in places],
        places={metric: Markup(place) for metric, place in places.items()},
        history=history,
        history_charts=[{"metric": name, "place": Markup(places[f"history {name}"])} for name in history_charts],
        scripts=Markup(bokeh_script() + script) if drawings else "",
    )


def figures_of(summary: Summary) -> list[tuple[str, str, str]]:
    """Return the figures that a reader looks for first: label, value with its unit, and where it is from."""
    metrics = summary.get("metrics") or {}
    rows = []
    for metric in FIGURES:
        found = metrics.get(metric) or {}
        if found.get("value") is not None:
            percent = metric == "memory_fraction"
            value = _percent(found["value"]) if percent else f"{number(found['value'])} {unit_of(metric)}".rstrip()
            rows.append((LABELS[metric], value, f"{found.get('statistic')} of {found.get('value_node')}"))
    if summary["mfu"] is not None:
        rows.append(("MFU", _percent(summary["mfu"]), f"from {summary.get('mfu_basis')}"))
    return rows


def _percent(fraction: float) -> str:
    return f"{number(fraction * 100, 3)} %"


def _bounds(thresholds: Sequence[Mapping[str, t.Any]]) -> dict[str, Bound]:
    """Return what of the thresholds can be drawn: the first of each metric that has a limit."""
    bounds: dict[str, Bound] = {}
    for row in thresholds:
        if row["least"] is not None or row["greatest"] is not None:
            bounds.setdefault(row["metric"], Bound(row["least"], row["greatest"], row["bound"]))
    return bounds


def facts(plan: Plan) -> list[tuple[str, str]]:
    """Return what was run in short, as pairs of label and value."""
    pairs: dict[str, t.Any] = {key: plan.get(key) for key in ("framework", "model", "gpu", "mode")}
    pairs |= {"image": plan["nodes"][0].get("image") if plan.get("nodes") else None}
    pairs |= {"container_engine": plan.get("container_engine"), **(plan.get("parameters") or {})}
    pairs |= {"config_file": plan.get("config_file")}
    return [
        (_label(key), exact(value) if type(value) in (int, float) else _as_given(shown(value)))
        for key, value in pairs.items()
        if value is not None and value != ""
    ]


def differences(nodes: Sequence[Mapping[str, t.Any]]) -> list[tuple[str, list[tuple[str, str | None]]]]:
    """Return what each further node is given otherwise than the first: pairs of name and value (None: not set)."""
    if not nodes:
        return []
    first = _given(nodes[0])
    rows = []
    for node in nodes[1:]:
        given = _given(node)
        rows.append(
            (node["node"], [(key, given.get(key)) for key in first | given if first.get(key) != given.get(key)])
        )
    return [(node, changes) for node, changes in rows if changes]


def _given(node: Mapping[str, t.Any]) -> dict[str, str]:
    """Return all that a node of the plan is given, as one flat mapping."""
    given = {
        key: node[key] for key in ("image", "devices", "container_options", "working_dir", "log_file") if key in node
    }
    given |= {f"mount {mount['target']}": mount["source"] for mount in node.get("mounts") or []}
    given |= {f"argument {place}": argument for place, argument in enumerate(node.get("argv") or [])}
    given |= node.get("env") or {}
    return {key: _as_given(value) for key, value in given.items()}


def _as_given(value: t.Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _label(key: str) -> str:
    special = {"gpu": "GPU", "gpus_per_node": "GPUs per node", "nnodes": "Nodes", "fsdp": "FSDP"}
    return special.get(key, key.replace("_", " ").capitalize())
