# SPDX-License-Identifier: GPL-3.0-or-later
"""The terminal's lines at the end of a run."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest
from judged_runs import FAILURE

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.files import HELP
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.text import decisive_lines, verdict_lines

Run = dict[str, t.Any]


@pytest.fixture
def told(tmp_path: Path, summary: Run) -> Callable[..., list[str]]:
    """Return a function that shows a summary with some changes."""

    def show(*, verbose: bool = False, **changes: t.Any) -> list[str]:
        (tmp_path / "summary.json").write_text(json.dumps(summary | {"rehearsal": False, **changes}))
        return [line.text for line in verdict_lines(str(tmp_path / "report.html"), verbose=verbose)]

    return show


def test_a_good_run_is_told_in_a_few_lines_the_first_of_which_has_verdict_and_speed(told: t.Any) -> None:
    first, *others = told()
    assert first.startswith("PASS  run-7: ")
    assert "10,123 ms" in first
    assert len(others) <= 3
    assert others[-1].startswith("Report: ")


def test_what_a_pass_rests_on_is_told_to_who_asks(told: t.Any) -> None:
    assert "The step time is met." not in " ".join(told())
    assert "The step time is met." in " ".join(told(verbose=True))


@pytest.mark.parametrize(
    ("verdict", "helped"), [("PASS", False), ("FAIL", True), ("INCONCLUSIVE", True), ("ERROR", True)]
)
def test_a_run_that_did_not_pass_leads_to_the_page_of_help(told: t.Any, verdict: str, helped: bool) -> None:
    *_, before, _report = told(verdict=verdict, reasons=[{"code": "pauses", "message": "It paused."}])
    assert (HELP in before) == helped


def test_a_failure_is_told_once_with_three_lines_and_what_to_do(told: t.Any) -> None:
    lines = [f"iteration {step}/ 60 | lm loss: 9.1" for step in range(18)] + ["RuntimeError", "HIP out of memory"]
    reasons = [{"code": "node_failed", "message": "node-001 ended with exit status 1.", "row": "exit status"}]
    failure = FAILURE | {"node": "node-001", "evidence": lines}
    shown = told(verdict="FAIL", first_failure=failure, reasons=reasons)
    text = "\n".join(shown)
    assert text.count("HIP out of memory") == 1
    assert "iteration" not in text
    assert "exit status 1" not in text
    assert "What to do: Halve the micro batch size." in text
    assert "iteration" in "\n".join(told(verbose=True, verdict="FAIL", first_failure=failure, reasons=reasons))


def test_of_a_run_that_never_began_there_is_the_cause_and_nothing_that_follows_from_it(
    summary: Run, told: t.Any
) -> None:
    nodes = [
        {**node, "state": state, "last_step": None}
        for node, state in zip(summary["nodes"], ("staged", "unreachable"), strict=True)
    ]
    reasons = [
        {
            "code": "node_unreachable",
            "message": "node-001 could not be reached: it is off.",
            "verdict": "ERROR",
            "node": "node-001",
        }
    ]
    failure = FAILURE | {"class": "unreachable", "node": "node-001", "message": "It is off.", "evidence": []}
    never = {"verdict": "ERROR", "first_failure": failure, "reasons": reasons, "nodes": nodes, "started_at": None}
    never |= {"ended_at": None, "metrics": {}}
    for verbose in (False, True):
        first, *others = told(verbose=verbose, **never)
        text = "\n".join(others)
        assert first == "ERROR  run-7: node-001 could not be reached: it is off"
        assert "What to do" in text
        assert not any(word in text for word in ("INCONCLUSIVE", "checks", "Evidence", "is off"))


def test_where_every_node_refuses_to_start_there_is_something_to_do(summary: Run, told: t.Any) -> None:
    nodes = [{**node, "state": "not_started", "last_step": None} for node in summary["nodes"]]
    said = "port 6000 is not free (Address already in use)"
    problems = [{"code": "port_taken", "values": {"port": 6000, "why": "Address already in use"}}]
    values = {"said": said, "problems": problems}
    reason = {"code": "node_not_started", "case": "said", "values": values, "verdict": "ERROR"}
    message = f"did not start training: {said}"
    reasons = [{**reason, "message": f"{node['node']} {message}.", "node": node["node"]} for node in nodes]
    never = {
        "verdict": "ERROR",
        "reasons": reasons,
        "nodes": nodes,
        "started_at": None,
        "ended_at": None,
        "metrics": {},
    }
    first, second, *_others = told(**never)
    assert first == f"ERROR  run-7: node-[000-001] {message}"
    assert "What to do" in second
    assert "6000" in second


def test_unusual_last_lines_are_told_to_who_asks(told: t.Any) -> None:
    notes = [{"code": "unusual_last_lines", "message": "", "node": "node-000", "values": {"lines": ["retrying"]}}]
    assert "retrying" not in "\n".join(told(notes=notes))
    assert "retrying" in "\n".join(told(notes=notes, verbose=True))


def test_a_regression_is_a_warning(tmp_path: Path, summary: Run) -> None:
    regression = {"metric": "step_time_ms", "message": "7.0 % slower than the last 9 runs"}
    (tmp_path / "summary.json").write_text(json.dumps(summary | {"rehearsal": False, "regression": regression}))
    lines = verdict_lines(str(tmp_path / "report.html"))
    assert [line.tone for line in lines if "7.0 % slower" in line.text] == ["warning"]
    assert [line.tone for line in lines].count("verdict") == 1


@pytest.mark.parametrize(
    ("lines", "line", "shown"),
    [
        (["a", "b", "c", "Hang", "d", "e"], "Hang", ["c", "Hang", "d"]),
        (["step 1 loss 2.0", "step 2 loss 2.0", "Hang"], "Hang", ["Hang"]),
        (["Hang", "b", "c", "d"], "Hang", ["Hang", "b", "c"]),
        (["a", "b", " ", "Hang", "", "d"], "Hang", ["b", "Hang", "d"]),
        (["a", "b", "c", "d"], None, ["b", "c", "d"]),
        (["step 1 loss 2.0", "step 2 loss 2.0"], None, ["step 2 loss 2.0"]),
        ([], None, []),
    ],
)
def test_the_decisive_lines_are_those_around_the_line_of_the_failure_without_steps(
    lines: list[str], line: str | None, shown: list[str]
) -> None:
    assert decisive_lines({**FAILURE, "evidence": lines, "line": line}) == shown


def test_what_is_inferred_of_a_failure_is_told_beside_its_line(told: t.Any) -> None:
    holder = {"case": "held_up", "message": "Rank 3 on node-001 holds the others up: it is stopped by a signal."}
    failure = FAILURE | {"class": "watchdog", "line": "timed out", "evidence": ["timed out"], **holder}
    text = "\n".join(told(verdict="FAIL", first_failure=failure))
    assert "Rank 3 on node-001 holds the others up" in text
    assert text.count("| timed out") == 1
