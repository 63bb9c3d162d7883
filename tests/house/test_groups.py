"""That tests of one group run in one process: pytest-xdist reads the group from the end of a test's id."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

TESTS = Path(__file__).resolve().parents[1]


def test_a_group_reaches_the_scheduler(request: pytest.FixtureRequest) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        pytest.skip("only pytest-xdist knows groups, and this is one process")
    assert request.node.nodeid.endswith("@test_groups")


@pytest.mark.parametrize(
    ("file", "fixture", "group"),
    [
        ("unit/plan/test_a.py", "clone", ["test_a"]),
        ("unit/report/test_a.py", "chromium", ["chromium"]),
        ("end_to_end/test_b.py", "clone", ["test_b: clone"]),
        ("end_to_end/test_b.py", "bench", []),
        ("integration/test_c.py", "cluster", ["test_c"]),
        ("integration/slurm/test_d.py", "login", ["test_d"]),
    ],
)
def test_what_shares_a_fixture_real_nodes_or_a_slurm_is_a_group(
    file: str, fixture: str, group: list[str], request: pytest.FixtureRequest
) -> None:
    conftest = request.config.pluginmanager.get_plugin(str(TESTS / "conftest.py"))
    assert conftest.groups(SimpleNamespace(path=TESTS / file, fixturenames=[fixture, "tmp_path"])) == group


def test_no_two_files_of_tests_have_one_name():
    """pytest imports them by it, and no ``__init__.py`` distinguishes them."""
    names = Counter(path.name for path in TESTS.rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
