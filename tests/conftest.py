"""Which tests one process runs, where pytest-xdist gives each process a share of them."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from not_run import pytest_terminal_summary  # noqa: F401

# Fixtures that take seconds to make, and are made once for all tests of a file.
SHARED = {"clone", "demo", "passed"}
TESTS = Path(__file__).parent


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Let each core run unit tests, and three processes more all tests: those on nodes wait most of their time."""
    only_unit = all(TESTS / "unit" in (Path(path).resolve(), *Path(path).resolve().parents) for path in config.args)
    return len(os.sched_getaffinity(0)) + (0 if only_unit else 3)


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            for name in groups(item):
                item.add_marker(pytest.mark.xdist_group(name))


def pytest_collection_finish() -> None:
    gc.freeze()  # thousands of tests that nobody lets go: to look through them for garbage takes 8 % of their time


def groups(item: pytest.Item) -> list[str]:
    """Return the groups of a test; unit tests go by files, as pytest-xdist hands out thousands slowly."""
    room = item.path.relative_to(TESTS).parts[0]
    if room == "integration":
        return [item.path.stem if any(word in item.path.stem for word in ("slurm", "allocation")) else "real nodes"]
    if room == "unit":
        return [item.path.stem]
    return [f"{item.path.stem}: {name}" for name in sorted(SHARED.intersection(getattr(item, "fixturenames", ())))]
