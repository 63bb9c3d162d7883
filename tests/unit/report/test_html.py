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
from browser import Browser, Chromium
from judged_runs import FAILURE

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.html import SYMBOLS, differences, facts, render

MakeSteps = Callable[[int, int], pd.DataFrame]
Run = dict[str, t.Any]
# How high each plot is drawn, in pixels.
DRAWN = "[...document.querySelectorAll('#plots .plot svg')].map(svg => svg.getBoundingClientRect().height)"
TOLD = "[...document.querySelectorAll('.tip')].filter(tip => !tip.hidden).map(tip => tip.textContent).join()"
VIEWS = "[...document.querySelectorAll('[data-name=step] svg')].map(svg => svg.getAttribute('viewBox'))"
# Where the second node's tenth step is on the screen.
POINT_OF_STEP_10 = """(() => {
  const area = document.querySelector('#plots .area'), box = area.getBoundingClientRect();
  const [left, right, bottom, top] = area.parentElement.dataset.ends.split(' ').map(Number);
  return [box.x + (10 - left) / (right - left) * box.width, box.y + (top - 10131) / (top - bottom) * box.height];
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
            "10,123 10,100 – 10,150",
            "median of node-001",
            "≤ 10,500",
            "3.59",
            "✓ met",
        ],
        [
            "Throughput per GPU (tokens/s)",
            "6,000 10,100 – 10,150",
            "median of node-001",
            "≥ 6,400",
            "−6.25",
            "✗ missed",
        ],
        ["Loss", "–", "–", "≤ 6.5", "–", "✗ not measured"],
        ["GPU memory in use (%)", "50.0", "median of node-001", "45 – 55", "9.09", "✓ met"],
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
    assert text.index("What to do: Halve the micro batch size.") < text.index("1 echo on other nodes")
    assert "node-000: watchdog – timed out" in text


def test_a_run_without_failure_has_no_failure_card(summary: Run, plan: Run) -> None:
    assert "First failure" not in Page(render(summary, plan, NO_STEPS)).text


def test_every_node_has_one_row(summary: Run, plan: Run) -> None:
    header, *rows = Page(render(summary, plan, NO_STEPS)).rows["nodes"]
    assert header[7:] == ["Off the median (%)", "Step time (ms)", "5th – 95th percentile"]
    assert rows == [
        [
            f"node-00{rank}",
            str(rank),
            "exited",
            "0",
            "1",
            "20 / 20",
            "18",
            "0",
            "10,050",
            "10,001 – 10,149",
        ]
        for rank in range(2)
    ]


def test_the_last_step_of_a_trainer_that_counts_from_0_is_the_last_one(summary: Run, plan: Run) -> None:
    plan["first_step"] = 0
    summary["nodes"][0]["last_step"] = 19
    assert [row[5] for row in Page(render(summary, plan, NO_STEPS)).rows["nodes"][1:2]] == ["19 / 19"]


def test_what_a_node_does_not_tell_is_a_dash(summary: Run, plan: Run) -> None:
    summary["nodes"][1].update(
        state="not_started", exit_code=None, last_step=None, steps_total=None, metrics={"loss": {"value": math.nan}}
    )
    rows = Page(render(summary, plan, NO_STEPS)).rows["nodes"]
    assert rows[2] == ["node-001", "1", "not started", "–", "1", "– / –", "18", "–", "–", "–"]


def test_every_metric_has_its_statistics(summary: Run, plan: Run) -> None:
    summary["metrics"]["step_time_ms"]["stdev"] = None
    rows = Page(render(summary, plan, NO_STEPS)).rows["statistics"]
    assert rows[1:] == [
        ["Step time (ms)", "10,050", "10,060", "10,001", "10,149", "–", "36", "3 – 20"]
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
    assert told["Sequence length"] == "8,192"
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


def test_a_node_far_off_the_others_comes_first_and_links_to_its_log(summary: Run, plan: Run) -> None:
    summary["nodes"] += [
        {**summary["nodes"][0], "node": "node-002", "metrics": {"step_time_ms": {"value": 12_060.0}}},
    ]
    html = render(summary, plan, NO_STEPS, logs={"node-002": "nodes/node-002/train.log"})
    first, *_others = Page(html).rows["nodes"][1:]
    assert (first[0], first[7]) == ("node-002", "20.0")
    assert '<a href="nodes/node-002/train.log">node-002</a>' in html


def test_what_is_not_in_the_plots_is_said_beside_the_verdict(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    steps = make_steps(2, 9)
    steps.loc[steps["step"] == 7, "loss"] = math.nan
    text = Page(render(summary, plan, steps)).text
    assert text.index("Not plotted (missing, NaN or infinite): 2 × loss.") < text.index("Thresholds")


def test_nothing_is_met_for_good_in_a_run_that_was_stopped(summary: Run, plan: Run) -> None:
    summary["nodes"][1].update(state="stopped", exit_code=None)
    html = render({**summary, "verdict": "ERROR"}, plan, NO_STEPS)
    assert "met up to then" in html
    assert "✓" not in html


def test_what_was_done_by_the_clock_stands_beside_the_median(summary: Run, plan: Run) -> None:
    rate = {**summary["metrics"]["step_time_ms"], "value": 6_000.0, "value_node": "node-001"}
    summary["metrics"]["tokens_per_sec_per_gpu"] = rate
    summary["nodes"][1]["time_spent"] = {"median": 10.0, "mean": 12.0, "wall_clock": 20.0, "drift": 0.0}
    assert "Throughput by the clock 3 000 tokens/s" in " ".join(Page(render(summary, plan, NO_STEPS)).text.split())


def test_thirty_steps_of_eight_nodes_take_less_than_300_kb(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    assert len(render(summary, plan, make_steps(8, 30)).encode()) < 300_000


def test_the_legend_names_up_to_sixteen_nodes(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    assert 'aria-label="Nodes"' in render(summary, plan, make_steps(16, 3))
    many = render(summary, plan, make_steps(17, 3))
    assert 'aria-label="Nodes"' not in many
    assert "17 nodes, one line each." in Page(many).text


def test_a_far_threshold_is_told_beside_its_plot(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    summary["thresholds"][0]["greatest"] = 5_000.0
    assert "The threshold ≤ 5,000 lies below this view." in Page(render(summary, plan, make_steps(2, 20))).text


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
    assert "The nodes differ: there are 2 kinds." in page.text


@pytest.fixture
def opened(
    chromium: Chromium, tmp_path: Path, summary: Run, plan: Run, make_steps: MakeSteps
) -> Callable[..., Browser]:
    """Open the page of a run on three nodes in a browser of a given size."""
    page = tmp_path / "report.html"
    summary["first_failure"] = FAILURE
    page.write_text(render(summary, plan, make_steps(3, 20)), encoding="utf-8")

    def open_page(width: int = 1280) -> Browser:
        browser = Browser(chromium, width)
        browser.open(page)
        return browser

    return open_page


def test_a_browser_draws_the_plots_complains_about_nothing_and_fetches_nothing(opened: Callable[..., Browser]) -> None:
    with opened() as browser:
        drawn = browser.run(DRAWN)
        assert browser.console == []
        assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []
    # Three metrics, and the deviations.
    assert len(drawn) == 4
    assert min(drawn[:3]) > 200


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
        assert min(browser.run(DRAWN)[:3]) > 200


def test_a_dark_screen_gets_a_dark_page(opened: Callable[..., Browser]) -> None:
    with opened() as browser:
        light = browser.run("getComputedStyle(document.body).backgroundColor")
        browser.dark()
        assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(16, 19, 23)" != light


def test_a_drag_zooms_all_plots(opened: Callable[..., Browser]) -> None:
    with opened() as browser:
        browser.run("document.querySelector('#plots').scrollIntoView()")
        assert set(browser.run(VIEWS)) == {"0 0 2000 1000"}
        x, y = browser.run(POINT_OF_STEP_10)
        browser.drag((x - 150, y - 40), (x + 50, y + 40))
        [view] = set(browser.run(VIEWS))
    assert 0 < float(view.split()[2]) < 1000


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
