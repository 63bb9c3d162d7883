# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of the report, as a reader and as a browser sees it."""

from __future__ import annotations

import math
import re
import typing as t
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from browser import Browser
from judged_runs import FAILURE
from not_run import need

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.html import SYMBOLS, differences, facts, render

MakeSteps = Callable[[int, int], pd.DataFrame]
Run = dict[str, t.Any]
# Bokeh draws within nested shadow trees, which a selector alone does not reach into.
ALL = """const all = (node, selector) => [...node.querySelectorAll(selector),
  ...[node, ...node.querySelectorAll('*')].flatMap(one => one.shadowRoot ? all(one.shadowRoot, selector) : [])];"""
# How many pixels of each plot's largest canvas are not empty.
DRAWN = f"""(() => {{ {ALL}
  return [...document.querySelectorAll('[data-root-id]')].map(root => {{
    const canvas = all(root, 'canvas').sort((one, other) => other.width - one.width)[0];
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    return pixels.filter((value, place) => place % 4 == 3 && value > 128).length;
  }});
}})()"""
TOLD = f"""new Promise(done => {{ {ALL}
  const wait = () => {{
    const told = all(document, '.bk-Tooltip').flatMap(tip => all(tip, '*').map(inner => inner.textContent)).join(' ');
    told.includes('step') ? done(told) : setTimeout(wait, 20);
  }};
  wait();
}})"""
# Where the second node's tenth step is on the screen.
POINT_OF_STEP_10 = """(() => {
  const plot = Bokeh.documents[0].roots()[0];
  const view = Object.values(Bokeh.index.roots ?? Bokeh.index).find(one => one.model === plot);
  const box = view.el.getBoundingClientRect();
  const frame = view.frame;
  return [box.x + frame.bbox.left + frame.x_scale.compute(10) - frame.x_scale.compute(plot.x_range.start),
          box.y + frame.y_scale.compute(10131)];
})()"""
NO_STEPS = pd.DataFrame()


