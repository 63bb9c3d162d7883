"""Lets pytest import the collection from a clone, and says which tests run, and in which process of pytest-xdist."""

from __future__ import annotations

import gc
import os
import re
import shutil
import sys
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest
from ansible_commands import pytest_configure  # noqa: F401
from not_run import pytest_addoption as add_option_of_table
from not_run import pytest_terminal_summary  # noqa: F401

pytest_plugins = ("reached_checks",)

# Fixtures that take seconds to make, and are made once for all tests of a file, or the browser once for all files.
SHARED = {"chromium", "clone"}
TESTS = Path(__file__).resolve().parent
# Each of these is slow: it has real nodes, or a Slurm.
INTEGRATION = TESTS / "integration"
USES_ANSIBLE = re.compile(r'^\s*(?:from|import) ansible[. ]|"ansible(?:-\w+)?"', re.MULTILINE)
sys.path.insert(0, str(TESTS.parent / "collections"))
# Users do not set it: without it their output would wait in a buffer.
os.environ.pop("PYTHONUNBUFFERED", None)
# pyenv's stand-in for a Python takes longer than most programs that tests run in one.
if "shims" in Path(shutil.which("python3") or "").parts:
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).resolve().parent), os.environ["PATH"]])


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Let a process run tests per core, and more where some wait: each takes seconds to collect all tests.

    Tests on real nodes and under Slurm wait most of the time.
    """
    paths = [Path(path.partition("::")[0]).resolve() for path in config.args]
    # A path above has all of them.
    folders = {path.relative_to(TESTS).parts[0] if TESTS in path.parents else "integration" for path in paths}
    waiting = 3 if "integration" in folders else 0 if folders == {"unit"} else 1
    return len(os.sched_getaffinity(0)) + waiting


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.own_markers += [mark_of(name) for name in groups(item)]
        if item.path.is_relative_to(INTEGRATION):
            item.own_markers.append(pytest.mark.slow.mark)


@cache
def mark_of(group: str) -> pytest.Mark:
    return pytest.mark.xdist_group(group).mark


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Make thousands of tests without collecting garbage, which would take a quarter of the time: none is freed."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    gc.freeze()  # thousands of tests that are never freed: to search them for garbage takes 8 % of their time


def groups(item: pytest.Item) -> list[str]:
    """Return the groups of a test. Only end-to-end tests are not grouped by files, because each takes long.

    pytest-xdist hands out thousands slowly, and the nodes or the Slurm of a file in ``integration`` are its own.
    """
    shared = SHARED.intersection(getattr(item, "fixturenames", ()))
    if is_end_to_end(item.path):
        return [f"{item.path.stem}: {name}" for name in sorted(shared)]
    return ["chromium"] if "chromium" in shared else [item.path.stem]


@cache
def is_end_to_end(file: Path) -> bool:
    return TESTS / "end_to_end" in file.parents


@cache
def uses_ansible(folder: Path, name: str) -> bool:
    """Whether a test file imports Ansible or calls one of its commands, itself or through a helper."""
    text = (folder / name).read_text(encoding="utf-8")
    helpers = [f"{helper}.py" for helper in re.findall(r"^from (\w+) import", text, re.MULTILINE)]
    return bool(USES_ANSIBLE.search(text)) or any(
        uses_ansible(place, helper)
        for helper in helpers
        for place in (folder, TESTS / "unit", TESTS)
        if (place / helper).is_file()
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--only-ansible", action="store_true", help="only test files that import Ansible or call it")
    add_option_of_table(parser)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if not config.getoption("--only-ansible") or not collection_path.name.startswith("test_"):
        return None
    return None if uses_ansible(collection_path.parent, collection_path.name) else True
