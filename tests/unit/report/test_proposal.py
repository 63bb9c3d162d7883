# SPDX-License-Identifier: GPL-3.0-or-later
"""The runs after which tests of the nodes are proposed, and the place of the command."""

from __future__ import annotations

import typing as t

import pytest
from judged_runs import FAILURE

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.leads import leads_of, proposal
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.run_page import render

Run = dict[str, t.Any]
COMMAND = "ansible-playbook playbooks/isolate.yml -i hosts -e training_run_id=run-7"
SLOW = {"node": "node-002", "slower": 0.2, "value": 1.0, "mean": 1.0, "p95": 1.0, "deviations": 9.0, "slow_steps": 1.0}


@pytest.fixture
def job(summary: Run) -> Run:
    """Return the summary of one job on four nodes that passed."""
    nodes = [{**summary["nodes"][0], "node": f"node-{rank:03}", "node_rank": rank} for rank in range(4)]
    return summary | {"mode": "multi_node", "nodes": nodes, "rehearsal": False, "regression": None}


def missed(job: Run, metric: str = "step_time_ms") -> Run:
    bound = {**job["thresholds"][0], "metric": metric, "measured": 11_000.0, "met": False}
    return job | {"verdict": "FAIL", "thresholds": [bound]}


def failed(job: Run, failure_class: str) -> Run:
    return job | {"verdict": "FAIL", "first_failure": {**FAILURE, "class": failure_class}}


def why(job: Run) -> str | None:
    found = proposal(job, COMMAND)
    return found["why"] if found else None


def test_a_slow_job_a_hang_and_a_failure_of_the_network_propose_tests(job: Run) -> None:
    assert why(missed(job)) == "slow"
    assert why(job | {"regression": {"metric": "tokens_per_sec_per_gpu"}}) == "slow"
    assert {name: why(failed(job, name)) for name in ("stalled", "watchdog", "nccl", "gloo")} == {
        "stalled": "hang",
        "watchdog": "hang",
        "nccl": "network",
        "gloo": "network",
    }


def test_what_tests_of_nodes_cannot_explain_or_the_run_explains_itself_proposes_nothing(job: Run) -> None:
    assert why(job) is None
    assert why(missed(job, "loss")) is None
    assert why(failed(missed(job), "out_of_memory")) is None
    # Nodes that train by themselves would show it, and two cannot be compared.
    assert why(missed(job) | {"mode": "single_node"}) is None
    assert why(missed(job) | {"nodes": job["nodes"][:2]}) is None
    # Nodes that are not in the inventory cannot be tested.
    assert proposal(missed(job), "") is None


@pytest.mark.parametrize("changes", [{}, {"rehearsal": True}, {"mode": "single_node"}])
def test_a_named_slow_node_proposes_tests_whether_or_not_the_run_passed(job: Run, changes: Run) -> None:
    slow = job | changes | {"stragglers": {"nodes": [SLOW], "message": ""}}
    named = job | changes | {"notes": [*job["notes"], {"code": "slow_rank", "node": "node-002", "message": ""}]}
    assert (why(slow), why(missed(slow)), why(named)) == ("slow_node",) * 3
    assert why(failed(slow, "out_of_memory")) is None


def test_the_command_stands_right_below_the_verdict_in_terminal_and_page(
    job: Run, plan: Run, make_steps: t.Callable[[int, int], t.Any]
) -> None:
    slow = missed(job)
    slow["isolate"] = proposal(slow, COMMAND)
    assert any(lead.rest == COMMAND for lead in leads_of(slow))
    assert COMMAND in render(slow, plan, make_steps(2, 20))
