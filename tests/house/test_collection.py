"""The collection's promises about itself: its parts fit each other, and it works wherever it is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import ansible_commands
import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from not_run import need_python_38

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir())
MODULES = sorted(path.stem for path in (ROOT / "plugins/modules").glob("*.py"))
STRAY = "left-by-a-tool"
SHIPPED = ("galaxy.yml", "meta", "plugins", "roles", "playbooks")


def run(*command: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    return subprocess.run(
        [str(BIN / command[0]), *command[1:]],
        cwd=cwd,
        env={**kept, "ANSIBLE_NOCOLOR": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("role", ROLES)
def test_argument_specs_say_what_the_defaults_are(role):
    specs = yaml.safe_load((ROOT / "roles" / role / "meta/argument_specs.yml").read_text())
    entries = specs["argument_specs"].values()
    defaults = yaml.safe_load((ROOT / "roles" / role / "defaults/main.yml").read_text()) or {}
    documented = [(name, option["default"]) for entry in entries for name, option in entry["options"].items()]
    assert sorted(documented) == sorted(defaults.items())


@pytest.mark.parametrize("role", ROLES)
def test_argument_specs_have_types_that_take_the_defaults(role):
    specs = yaml.safe_load((ROOT / "roles" / role / "meta/argument_specs.yml").read_text())
    for entry in specs["argument_specs"].values():
        defaults = {name: option["default"] for name, option in entry["options"].items()}
        assert ArgumentSpecValidator(entry["options"]).validate(defaults).error_messages == []
        assert [name for name, option in entry["options"].items() if option["type"] == "raw"] == []


@pytest.fixture(scope="module")
def documented() -> dict[str, dict]:
    """ansible-doc's output about each module, by its short name; one call for all."""
    shown = ansible_commands.run("ansible-doc", "--json", *(f"trainops.cluster.{module}" for module in MODULES))
    # As ansible-test has it: whatever ansible-doc warns of is an error.
    assert (shown.returncode, shown.stderr) == (0, "")
    return {name.rpartition(".")[2]: about for name, about in json.loads(shown.stdout).items()}


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_documented(module, documented):
    assert documented[module]["doc"]["author"]
    assert documented[module]["return"]


def test_the_examples_of_modules_are_playbooks(tmp_path, documented):
    playbook = tmp_path / "examples.yml"
    plays = [
        {"hosts": "localhost", "gather_facts": False, "tasks": yaml.safe_load(about["examples"])}
        for about in documented.values()
    ]
    playbook.write_text(yaml.safe_dump(plays))
    checked = ansible_commands.run("ansible-playbook", "--syntax-check", str(playbook))
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_module_is_in_the_action_group():
    groups = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())["action_groups"]
    assert sorted(groups["training"]) == MODULES


def test_what_runs_on_nodes_imports_on_python_38(tmp_path):
    python = need_python_38()
    # The ansible-core that is installed here may be one that does not run on 3.8.
    basic = tmp_path / "ansible/module_utils/basic.py"
    basic.parent.mkdir(parents=True)
    basic.write_text("AnsibleModule = None\n")
    files = (path for kind in ("modules", "module_utils") for path in (ROOT / "plugins" / kind).rglob("*.py"))
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sorted(files)]
    imports = "; ".join(f"import ansible_collections.trainops.cluster.{name}" for name in names)
    done = subprocess.run(
        [python, "-W", "error", "-c", imports],
        env={"PYTHONPATH": f"{ROOT / 'collections'}:{tmp_path}", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_it_runs_from_any_path_and_folder_with_only_what_is_shipped(tmp_path):
    clone = tmp_path / "some where" / "else"
    clone.mkdir(parents=True)
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, clone / name, symlinks=True)
        else:
            shutil.copy(source, clone / name)
    shutil.copytree(ROOT / "collections", clone / "collections", symlinks=True)
    plan = tmp_path / "plan.json"
    done = run(
        "ansible-playbook",
        str(clone / "playbooks/plan.yml"),
        "-i",
        str(ROOT / "inventories/local/hosts"),
        "-e",
        f"training_plan_file={plan}",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(json.loads(plan.read_text())["nodes"]) == 2


def leave(folder: Path, pattern: str) -> None:
    """Put a file there that fits a pattern of ``.gitignore``; one with a slash at its end is for folders."""
    stray = folder / pattern.rstrip("/").replace("*", STRAY)
    if pattern.endswith("/"):
        stray = stray / STRAY
    stray.parent.mkdir(parents=True, exist_ok=True)
    stray.write_text("")


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The collection as Galaxy would get it, built from git's files in a clone where people have worked."""
    folder = tmp_path_factory.mktemp("build")
    clone = folder / "clone"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode != 0:
        pytest.skip("this is no git checkout, so what belongs to the collection is not known")
    for name in filter(None, tracked.stdout.split("\0")):
        target = clone / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
    for pattern in (ROOT / ".gitignore").read_text().split():
        leave(clone, pattern)
    for pattern in (".*_cache/", "__pycache__/", "*.pyc"):
        leave(clone / "roles/training", pattern)
    done = run("ansible-galaxy", "collection", "build", "--output-path", str(folder), str(clone))
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = folder.glob("*.tar.gz")
    return archive


@pytest.mark.slow
def test_the_built_collection_holds_no_stray_files(built):
    with tarfile.open(built) as archive:
        members = archive.getnames()
    assert [name for name in members if STRAY in name] == []
    names = {name.split("/")[0] for name in members}
    assert not names & {".ansible", ".ci", ".git", ".venv", "ansible.cfg", "collections", "runs"}
    assert {"plugins", "roles", "playbooks", "meta"} <= names


@pytest.mark.slow
def test_the_installed_collection_runs_by_its_full_name(built, tmp_path):
    collections = tmp_path / "collections"
    installed = run(
        "ansible-galaxy", "collection", "install", "--offline", str(built), "-p", str(collections), cwd=tmp_path
    )
    assert installed.returncode == 0, installed.stdout + installed.stderr
    done = run(
        "ansible-playbook",
        "trainops.cluster.plan",
        "-i",
        str(ROOT / "inventories/local/hosts"),
        cwd=tmp_path,
        ANSIBLE_COLLECTIONS_PATH=str(collections),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "judged by" in done.stdout
