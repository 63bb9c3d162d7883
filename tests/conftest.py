"""Which tests one process runs, where pytest-xdist gives each process a share of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from not_run import pytest_terminal_summary  # noqa: F401

# Fixtures that take seconds to make, and are made once for all tests of a file.
SHARED = {"clone", "demo", "passed"}
TESTS = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            for name in groups(item):
                item.add_marker(pytest.mark.xdist_group(name))


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist there is no such hook
def pytest_xdist_auto_num_workers() -> int:
    """Return how many processes test: one more than cores, as tests that train mostly wait."""
    return (os.cpu_count() or 1) + 1


def groups(item: pytest.Item) -> list[str]:
    """Return the groups of a test; unit tests go by files, as pytest-xdist hands out thousands slowly.

    The tests on real nodes share these; the Slurms, with ports and folders of their own, may run side by side.
    """
    room, fixtures = item.path.relative_to(TESTS).parts[0], getattr(item, "fixturenames", ())
    if room == "integration":
        return [f"{item.path.stem}: slurm" if "slurm" in fixtures else "real nodes"]
    if room == "unit":
        return [item.path.stem]
    return [f"{item.path.stem}: {name}" for name in sorted(SHARED.intersection(fixtures))]
