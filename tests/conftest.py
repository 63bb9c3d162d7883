"""Which tests one process runs, where pytest-xdist gives each process a share of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from not_run import pytest_terminal_summary  # noqa: F401

# Fixtures that take seconds to make, and are made once for all tests of a file.
SHARED = {"built", "clone", "demo", "documented", "passed"}
REAL_NODES = Path(__file__).parent / "integration"


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return one process more than there are cores, unless all are unit tests: the others mostly wait for nodes."""
    all_compute = all("unit" in Path(argument).parts for argument in config.args)
    return len(os.sched_getaffinity(0)) + (0 if all_compute else 1)


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if REAL_NODES in item.path.parents:
            # All Slurms have their nodes on this machine, and number their jobs from 1.
            slurm = "slurm" in getattr(item, "fixturenames", ())
            item.add_marker(pytest.mark.xdist_group("Slurm" if slurm else f"real nodes of {item.path.stem}"))
        for name in SHARED.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group(f"{item.path.stem}: {name}"))
