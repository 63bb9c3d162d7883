# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of all runs in a folder."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime

import pytest
from browser import Browser
from not_run import need

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.runs_index import write_index


@pytest.fixture
def add(tmp_path):
    """Return a function that adds a run that was judged, or (without a verdict) one that was not."""

    def add(name, verdict="", hour=0, tokens="", planned=0, **values):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "plan.json").write_text("{}")
        at = datetime(2026, 3, 1, planned, tzinfo=UTC).timestamp()
        os.utime(folder / "plan.json", (at, at))
        if verdict:
            (folder / "report.html").write_text("")
            row = {"verdict": verdict, "started_at": f"2026-03-01T{hour:02}:00:00+00:00", "framework": "megatron"}
            row |= {"tokens_per_sec_per_gpu_value": tokens, "nodes": 2, **values}
            (folder / "summary.csv").write_text(f"{','.join(row)}\n{','.join(map(str, row.values()))}\n")
        return folder

    return add


def rows_of(page):
    return [re.sub(r"<[^>]+>", " ", row).split() for row in re.findall(r"<tr><th scope=\"row\">.*?</tr>", page, re.S)]


def test_each_run_has_its_verdict_its_change_and_a_link_the_newest_first(add, tmp_path):
    add("old", "PASS", 1, 100.0)
    add("bad", "FAIL", 2, 50.0, first_failure_class="out_of_memory", first_failure_node="node7")
    add("new", "PASS", 3, 110.0)
    add("other", "PASS", 4, 300.0, nodes=4)
    add("running")
    assert write_index(tmp_path) is True
    page = (tmp_path / "index.html").read_text()
    rows = {row[0]: row for row in rows_of(page)}
    assert list(rows) == ["other", "new", "bad", "old", "running"]
    assert rows["bad"][1:5] == ["FAIL", "out_of_memory", "on", "node7"]
    # A run is compared with earlier passes of its kind only.
    changes = {name: [word for word in row if re.match(r"[+−]\d", word)] for name, row in rows.items()}
    assert changes == {"other": [], "new": ["+10.0"], "bad": ["−50.0"], "old": [], "running": []}
    assert rows["running"][1:3] == ["not", "judged"]
    assert re.findall(r'href="([^"]+)/report.html"', page) == ["other", "new", "bad", "old"]
    assert write_index(tmp_path) is False


def test_a_run_that_never_started_stands_where_it_was_planned(add, tmp_path):
    add("first", "PASS", 1, 100.0)
    add("never", "ERROR", planned=2, started_at="")
    add("last", "PASS", 3, 100.0)
    write_index(tmp_path)
    assert [row[0] for row in rows_of((tmp_path / "index.html").read_text())] == ["last", "never", "first"]


def test_what_was_not_measured_is_a_dash(add, tmp_path):
    add("rehearsal", "PASS", 1, tflops_per_gpu_value=0.0)
    add("slow", "PASS", 2, tflops_per_gpu_value=0.0, step_time_ms_value=812.0)
    write_index(tmp_path)
    found = {row[0]: row for row in rows_of((tmp_path / "index.html").read_text())}
    assert "TFLOP/s" not in " ".join(found["rehearsal"] + found["slow"])
    assert "812.0" in found["slow"]


def test_a_proven_regression_is_marked_with_what_the_history_says(add, tmp_path):
    add("old", "PASS", 1, 100.0)
    regression = {"regression_metric": "tokens_per_sec_per_gpu", "regression_percent": -6.9}
    add("slower", "PASS", 2, 94.0, **regression)
    add("other", "PASS", 3, 100.0, regression_metric="loss", regression_percent=9.0)
    write_index(tmp_path)
    page = (tmp_path / "index.html").read_text()
    found = {row[0]: " ".join(row) for row in rows_of(page)}
    assert "−6.9 %" in found["slower"]
    assert "real" in found["slower"]
    assert "Loss worse" in found["other"]
    assert page.count('class="bad"') == 4
    assert "2 proven to be worse" in page


def test_a_run_that_did_not_pass_has_its_headline(add, tmp_path):
    add("bad", "FAIL", 2, 50.0, headline="GPU hang on node7 at step 9")
    add("good", "PASS", 3, 50.0, headline="2 nodes trained")
    write_index(tmp_path)
    found = {row[0]: " ".join(row) for row in rows_of((tmp_path / "index.html").read_text())}
    assert "GPU hang on node7 at step 9" in found["bad"]
    assert "trained" not in found["good"]


