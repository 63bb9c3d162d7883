"""A run of all unit tests fails if none of them reaches a check of the verdict."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import reached_checks

ROOT = Path(__file__).resolve().parents[2]

# A suite of one test, in the place of the unit tests, and a table of two checks.
CONFTEST = """
import sys
from pathlib import Path
sys.path[:0] = [{tests!r}, {collections!r}]
import reached_checks
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict import checks
reached_checks.UNIT = Path(__file__).parent
checks.CHECKS = [checks.CHECK_OF_CODE[code] for code in ("metric_missing", "threshold_missed")]
pytest_plugins = ("reached_checks",)
"""
TEST = """
from types import SimpleNamespace
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.thresholds import judge_thresholds
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.reasons import FAIL, Reasons

def bound(**of):
    return dict(metric="step_time_ms", kind="max", value=1.0, statistic="median", optional=False, **of)

def test_of_one():
    missing = bound(missing=["gpu01"], measured=None)
    judge_thresholds(SimpleNamespace(bounds=[missing], plan=dict(record_only=False)), Reasons())

def test_by_hand():
    values = dict(value=dict(value=2.0, unit="ms"), margin=dict(side="above", share=1.0))
    Reasons().argue(FAIL, "threshold_missed", case="step_time_ms", bound=bound(node="gpu01"), **values)
"""


def ended(folder: Path, *arguments: str) -> tuple[int, str]:
    """Return the exit status and the output of pytest on such a suite."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(folder), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_check_that_the_verdict_never_makes_fails_the_run_in_one_process_and_in_several(tmp_path: Path) -> None:
    collections, tests = str(ROOT / "collections"), str(ROOT / "tests")
    (tmp_path / "conftest.py").write_text(CONFTEST.format(tests=tests, collections=collections))
    (tmp_path / "test_one.py").write_text(TEST)
    for processes in ("-n0", "-n1"):
        status, output = ended(tmp_path, processes)
        assert status == 1, output
        assert "reach: threshold_missed (" in output


@pytest.mark.parametrize(
    ("paths", "chosen", "whole"),
    [
        (["tests/unit"], {}, True),
        (["tests/house", "tests"], {"markexpr": "not slow"}, True),
        (["tests/unit/verdict"], {}, False),
        (["tests/unit"], {"keyword": "loss"}, False),
        (["tests/unit"], {"markexpr": "slow"}, False),
        (["tests/unit"], {"only_ansible": True}, False),
    ],
)
def test_a_part_of_the_tests_need_not_reach_all(paths: list[str], chosen: dict[str, object], whole: bool) -> None:
    config = SimpleNamespace(
        args=[str(ROOT / path) for path in paths], option=SimpleNamespace(**{"markexpr": "", **chosen})
    )
    assert reached_checks.is_whole(config) is whole
