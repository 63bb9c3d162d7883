"""Tiers of tests: the tests that each runs, and the last lines about all of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from tiers import AGAIN, FOLDERS, TIERS, Outcome, again, chosen, closing, outcome

TIERS_PY = str(ROOT / "tools/tiers.py")
NAMED = 'file="tests/unit/test_a.py" classname="tests.unit.test_a" name'


def report(*cases: str) -> str:
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"


PASSED = f'<testcase {NAMED}="test_b[1]" />'
SKIPPED = (
    f'<testcase {NAMED}="test_c"><skipped type="pytest.skip" message="no fio; run `x`">a.py:1</skipped></testcase>'
)
EXPECTED = f'<testcase {NAMED}="test_x"><skipped type="pytest.xfail" message="" /></testcase>'
FAILED = f'<testcase {NAMED}="test_d[a@b]@test_a: demo"><failure message="no" /></testcase>'
ERROR = f'<testcase {NAMED}="test_e"><error message="on teardown" /></testcase>'
OF_CLASS = FAILED.replace('test_a" name', 'test_a.TestIt" name')
NOT_IMPORTED = '<testcase file="tests/unit/test_f.py" classname="" name="tests.unit.test_f"><error /></testcase>'


@pytest.mark.parametrize(
    ("status", "text", "expected"),
    [
        (0, report(PASSED, SKIPPED), Outcome("t", 1, (), ("no fio; run `x`",))),
        (0, report(PASSED, EXPECTED), Outcome("t", 2)),
        (1, report(FAILED, PASSED), Outcome("t", 1, ("tests/unit/test_a.py::test_d[a@b]",))),
        (1, report(OF_CLASS), Outcome("t", 0, ("tests/unit/test_a.py::TestIt::test_d[a@b]",))),
        # The test itself fails, and then its fixture.
        (1, report(ERROR, ERROR), Outcome("t", 0, ("tests/unit/test_a.py::test_e",))),
        (2, report(NOT_IMPORTED), Outcome("t", 0, ("tests/unit/test_f.py",))),
        (2, report(PASSED), Outcome("t", 1, fault="pytest ended with status 2")),
        (1, report(PASSED), Outcome("t", 1, fault="pytest ended with status 1")),
        (3, report(ERROR), Outcome("t", 0, ("tests/unit/test_a.py::test_e",), fault="pytest ended with status 3")),
        (5, report(), Outcome("t", fault="no test was collected")),
        (0, report(), Outcome("t", fault="no test was collected")),
        (-9, None, Outcome("t", fault="pytest was killed by signal 9 before it wrote its report")),
        (4, None, Outcome("t", fault="pytest ended with status 4 before it wrote its report")),
        (3, "<testsuites><tests", Outcome("t", fault="pytest ended with status 3 before it wrote its report")),
    ],
)
def test_what_became_of_a_tier(status: int, text: str | None, expected: Outcome) -> None:
    assert outcome("t", status, text) == expected


def test_the_last_lines_count_all_tiers_and_name_the_first_failure() -> None:
    outcomes = [
        Outcome("test", 7, skipped=("no fio; run `x`",)),
        Outcome("cluster", 2, ("a.py::b", "a.py::c"), ("no fio; run `x`",), "pytest ended with status 3"),
        Outcome("slurm", fault="no test was collected"),
    ]
    *table, died, empty, first, last = closing(outcomes)
    assert [line.split() for line in table[-1:]] == [["2", "no", "fio", "x"]]
    assert (died, empty) == ("cluster: pytest ended with status 3", "slurm: no test was collected")
    assert first == "first failure: cluster: a.py::b"
    assert last == "9 passed, 4 failed, 2 skipped"


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (Outcome("again", 1, ("c",)), [Outcome("test", 8, unsteady=("a",)), Outcome("slow", 1, ("c",))]),
        (Outcome("again", 0, ("a", "c")), [Outcome("test", 7, ("a",)), Outcome("slow", 1, ("c",))]),
        # What was skipped has not passed.
        (Outcome("again", 1, (), ("no fio",)), [Outcome("test", 7, ("a",)), Outcome("slow", 1, ("c",))]),
        (Outcome("again", 2, fault="killed"), [Outcome("test", 7, ("a",)), Outcome("slow", 1, ("c",))]),
    ],
)
def test_a_test_that_passes_alone_counts_as_passed(second: Outcome, expected: list[Outcome]) -> None:
    asked: list[list[str]] = []

    def run(_tier: str, arguments: Sequence[str]) -> Outcome:
        asked.append(list(arguments))
        return second

    assert again([Outcome("test", 7, ("a",)), Outcome("slow", 1, ("c",))], run) == expected
    assert asked == [["a", "c", "-n0"]]


@pytest.mark.parametrize("failed", [(), tuple("abcdef")])
def test_none_and_many_failures_are_not_run_again(failed: tuple[str, ...]) -> None:
    before = [Outcome("test", 7, failed)]
    assert again(before, lambda *_: pytest.fail("was run again")) == before


def test_of_the_rest_each_failure_names_its_own_tier() -> None:
    tests = ("tests/integration/slurm/test_a.py::b", "tests/integration/test_c.py::d", "tests/unit/test_e.py::f")
    tiers = [line.partition(":")[0] for line in Outcome("rest", failed=tests, fault="pytest ended with 3").failures]
    assert tiers == ["slurm", "cluster", "slow", "rest"]


def test_where_all_pass_there_is_only_the_count() -> None:
    assert closing([Outcome("test", 2), Outcome("slow", 1)]) == ["3 passed, 0 failed, 0 skipped"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["slurm", "test"], {"slurm": TIERS["slurm"], "test": TIERS["test"]}),
        (["faults", "--", "tests/a.py", "-k", "b"], {"faults": ("tests/a.py", "-k", "b")}),
        (["test", "--"], {"test": TIERS["test"]}),
    ],
)
def test_which_tiers_are_chosen(arguments: list[str], expected: dict[str, tuple[str, ...]]) -> None:
    assert chosen(arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "named"), [(["tets", "slow"], "tets"), ([], "test, slow"), (["--"], "test, slow")]
)
def test_a_tier_that_is_not_known_is_named(arguments: list[str], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        chosen(arguments)


def ran(*arguments: str, options: str = "") -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, TIERS_PY, *arguments],
        env={**kept, "PYTHONPATH": str(ROOT / "tests"), "PYTEST_ADDOPTS": options},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )


TESTS = """
import pytest, not_run