def test_all_trends_have_one_scale(add, tmp_path):
    for hour, (tokens, nodes) in enumerate([(100.0, 2), (100.0, 2), (90.0, 2), (100.0, 4), (100.0, 4), (101.0, 4)]):
        add(f"run{hour}", "PASS", hour, tokens, nodes=nodes)
    write_index(tmp_path)
    page = (tmp_path / "index.html").read_text()
    heights = [
        max(numbers) - min(numbers)
        for points in re.findall(r'points="([^"]+)"', page)
        for numbers in [[float(point.split(",")[1]) for point in points.split()]]
        if max(numbers) > min(numbers)
    ]
    assert len(heights) == 2
    assert max(heights) > 5 * min(heights)


def test_names_are_escaped_and_torn_rows_leave_the_others(add, tmp_path):
    add("<b>&", "PASS", 1, 100.0, model="<script>alert(1)</script>")
    add("javascript:alert(1)", "PASS", 2, "nan")
    (add("torn") / "summary.csv").write_bytes(b"verdict,mfu\n\xff\x00")
    pages = ("comparisons/a--<b>/compare.html", "sweep&/sweep.html", "comparison.html")
    for page in map(tmp_path.joinpath, pages):
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text("")
    write_index(tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert "<b>" not in page
    assert "<script>alert" not in page
    links = ["comparisons/a--%3Cb%3E/compare.html", "comparison.html", "sweep%26/sweep.html"]
    links += ["javascript%3Aalert%281%29/report.html", "%3Cb%3E%26/report.html"]
    assert re.findall(r'<a href="([^"]+)"', page) == links
    assert ["torn", "not", "judged"] in [row[:3] for row in rows_of(page)]


def test_the_page_of_somebody_else_stays(tmp_path):
    (tmp_path / "index.html").write_text("<h1>My runs</h1>")
    with pytest.raises(ValueError, match="not an index of runs; rename it"):
        write_index(tmp_path)
    assert (tmp_path / "index.html").read_text() == "<h1>My runs</h1>"


def test_in_a_browser_headings_sort_and_the_filter_hides(add, chromium, tmp_path):
    need("/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf")
    for place, tokens in enumerate([9.5, 100.0, ""]):
        add(f"run-{place}-of-a-very-long-name-of-a-model", "PASS", place, tokens)
    write_index(tmp_path)
    shown = "[...document.querySelectorAll('#runs tbody tr')].filter(row => !row.hidden).map(row => row.innerText[4])"
    click = "[...document.querySelectorAll('#runs button')].find(one => one.innerText == 'Measured').click()"
    with Browser(chromium, 390) as browser:
        browser.open(tmp_path / "index.html")
        assert browser.run("document.documentElement.scrollWidth") == 390
        assert browser.run(shown) == ["2", "1", "0"]
        browser.run(click)
        assert browser.run(shown) == ["0", "1", "2"]
        browser.run(click)
        # Unmeasured values stay at the end.
        assert browser.run(shown) == ["1", "0", "2"]
        browser.run("document.querySelector('#filter').value = 'RUN-1 pass'")
        browser.run("document.querySelector('#filter').dispatchEvent(new Event('input'))")
        assert browser.run(shown) == ["1"]
        assert browser.console == []
        assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []


def test_a_table_of_runs_with_long_names_is_no_wider_than_a_screen(add, chromium, tmp_path):
    need("/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf")
    of_run = {"model": "llama3_1_405b", "gpu": "mi300x", "mfu": 0.41, "headline": f"{'node_' * 10} failed, " * 3}
    for place in range(4):
        name = f"llama3-405b-fp8-nightly-202611{place:02}-a"
        assert len(name) == 34
        add(name, "FAIL" if place == 3 else "PASS", place, 9_100.0 + place, **of_run)
    write_index(tmp_path)
    room = "(box => box.scrollWidth - box.clientWidth)(document.querySelector('#runs .scroll'))"
    width_of_verdict = "document.querySelector('#runs tbody td').clientWidth"
    with Browser(chromium, 1400) as browser:
        browser.open(tmp_path / "index.html")
        assert browser.run(room) == 0
        # A headline in a narrow column would take a dozen lines.
        assert browser.run(width_of_verdict) >= 220
