from __future__ import annotations

import hashlib
import json
import marshal
import os
import subprocess
import sys
from pathlib import Path

import pytest
from not_run import need_python_38
from real_training import iteration, processes_with
from sent_program import answer_of, send

from ansible_collections.trainops.cluster.plugins.module_utils.node import agent
from ansible_collections.trainops.cluster.plugins.module_utils.node.agent import PROGRAM_NAME
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.bootstrap import _PYTHON
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.program import (
    answer_in,
    standard_input,
)


@pytest.fixture(params=[sys.executable, "3.8"], ids=["this Python", "Python 3.8"])
def python(request):
    return need_python_38() if request.param == "3.8" else request.param


def test_the_program_does_all_phases_of_a_run_on_a_node_that_has_nothing_of_ours(python, training):
    run = training(f'echo "{iteration(1)}"; echo "$TRAINOPS_NODE"; exit 3')

    def phase(name: str, **needs) -> dict:
        return answer_of(python, run.request(phase=name, **needs))

    staged = phase("stage")
    assert (staged["failed"], staged["changed"], staged["status"]) == (False, True, "staged")
    assert phase("start")["status"] == "running"
    followed = phase("follow", cursor={}, wait_seconds=600)
    assert (followed["status"], followed["exit_status"]) == ("exited", 3)
    assert [block["steps"] for block in followed["blocks"]] == [[1]]
    assert followed["last_lines"][-1] == run.node["node"]
    stopped = phase("stop", grace_seconds=1)
    assert (stopped["changed"], stopped["status"]) == (False, "exited")
    assert phase("collect", offset=0)["size"] == len(run.log())
    assert processes_with(run.mark) == set()


def test_variables_of_the_node_reach_what_runs_there_and_grow_from_those_it_has(python, training):
    run = training('echo "$PATH"; echo "$ROCM_HOME"')
    environment = {"PATH": "/opt/rocm/bin:$PATH", "ROCM_HOME": "/opt/rocm"}
    for phase in ("stage", "start"):
        assert not answer_of(python, run.request(phase=phase, environment=environment))["failed"]
    answer_of(python, run.request(phase="follow", cursor={}, wait_seconds=600))
    # From the log, because the answer cuts long lines.
    assert run.log().splitlines()[-2:] == [f"/opt/rocm/bin:{os.environ['PATH']}", "/opt/rocm"]


def test_what_is_wrong_on_the_node_is_an_answer_and_no_traceback(python, training):
    run = training()
    run.node["working_dir"] = "/nowhere"
    refused = answer_of(python, run.request(phase="stage"))
    assert refused["failed"] is True
    assert refused["problems"] == [{"code": "checkout_missing", "values": {"path": "/nowhere"}}]
    unknown = answer_of(python, training().request(phase="stage", container_engine="lxc"))
    assert unknown["failed"] is True
    assert [(one["code"], one["values"]["name"]) for one in unknown["problems"]] == [("engine_unknown", "lxc")]


def test_the_answer_is_found_between_whatever_a_login_shell_prints(python, training):
    shell = 'echo "Welcome to gpu00"; printf "no newline"; eval "$0"; echo; echo bye'
    done = send(python, training().request(phase="collect", offset=0), shell)
    assert "Welcome to gpu00" in done.stdout
    assert done.stdout.endswith("bye\n")
    assert answer_in(done.stdout)["size"] == 0


@pytest.mark.parametrize("output", ["", "bash: python3: command not found\n", "Traceback (most recent call last):\n"])
def test_an_output_without_an_answer_is_told_as_such(output):
    assert answer_in(output) is None


def test_the_program_is_lines_of_text_that_any_shell_and_terminal_passes_on(training):
    program = standard_input(training().request(phase="stage", words="größe → ∞"))
    assert program.endswith(b"\n")
    assert program.count(b"\n") == 2
    assert program.isascii()


def test_the_node_keeps_the_program_and_later_phases_only_name_it(python, training):
    run = training(f'echo "{iteration(1)}"')
    staged = answer_of(python, run.request(phase="stage"))
    path = Path(run.node["run_folder"]) / PROGRAM_NAME
    kept = (str(path), staged["program"])
    request = run.request(phase="start")
    assert answer_of(python, request, kept)["status"] == "running"
    assert len(standard_input(request, kept)) < len(standard_input(request)) / 10
    assert path.stat().st_mode & 0o777 == 0o600
    followed = answer_of(python, run.request(phase="follow", cursor={}, wait_seconds=600), kept)
    assert (followed["status"], "program" in followed) == ("exited", False)


def of_another_python(content: bytes) -> bytes:
    return b"3.7.0 " + content


def of_somebody_else(content: bytes) -> bytes:
    return content.partition(b"\n")[0] + b"\n" + marshal.dumps({"json": compile("raise SystemExit", "", "exec")})


