"""That tests of one group run in one process: pytest-xdist tells a group by the end of a test's id."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest


@pytest.fixture
def demo() -> None:
    """A name that tests/conftest.py lists as shared."""


@pytest.mark.usefixtures("demo")
def test_a_group_reaches_the_scheduler(request: pytest.FixtureRequest) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        pytest.skip("only pytest-xdist knows groups, and this is one process")
    assert request.node.nodeid.endswith("@test_groups: demo")


def test_no_two_files_of_tests_have_one_name():
    """pytest imports them by it, and there is no ``__init__.py`` that would tell them apart."""
    names = Counter(path.name for path in Path(__file__).parents[2].rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
