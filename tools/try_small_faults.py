#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does `make test` notice a small fault in the code? Draws faults, puts each into a copy, and runs the tests.

    tools/try_small_faults.py                                     # only print the faults of small_faults.py
    tools/try_small_faults.py --reach .coverage >small_faults.md  # try each, and write the table

The whole suite for each fault would take hours. Instead a coverage database with a context for each test (`--reach`, of
`tools/coverage_of_tests.py`) says which tests reach the changed line, or the file if a line runs only on import. With
`-x` and within the limits below, the order is: tests of `make test`, starting with those that reach the fewest lines;
then mypy; then tests marked slow and those on real nodes. Coverage does not see programs that travel to nodes as text,
so faults in `module_utils` and `modules` get a selection by the names of files as well. A test has caught a fault if it
fails twice with the fault and passes without. So "nobody" means none of the selected tests; "time limit" there means
that not even all of these ran.

Results are appended to `--results`, and faults listed there are not tried again. Faults are tried in copies of the last
commit.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import queue
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from small_faults import Fault, draw

ROOT: t.Final = Path(__file__).resolve().parents[1]
# At most this many tests that reach the line, and the files from which some run for any fault in a program of a node.
UNIT_STEPS: t.Final = (40, 360)
LONG_TESTS: t.Final = 15
OF_NODES: t.Final = {
    "node": ("tests/unit/node/", "tests/unit/node_inspect/", "tests/unit/isolate/test_local", "tests/unit/preflight/"),
    "slurm": ("tests/unit/slurm/", "tests/unit/run/"),
    "logs": ("tests/unit/logs/",),
}
OF_NODES_LONG: t.Final = tuple(
    f"tests/{name}.py::"
    for name in (
        "end_to_end/test_training",
        "end_to_end/test_preflight",
        "end_to_end/test_isolate",
        "end_to_end/test_isolate_probes",
        "end_to_end/test_faults_in_mid_run",
        "integration/test_training_with_slurm",
        "integration/test_training_in_containers",
    )
)
OF_MAKE_TEST: t.Final = ("tests/unit/", "tests/house/", "tests/end_to_end/")
# A fault that makes a test eat memory must not take the machine down.
MOST_BYTES: t.Final = 8 << 30


class Reach:
    """Which tests reach a line, from a coverage database."""

    def __init__(self, database: Path, known: t.Collection[str]) -> None:
        self.connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, check_same_thread=False)
        self.tests: dict[int, str] = {}
        for number, context in self.connection.execute("SELECT id, context FROM context"):
            # Before the context of its test, a process has one of its own; pytest-xdist adds the group of a test.
            test = re.sub(r"@[^@\]]*$", "", context[context.rfind("|tests/") + 1 :])
            if test in known:
                self.tests[number] = test
        # The fewer lines a test reaches, the less it costs, and the more it asks of each.
        self.sizes: dict[str, int] = collections.Counter()
        for number, size in self.connection.execute("SELECT context_id, COUNT(*) FROM arc GROUP BY context_id"):
            self.sizes[self.tests.get(number, "")] += size

    def of(self, fault: Fault) -> list[str]:
        """Return the tests that reach a fault, or its file if only its import does, the smallest first."""
        for first, last in (fault.line, fault.line), (fault.first, fault.last), (1, 1 << 30):
            if fault.kind in ("branch", "return") and last < fault.first:
                continue  # a caller that does not enter the branch sees no difference
            found = {
                self.tests[number]
                for (number,) in self.connection.execute(
                    "SELECT DISTINCT context_id FROM arc JOIN file ON file.id = file_id WHERE path LIKE ?"
                    " AND (tono BETWEEN ? AND ? OR fromno BETWEEN ? AND ?)",
                    (f"%/{fault.file}", first, last, first, last),
                )
                if number in self.tests
            }
            if found:
                return sorted(found, key=lambda test: (self.sizes[test], test))
        return []