@pytest.mark.parametrize("change", [of_another_python, of_somebody_else, None], ids=["Python", "content", "gone"])
def test_a_kept_program_that_is_another_one_is_not_run_but_asked_for_again(change, training):
    run = training()
    staged = answer_of(sys.executable, run.request(phase="stage"))
    path = Path(run.node["run_folder"]) / PROGRAM_NAME
    told = staged["program"]
    if change is None:
        path.unlink()
    else:
        path.write_bytes(change(path.read_bytes()))
    if change is of_another_python:
        told = hashlib.sha256(path.read_bytes()).hexdigest()
    answer = answer_of(sys.executable, run.request(phase="stage"), (str(path), told))
    assert answer == {"failed": True, "no_program": True}
    again = answer_of(sys.executable, run.request(phase="stage"))
    assert again["program"] == staged["program"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_nothing_is_kept_where_nothing_was_staged(training):
    run = training()
    assert "program" not in answer_of(sys.executable, run.request(phase="stop", grace_seconds=0))
    assert "program" not in answer_of(sys.executable, run.request(phase="stage", check_mode=True))
    assert not Path(run.node["run_folder"]).exists()


def imported(done: subprocess.CompletedProcess[str]) -> set[str]:
    """Return the imports of a Python that was called with -X importtime."""
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


def test_a_node_waits_for_no_module_that_a_short_training_that_ends_well_does_not_need(tmp_path, training):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -X importtime "$@"\n')
    python.chmod(0o755)
    run = training(f'echo "{iteration(1)}"')
    run.node["node_rank"] = 1
    staged = send(str(python), run.request(phase="stage"))
    assert answer_in(staged.stdout)["status"] == "staged"
    assert "json" in imported(staged)
    unneeded = {"ctypes", "ipaddress", "shutil", "socket"}
    assert imported(staged) & {*unneeded, "subprocess", "threading"} == set()
    request = run.request(phase="follow", start=True, cursor={}, wait_seconds=600, finish_grace_seconds=1)
    followed = send(str(python), request)
    assert answer_in(followed.stdout)["finished"]["status"] == "exited"
    assert imported(followed) & unneeded == set()


def test_the_program_is_made_once_however_many_nodes_are_asked_at_the_same_moment():
    show = (
        "import threading, zlib\n"
        "from ansible_collections.trainops.cluster.plugins.plugin_utils.run.program import standard_input\n"
        "compress, sizes = zlib.compress, []\n"
        "zlib.compress = lambda data: sizes.append(len(data)) or compress(data)\n"
        "threads = [threading.Thread(target=standard_input, args=({},)) for _node in range(32)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
        "print(len(sizes), sum(size > 100_000 for size in sizes))"
    )
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", show], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["33", "1"]


@pytest.mark.parametrize("phase", ["start", "follow", "stop", "collect"])
def test_a_phase_loads_what_it_needs_and_no_more(phase):
    costly = {"subprocess", "socket", "tempfile", "pathlib", "ctypes", "shutil", "importlib.abc"}
    show = f"import sys; from {agent.__name__} import phase_of; phase_of({phase!r}); print(*sys.modules, sep='\\n')"
    # Nor the modules that this environment loads with the interpreter itself.
    path = os.pathsep.join(entry for entry in sys.path if "site-packages" not in entry)
    command = [sys.executable, "-Sc", show]
    done = subprocess.run(command, env={"PYTHONPATH": path}, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert agent.__name__ in loaded
    assert loaded & costly == set()
    assert [name for name in loaded if ".module_utils.logs." in name] == []


def test_a_launch_loads_its_own_grammar_only_and_nothing_that_is_kept_as_text(training):
    run = training(f'echo "{iteration(1)}"')
    run.node["node_rank"] = 1
    answer_of(sys.executable, run.request(phase="stage"))
    program = (Path(run.node["run_folder"]) / PROGRAM_NAME).read_bytes()
    kept = {name.rpartition(".module_utils.")[2]: code for name, code in marshal.loads(program[len(_PYTHON) :]).items()}
    needs = {"start": True, "cursor": {}, "wait_seconds": 600, "finish_grace_seconds": 1, "sample": True}
    show = (
        f"import json, sys; from {agent.__name__} import answer_to; answer_to(json.load(sys.stdin)); "
        "print(*(name.rpartition('.module_utils.')[2] for name in sys.modules), sep='\\n')"
    )
    loaded = set()
    for request in (training().request(phase="stage"), run.request(phase="follow", **needs)):
        done = subprocess.run(
            [sys.executable, "-c", show],
            input=json.dumps(request),
            env={**run.environment(), "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        loaded |= set(done.stdout.split()) & set(kept)
    grammars = {name.rpartition(".")[2] for name in loaded if name.startswith("logs.grammars.")}
    assert {name for name in grammars if not name.endswith("_failures")} == {"known", "megatron", "megatron_processes"}
    assert {name for name in loaded if isinstance(kept[name], str)} == set()
    assert isinstance(kept["node.probes.known"], str)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Return an empty folder of this machine's."""
    folder = tmp_path / "machine"
    monkeypatch.setenv("TRAINOPS_LOCK_FOLDER", str(folder))
    return folder


def test_what_a_run_compiles_the_next_one_uses(machine, training):
    def programs() -> list[Path]:
        return list(machine.glob("program-*"))

    first, second, third = training(), training(), training()
    told = answer_of(sys.executable, first.request(phase="stage"))["program"]
    (path,) = programs()
    assert path.stat().st_mode & 0o777 == 0o600
    # Marked, so that it shows whether it is used.
    python, _line, code = path.read_bytes().partition(b"\n")
    known = marshal.loads(code)
    known[agent.__name__] += b"marked"
    path.write_bytes(python + b"\n" + marshal.dumps(known))
    assert answer_of(sys.executable, second.request(phase="stage"))["program"] != told
    path.write_bytes(python + b"\ntorn")
    path.with_name("program-of-before").touch()
    assert answer_of(sys.executable, third.request(phase="stage"))["failed"] is False
    assert programs() == [path]
    assert marshal.loads(path.read_bytes().partition(b"\n")[2])[agent.__name__] == known[agent.__name__][:-6]


def test_a_program_is_not_kept_where_others_could_write_and_in_check_mode(machine, training):
    run = training()
    assert not answer_of(sys.executable, run.request(phase="stage", check_mode=True))["failed"]
    assert not machine.exists()
    machine.mkdir(mode=0o777)
    machine.chmod(0o777)
    refused = answer_of(sys.executable, run.request(phase="stage"))
    assert [(one["code"], one["values"]["mode"]) for one in refused["problems"]] == [("folder_open", "0777")]
    assert list(machine.iterdir()) == []