class Page(HTMLParser):
    """What a page shows: its text, its references, and the cells of each section's table rows."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.title = ""
        self.tags: list[str] = []
        self.references: list[str] = []
        self.rows: dict[str, list[list[str]]] = {}
        self._section = ""
        self._inside: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.references += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "action")]
        if tag in ("br", "link", "meta"):
            return
        self._inside.append(tag)
        if tag == "section":
            self._section = dict(attrs).get("id") or ""
        elif tag == "tr":
            self.rows.setdefault(self._section, []).append([])
        elif tag in ("td", "th"):
            self.rows[self._section][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._inside.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        if "script" in self._inside or "style" in self._inside:
            return
        if "title" in self._inside:
            self.title += data
            return
        self.text += data
        if "td" in self._inside or "th" in self._inside:
            self.rows[self._section][-1][-1] += data


@pytest.mark.parametrize("verdict", sorted(SYMBOLS))
def test_the_verdict_stands_in_title_and_heading_with_its_reasons(summary: Run, plan: Run, verdict: str) -> None:
    page = Page(render({**summary, "verdict": verdict}, plan, NO_STEPS))
    assert page.title == f"{verdict} – run-7"
    before, _, after = page.text.partition(f"{SYMBOLS[verdict]} {verdict} run-7")
    assert before.strip() == ""
    assert "The step time is met." in after[: after.index("Thresholds")]
    assert "2 nodes · 2026-07-11 09:12:03 UTC · 5 min 41 s" in page.text


def test_the_page_references_nothing_outside(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    html = render(summary, plan, make_steps(2, 20))
    assert Page(html).references == ["data:,"]
    assert not re.search(r"@import|url\((?!\s*[\"']?data:)", html[: html.index("</style>")])
    assert "default-src 'none'" in html


def test_whatever_comes_from_the_run_is_text(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    evil = "<img src=x>'\"</script><b>&amp;"
    clean = Page(render(summary, plan, make_steps(2, 20)))
    summary["run_id"] = summary["reasons"][0]["message"] = evil
    summary["metrics"][evil] = summary["metrics"]["step_time_ms"]
    summary["nodes"][1].update(node=evil, state=evil)
    plan["model"] = plan["parameters"]["precision"] = plan["warnings"][0]["value"] = evil
    plan["nodes"][0].update(argv=[evil], env={evil: evil})
    plan["nodes"][1].update(node=evil, image=evil)
    summary["first_failure"] = dict.fromkeys(["node", "class", "message", "remedy"], evil)
    summary["first_failure"]["evidence"] = ["one", evil]
    page = Page(render(summary, plan, make_steps(2, 20).replace({"node": {"node-001": evil}})))
    assert {"img", "b"}.isdisjoint(page.tags)
    assert page.tags.count("script") == clean.tags.count("script")
    assert page.text.count(evil) > 14


def test_the_thresholds_tell_bound_margin_and_whether_it_is_met(summary: Run, plan: Run) -> None:
    (first,) = summary["thresholds"]
    summary["thresholds"] = [
        first,
        {
            **first,
            "metric": "tokens_per_sec_per_gpu",
            "measured": 6000.0,
            "least": 6400,
            "greatest": None,
            "met": False,
        },
        {**first, "metric": "loss", "measured": None, "node": None, "statistic": None, "interval": None, "met": False}
        | {"greatest": 6.5},
        {**first, "metric": "memory_fraction", "measured": 0.5, "interval": None, "least": 0.45, "greatest": 0.55},
        {**first, "metric": "tflops_per_gpu", "kind": "info", "value": 400, "measured": 500.0, "interval": None}
        | {"greatest": None, "met": None},
    ]
    assert Page(render(summary, plan, NO_STEPS)).rows["thresholds"] == [
        ["Metric", "Measured", "Statistic", "Bound", "Margin (%)", "Met"],
        [
            "Step time (ms)",
            "10\u202f123 10\u202f100 – 10\u202f150",
            "median of node-001",
            "≤ 10\u202f500",
            "3.59",
            "✓ met",
        ],
        [
            "Throughput per GPU (tokens/s)",
            "6\u202f000 10\u202f100 – 10\u202f150",
            "median of node-001",
            "≥ 6\u202f400",
            "−6.25",
            "✗ missed",
        ],
        ["Loss", "–", "–", "≤ 6.5", "–", "✗ not measured"],
        ["GPU memory in use (fraction)", "0.5000", "median of node-001", "0.45 – 0.55", "9.09", "✓ met"],
        ["Compute per GPU (TFLOP/s)", "500.0", "median of node-001", "400", "–", "– for information"],
    ]


def test_a_bound_of_zero_has_no_margin(summary: Run, plan: Run) -> None:
    summary["thresholds"] = [{**summary["thresholds"][0], "greatest": 0.0}]
    assert Page(render(summary, plan, NO_STEPS)).rows["thresholds"][1][3:5] == ["≤ 0", "–"]


def test_a_run_without_thresholds_says_so(summary: Run, plan: Run) -> None:
    assert "No thresholds: this run was measured" in Page(render({**summary, "thresholds": []}, plan, NO_STEPS)).text


def test_thresholds_that_were_not_judged_are_named_so(summary: Run, plan: Run) -> None:
    page = Page(render({**summary, "thresholds_judged": False}, plan, NO_STEPS))
    assert "The thresholds were not judged in this run." in page.text


def test_the_first_failure_tells_cause_evidence_remedy_and_echoes(summary: Run, plan: Run) -> None:
    summary["verdict"] = "FAIL"
    summary["first_failure"] = {
        "node": "node-001",
        "node_rank": 1,
        "class": "out_of_memory",
        "message": "HIP out of memory",
        "evidence": ["line before", "[rank9]: HIP out of memory. Tried to allocate 2 MiB"],
        "rank": 9,
        "remedy": "Halve the micro batch size.",
        "exit_code": 1,
        "echoes": [{"node": "node-000", "class": "watchdog", "message": "timed out"}],
    }
    html = render(summary, plan, NO_STEPS)
    text = Page(html).text
    assert "node-001 (node rank 1, rank 9, exit code 1):\nout_of_memory" in text
    assert "<mark>[rank9]: HIP out of memory. Tried to allocate 2 MiB</mark>" in html
    assert text.index("What to do: Halve the micro batch size.") < text.index("1 echo of it on other nodes")
    assert "node-000: watchdog – timed out" in text


def test_a_run_without_failure_has_no_failure_card(summary: Run, plan: Run) -> None:
    assert "First failure" not in Page(render(summary, plan, NO_STEPS)).text


def test_every_node_has_one_row(summary: Run, plan: Run) -> None:
    header, *rows = Page(render(summary, plan, NO_STEPS)).rows["nodes"]
    assert header[7:] == ["Step time (ms)", "5th – 95th percentile"]
    assert rows == [
        [f"node-00{rank}", str(rank), "exited", "0", "1", "20 / 20", "18", "10\u202f050", "10\u202f001 – 10\u202f149"]
        for rank in range(2)
    ]


def test_what_a_node_does_not_tell_is_a_dash(summary: Run, plan: Run) -> None:
    summary["nodes"][1].update(
        state="not_started", exit_code=None, last_step=None, steps_total=None, metrics={"loss": {"value": math.nan}}
    )
    rows = Page(render(summary, plan, NO_STEPS)).rows["nodes"]
    assert rows[2] == ["node-001", "1", "not started", "–", "1", "– / –", "18", "–", "– – –", "–"]


def test_every_metric_has_its_statistics(summary: Run, plan: Run) -> None:
    summary["metrics"]["step_time_ms"]["stdev"] = None
    rows = Page(render(summary, plan, NO_STEPS)).rows["statistics"]
    assert rows[1:] == [
        ["Step time (ms)", "10\u202f050", "10\u202f060", "10\u202f001", "10\u202f149", "–", "36", "3 – 20"]
    ]


def test_neither_none_nor_nan_is_ever_shown(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    for statistic in ("value", "median", "mean", "stdev", "p05", "p95", "statistic"):
        summary["metrics"]["step_time_ms"][statistic] = None if statistic != "mean" else math.nan
    summary.update(started_at=None, ended_at=None, model=None)
    plan["parameters"]["precision"] = None
    text = Page(render(summary, plan, make_steps(2, 5).assign(loss=math.nan))).text
    assert not re.search(r"\b(None|nan|null|undefined)\b", text)


def test_what_was_run_is_told_in_short(plan: Run) -> None:
    told = dict(facts(plan))
    assert told["GPU"] == "mi300x"
    assert told["Image"] == "rocm/megatron-lm:v25.5"
    assert told["Sequence length"] == "8\u202f192"
    assert told["FSDP"] == "no"
    assert "Run id" not in told


def test_command_environment_and_warnings_are_told(summary: Run, plan: Run) -> None:
    page = Page(render(summary, plan, NO_STEPS))
    assert "bash -c 'train it'" in page.text
    assert page.rows["run"][:3] == [["Variable", "Value"], ["MASTER_PORT", "6000"], ["NODE_RANK", "0"]]
    assert "shm_size = 128G: It has no effect. Leave it out." in page.text


def test_differences_name_what_is_other_and_what_is_missing(plan: Run) -> None:
    plan["nodes"][1]["argv"] = ["bash", "-x", "train it", "again"]
    del plan["nodes"][1]["env"]["MASTER_PORT"]
    assert differences(plan["nodes"]) == [
        ("node-001", [("argument 1", "-x"), ("MASTER_PORT", None), ("NODE_RANK", "1"), ("argument 3", "again")])
    ]


def test_nodes_that_are_given_the_same_have_no_differences(plan: Run) -> None:
    assert differences([plan["nodes"][0], {**plan["nodes"][0], "node": "node-001"}]) == []


def test_a_run_that_failed_before_its_first_step_says_so(summary: Run, plan: Run) -> None:
    html = render(summary, plan, pd.DataFrame(columns=["node", "node_rank", "attempt", "step", "counted"]))
    assert "No step was recorded, so there is nothing to plot." in Page(html).text
    assert "<script" not in html


def test_a_metric_without_values_is_named_and_not_plotted(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    steps = make_steps(2, 5).assign(loss=math.nan)
    page = Page(render(summary, plan, steps))
    assert "No values of: Loss." in page.text
    bare = Page(render(summary, plan, steps.drop(columns=["step_time_ms", "tokens_per_sec_per_gpu"])))
    assert "No values of: Step time, Throughput per GPU, Loss." in bare.text
    assert "No step was recorded" not in bare.text


def test_the_legend_names_up_to_sixteen_nodes(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    assert 'aria-label="Nodes"' in render(summary, plan, make_steps(16, 3))
    many = render(summary, plan, make_steps(17, 3))
    assert 'aria-label="Nodes"' not in many
    assert "17 nodes, one line each." in Page(many).text


def test_a_far_threshold_is_told_beside_its_plot(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    summary["thresholds"][0]["greatest"] = 5_000.0
    assert "The threshold ≤ 5\u202f000 lies below this view." in Page(render(summary, plan, make_steps(2, 20))).text


def test_a_thousand_steps_on_128_nodes_stay_below_3_mb(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    summary["nodes"] = [{**summary["nodes"][0], "node": f"node-{rank:03}", "node_rank": rank} for rank in range(128)]
    html = render(summary, plan, make_steps(128, 1_000))
    assert len(html.encode()) < 3_000_000
    assert "Too many points to draw them all" in html


def test_the_figures_that_one_looks_for_first_stand_in_front(summary: Run, plan: Run) -> None:
    summary |= {"mfu": 0.4123, "mfu_basis": "model FLOPs and tokens/s"}
    told = " ".join(Page(render(summary, plan, NO_STEPS)).text.split())
    assert "Step time 10 123 ms median of node-001 MFU 41.2 % from model FLOPs and tokens/s Thresholds" in told


def test_stragglers_are_marked_where_nodes_are(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    found = [{"node": "node-001", "value": 11_000.0, "deviations": 9.0, "slower": 0.08}]
    summary["stragglers"] = {"nodes": found, "message": "Stragglers: node-001 (8.0% slower)."}
    page = Page(render(summary, plan, make_steps(2, 20)))
    assert [row[0] for row in page.rows["nodes"][1:]] == ["node-000", "node-001 straggler"]
    assert "Stragglers: node-001 (8.0% slower)." in page.text
    many = render(summary, plan, make_steps(17, 3))
    assert "Stragglers stand out: node-001." in Page(many).text


def test_what_the_nodes_are_made_of_is_told_and_where_they_are_not_alike(summary: Run, plan: Run) -> None:
    assert "hardware" not in Page(render(summary, plan, NO_STEPS)).rows
    statuses = [{"node": f"node-{rank:03}", "image_id": digest} for rank, digest in enumerate(("sha256:a", "sha256:b"))]
    page = Page(render(summary, plan, NO_STEPS, None, statuses))
    assert [row[0] for row in page.rows["hardware"][1:]] == ["node-000", "node-001"]
    assert "The nodes are not alike: there are 2 kinds of them." in page.text


@pytest.fixture
def opened(tmp_path: Path, summary: Run, plan: Run, make_steps: MakeSteps) -> Callable[..., Browser]:
    """Open the page of a run on three nodes in a browser of a given size."""
    need("chromium")
    page = tmp_path / "report.html"
    summary["first_failure"] = FAILURE
    page.write_text(render(summary, plan, make_steps(3, 20)), encoding="utf-8")

    def open_page(width: int = 1280) -> Browser:
        browser = Browser(tmp_path, width)
        browser.open(page)
        return browser

    return open_page


def test_a_browser_draws_the_plots_complains_about_nothing_and_fetches_nothing(opened: Callable[..., Browser]) -> None:
    with opened() as browser:
        assert browser.run("document.querySelectorAll('[data-root-id]').length") == 3
        drawn = browser.run(DRAWN)
        assert [line for line in browser.console if "[bokeh" not in line] == []
        assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []
    assert len(drawn) == 3
    assert min(drawn) > 200


def test_hovering_over_a_line_tells_node_step_and_value(opened: Callable[..., Browser]) -> None:
    with opened() as browser:
        browser.run("document.querySelector('#plots').scrollIntoView()")
        x, y = browser.run(POINT_OF_STEP_10)
        browser.point_at(x - 3, y)
        browser.point_at(x, y)
        told = browser.run(TOLD)
    assert "node-001, step 10: 10131 ms" in told


def test_on_a_phone_the_page_is_as_wide_as_the_screen(opened: Callable[..., Browser]) -> None:
    with opened(390) as browser:
        assert browser.run("document.documentElement.scrollWidth") == 390
        ends = browser.run("[...document.querySelectorAll('section')].map(one => one.getBoundingClientRect().right)")
        assert max(ends) <= 390
        assert min(browser.run(DRAWN)) > 200


def test_a_dark_screen_gets_a_dark_page(opened: Callable[..., Browser]) -> None:
    with opened() as browser:
        light = browser.run("getComputedStyle(document.body).backgroundColor")
        browser.dark()
        assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(16, 19, 23)" != light


def test_a_dragged_box_zooms_all_plots(opened: Callable[..., Browser]) -> None:
    span = "Bokeh.documents.flatMap(d => d.roots()).map(plot => plot.x_range.end - plot.x_range.start)"
    with opened() as browser:
        browser.run("document.querySelector('#plots').scrollIntoView()")
        browser.run(
            "Bokeh.documents.flatMap(d => d.roots()).flatMap(plot => plot.toolbar.tools)"
            ".filter(tool => tool.type === 'BoxZoomTool').forEach(tool => { tool.active = true; })"
        )
        before = browser.run(span)
        x, y = browser.run(POINT_OF_STEP_10)
        browser.drag((x - 150, y - 40), (x + 50, y + 40))
        after = browser.run(span)
    assert len(set(after)) == 1
    assert 0 < after[0] < before[0] / 2


def test_what_is_printed_is_dark_on_white_also_for_a_reader_of_dark_pages(opened: Callable[..., Browser]) -> None:
    colour = (
        "getComputedStyle(document.querySelector('section:not(.banner)')).{}.match(/\\d+/g).slice(0, 3).map(Number)"
    )
    with opened() as browser:
        browser.print_dark()
        paper, ink = (browser.run(colour.format(name)) for name in ("backgroundColor", "color"))
        assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert browser.run("getComputedStyle(document.querySelector('.scroll')).overflow") == "visible"
    assert min(paper) > 240
    assert max(ink) < 80
