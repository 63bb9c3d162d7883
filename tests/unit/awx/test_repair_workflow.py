"""The workflow that trains, finds the bad node and trains again: the jobs that start, and the data between them."""

from __future__ import annotations

import re
import typing as t

import pytest
import yaml
from awx_data import ROOT, data

pytestmark = pytest.mark.xdist_group("awx")

AGAIN = ("training again", "end again")
TO_APPROVAL = ("plan", "training", "end", "isolate", "leave out")
WAYS = ("success", "failure", "always")
FOUND = {"training", "end", "isolate"}


def nodes() -> dict[str, t.Any]:
    (workflow,) = (one for one in data()["controller_workflows"] if one["name"] == "trainops training with repair")
    return {node["identifier"]: node for node in workflow["simplified_workflow_nodes"]}


def played(failing: t.Collection[str]) -> tuple[set[str], bool]:
    """Return which nodes AWX starts if these fail, and whether the workflow ends well.

    As in awx/main/scheduler/dag_workflow.py: a node starts once one of its parents leads to it, and a workflow fails if
    a node failed and leads nowhere. A cancelled job, and a denied or late approval, have failed.
    """
    graph = nodes()
    children = {child for node in graph.values() for way in WAYS for child in after(node, way)}
    todo, started, well = [name for name in graph if name not in children], set(), True
    while todo:
        name = todo.pop()
        if name not in started:
            started.add(name)
            went = "failure" if name in failing else "success"
            todo += [*after(graph[name], went), *after(graph[name], "always")]
            well = well and (name not in failing or bool(after(graph[name], "failure") + after(graph[name], "always")))
    return started, well


def after(node: dict[str, t.Any], way: str) -> list[str]:
    return node.get(f"{way}_nodes", [])


@pytest.mark.parametrize(
    ("failing", "started", "well"),
    [
        ({"plan"}, {"plan"}, False),
        (set(), {"plan", "training", "end"}, True),
        # Its job was lost, but the training passed.
        ({"training"}, {"plan", "training", "end"}, True),
        # No node is at fault: the verdict is the training's.
        ({"training", "end", "verdict"}, {"plan", "training", "end", "isolate", "verdict"}, False),
        (FOUND, {*TO_APPROVAL, "quarantine", *AGAIN}, True),
        ({*FOUND, *AGAIN}, {*TO_APPROVAL, "quarantine", *AGAIN}, False),
        # Nobody is suspected, so nobody can be left out.
        ({*FOUND, "quarantine"}, {*TO_APPROVAL, "quarantine"}, False),
        ({*FOUND, "leave out"}, {*TO_APPROVAL, "repaired", "isolate again", *AGAIN}, True),
        ({*FOUND, "leave out", "isolate again"}, {*TO_APPROVAL, "repaired", "isolate again"}, False),
        ({*FOUND, "leave out", "repaired"}, {*TO_APPROVAL, "repaired"}, False),
    ],
)
def test_what_follows_a_training(failing: set[str], started: set[str], well: bool) -> None:
    assert played(failing) == (started, well)


def test_every_node_is_a_template_or_an_approval_and_leads_to_nodes() -> None:
    graph = nodes()
    templates = {template["name"] for template in data()["controller_templates"]}
    for node in graph.values():
        assert node.get("unified_job_template") in templates or node["approval_node"]["timeout"] > 0
        assert {child for way in WAYS for child in after(node, way)} <= set(graph)


def test_a_step_reads_what_the_steps_before_it_leave_as_artifacts() -> None:
    templates = {template["name"]: template for template in data()["controller_templates"]}
    used = {node["unified_job_template"] for node in nodes().values() if "unified_job_template" in node}
    read = {
        word
        for name in used
        for value in templates[name].get("extra_vars", {}).values()
        for word in re.findall(r"\b(?:training|isolate)_\w+\.\w+", str(value))
    }
    assert read == {"training_summary.run_id", "isolate_summary.name"}
    tasks = yaml.safe_load((ROOT / "roles/isolate/tasks/main.yml").read_text())
    (kept,) = (task["ansible.builtin.set_stats"] for task in tasks if "ansible.builtin.set_stats" in task)
    assert {"name", "suspects", "report"} == set(kept["data"]["isolate_summary"])
    assert kept["per_host"] is False


def test_the_second_run_has_a_name_of_its_own_and_an_end_that_knows_it() -> None:
    templates = {template["name"]: template for template in data()["controller_templates"]}
    first, second = templates["trainops train"], templates["trainops train again"]
    names = [templates[name]["extra_vars"]["training_run_id"] for name in ("trainops end of a run", first["name"])]
    assert names[0] == names[1]
    assert second["extra_vars"]["training_run_id"] not in names
    assert {**first, **second} == {**second, "name": second["name"]}
    end = templates["trainops end of the second run"]["extra_vars"]
    assert end == {**second["extra_vars"], "training_require_pass": True}