def test_passes(): pass

@pytest.mark.parametrize("user", ["a@b"])
@pytest.mark.xdist_group("it is: one")
def test_fails(user): assert False

def test_skips(): not_run.need("no-such-program")
"""


@pytest.mark.slow
def test_real_runs_end_with_one_table_and_one_count(tmp_path: Path) -> None:
    file = tmp_path / "test_some.py"
    file.write_text(TESTS)
    done = ran("one", "two", "--", str(file), "-n1", "--dist=loadgroup", "-p", "not_run", "-p", "no:cacheprovider")
    assert done.returncode == 1
    assert re.findall(r"^== (\w+)", done.stdout, re.MULTILINE) == ["one", "two"]
    assert done.stdout.count("no-such-program is not installed") == 1
    *_, skipped, first, last = done.stdout.splitlines()
    assert skipped.split()[:2] == ["2", "no-such-program"]
    assert first.startswith("first failure: one: ")
    assert first.endswith("test_some.py::test_fails[a@b]")
    assert last == "2 passed, 2 failed, 2 skipped"


UNSTEADY = """
import pathlib

def test_unsteady():
    mark = pathlib.Path(__file__).with_suffix(".ran")
    ran = mark.exists()
    mark.touch()
    assert ran
"""


def test_a_test_that_fails_only_at_first_is_named(tmp_path: Path) -> None:
    file = tmp_path / "test_some.py"
    file.write_text(UNSTEADY)
    # The second run gets these as well.
    options = f"-p not_run -p no:cacheprovider --rootdir={ROOT}"
    done = ran("one", AGAIN, "--", str(file), options=options)
    *_, named, last = done.stdout.splitlines()
    assert (done.returncode, last) == (0, "1 passed, 0 failed, 0 skipped"), done.stdout
    assert "test_some.py" in named
    (tmp_path / "test_some.ran").unlink()
    assert ran("one", "--", str(file), options=options).returncode == 1


def test_a_pytest_that_collects_nothing_fails(tmp_path: Path) -> None:
    done = ran("none", "--", str(tmp_path), "-p", "not_run", "-p", "no:cacheprovider")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-2:] == [
        "first failure: none: no test was collected",
        "0 passed, 1 failed, 0 skipped",
    ]


def test_every_test_is_in_one_tier() -> None:
    """`slow` divides the folders of `test`; a tier of nodes or of Slurm is a folder."""
    of_folders = {path for folder in FOLDERS for path in (ROOT / folder).rglob("test_*.py")}
    nodes, _ignored = TIERS["cluster"]
    slurm = set((ROOT / TIERS["slurm"][0]).rglob("test_*.py"))
    of_nodes = set((ROOT / nodes).rglob("test_*.py")) - slurm
    assert slurm
    assert of_nodes
    assert TIERS["cluster"] == (nodes, f"--ignore={TIERS['slurm'][0]}")
    assert set((ROOT / "tests").rglob("test_*.py")) == of_folders | of_nodes | slurm


def test_make_and_both_checks_run_every_tier() -> None:
    makefile, check = (ROOT / "Makefile").read_text(), (ROOT / ".ci/run").read_text()
    for tier in ("test", "all", "cluster", "slurm"):
        assert f"\n\t@$(TIERS) {tier}" in makefile
    assert set(check.splitlines()[-1].partition("tiers.py ")[2].split()) == {AGAIN, "test", "rest", "alone"}
    workflow = (ROOT / ".github/workflows/ci.yml").read_text()
    jobs = yaml.safe_load(workflow)["jobs"]
    assert jobs["tests"]["strategy"]["matrix"]["tier"] == ["test", "slow"]
    assert {"test-cluster", "test-slurm"} <= set(re.findall(r"sudo make (\S+)", workflow))
