"""Which tests one process runs, where pytest-xdist gives each process a share of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from not_run import pytest_terminal_summary  # noqa: F401

# Fixtures that take seconds to make, and are made once for all tests of a file.
SHARED = {"built", "clone", "demo", "documented", "one_node", "passed", "two_logs"}
REAL_NODES = Path(__file__).parent / "integration"


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if REAL_NODES in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("real nodes"))
        for name in SHARED.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group(f"{item.path.stem}: {name}"))
