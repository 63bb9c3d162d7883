# SPDX-License-Identifier: GPL-3.0-or-later
"""The data in awx/ as Ansible resolves it, and AWX's rules for a survey."""

from __future__ import annotations

import json
import tempfile
import typing as t
from functools import cache
from pathlib import Path

from ansible_commands import ROOT, run

_NAMES = (
    "controller_projects",
    "controller_execution_environments",
    "controller_settings",
    "controller_inventories",
    "controller_inventory_sources",
    "controller_credential_types",
    "controller_credentials",
    "controller_notifications",
    "controller_templates",
    "controller_workflows",
    "controller_schedules",
    "trainops_surveys",
)
# The answers that each type of question takes, as in AWX: awx/main/constants.py.
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("text", "textarea", "password", "multiplechoice", "multiselect"), (str,)),
    "integer": (int,),
    "float": (float, int),
}


def data() -> dict[str, t.Any]:
    """Return the variables of awx/ as a playbook sees them, with the vault's values filled in."""
    return _read()[0]


def warnings() -> str:
    """Return Ansible's standard error as it reads them."""
    return _read()[1]


@cache
def _read() -> tuple[dict[str, t.Any], str]:
    everything = {name: f"{{{{ {name} }}}}" for name in _NAMES}
    content = "{{ everything | to_json }}"
    tasks = [
        {"ansible.builtin.include_vars": {"dir": str(ROOT / "awx"), "extensions": ["yml"]}},
        {"ansible.builtin.copy": {"dest": "{{ playbook_dir }}/found.json", "mode": "0600", "content": content}},
    ]
    vault = {"vault_trainops_ssh_key": "a key", "vault_trainops_hf_token": "a token"}
    vault["vault_trainops_google_cloud_key"] = "{}"
    play = [{"hosts": "localhost", "gather_facts": False, "vars": {"everything": everything, **vault}, "tasks": tasks}]
    with tempfile.TemporaryDirectory() as folder:
        playbook = Path(folder, "play.yml")
        playbook.write_text(json.dumps(play))
        done = run("ansible-playbook", str(playbook))
        assert done.returncode == 0, done.stdout + done.stderr
        found: dict[str, t.Any] = json.loads(Path(folder, "found.json").read_text())
    return found, done.stderr


def objections(survey: dict[str, t.Any]) -> list[str]:
    """Return AWX's objections, with the rules of its view ``JobTemplateSurveySpec``."""
    if not (isinstance(survey.get("name"), str) and isinstance(survey.get("description"), str)):
        return ["name or description is missing"]
    if not survey.get("spec"):
        return ["spec holds no question"]
    variables = [item.get("variable") for item in survey["spec"]]
    twice = [f"{name} is asked twice" for name in set(variables) if variables.count(name) > 1]
    return twice + [f"{item.get('variable')}: {told}" for item in survey["spec"] for told in _of_question(item)]


def _of_question(item: dict[str, t.Any]) -> t.Iterator[str]:
    for name in ("type", "question_name", "variable"):
        if not isinstance(item.get(name), str):
            yield f"{name} is no text"
    if not isinstance(item.get("required"), bool):
        yield "required is neither true nor false"
    kind = item.get("type")
    if kind not in _PYTHON_TYPES:
        yield f"{kind} is no type"
        return
    default = item.get("default", "")
    if default != "" and (not isinstance(default, _PYTHON_TYPES[kind]) or isinstance(default, bool)):
        yield f"the default {default!r} is not of type {kind}"
    for name in ("min", "max"):
        if item.get(name) is not None and not isinstance(item[name], int):
            yield f"{name} is no whole number"
    yield from _of_bounds(item, default)
    if kind in ("multiplechoice", "multiselect"):
        choices = item.get("choices")
        if not choices:
            yield "there are no choices"
        elif isinstance(default, str) and any(choice not in choices for choice in default.splitlines()):
            yield f"the default {default!r} is not among the choices"


def _of_bounds(item: dict[str, t.Any], default: t.Any) -> t.Iterator[str]:
    """AWX checks an answer against the bounds, even the length of a text; a default has to pass as well."""
    if default == "" or item["type"] in ("multiplechoice", "multiselect"):
        return
    size = len(default) if isinstance(default, str) else default
    if not item.get("min", size) <= size <= item.get("max", size):
        yield f"the default {default!r} is out of bounds"
