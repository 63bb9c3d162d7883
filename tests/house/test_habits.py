"""The habits of contributors: hooks that call the programs of `make lint`, and fragments that a release can read."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
MAKE_TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_hooks_are_valid_and_make_knows_what_they_call():
    config = ROOT / ".pre-commit-config.yaml"
    checked = subprocess.run(
        [str(BIN / "pre-commit"), "validate-config", str(config)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    (repository,) = yaml.safe_load(config.read_text())["repos"]
    entries = {hook["entry"] for hook in repository["hooks"]}
    lint = re.search(r"^LINT := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE).group(1).split()
    assert entries == {f"make {target}" for target in lint}


def test_contributing_names_make_targets_and_files_that_there_are():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert set(re.findall(r"(?:^|`|sudo )make ([a-z-]+)", text, re.MULTILINE)) <= MAKE_TARGETS
    paths = re.findall(r"(?:\.venv/bin/pytest |`)((?:tests|plugins|roles|docs)/[\w./-]+)", text)
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("workflow", sorted((ROOT / ".github/workflows").glob("*.yml")), ids=lambda path: path.stem)
def test_workflows_call_what_make_knows(workflow):
    called = set(re.findall(r"\bmake ([a-z-]+)", workflow.read_text()))
    assert called
    assert called <= MAKE_TARGETS


def test_ci_tries_each_pair_that_is_promised():
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    assert "nox --list --json" in jobs["cells"]["steps"][-1]["run"]
    assert jobs["matrix"]["strategy"]["matrix"]["cell"] == "${{ fromJSON(needs.cells.outputs.cells) }}"
    assert {"lint", "tests", "real_nodes", "docs", "artifact"} <= set(jobs)


@pytest.mark.parametrize("form", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem)
def test_issue_forms_have_what_github_wants(form):
    """GitHub's "Syntax for issue forms" lists the needs of a form; a form that lacks one is not shown."""
    data = yaml.safe_load(form.read_text())
    if form.stem == "config":
        assert set(data) <= {"blank_issues_enabled", "contact_links"}
        return
    assert data["name"]
    assert data["description"]
    identifiers = [item["id"] for item in data["body"]]
    assert len(set(identifiers)) == len(identifiers)
    for item in data["body"]:
        assert item["type"] in {"textarea", "input", "dropdown", "checkboxes"}
        assert item["attributes"]["label"]


def test_changelog_fragments_can_be_released():
    lint = subprocess.run(
        [str(BIN / "antsibull-changelog"), "lint"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert lint.returncode == 0, lint.stdout + lint.stderr


@pytest.mark.parametrize("fragment", sorted((ROOT / "changelogs/fragments").glob("*.yml")), ids=lambda path: path.stem)
def test_a_fragment_has_no_markup_that_the_changelog_would_show_as_it_is(fragment: Path):
    assert re.findall(r"\b[A-Z]\([^()]+\)", fragment.read_text()) == [], "write ``code``"
