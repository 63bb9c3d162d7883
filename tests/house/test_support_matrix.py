"""The platforms that the collection promises to run on, and the table at the end of CI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.path.insert(0, str(ROOT))

noxfile = pytest.importorskip("noxfile", reason="nox is not installed; run `make test`", exc_type=ImportError)
from support_matrix import closing, part_of, table


def session(name: str, core: str, result: str = "success", **more: str) -> dict:
    return {"name": name, "args": {"core": core}, "result": result, "signatures": [name], **more}


SESSIONS = [
    session("works(2.19-python3.11)", "2.19"),
    session("works(2.19-python3.12)", "2.19", "failed"),
    session("works(2.20-python3.12)", "2.20", "skipped", reason="Python interpreter 3.12 not found"),
    session("sanity(2.19)", "2.19"),
    session("sanity(2.20)", "2.20"),
]


def test_the_table_has_a_row_for_each_core_and_says_why_a_cell_is_empty():
    assert table(SESSIONS) == [
        "ansible-core  Python 3.11  Python 3.12                                 ansible-test sanity",
        "2.19          passed       FAILED                                      passed",
        "2.20          –            skipped: Python interpreter 3.12 not found  passed",
    ]


def test_the_last_line_counts_the_cells():
    assert closing(SESSIONS) == "matrix: 3 passed, 1 failed, 1 skipped"


def cell(name: str, core: str, python: str) -> dict:
    return {
        "session": f"{name}({core}{'-python3.12' if name == 'works' else ''})",
        "name": name,
        "python": python,
        "call_spec": {"core": core},
    }


def test_a_part_of_the_matrix_is_what_this_machine_has_a_python_for():
    python = "/usr/bin/python3.12"
    cells = [
        cell("works", "2.21", python),
        cell("works", "2.9", python),
        cell("works", "2.19", python),
        cell("sanity", "2.19", python),
        cell("sanity", "2.20", python),
        cell("sanity", "2.21", "3.13"),
    ]
    assert part_of(cells, "3.12") == ["works(2.9-python3.12)", "sanity(2.20)"]
    assert part_of(cells, "3.11") == ["sanity(2.20)"]
    assert part_of([cell("works", "2.21", "3.12")], "3.12") == []


def test_importing_the_matrix_leaves_the_process_as_it_is(tmp_path):
    """These tests import it into a process with others, whose PATH it must not change."""
    pythons = tmp_path / "versions/3.12.1/bin"
    pythons.mkdir(parents=True)
    for name in ("python3", "python3.12"):
        (pythons / name).touch(mode=0o755)
    program = "import os; before = dict(os.environ); import noxfile; print(dict(os.environ) == before)"
    environment = {**os.environ, "PYENV_ROOT": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_what_is_tried_is_what_is_promised():
    cores = [tuple(map(int, core.split("."))) for core in noxfile.SUPPORTED]
    oldest, after_newest = min(cores), (max(cores)[0], max(cores)[1] + 1)
    required = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())["requires_ansible"]
    assert required == ">={}.{}.0".format(*oldest)
    assert "ansible-core>={}.{},<{}.{}\n".format(*oldest, *after_newest) in (ROOT / "requirements.txt").read_text()
    minimum = {tuple(map(int, python.split("."))) for pythons in noxfile.SUPPORTED.values() for python in pythons}
    assert f"sys.version_info < {min(minimum)}" in (ROOT / "Makefile").read_text()
