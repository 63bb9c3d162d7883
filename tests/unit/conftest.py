"""Lets pytest import the collection straight from a clone, finds logs, and the tests that need Ansible."""

from __future__ import annotations

import os
import re
import sys
import typing as t
from functools import cache
from pathlib import Path

import pytest

if t.TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "collections"))
WRITTEN_LOGS = ROOT / "tests/data/logs"
REAL_LOGS = os.environ.get("TRAINOPS_REAL_LOGS")

USES_ANSIBLE = re.compile(r'^\s*(?:from|import) ansible[. ]|"ansible(?:-\w+)?"', re.MULTILINE)


@cache
def uses_ansible(folder: Path, name: str) -> bool:
    """Whether a test file imports Ansible or calls one of its commands, itself or through a helper of tests/unit."""
    text = (folder / name).read_text(encoding="utf-8")
    helpers = [f"{helper}.py" for helper in re.findall(r"^from (\w+) import", text, re.MULTILINE)]
    return bool(USES_ANSIBLE.search(text)) or any(
        uses_ansible(place, helper)
        for helper in helpers
        for place in (folder, Path(__file__).parent)
        if (place / helper).is_file()
    )


@pytest.fixture(scope="session")
def log_named() -> Callable[[str], Path]:
    """Return what finds a log of tests/data/logs, or the real one of its name where TRAINOPS_REAL_LOGS has one."""

    def find(name: str) -> Path:
        real = Path(REAL_LOGS or WRITTEN_LOGS, name)
        return real if real.exists() else WRITTEN_LOGS / name

    return find


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--only-ansible", action="store_true", help="only test files that import Ansible or call it")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if not config.getoption("--only-ansible") or not collection_path.name.startswith("test_"):
        return None
    return None if uses_ansible(collection_path.parent, collection_path.name) else True
