"""Which tests one process runs, where pytest-xdist gives each process a share of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from not_run import pytest_terminal_summary  # noqa: F401

# Fixtures that take seconds to make, and are made once for all tests of a file.
SHARED = {"built", "clone", "demo", "documented", "passed"}
REAL_NODES = Path(__file__).parent / "integration"
# Each has a Slurm of its own. What they do is waiting, mostly.
SLURMS = {
    **dict.fromkeys(("test_training_with_slurm", "test_slurm_with_accounting"), "Slurm"),
    **dict.fromkeys(("test_ends_of_slurm_jobs", "test_training_in_an_allocation"), "another Slurm"),
}


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return more processes than there are cores, as tests wait: those of nodes mostly, unit tests now and then."""
    only_unit_tests = all("unit" in Path(argument).parts for argument in config.args)
    return len(os.sched_getaffinity(0)) + (1 if only_unit_tests else 2)


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if REAL_NODES in item.path.parents:
            item.add_marker(pytest.mark.xdist_group(SLURMS.get(item.path.stem, "real nodes")))
        for name in SHARED.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group(f"{item.path.stem}: {name}"))
