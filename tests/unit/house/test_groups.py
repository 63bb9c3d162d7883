"""That tests of one group run in one process: pytest-xdist tells a group by the end of a test's id."""

from __future__ import annotations

import os

import pytest


@pytest.mark.xdist_group("some group")
def test_a_group_reaches_the_scheduler(request: pytest.FixtureRequest) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        pytest.skip("only pytest-xdist knows groups, and this is one process")
    assert request.node.nodeid.endswith("@some group")
