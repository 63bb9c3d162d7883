"""Plugins that Ansible loads at every start are quick, and say in words which package is not installed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.controller_action import missing_packages

ROOT = Path(__file__).resolve().parents[2]
THIN = ("action", "callback", "doc_fragments", "filter", "inventory", "modules")
REQUIRED = set(re.findall(r"^[\w-]+", (ROOT / "requirements.txt").read_text(), re.MULTILINE))

PROGRESS = "training_progress"

IMPORT_WITHOUT = """
import importlib, sys
sys.modules.update(dict.fromkeys(sys.argv[1].split()))  # what is None there cannot be imported
for name in sys.argv[2:]:
    importlib.import_module("ansible_collections.trainops.cluster.plugins." + name)
"""


def test_thin_plugins_can_be_imported_where_only_ansible_is_installed():
    """ansible-doc and `ansible-test sanity --test import` do so; a plugin that lacks a package says so when it runs."""
    beside_ansible = REQUIRED - {"ansible-core", "jinja2"} | {"numpy"}
    missing = [module for module, names in metadata.packages_distributions().items() if beside_ansible & {*names}]
    names = [f"{kind}.{path.stem}" for kind in THIN for path in sorted((ROOT / "plugins" / kind).glob("*.py"))]
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_WITHOUT, " ".join(missing), *names],
        env={"PYTHONPATH": str(ROOT / "collections")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_all_packages_that_are_missing_are_named_at_once_with_the_command_that_installs_them(monkeypatch):
    requirements = ROOT / "requirements.txt"
    there = [found for found in metadata.distributions() if found.metadata["Name"] not in ("pandas", "ClusterShell")]
    monkeypatch.setattr(metadata, "distributions", lambda: there)
    assert str(missing_packages(ImportError("No module named 'pandas'"))) == (
        "The Python of ansible-playbook lacks packages: ClusterShell, pandas. "
        f"Run: {sys.executable} -m pip install -r {requirements}"
    )


FOLLOWED = """
import sys
from types import SimpleNamespace
from ansible.plugins.loader import callback_loader, init_plugin_loader
init_plugin_loader()
callback = callback_loader.get("trainops.cluster.training_progress")
callback.set_options()
plan = SimpleNamespace(action="trainops.cluster.training_plan")
train = SimpleNamespace(action="trainops.cluster.training_phase", args={"phase": "train"}, check_mode=False)
callback.v2_runner_on_ok(SimpleNamespace(task=plan, result={"run_dir": sys.argv[1]}))
callback.v2_playbook_on_task_start(train, False)
callback.v2_playbook_on_task_start(plan, False)
print(*sys.modules)
"""


def test_what_a_report_needs_is_loaded_while_the_training_is_followed(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FOLLOWED, str(tmp_path)],
        env={"PYTHONPATH": str(ROOT / "collections"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert {"pandas", "scipy.special"} <= set(done.stdout.split())


def test_what_few_runs_need_is_not_in_the_process_that_ansible_forks_all_others_from():
    """Ansible loads the action of each task of a play there; comparing two runs is a playbook of its own."""
    names = [f"action.{path.stem}" for path in (ROOT / "plugins/action").glob("training_*.py")]
    names = sorted({*names, "callback.training_progress", "filter.summary_essence"} - {"action.training_compare"})
    late = {"pandas", "pyarrow", "scipy", "omegaconf", "tomlkit", "ansible.module_utils.urls"}
    loaded = f"import sys\nprint(*{late} & {{*sys.modules}}, *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_WITHOUT + loaded, "", *names],
        env={"PYTHONPATH": str(ROOT / "collections")},
        capture_output=True,
        text=True,
        check=True,
    )
    of_plan = re.findall(r"\.plan\.(?:formats|trainers)\.(\S+)", done.stdout)
    names = {one.rpartition(".")[2] for one in of_plan}
    assert {"format", "trainer", "options"} <= names
    assert names.isdisjoint({"config", "job", "checks"})
    assert late.isdisjoint(done.stdout.split())


def test_an_inventory_of_another_kind_loads_nothing_and_filters_only_what_finds_missing_packages():
    """Ansible loads the plugin of cluster files before it asks whose a file is, and all filters to find one."""
    filters = [f"filter.{path.stem}" for path in (ROOT / "plugins/filter").glob("*.py")]
    ours = "'_utils.' in name and 'trainops' in name and module.__file__"
    show = f"print(*(name.rpartition('.')[2] for name, module in sys.modules.items() if {ours}))"
    done = subprocess.run(
        [sys.executable, "-c", f"{IMPORT_WITHOUT}    {show}", "", "inventory.cvs_cluster", *filters],
        env={"PYTHONPATH": str(ROOT / "collections")},
        capture_output=True,
        text=True,
        check=True,
    )
    of_inventory, *_, of_filters = done.stdout.splitlines()
    assert of_inventory == ""
    assert {*of_filters.split()} == {"controller_action", "kept_bytecode", "budget", "live_output"}


def test_python_keeps_the_bytecode_of_what_plugins_import():
    """Ansible's loader of collections keeps none, so each process of a command would compile all of it again."""
    names = [f"callback.{PROGRESS}", *(f"action.training_{name}" for name in ("plan", "phase", "report"))]
    with_ansible = f"""
import sys
from importlib.machinery import SourceFileLoader
from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionFinder
_AnsibleCollectionFinder([{str(ROOT / "collections")!r}])._install()
sys.argv[1:] = ["", *{names}]
{IMPORT_WITHOUT}
for name, module in tuple(sys.modules.items()):
    if name.startswith("ansible_collections.trainops") and not hasattr(module, "__path__"):
        print(name.rpartition(".")[2], isinstance(module.__spec__.loader, SourceFileLoader))
"""
    done = subprocess.run([sys.executable, "-c", with_ansible], capture_output=True, text=True, check=True)
    kept = dict(line.split() for line in done.stdout.splitlines())
    assert {name for name in kept if kept[name] == "False"} == {PROGRESS, "controller_action", "kept_bytecode"}
    assert len(kept) > 100


@pytest.mark.parametrize("room", sorted(path.name for path in (ROOT / "plugins").iterdir() if path.is_dir()))
def test_no_import_is_used_in_a_text_alone(room: str) -> None:
    """ruff takes the name in ``t.cast("Plan", …)`` for used; pylint of ansible-test, minutes later, does not."""
    unused = []
    for path in sorted((ROOT / "plugins" / room).rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        names = {node.id for node in nodes if isinstance(node, ast.Name)} | {"annotations"}
        imports = [alias for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names]
        bound = {alias.asname or alias.name.partition(".")[0] for alias in imports}
        unused += [f"{path.relative_to(ROOT)}: {name}" for name in sorted(bound - names)]
    assert unused == []


FIRST = """
import sys
from ansible.plugins.loader import init_plugin_loader
init_plugin_loader()
first = type("Restricted", (), {"find_spec": lambda *_given: None})()
sys.meta_path.insert(0, first)
import ansible_collections.trainops.cluster.plugins.plugin_utils.controller_action
print(sys.meta_path[0] is first, *[type(one).__name__ for one in sys.meta_path[1:3]])
"""


def test_whoever_restricts_imports_stays_the_first_to_be_asked(tmp_path):
    """As ansible-test's import test demands."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST],
        env={"PYTHONPATH": str(ROOT / "collections"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "KeptBytecode", "_AnsibleCollectionFinder"]
