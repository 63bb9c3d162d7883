"""The surveys of AWX: made of the models, accepted by AWX, and their answers by a plan."""

from __future__ import annotations

import re
import typing as t

import pytest
import yaml
from awx_data import ROOT, data, objections

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.model import typed
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.options import PlanOptions

SURVEYS: dict[str, t.Any] = yaml.load((ROOT / "awx/surveys.yml").read_text(), yaml.CSafeLoader)["trainops_surveys"]
QUESTIONS = [pytest.param(item, id=f"{name}-{item['variable']}") for name in SURVEYS for item in SURVEYS[name]["spec"]]

OF_PLAN = [question for question in QUESTIONS if question.values[0]["variable"] in PlanOptions.model_fields]


@pytest.mark.parametrize("name", SURVEYS)
def test_awx_accepts_a_survey(name: str) -> None:
    assert objections(SURVEYS[name]) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"required": "true"}, "required is neither true nor false"),
        ({"type": "bool"}, "bool is no type"),
        ({"default": 3}, "the default 3 is not of type multiplechoice"),
        ({"default": "maybe"}, "the default 'maybe' is not among the choices"),
        ({"type": "integer", "default": 0, "min": 1}, "the default 0 is out of bounds"),
        ({"type": "integer", "default": "8"}, "the default '8' is not of type integer"),
        ({"min": "0"}, "min is no whole number"),
        ({"question_name": None}, "question_name is no text"),
    ],
)
def test_what_awx_would_refuse_is_found(changes: dict[str, t.Any], told: str) -> None:
    question = {
        "question_name": "Rehearsal",
        "variable": "training_rehearsal",
        "required": True,
        "type": "multiplechoice",
        "choices": ["true", "false"],
        "default": "false",
    }
    survey = {"name": "A survey", "description": "", "spec": [question | changes]}
    assert objections(survey) == [f"training_rehearsal: {told}"]


def answers(question: dict[str, t.Any]) -> list[str]:
    """Return the possible answers to a question, as text: its default, its choices and bounds, and nothing."""
    found = [question["default"], *question.get("choices", [])]
    if question["type"] == "integer":
        found += [question["min"], question["max"]]
    return [str(answer) for answer in found if answer != "" or not question["required"]]


@pytest.mark.parametrize("question", OF_PLAN)
def test_a_plan_takes_every_answer_as_text(question: dict[str, t.Any]) -> None:
    for answer in answers(question):
        findings = Findings()
        typed(PlanOptions, {question["variable"]: answer}, "", findings)
        assert findings.faults == []


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_reads_as_text_and_is_answered_where_nothing_is_no_answer(question: dict[str, t.Any]) -> None:
    assert not re.search(r"\b[A-Z]\(", question["question_description"])
    assert question["required"] or question["default"] == ""


@pytest.mark.parametrize("name", SURVEYS)
def test_no_answer_goes_before_what_an_inventory_says_of_its_cluster(name: str) -> None:
    # Slurm's stands for all nodes of a cluster, whatever their GPUs are.
    files = (ROOT / "inventories").glob("slurm/group_vars/*/*.yml" if name in ("slurm", "srun") else "*/group_vars/*/*")
    of_clusters = {
        variable for path in files if "local" not in path.parts for variable in yaml.safe_load(path.read_text()) or {}
    }
    assert of_clusters
    assert of_clusters & {question["variable"] for question in SURVEYS[name]["spec"]} == set()


@pytest.mark.parametrize("name", ["slurm", "srun"])
def test_where_no_inventory_says_the_gpu_it_is_asked(name: str) -> None:
    assert "training_gpu" in {question["variable"] for question in SURVEYS[name]["spec"]}


@pytest.mark.xdist_group("awx")
def test_every_template_that_asks_has_its_survey() -> None:
    found = data()
    asking = [thing for kind in ("controller_templates", "controller_workflows") for thing in found[kind]]
    used = [thing["survey_spec"]["name"] for thing in asking if thing.get("survey_enabled")]
    assert set(used) == {survey["name"] for survey in SURVEYS.values()}


def test_a_question_that_has_to_be_answered_does_not_say_what_is_without_an_answer() -> None:
    asked = [
        question
        for survey in SURVEYS.values()
        for question in survey["spec"]
        if question["variable"] == "training_run_id"
    ]
    told = {(question["required"], "Without it" in question["question_description"]) for question in asked}
    assert told == {(True, False)}