class Copy:
    """A copy of the last commit for trying one fault at a time, with the results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(folder)], check=True)
        (folder / ".venv").symlink_to(Path(sys.prefix).resolve(), target_is_directory=True)

    @contextlib.contextmanager
    def having(self, fault: Fault, stamp: int) -> t.Iterator[None]:
        """Put a fault in for a while, at a time of its own, which compiled files of Python go by."""
        path = self.folder / fault.file
        source, before = path.read_bytes(), path.stat().st_mtime
        try:
            path.write_bytes(fault.applied(source))
            os.utime(path, (before + 10 * stamp, before + 10 * stamp))
            yield
        finally:
            path.write_bytes(source)
            os.utime(path, (before, before))

    def run(self, command: list[str], seconds: float, output: t.IO[bytes] | int = subprocess.DEVNULL) -> int | None:
        """Return the exit status of a command, or None if it ran out of time and was ended with its children."""
        limited = ["setpriv", "--pdeathsig", "KILL", "prlimit", f"--data={MOST_BYTES}", *command]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TRAINOPS_"))}
        with subprocess.Popen(
            limited,
            cwd=self.folder,
            env=kept,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        ) as process:
            try:
                return process.wait(max(seconds, 1))
            except subprocess.TimeoutExpired:
                return None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    def pytest(self, tests: list[str], seconds: float) -> tuple[bool | None, list[str]]:
        """Run tests up to the first that fails: whether all passed (None: no time for all), and who failed or hung."""
        with tempfile.TemporaryDirectory(prefix="small-faults-") as scratch:
            asked, cache, said = (Path(scratch, name) for name in ("tests", "cache", "said"))
            asked.write_text("\n".join(tests) + "\n", encoding="utf-8")
            with said.open("wb") as output:
                options = ["-n0", "-x", "-vv", "--tb=no", "-o", f"cache_dir={cache}", f"@{asked}"]
                status = self.run([".venv/bin/pytest", *options], seconds, output)
            if status == 0:
                return True, []
            last_failed = cache / "v/cache/lastfailed"
            failed = list(json.loads(last_failed.read_text(encoding="utf-8"))) if last_failed.exists() else []
            # A file that cannot be imported has no tests; a process that was killed or hung has a last one.
            failed = [test for name in failed for test in tests if test == name or test.startswith(f"{name}::")][:3]
            started = [line for line in said.read_text("utf-8", "replace").splitlines() if line.startswith("tests/")]
            hung = [test for test in tests if started and started[-1].startswith(f"{test} ")][-1:]
            return None if status is None else False, failed or hung

    def catcher(self, fault: Fault, tests: list[str], stamp: int, seconds: float) -> tuple[str, str]:
        """Return the test that notices a fault, if any, and the reason if some could not be tried."""
        end, doubted = time.monotonic() + seconds, 0
        while tests and time.monotonic() < end:
            with self.having(fault, stamp):
                passed, suspects = self.pytest(tests, end - time.monotonic())
            if passed or not suspects:
                return "", "" if passed else "time limit" if passed is None else "pytest failed"
            begin = time.monotonic()
            without_fault, _suspects = self.pytest(suspects, 300)
            if without_fault:
                with self.having(fault, stamp):
                    again, _suspects = self.pytest(suspects, 60 + 4 * (time.monotonic() - begin))
                if not again:
                    return suspects[0], "hangs" if again is None else ""
            doubted += 1
            tests = [test for test in tests if test not in suspects]
        return "", "time limit" if tests else f"{doubted} failed without the fault as well" if doubted else ""

    def clean(self) -> None:
        """Remove the leftovers of tests, but for files that only make them faster."""
        kept = [word for name in (".venv", "__pycache__", ".mypy_cache") for word in ("-e", name)]
        subprocess.run(["git", "clean", "-fdxq", *kept], cwd=self.folder, check=False)


def some(tests: t.Sequence[str], most: int) -> list[str]:
    """Return at most this many, evenly from all."""
    return [tests[number * len(tests) // most] for number in range(most)] if len(tests) > most else list(tests)


def naming(module: str) -> tuple[str, ...]:
    """Return the test files that mention a module, because coverage does not see modules on nodes either."""
    files = (
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if module in path.read_text("utf-8")
    )
    return tuple(f"{file}::" for file in files)


def judged(
    copy: Copy, fault: Fault, number: int, tiers: tuple[list[str], list[str]], reach: Reach, seconds: float
) -> dict[str, t.Any]:
    """Return who notices a fault, and after how many seconds."""
    fast, slow = tiers
    is_fast, begin, notes = set(fast), time.monotonic(), []
    reached = reach.of(fault)
    unit = [test for test in reached if test in is_fast and not test.startswith("tests/end_to_end")]
    steps = [("test", unit[: UNIT_STEPS[0]]), ("test", unit[UNIT_STEPS[0] : sum(UNIT_STEPS)])]
    steps.append(("test", [test for test in reached if test in is_fast and test not in set(unit)][:LONG_TESTS]))
    late = [test for test in reached if test not in is_fast][:LONG_TESTS]
    if fault.file.startswith(("plugins/module_utils/", "plugins/modules/")):
        near = OF_NODES.get(Path(fault.file).parts[2]) or naming(Path(fault.file).stem)
        steps.append(
            ("test", some([test for test in fast if test.startswith(near) and test not in unit], UNIT_STEPS[1]))
        )
        steps.append(("test", some([test for test in fast if test.startswith(OF_NODES_LONG)], LONG_TESTS)))
        late += some([test for test in slow if test.startswith(OF_NODES_LONG) and test not in late], LONG_TESTS)
    by, note = "nobody", ""
    for tier, tests in [*steps, ("mypy", []), ("slow tier test", late)]:
        if tier == "mypy":
            with copy.having(fault, number):
                note = str(
                    copy.run([".venv/bin/mypy", f"collections/ansible_collections/trainops/cluster/{fault.file}"], 600)
                )
            found, note = ("mypy", "") if note == "1" else ("", "" if note == "0" else f"mypy ended with {note}")
        else:
            found, note = copy.catcher(fault, tests, number, seconds / 2)
        if found:
            by, notes = tier, [found, note]
            break
        notes.append(note)
    copy.clean()
    tried = [len(tests) for _tier, tests in steps]
    return {
        "number": number, "fault": str(fault), "by": by, "notes": " ".join(filter(None, notes)),
        "reached by": len(reached), "tried": [*tried, len(late)], "seconds": round(time.monotonic() - begin),
    }  # fmt: skip


def collected(*arguments: str) -> list[str]:
    """Return the names of tests."""
    command = [str(Path(sys.prefix, "bin/pytest")), "-n0", "--collect-only", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return [line for line in done.stdout.splitlines() if line.startswith("tests/")]


def table(results: list[dict[str, t.Any]]) -> str:
    """Return the results as a table of Markdown, and their totals."""
    rows = ["| number | place | fault | caught by | |", "|---|---|---|---|---|"]
    for one in sorted(results, key=lambda one: int(one["number"])):
        place, _blank, fault = one["fault"].partition(" ")
        rows.append(
            "| "
            + " | ".join(
                str(cell).replace("|", "\\|") for cell in (one["number"], place, fault, one["by"], one["notes"])
            )
            + " |"
        )
    totals = collections.Counter(one["by"] for one in results)
    fast = totals["test"] + totals["mypy"]
    caught = len(results) - totals["nobody"]
    rows += ["", *(f"- {by}: {count}" for by, count in totals.most_common())]
    rows.append(
        f"- `make test` catches {fast} of the {caught} faults that anything catches ({fast / max(caught, 1):.0%})."
    )
    return "\n".join(rows)


def main() -> None:
    """Try the faults that have no result yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=60, help="how many faults to draw")
    parser.add_argument("--seed", type=int, default=49)
    parser.add_argument("--only", help="numbers of faults to try, like 3,7")
    parser.add_argument("--reach", type=Path, help="coverage database with a context for each test")
    parser.add_argument("--among", nargs="+", default=[], help="only tests in these files or folders")
    parser.add_argument("--results", type=Path, default=Path("runs/small_faults.jsonl"))
    parser.add_argument("--seconds", type=float, default=1200, help="limit for the tests of one fault in each tier")
    parser.add_argument("--at-once", type=int, default=2, choices=(1, 2))
    asked = parser.parse_args()
    faults = dict(enumerate(draw(ROOT, asked.faults, asked.seed), 1))
    if not asked.reach:
        print(*(f"{number} {fault}" for number, fault in faults.items()), sep="\n")
        return
    if subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "plugins", "tests"], cwd=ROOT, check=False).returncode:
        raise SystemExit("Commit plugins and tests first: faults are tried in copies of the last commit.")
    asked.results.parent.mkdir(parents=True, exist_ok=True)
    results = (
        [json.loads(line) for line in asked.results.read_text("utf-8").splitlines()] if asked.results.exists() else []
    )
    done = {one["number"] for one in results if one["fault"] == str(faults.get(one["number"]))}
    todo = [
        number for number in faults if number not in done and (not asked.only or str(number) in asked.only.split(","))
    ]
    fast = [test for test in collected("-m", "not slow", *asked.among) if test.startswith(OF_MAKE_TEST)]
    slow = sorted(set(collected(*asked.among)) - set(fast))
    reach = Reach(asked.reach, {*fast, *slow})
    with tempfile.TemporaryDirectory(prefix="small-faults-") as folder:
        copies: queue.Queue[Copy] = queue.Queue()
        for number in range(asked.at_once):
            copies.put(Copy(Path(folder, str(number))))

        def tried(number: int) -> None:
            copy = copies.get()
            try:
                result = judged(copy, faults[number], number, (fast, slow), reach, asked.seconds)
            finally:
                copies.put(copy)
            with asked.results.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(result) + "\n")
            results.append(result)
            print(number, faults[number], result["by"], result["notes"], file=sys.stderr)

        with ThreadPoolExecutor(asked.at_once) as pool:
            list(pool.map(tried, todo))
    print(table(results))


if __name__ == "__main__":
    main()
