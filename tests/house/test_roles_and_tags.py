"""A role's results are documented where they are set, and no role reads the variables of another."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir())
# Facts are a purpose of roles: the ranks of the hosts, and how each role ended.
_PASSED_ON = {
    "container_launch": {"training_part", "training_node_rank", "training_nnodes", "training_master_address"},
    "training": {"container_launch_staged", "report_written"},
}
_ADD_HOST = ("name", "groups")


def read(path: Path) -> t.Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def tasks_in(content: t.Any) -> Iterator[dict[str, t.Any]]:
    if isinstance(content, list):
        for item in content:
            yield from tasks_in(item)
    elif isinstance(content, dict):
        yield content
        for part in ("block", "rescue", "always", "tasks"):
            yield from tasks_in(content.get(part))


def tasks_of(role: str) -> list[dict[str, t.Any]]:
    return [task for path in sorted((ROOT / "roles" / role / "tasks").glob("*.yml")) for task in tasks_in(read(path))]


def facts_of(task: dict[str, t.Any]) -> set[str]:
    found = {task["register"]} if "register" in task else set()
    found |= set(task.get("ansible.builtin.set_fact", {})) - {"cacheable"}
    return found | set(task.get("ansible.builtin.add_host", {})) - set(_ADD_HOST)


@pytest.mark.parametrize("role", ROLES)
def test_each_fact_that_a_role_sets_is_documented_in_its_readme(role: str) -> None:
    readme = (ROOT / "roles" / role / "README.md").read_text(encoding="utf-8")
    # The name of rank 0's file is of no use to anybody else.
    facts = {name for task in tasks_of(role) for name in facts_of(task)}
    assert {name for name in facts if f"`{name}`" not in readme} == set()


def expressions_in(content: t.Any, key: str = "") -> Iterator[str]:
    """Yield the expressions of an Ansible file, without the texts in them."""
    if isinstance(content, str):
        parts = [content] if key in ("when", "that") else re.findall(r"\{\{(.*?)\}\}", content, re.DOTALL)
        yield from (re.sub(r"'[^']*'", "", part) for part in parts)
    elif isinstance(content, dict):
        for name, value in content.items():
            yield from expressions_in(value, name)
    elif isinstance(content, list):
        for value in content:
            yield from expressions_in(value, key)


@pytest.mark.parametrize("role", ROLES)
def test_no_role_reads_the_variables_of_another(role: str) -> None:
    others = set(ROLES) - {role}
    of_others = {name for other in others for name in read(ROOT / "roles" / other / "defaults/main.yml")}
    of_others |= {name for other in others for task in tasks_of(other) for name in facts_of(task)}
    own = {name for task in tasks_of(role) for name in facts_of(task) | set(task.get("vars", {}))}
    own |= set(read(ROOT / "roles" / role / "defaults/main.yml"))
    files = [path for part in ("tasks", "vars") for path in (ROOT / "roles" / role / part).glob("*.yml")]
    named = {name for path in files for text in expressions_in(read(path)) for name in re.findall(r"\b[a-z]\w+", text)}
    assert named & of_others - own == _PASSED_ON.get(role, set())


def test_the_tags_of_roles_and_playbooks_are_the_documented_ones() -> None:
    files = [*ROOT.glob("roles/*/tasks/*.yml"), *ROOT.glob("playbooks/*.yml")]
    tagged = {tag for path in files for play in tasks_in(read(path)) for tag in play.get("tags", [])}
    page = (ROOT / "docs/getting_started.md").read_text(encoding="utf-8")
    table = page.partition("| `--tags` |")[2].partition("\n\n")[0]
    documented = {tag for row in table.splitlines()[2:] for tag in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert documented == tagged - {"always"}
