#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs tiers of tests one after the other, and ends with one table of skipped tests and one count for all of them.

Arguments are names of tiers. Arguments after ``--`` replace a tier's own arguments of pytest, and its name may then be
any. The exit status is 0 only if every tier ran tests and none of them failed.

With ``--again`` (the project's own check sets it) a few tests that failed are run once more at the end, one after the
other: a test of real processes may have waited too long for a busy machine. A test that passes then counts as passed,
and is named.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path
from xml.etree import ElementTree

ROOT: t.Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from not_run import NO_TABLE, table

# The longest come first, so that no core waits for another at the end.
FOLDERS: t.Final = ("tests/end_to_end", "tests/house", "tests/unit")
TIERS: t.Final[dict[str, tuple[str, ...]]] = {
    "test": (*FOLDERS, "-m", "not slow"),
    "slow": (*FOLDERS, "-m", "slow"),
    "all": FOLDERS,
    "cluster": ("tests/integration", "--ignore=tests/integration/slurm"),
    "slurm": ("tests/integration/slurm",),
    # All tiers but `test` run in one process of pytest: tests that wait for Slurm or SSH leave the cores to the others.
    # Tests that find a slow node by measuring come last, one after the other.
    "rest": ("tests/integration", *FOLDERS, "-m", "slow and not measures and not long"),
    "alone": ("tests/integration", *FOLDERS, "-m", "measures and not long", "-n0"),
}
AGAIN: t.Final = "--again"
# More than this are no accident of a busy machine.
_MOST_AGAIN = 5
# Whoever looks for minutes to save begins with these.
_SLOWEST: t.Final = ("--durations=25", "--durations-min=10")
_OF_SEVERAL: t.Final = ("rest", "alone")
# Exit statuses of pytest: tests failed; interrupted, for example by a file that cannot be imported; no test found.
_FAILED, _INTERRUPTED, _NOTHING_COLLECTED = 1, 2, 5
# pytest-xdist adds the group of a test to its name.
_GROUP: t.Final = re.compile(r"@[^@\]]*$")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The results of a tier's tests: how many passed, which failed, and why others were skipped.

    ``unsteady`` are passed tests that failed at first. ``fault`` is the fault of the whole run, in words; it
    counts as a failure.
    """

    tier: str
    passed: int = 0
    failed: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    fault: str | None = None
    unsteady: tuple[str, ...] = ()

    @property
    def failures(self) -> list[str]:
        """Every failure in a line with its tier, in order; the fault of the whole run is the last."""
        failed = [f"{tier_of(test) if self.tier in _OF_SEVERAL else self.tier}: {test}" for test in self.failed]
        return failed + ([f"{self.tier}: {self.fault}"] if self.fault else [])


def tier_of(test: str) -> str:
    """Return the tier of a test that is not one of `test`, by its folder."""
    if test.startswith("tests/integration/slurm/"):
        return "slurm"
    return "cluster" if test.startswith("tests/integration/") else "slow"


def name_of(case: ElementTree.Element) -> str:
    """Return the name of a test as pytest takes it: ``tests/unit/test_a.py::test_b``."""
    file, classname, name = (case.get(key, "") for key in ("file", "classname", "name"))
    if not classname:
        # A file that could not be imported, for example.
        return file or name
    module = file.removesuffix(".py").replace("/", ".")
    classes = classname.removeprefix(module).strip(".").split(".")
    return "::".join([file, *filter(None, classes), _GROUP.sub("", name)])


def outcome(tier: str, status: int, report: str | None) -> Outcome:
    """Return the result of a run of pytest, from its exit status and its report in the format of JUnit (``xunit1``)."""
    try:
        cases = list(ElementTree.fromstring(report or "").iter("testcase"))
    except ElementTree.ParseError:
        return Outcome(tier, fault=f"{_ended(status)} before it wrote its report")
    failed: dict[str, None] = {}
    passed, skipped = 0, []
    for case in cases:
        found = {child.tag: child for child in case}
        if found.keys() & {"failure", "error"}:
            failed[name_of(case)] = None
        elif "skipped" in found and found["skipped"].get("type") != "pytest.xfail":
            skipped.append(found["skipped"].get("message", ""))
        else:
            passed += 1
    fault = None
    if status == _NOTHING_COLLECTED or not cases:
        fault = "no test was collected"
    elif status not in (0, _FAILED, _INTERRUPTED) or (status and not failed):
        fault = _ended(status)
    return Outcome(tier, passed, tuple(failed), tuple(skipped), fault)


def _ended(status: int) -> str:
    return f"pytest was killed by signal {-status}" if status < 0 else f"pytest ended with status {status}"


def closing(outcomes: t.Sequence[Outcome]) -> list[str]:
    """Return the last lines: the table of skipped tests, the first failure, and the count of all tiers."""
    reasons = [reason for one in outcomes for reason in one.skipped]
    failures = [failure for one in outcomes for failure in one.failures]
    lines = ["", "not run on this machine:", *table(reasons)] if reasons else []
    lines += [one.failures[-1] for one in outcomes if one.fault]
    lines += [f"failed at first, and passed alone: {test}" for one in outcomes for test in one.unsteady]
    lines += [f"first failure: {failures[0]}"] if failures else []
    passed = sum(one.passed for one in outcomes)
    return [*lines, f"{passed} passed, {len(failures)} failed, {len(reasons)} skipped"]


def run_tier(tier: str, arguments: t.Sequence[str]) -> Outcome:
    """Run the tests of a tier, whose output is shown as it comes."""
    print(f"\n== {tier}: pytest {shlex.join(arguments)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="trainops-tiers-") as folder:
        report = Path(folder, "report.xml")
        pytest = str(Path(sys.executable).parent / "pytest")
        more = (NO_TABLE, *_SLOWEST, f"--junit-xml={report}", "--override-ini=junit_family=xunit1")
        status = subprocess.run([pytest, *arguments, *more], cwd=ROOT, check=False).returncode
        return outcome(tier, status, report.read_text(encoding="utf-8") if report.exists() else None)


def again(outcomes: t.Sequence[Outcome], run: t.Callable[[str, t.Sequence[str]], Outcome]) -> list[Outcome]:
    """Return the results after a few failed tests were run once more by ``run``, one after the other."""
    failed = [test for one in outcomes for test in one.failed]
    if not 0 < len(failed) <= _MOST_AGAIN:
        return list(outcomes)
    second = run("again", [*dict.fromkeys(failed), "-n0"])
    # A test that is skipped now has not passed.
    if second.skipped or second.fault:
        return list(outcomes)
    return [_after(one, second.failed) for one in outcomes]


def _after(one: Outcome, failed: t.Collection[str]) -> Outcome:
    passed = tuple(test for test in one.failed if test not in failed)
    left = tuple(test for test in one.failed if test in failed)
    return dataclasses.replace(one, passed=one.passed + len(passed), failed=left, unsteady=passed)


def chosen(arguments: t.Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the arguments of pytest for each requested tier; raise ValueError for an unknown one."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    names, own = arguments[:end], tuple(arguments[end + 1 :])
    if not names:
        raise ValueError(f"name one or more of the tiers {', '.join(TIERS)}")
    if own:
        return dict.fromkeys(names, own)
    if unknown := [name for name in names if name not in TIERS]:
        raise ValueError(f"no tier is named {', '.join(unknown)}; there are {', '.join(TIERS)}")
    return {name: TIERS[name] for name in names}


def main(arguments: t.Sequence[str]) -> int:
    """Run the tiers, print the closing lines, and return the exit status."""
    try:
        tiers = chosen([one for one in arguments if one != AGAIN])
    except ValueError as error:
        print(f"tiers.py: {error}", file=sys.stderr)
        return 2
    interrupted = False

    def note(_signal: int, _frame: object) -> None:
        nonlocal interrupted
        interrupted = True

    # pytest gets Ctrl-C as well; it removes the files of its tests, and is waited for.
    signal.signal(signal.SIGINT, note)
    outcomes = []
    for tier, of_pytest in tiers.items():
        if interrupted:
            outcomes.append(Outcome(tier, fault="not run, because Ctrl-C was pressed"))
        else:
            outcomes.append(run_tier(tier, of_pytest))
    if AGAIN in arguments and not interrupted:
        outcomes = again(outcomes, run_tier)
    print("\n".join(closing(outcomes)), flush=True)
    return int(any(one.failures for one in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
