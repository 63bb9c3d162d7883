"""That tests of one group run in one process: pytest-xdist tells a group by the end of a test's id."""

from __future__ import annotations

import os

import pytest


@pytest.fixture
def demo() -> None:
    """A name that tests/conftest.py lists as shared."""


@pytest.mark.usefixtures("demo")
def test_a_group_reaches_the_scheduler(request: pytest.FixtureRequest) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        pytest.skip("only pytest-xdist knows groups, and this is one process")
    assert request.node.nodeid.endswith("@test_groups: demo")
