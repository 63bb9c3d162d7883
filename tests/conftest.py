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

# Fixtures that take seconds to make, and are made once for all tests of a file, or the browser once for all files.
SHARED = {"chromium", "clone"}
TESTS = Path(__file__).resolve().parent
USES_ANSIBLE = re.compile(r'^\s*(?:from|import) ansible[. ]|"ansible(?:-\w+)?"', re.MULTILINE)
sys.path.insert(0, str(TESTS.parent / "collections"))
# Users do not set it: without it their output would wait in a buffer.
os.environ.pop("PYTHONUNBUFFERED", None)
# What pyenv puts in the place of a Python takes longer than most programs that tests run in one.
if "shims" in Path(shutil.which("python3") or "").parts:
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).resolve().parent), os.environ["PATH"]])


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Let a process run tests per core, and one more where some wait: each takes seconds to collect all tests."""
    only_unit = all(TESTS / "unit" in (Path(path).resolve(), *Path(path).resolve().parents) for path in config.args)
    return len(os.sched_getaffinity(0)) + (0 if only_unit else 1)


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.own_markers += [mark_of(name) for name in groups(item)]


@cache
def mark_of(group: str) -> pytest.Mark:
    return pytest.mark.xdist_group(group).mark


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Make thousands of tests, none of which anybody lets go, without looking for garbage, a quarter of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    gc.freeze()  # thousands of tests that nobody lets go: to look through them for garbage takes 8 % of their time


def groups(item: pytest.Item) -> list[str]:
    """Return the groups of a test. Only those end to end do not go by files, as each takes long.

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
