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

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.files import HELP
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.run_page import (
    SYMBOLS,
    Links,
    differences,
    facts,
    render,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.telemetry import telemetry_frame
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.status import status_of

MakeSteps = Callable[[int, int], pd.DataFrame]
Run = dict[str, t.Any]
# How high each plot is drawn, in pixels.
DRAWN = "[...document.querySelectorAll('#plots .plot svg')].map(svg => svg.getBoundingClientRect().height)"
TOLD = "[...document.querySelectorAll('.tip')].filter(tip => !tip.hidden).map(tip => tip.textContent).join()"
VIEWS = "[...document.querySelectorAll('[data-name=step] svg')].map(svg => svg.getAttribute('viewBox'))"
# The place of the second node's tenth step on the screen.
POINT_OF_STEP_10 = """(() => {
  const area = document.querySelector('[data-unit=ms] .area'), box = area.getBoundingClientRect();
  const [left, right, bottom, top] = area.parentElement.dataset.ends.split(' ').map(Number);
  return [box.x + (10 - left) / (right - left) * box.width, box.y + (top - 10131) / (top - bottom) * box.height];
})()"""
NO_STEPS = pd.DataFrame()


class Page(HTMLParser):
    """The contents of a page: its text, its references, and the cells of each section's table rows."""

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

    def cells(self, section: str) -> list[dict[str, str]]:
        """Return the rows of the first table of a section, each as its cells by their headings."""
        header, *rows = self.rows[section]
        return [dict(zip(header, row, strict=True)) for row in rows]

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


def text_of(html: str) -> str:
    """Return the text of a page, with one space between words."""
    return " ".join(Page(html).text.split())


@pytest.mark.parametrize("verdict", sorted(SYMBOLS))
def test_the_verdict_stands_in_front_with_what_the_run_came_to(summary: Run, plan: Run, verdict: str) -> None:
    summary |= {"verdict": verdict, "reasons": [{"code": "pauses", "message": "It paused.", "verdict": verdict}]}
    html = render(summary, plan, NO_STEPS)
    page = Page(html)
    assert page.title == f"{verdict} – run-7"
    (heading,) = re.findall(r"<h1>([^<]*)</h1>", html)
    assert ("10,123 ms" if verdict == "PASS" else "It paused") in heading
    before, _, after = text_of(html).partition(f"{SYMBOLS[verdict]} {verdict}")
    assert "run-7" not in before
    assert after.index("run-7") < after.index("Thresholds")
    assert "2 nodes" in after[:300]
    assert "5 min 41 s · 2026-07-11 09:12:03 UTC" in after


@pytest.mark.parametrize("verdict", sorted(SYMBOLS))
def test_the_page_of_a_run_that_did_not_pass_links_to_help(summary: Run, plan: Run, verdict: str) -> None:
    summary |= {"verdict": verdict, "reasons": [{"code": "pauses", "message": "It paused.", "verdict": verdict}]}
    assert (HELP in Page(render(summary, plan, NO_STEPS)).references) == (verdict != "PASS")


def test_the_page_of_a_run_that_never_began_has_its_cause_and_nothing_that_follows_from_it(
    summary: Run, plan: Run
) -> None:
    message = "node-001 could not be reached: it is off."
    reasons = [{"code": "node_unreachable", "message": message, "verdict": "ERROR", "node": "node-001"}]
    for node, state in zip(summary["nodes"], ("staged", "unreachable"), strict=True):
        node |= {"state": state, "last_step": None, "metrics": {}}
    failure = FAILURE | {"class": "unreachable", "node": "node-001", "message": "It is off.", "evidence": []}
    never = {"verdict": "ERROR", "first_failure": failure, "reasons": reasons, "started_at": None, "metrics": {}}
    html = render(summary | never | {"ended_at": None, "thresholds": []}, plan, NO_STEPS)
    text = text_of(html)
    assert text.count("it is off") == 1
    assert "What to do: Halve the micro batch size." in text
    assert not any(word in text for word in ("INCONCLUSIVE", "checks passed", "Last step", "Thresholds"))
    assert [row[:3] for row in Page(html).rows["nodes"][1:]] == [
        ["node-000", "0", "staged"],
        ["node-001", "1", "unreachable"],
    ]


def test_the_contents_lead_to_the_sections_of_the_page(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    html = render(summary, plan, make_steps(3, 20), links=Links(all_runs="../index.html"))
    (ways,) = re.findall(r'<nav class="ways".*?</nav>', html, re.S)
    targets = re.findall(r'href="([^"]+)"', ways)
    assert targets[0] == "../index.html"
    assert {"#plots", "#ledger", "#thresholds", "#nodes"} <= set(targets)
    assert all(f'id="{target[1:]}"' in html for target in targets[1:])


def test_the_page_references_nothing_outside(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    html = render(summary, plan, make_steps(2, 20))
    assert [reference for reference in Page(html).references if not reference.startswith("#")] == ["data:,"]
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
    summary["first_failure"] = FAILURE | dict.fromkeys(["node", "class", "message", "remedy"], evil)
    summary["first_failure"]["evidence"] = ["one", evil]
    summary["notes"] = [
        {"code": "survived_fault", "message": evil, "node": evil, "values": {"class": evil, "line": evil, "step": 1}},
        {"code": "unusual_last_lines", "message": evil, "node": evil, "values": {"lines": [evil]}},
        {"code": "pauses", "message": evil},
    ]
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
            "kind": "min",
            "value": 6400,
            "measured": 6000.0,
            "least": 6400,
            "greatest": None,
            "met": False,
        },
        {**first, "metric": "loss", "measured": None, "node": None, "statistic": None, "interval": None, "met": False}
        | {"greatest": 6.5},
        {**first, "metric": "memory_fraction", "measured": 0.5, "interval": None, "kind": "within"}
        | {"value": 0.5, "tolerance_pct": 10.0, "least": 0.45, "greatest": 0.55},
        {**first, "metric": "tflops_per_gpu", "kind": "info", "value": 400, "measured": 500.0, "interval": None}
        | {"greatest": None, "met": None},
    ]
    assert Page(render(summary, plan, NO_STEPS)).rows["thresholds"] == [
        ["Metric", "Measured", "Statistic", "Bound", "Margin", "Met"],
        [
            "Step time (ms)",
            "10,123 10,100 – 10,150",
            "median of node-001",
            "≤ 10,500",
            "3.6 % below",
            "✓ met",
        ],
        [
            "Throughput per GPU (tokens/s)",
            "6,000 10,100 – 10,150",
            "median of node-001",
            "≥ 6,400",
            "6.2 % below",
            "✗ missed",
        ],
        ["Loss", "–", "–", "≤ 6.5", "–", "✗ not measured"],
        ["GPU memory in use (%)", "50.0", "median of node-001", "45 – 55", "exactly", "✓ met"],
        ["Compute per GPU (TFLOP/s)", "500.0", "median of node-001", "400", "–", "– for information"],
    ]


def test_a_bound_of_zero_has_no_margin(summary: Run, plan: Run) -> None:
    summary["thresholds"] = [{**summary["thresholds"][0], "greatest": 0.0}]
    assert Page(render(summary, plan, NO_STEPS)).rows["thresholds"][1][3:5] == ["≤ 0", "–"]


def test_a_run_without_thresholds_says_so(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    assert "No thresholds" in Page(render({**summary, "thresholds": []}, plan, make_steps(2, 5))).text


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
        "line": "HIP out of memory",
        "evidence": ["line before", "[rank9]: HIP out of memory. Tried to allocate 2 MiB"],
        "rank": 9,
        "remedy": "Halve the micro batch size.",
        "exit_code": 1,
        "echoes": [{"node": "node-000", "class": "watchdog", "message": "timed out"}],
    }
    html = render(summary, plan, NO_STEPS)
    told = text_of(html)
    (heading,) = re.findall(r"<h1>([^<]*)</h1>", html)
    assert heading == "Out of memory on node-001, rank 9, at step 20 of 20"
    assert "out_of_memory on node-001 (node rank 1, rank 9, exit code 1)" in told
    assert "<mark>[rank9]: HIP out of memory. Tried to allocate 2 MiB</mark>" in html
    places = [told.index(part) for part in ("What to do: Halve the micro batch size.", "What followed", "Step time")]
    assert places == sorted(places)
    assert "node-000: Collective timed out – timed out" in told


def test_three_lines_of_the_log_show_a_failure_and_a_click_the_others(summary: Run, plan: Run) -> None:
    lines = [f"iteration {step}/ 60 | lm loss: 9.1" for step in range(18)] + ["GPU Hang", "Aborted"]
    summary |= {"verdict": "FAIL", "first_failure": {**FAILURE, "message": "GPU Hang", "evidence": lines}}
    html = render(summary, plan, NO_STEPS)
    card = html[html.index('id="failure"') : html.index("</section>", html.index('id="failure"'))]
    seen, _, folded = card.partition("<details>")
    assert "GPU Hang" in seen
    assert "Aborted" in seen
    assert "iteration" not in seen
    assert folded.count("iteration") == 18


def test_nodes_that_were_stopped_did_not_fail(summary: Run, plan: Run) -> None:
    summary |= {"verdict": "FAIL", "first_failure": {**FAILURE, "node": "node-001"}}
    summary["nodes"][0] |= {"state": "exited", "exit_code": None}
    assert "node was stopped because node-001 failed" in Page(render(summary, plan, NO_STEPS)).text


def test_a_hang_blames_nobody_where_nothing_tells(summary: Run, plan: Run) -> None:
    summary["first_failure"] = FAILURE | {
        "node": "node-000",
        "class": "stalled",
        "rank": None,
        "origin": "unknown",
        "message": "The training hung: its log has not grown for 64 s.",
        "evidence": ["iteration 9/ 20 | lm loss: 9.1"],
        "echoes": [{"node": "node-001", "class": "stalled", "message": "It hung."}],
    }
    for node in summary["nodes"]:
        node |= {"state": "stalled", "exit_code": None}
    html = render(summary | {"verdict": "FAIL"}, plan, NO_STEPS)
    (heading,) = re.findall(r"<h1>([^<]*)</h1>", html)
    assert "hung at step 20 of 20" in heading
    assert "node-00" not in heading
    assert "failed" not in html[html.index('id="failure"') : html.index("</section>", html.index('id="failure"'))]


def test_a_proven_regression_stands_right_below_the_verdict(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    regression = {"metric": "step_time_ms", "message": "7.0 % slower than the last 9 runs: 10,123 ms against 9,460"}
    html = render(summary | {"regression": regression}, plan, make_steps(2, 20))
    assert 'class="card regression"' in html
    told = text_of(html)
    assert told.index("PASS") < told.index("7.0 % slower than the last 9 runs") < told.index("by step")
    assert 'class="card regression"' not in render(summary, plan, make_steps(2, 20))


def test_faults_that_the_run_survived_are_a_table(summary: Run, plan: Run) -> None:
    fault = {"class": "gpu_ecc", "line": "an uncorrectable error", "step": 7}
    flat = {"code": "survived_fault", "message": "It was survived.", "node": "node-001", **fault, "step": None}
    nested = {"code": "survived_fault", "message": "It was survived.", "node": "node-000", "evidence": fault}
    page = Page(render(summary | {"notes": [nested, flat]}, plan, NO_STEPS))
    assert page.rows["survived"][1:] == [
        ["node-000", "GPU ECC", "7", "an uncorrectable error"],
        ["node-001", "GPU ECC", "–", "an uncorrectable error"],
    ]
    assert "It was survived." not in page.text


def test_unusual_last_lines_are_folded(summary: Run, plan: Run) -> None:
    notes = [
        {"code": "unusual_last_lines", "message": "Odd.", "node": f"node-00{rank}", "values": {"lines": ["retrying"]}}
        for rank in range(2)
    ]
    html = render(summary | {"notes": notes}, plan, NO_STEPS)
    (folded,) = re.findall(r'<details class="whole" id="unusual">.*?</details>', html, re.S)
    assert "node-[000-001]" in folded
    assert folded.count("retrying") == html.count("retrying") == 1


def test_notes_that_are_true_of_every_run_are_not_shown(summary: Run, plan: Run) -> None:
    codes = ("mfu", "logs_as_named", "stragglers", "pauses")
    notes = [{"code": code, "message": f"Of {code}."} for code in codes]
    told = text_of(render(summary | {"notes": notes}, plan, NO_STEPS))
    assert [code for code in codes if f"Of {code}." in told] == ["pauses"]


def test_evidence_that_is_whole_is_one_line_until_it_is_opened(opened: Callable[..., Browser]) -> None:
    with opened() as browser:
        assert browser.run("document.querySelector('#ledger table').checkVisibility()") is False
        browser.run("document.querySelector('#ledger summary').click()")
        assert browser.run("document.querySelector('#ledger table').checkVisibility()") is True


def test_a_run_that_never_began_shows_its_cause_and_no_empty_tables(summary: Run, plan: Run) -> None:
    lacking = {"verdict": "INCONCLUSIVE", "evidence": "no evidence"}
    for of_node in summary["ledger"]:
        of_node["rows"] = dict.fromkeys(of_node["rows"], lacking)
    for node in summary["nodes"]:
        node |= {"state": "not_started", "last_step": None, "exit_code": None, "metrics": {}}
    reasons = [
        {"code": "node_not_started", "message": "No image on node-000.", "verdict": "ERROR", "row": "exit status"},
        {"code": "no_steps", "message": "No step.", "verdict": "INCONCLUSIVE", "row": "steps"},
    ]
    bound = {**summary["thresholds"][0], "measured": None, "met": False}
    summary |= {"verdict": "ERROR", "reasons": reasons, "metrics": {}, "thresholds": [bound]}
    html = render(summary, plan, NO_STEPS)
    assert re.findall(r"<h1>([^<]*)</h1>", html) == ["No image on node-000"]
    assert "No step." not in Page(html).text
    assert {"thresholds", "statistics"}.isdisjoint(Page(html).rows)


@pytest.mark.parametrize(("state", "said"), [("not_started", "was to run"), ("exited", "ran")])
def test_a_rehearsal_that_never_began_is_not_said_to_have_run(summary: Run, plan: Run, state: str, said: str) -> None:
    for node in summary["nodes"]:
        node.update({"state": state} if state == "exited" else {"state": state, "last_step": None, "metrics": {}})
    started = {} if state == "exited" else {"verdict": "ERROR", "metrics": {}, "started_at": None}
    html = render(summary | {"rehearsal": True} | started, plan | {"rehearsal": True}, NO_STEPS)
    (bar,) = re.findall(r'<p class="rehearsal">([^<]*)</p>', html)
    assert f"the embedded trainer {said} in place of" in bar
    assert not re.search(r'class="banner.*MI300X.*?</section>', html, re.S)


def test_a_run_that_is_no_rehearsal_has_nothing_above_its_contents(summary: Run, plan: Run) -> None:
    begin = re.search(r"<main>(.*?)<nav", render(summary, plan, NO_STEPS), re.S)
    assert begin
    assert begin[1].strip() == ""


def test_a_run_without_failure_has_no_failure_card(summary: Run, plan: Run) -> None:
    assert 'id="failure"' not in render(summary, plan, NO_STEPS)


def test_every_node_has_one_row(summary: Run, plan: Run) -> None:
    assert Page(render(summary, plan, NO_STEPS)).cells("nodes") == [
        {
            "Node": f"node-00{rank}",
            "Rank": str(rank),
            "State": "exited",
            "Exit code": "0",
            "Attempts": "1",
            "Last step": "20 / 20",
            "Samples": "18",
            "Off the median": "0 %",
            "Step time (ms)": "10,050",
            "5th – 95th percentile": "10,001 – 10,149",
        }
        for rank in range(2)
    ]


def test_the_last_step_of_a_trainer_that_counts_from_0_is_the_last_one(summary: Run, plan: Run) -> None:
    plan["first_step"] = 0
    summary["nodes"][0]["last_step"] = 19
    assert Page(render(summary, plan, NO_STEPS)).cells("nodes")[0]["Last step"] == "19 / 19"


def test_what_a_node_does_not_tell_is_a_dash(summary: Run, plan: Run) -> None:
    summary["nodes"][1].update(
        state="not_started", exit_code=None, last_step=None, steps_total=None, metrics={"loss": {"value": math.nan}}
    )
    row = Page(render(summary, plan, NO_STEPS)).cells("nodes")[1]
    assert (row["State"], row["Last step"]) == ("not started", "– / –")
    unknown = ("Exit code", "Loss", "Step time (ms)", "5th – 95th percentile")
    assert {row[heading] for heading in unknown} == {"–"}


def test_every_metric_has_its_statistics(summary: Run, plan: Run) -> None:
    summary["metrics"]["step_time_ms"]["stdev"] = None
    rows = Page(render(summary, plan, NO_STEPS)).rows["statistics"]
    assert rows[1:] == [["Step time (ms)", "10,050", "10,060", "10,001", "10,149", "–", "36", "3 – 20"]]


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


def test_a_run_that_failed_before_its_first_step_has_no_plots(summary: Run, plan: Run) -> None:
    html = render(summary, plan, pd.DataFrame(columns=["node", "node_rank", "attempt", "step", "counted"]))
    assert 'id="plots"' not in html
    assert "<script" not in html


def test_a_metric_without_values_is_named_and_not_plotted(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    steps = make_steps(2, 9).assign(loss=math.nan)
    page = Page(render(summary, plan, steps))
    assert "Not measured: Loss." in page.text
    bare = Page(render(summary, plan, steps.drop(columns=["step_time_ms", "tokens_per_sec_per_gpu"])))
    assert "Not measured: Throughput per GPU, Loss, Step time." in bare.text


def test_a_run_of_a_few_steps_has_no_plots_and_the_page_says_why(
    summary: Run, plan: Run, make_steps: MakeSteps
) -> None:
    short = render(summary, plan, make_steps(2, 6))
    assert 'class="plot"' not in short
    assert "Fewer than 5 steps are counted" in Page(short).text
    assert "Not measured" not in Page(short).text
    assert 'class="plot"' in render(summary, plan, make_steps(2, 7))


def test_a_node_far_off_the_others_comes_first_and_links_to_its_log(summary: Run, plan: Run) -> None:
    summary["nodes"] += [
        {**summary["nodes"][0], "node": "node-002", "metrics": {"step_time_ms": {"value": 12_060.0}}},
    ]
    html = render(summary, plan, NO_STEPS, links=Links({"node-002": "nodes/node-002/train.log"}))
    first = Page(html).cells("nodes")[0]
    assert (first["Node"], first["Off the median"]) == ("node-002", "+20.0 %")
    assert '<a href="nodes/node-002/train.log">node-002</a>' in html


def test_what_is_not_in_the_plots_is_said_beside_the_verdict(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    steps = make_steps(2, 9)
    steps.loc[steps["step"] == 7, "loss"] = math.nan
    text = Page(render(summary, plan, steps)).text
    assert text.index("missing, NaN or infinite: 2 × loss.") < text.index("Step time (ms) by step")


def test_nothing_is_met_for_good_in_a_run_that_was_stopped(summary: Run, plan: Run) -> None:
    summary["nodes"][1].update(state="stopped", exit_code=None)
    html = render({**summary, "verdict": "ERROR"}, plan, NO_STEPS)
    assert "met up to then" in html
    assert "✓" not in html


def test_what_was_done_by_the_clock_stands_beside_the_median(summary: Run, plan: Run) -> None:
    rate = {**summary["metrics"]["step_time_ms"], "value": 6_000.0, "value_node": "node-001"}
    summary["metrics"]["tokens_per_sec_per_gpu"] = rate
    summary["nodes"][1]["time_spent"] = {"median": 10.0, "mean": 12.0, "wall_clock": 20.0, "drift": 0.0}
    assert "3,000 by the log" in text_of(render(summary, plan, NO_STEPS))


def test_thirty_steps_of_eight_nodes_take_less_than_300_kb(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    assert len(render(summary, plan, make_steps(8, 30)).encode()) < 300_000


def test_the_legend_names_up_to_sixteen_nodes(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    assert 'aria-label="Nodes"' in render(summary, plan, make_steps(16, 9))
    many = render(summary, plan, make_steps(17, 9))
    assert 'aria-label="Nodes"' not in many
    assert "17 nodes, one line each." in Page(many).text


def test_a_far_threshold_is_told_beside_its_plot(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    summary["thresholds"][0]["greatest"] = 5_000.0
    assert "The threshold ≤ 5,000 lies below this plot." in Page(render(summary, plan, make_steps(2, 20))).text


@pytest.mark.slow
def test_a_thousand_steps_on_128_nodes_stay_below_3_mb(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    summary["nodes"] = [{**summary["nodes"][0], "node": f"node-{rank:03}", "node_rank": rank} for rank in range(128)]
    html = render(summary, plan, make_steps(128, 1_000))
    assert len(html.encode()) < 3_000_000
    assert "Too many points to draw them all" in html


def test_each_figure_has_its_interval_and_its_threshold(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    summary |= {"mfu": 0.4123, "mfu_basis": "model FLOPs and tokens/s"}
    summary["metrics"]["step_time_ms"]["interval"] = {"low": 10_100.0, "high": 10_150.0}
    told = text_of(render(summary, plan, make_steps(3, 20)))
    figures = told[told.index("MFU") : told.index("by step")]
    for part in ("41.2 %", "10,123 ms", "3.6 % below the allowed 10,500 ms", "10,100 – 10,150", "median of node-001"):
        assert part in figures


def test_stragglers_are_marked_where_nodes_are(summary: Run, plan: Run, make_steps: MakeSteps) -> None:
    found = [{"node": "node-001", "value": 11_000.0, "deviations": 9.0, "slower": 0.08}]
    summary["stragglers"] = {"nodes": found, "message": "Stragglers: node-001 (8.0% slower)."}
    page = Page(render(summary, plan, make_steps(2, 20)))
    assert [row[0] for row in page.rows["nodes"][1:]] == ["node-000", "node-001 straggler"]
    assert "Stragglers: node-001 (8.0% slower)." in page.text
    many = render(summary, plan, make_steps(17, 9))
    assert "Stragglers stand out: node-001." in Page(many).text


def test_what_the_nodes_are_made_of_is_told_and_where_they_are_not_alike(summary: Run, plan: Run) -> None:
    assert "hardware" not in Page(render(summary, plan, NO_STEPS)).rows
    statuses = [
        status_of({"node": f"node-{rank:03}", "image_id": digest})
        for rank, digest in enumerate(("sha256:a", "sha256:b"))
    ]
    page = Page(render(summary, plan, NO_STEPS, None, statuses))
    assert [row[0] for row in page.rows["hardware"][1:]] == ["node-000", "node-001"]
    assert "The nodes differ: there are 2 kinds." in page.text


def test_what_the_accelerators_did_is_told_with_what_held_them_down(summary: Run, plan: Run) -> None:
    busy = {"utilization": 100.0, "clock_limit": 1980.0, "power_limit": 700.0, "memory_total": 100.0}
    samples = [
        {"time": second, "accelerators": [busy | {"clock": clock, "held_down_by": ["power cap"], "memory_used": 95.0}]}
        for second, clock in ((0.0, 1500.0), (15.0, 1830.0))
    ]
    html = render(summary, plan, NO_STEPS, telemetry=telemetry_frame({"node-000": samples}))
    (row,) = Page(html).rows["telemetry"][1:]
    assert row[0] == "node-000"
    assert {"1,500 to 1,830 MHz of 1,980, held down by the power cap of 700 W", "95 %"} <= set(row)


def test_what_the_kernel_said_stands_beside_its_lines(summary: Run, plan: Run) -> None:
    changes = {"booted": False, "counters": {}, "links_down": ["mlx5_0/1"], "kernel_log": ["NVRM: Xid 79"]}
    fact = {"fact": "xid_79", "device": "", "line": "x", "count": 1, "seconds": 1.0, "recovered": False}
    changes |= {"kernel_lines": 1, "kernel_failures": [], "facts": [fact]}
    status = status_of({"node": "node-000", "machine_changes": changes})
    page = Page(render(summary, plan, NO_STEPS, None, [status]))
    (row,) = page.rows["machine-changes"][1:]
    assert row[:2] == ["node-000", "mlx5_0/1 has no link"]
    assert "fallen off the bus" in row[2]


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
    # The loss, the step time, from which the throughput follows, and the deviations.
    assert len(drawn) == 3
    assert min(drawn[:2]) > 200


def test_hovering_over_a_line_tells_node_step_and_value(opened: Callable[..., Browser]) -> None:
    with opened() as browser:
        browser.run("document.querySelector('#plots').scrollIntoView()")
        x, y = browser.run(POINT_OF_STEP_10)
        browser.point_at(x - 3, y)
        browser.point_at(x, y)
        told = browser.run(TOLD)
    assert "node-001, step 10: 10,131 ms" in told


def test_hovering_over_the_heat_map_tells_node_step_and_deviation(opened: Callable[..., Browser]) -> None:
    with opened() as browser:
        browser.run("document.querySelector('#deviations').scrollIntoView()")
        x, y, width, height = browser.run(
            "(box => [box.x, box.y, box.width, box.height])"
            "(document.querySelector('#deviations .area').getBoundingClientRect())"
        )
        browser.point_at(x + 0.52 * width - 2, y + height / 6)
        browser.point_at(x + 0.52 * width, y + height / 6)
        told = browser.run(TOLD)
    assert re.match(r"node-00\d, step 11: [+−][\d.]+ %", told), told


def test_on_a_phone_the_page_is_as_wide_as_the_screen(opened: Callable[..., Browser]) -> None:
    with opened(390) as browser:
        assert browser.run("document.documentElement.scrollWidth") == 390
        ends = browser.run("[...document.querySelectorAll('section')].map(one => one.getBoundingClientRect().right)")
        assert max(ends) <= 390
        assert min(browser.run(DRAWN)[:2]) > 200


def test_a_page_that_was_sent_on_has_no_links_to_what_stayed_behind(
    chromium: Chromium, tmp_path: Path, summary: Run, plan: Run
) -> None:
    links = Links({"node-000": "nodes/node-000/train.log"}, {}, "../index.html", "run 7")
    outside = "[...document.querySelectorAll('a')].filter(link => !link.hash).map(link => link.textContent)"
    named = "document.querySelector('#nodes tbody th').textContent"
    for folder, found, hidden in (("run 7", ["All runs", "node-000"], True), ("Downloads", [], False)):
        page = tmp_path / folder / "report.html"
        page.parent.mkdir()
        page.write_text(render(summary, plan, NO_STEPS, links=links), encoding="utf-8")
        with Browser(chromium) as browser:
            browser.open(page)
            assert browser.run(outside) == found
            assert browser.run(named) == "node-000"
            assert browser.run("document.getElementById('moved').hidden") is hidden


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
