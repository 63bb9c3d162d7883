"""The objects of AWX in awx/ fit each other, the project, and the collection that takes them."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from awx_data import ROOT, data, warnings
from dateutil.rrule import rrulestr

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.trainers.known import OF_FRAMEWORK

# Ansible takes seconds to resolve it, so it is resolved once.
pytestmark = pytest.mark.xdist_group("awx")

WITH_A_PLAYBOOK = [name for name in OF_FRAMEWORK if (ROOT / f"playbooks/{name}_multinode.yml").exists()]

# Keys that infra.aap_configuration documents for each list of objects, as far as they are used here.
KEYS = {
    "controller_projects": {
        *("name", "description", "organization", "scm_type", "scm_url", "scm_branch", "scm_clean"),
        *("scm_update_on_launch", "scm_update_cache_timeout", "default_environment"),
    },
    "controller_execution_environments": {"name", "description", "image", "pull"},
    "controller_inventories": {"name", "description", "organization"},
    "controller_inventory_sources": {
        *("name", "description", "inventory", "organization", "source", "source_project", "source_path", "overwrite"),
        *("overwrite_vars", "update_on_launch"),
    },
    "controller_credential_types": {"name", "description", "kind", "inputs", "injectors"},
    "controller_credentials": {"name", "description", "organization", "credential_type", "inputs"},
    "controller_notifications": {
        *("name", "description", "organization", "notification_type", "notification_configuration"),
    },
    "controller_templates": {
        *("name", "description", "organization", "project", "inventory", "playbook", "execution_environment"),
        *("job_type", "credentials", "extra_vars", "allow_simultaneous", "survey_enabled", "survey_spec"),
        *("ask_inventory_on_launch", "ask_limit_on_launch", "ask_verbosity_on_launch"),
        *(
            "ask_credential_on_launch",
            "ask_variables_on_launch",
            "ask_job_type_on_launch",
            "ask_diff_mode_on_launch",
            "become_enabled",
            "instance_groups",
        ),
    },
    "controller_workflows": {
        *("name", "description", "organization", "inventory", "ask_inventory_on_launch", "ask_limit_on_launch"),
        *("allow_simultaneous", "survey_enabled", "survey_spec", "simplified_workflow_nodes"),
        *("notification_templates_success", "notification_templates_error", "notification_templates_approvals"),
    },
    "controller_schedules": {
        *("name", "description", "organization", "unified_job_template", "rrule", "extra_data", "enabled"),
    },
}
NODE_KEYS = {"identifier", "unified_job_template", "approval_node", "success_nodes", "failure_nodes", "always_nodes"}


def names(kind: str) -> set[str]:
    return {thing["name"] for thing in data()[kind]}


@pytest.mark.parametrize("kind", KEYS)
def test_objects_have_names_of_their_own_and_only_keys_that_are_known(kind: str) -> None:
    found = data()[kind]
    assert len(names(kind)) == len(found)
    for thing in found:
        assert set(thing) <= KEYS[kind], thing["name"]


def test_every_playbook_has_a_template() -> None:
    playbooks = {path.name for path in (ROOT / "playbooks").glob("*.yml")}
    templates = {Path(template["playbook"]).name for template in data()["controller_templates"]}
    # Parts of others, and playbooks that a rulebook starts.
    assert playbooks - templates == {"bad_hosts.yml", "find.yml", "hosts.yml", "open_ticket.yml"}


def test_what_an_object_names_is_there() -> None:
    for template in data()["controller_templates"]:
        assert template["project"] in names("controller_projects")
        assert template["inventory"] in names("controller_inventories")
        assert template["execution_environment"] in names("controller_execution_environments")
        assert set(template["credentials"]) <= names("controller_credentials")
        assert (ROOT / template["playbook"]).is_file()
    for source in data()["controller_inventory_sources"]:
        assert (ROOT / source["source_path"]).is_file()
    types = names("controller_credential_types") | {"Machine"}
    assert {credential["credential_type"] for credential in data()["controller_credentials"]} <= types


@pytest.mark.parametrize("framework", WITH_A_PLAYBOOK)
def test_a_workflow_goes_from_preflight_over_an_approval_to_a_run_and_always_to_its_end(framework: str) -> None:
    (workflow,) = (flow for flow in data()["controller_workflows"] if flow["name"].endswith(f"with {framework}"))
    nodes: dict[str, t.Any] = {node["identifier"]: node for node in workflow["simplified_workflow_nodes"]}
    assert all(set(node) <= NODE_KEYS for node in nodes.values())
    assert nodes["preflight"]["success_nodes"] == ["approval"]
    assert nodes["approval"]["approval_node"]["timeout"] == 24 * 60 * 60
    assert nodes["approval"]["success_nodes"] == ["training"]
    assert nodes["training"]["unified_job_template"] == f"trainops {framework}"
    assert nodes["training"]["always_nodes"] == ["end"]
    used = {node["unified_job_template"] for node in nodes.values() if "unified_job_template" in node}
    assert used <= names("controller_templates")
    templates = {template["name"]: template for template in data()["controller_templates"]}
    run, end = templates[f"trainops {framework}"], templates["trainops end of a run"]
    for variable in ("training_run_id", "training_output_dir"):
        assert run["extra_vars"][variable] == end["extra_vars"][variable]
    assert end["extra_vars"]["training_require_pass"] is True
    for key in ("notification_templates_success", "notification_templates_error", "notification_templates_approvals"):
        assert set(workflow[key]) <= names("controller_notifications")


def test_a_workflow_can_hold_only_templates_whose_questions_have_an_answer() -> None:
    templates = {template["name"]: template for template in data()["controller_templates"]}
    for workflow in data()["controller_workflows"]:
        asked = {item["variable"] for item in workflow["survey_spec"]["spec"]}
        for node in workflow["simplified_workflow_nodes"]:
            template = templates.get(node.get("unified_job_template"), {})
            for item in template.get("survey_spec", {}).get("spec", []):
                assert item["variable"] in asked or not item["required"] or item["default"] != ""


def test_what_awx_starts_by_itself_comes_again_and_needs_no_answer() -> None:
    templates = {template["name"]: template for template in data()["controller_templates"]}
    for schedule in data()["controller_schedules"]:
        asked = {item["variable"]: item for item in templates[schedule["unified_job_template"]]["survey_spec"]["spec"]}
        given = schedule.get("extra_data", {})
        assert set(given) <= set(asked)
        assert all(item["default"] != "" or name in given for name, item in asked.items() if item["required"])
        begin, rule = schedule["rrule"].split(" ")
        assert "INTERVAL=" in rule, "AWX refuses a rule without it"
        first, second = rrulestr(f"{begin}\n{rule}")[:2]
        assert first < second
        assert schedule["enabled"] is False


def test_who_hands_a_training_to_gke_needs_a_login_to_google_and_no_node() -> None:
    (template,) = (one for one in data()["controller_templates"] if one["playbook"].endswith("maxtext_gke.yml"))
    (kind,) = (kind for kind in data()["controller_credential_types"] if kind["name"] == "Google Cloud service account")
    assert template["credentials"] == ["trainops Google Cloud"]
    assert set(kind["injectors"]["env"].values()) == {"{{ tower.filename }}"}
    assert template["execution_environment"] == "trainops with XPK"
    asked = {item["variable"]: item for item in template["survey_spec"]["spec"]}["training_config"]
    (config,) = re.findall(r"examples/\S+", asked["question_description"])
    assert json.loads((ROOT / config).read_text())["config"]["gke"]


@pytest.mark.parametrize(
    ("name", "asks"),
    [
        ("under Slurm", {"training_slurm_partition", "training_slurm_account", "training_slurm_time_limit"}),
        ("in an allocation", {"training_slurm_job", "training_slurm_nodes", "training_slurm_exclude"}),
    ],
)
def test_who_asks_slurm_does_so_on_a_login_node_for_the_one_host_of_its_inventory(name: str, asks: set[str]) -> None:
    (template,) = (one for one in data()["controller_templates"] if one["name"].endswith(name))
    assert template["instance_groups"] == ["slurm login"]
    (source,) = (one for one in data()["controller_inventory_sources"] if one["inventory"] == template["inventory"])
    assert source["source_path"] == "inventories/slurm/hosts"
    asked = {item["variable"] for item in template["survey_spec"]["spec"]}
    assert asks <= asked
    # A template's values override the inventory, whose launcher is sbatch.
    assert template["extra_vars"].get("training_launcher") == ("srun" if "training_slurm_job" in asks else None)


def test_a_report_asks_for_all_that_a_pass_needs() -> None:
    (template,) = (found for found in data()["controller_templates"] if found["name"] == "trainops report")
    asked = {item["variable"] for item in template["survey_spec"]["spec"]}
    assert {"training_logs", "training_nodes", "training_exit_status", "training_record_only"} <= asked
    assert {"training_thresholds", "training_dialects"} <= asked


@pytest.mark.parametrize("name", [*WITH_A_PLAYBOOK, "megatron on each node"])
def test_a_run_asks_for_what_differs_from_run_to_run(name: str) -> None:
    (template,) = (found for found in data()["controller_templates"] if found["name"] == f"trainops {name}")
    asked = {item["variable"]: item for item in template["survey_spec"]["spec"]}
    assert {"training_thresholds", "training_rehearsal", "training_record_only"} <= set(asked)
    assert asked["training_dialects"]["type"] == "multiselect"
    # An example would fail at once: its placeholders have to be filled in.
    assert (asked["training_config"]["required"], asked["training_config"]["default"]) == (True, "")
    assert template["ask_credential_on_launch"] is True


def test_the_token_reaches_a_job_as_a_file_and_never_as_a_variable() -> None:
    (kind,) = (kind for kind in data()["controller_credential_types"] if kind["name"] == "Hugging Face token")
    (field,) = kind["inputs"]["fields"]
    assert field["secret"] is True
    assert kind["injectors"] == {
        "file": {"template": "{{ hf_token }}"},
        "extra_vars": {"training_hf_token_file": "{{ tower.filename }}"},
    }


def test_no_object_holds_a_secret() -> None:
    for path in (ROOT / "awx").glob("*.yml"):
        for line in path.read_text().splitlines():
            name, _, value = line.strip().removeprefix("- ").partition(": ")
            if name in ("hf_token", "ssh_key_data", "password", "service_account_key"):
                assert "vault_" in value or value in ('""', ""), f"{path.name}: {name}"


def test_ansible_reads_the_files_without_a_warning() -> None:
    data()
    assert "duplicate" not in warnings()


def test_every_file_is_plain_variables() -> None:
    for path in (ROOT / "awx").glob("*.yml"):
        assert path.read_text().startswith("---\n")
    assert yaml.safe_load((ROOT / "awx/surveys.yml").read_text())["trainops_surveys"]
