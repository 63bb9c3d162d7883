from __future__ import annotations

import os
import sys

import pytest
from not_run import need_python_38
from real_training import iteration, processes_with
from sent_program import answer_of, send

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.program import (
    NoAnswerError,
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
    # Of the log, as the answer cuts long lines.
    assert run.log().splitlines()[-2:] == [f"/opt/rocm/bin:{os.environ['PATH']}", "/opt/rocm"]


def test_what_is_wrong_on_the_node_is_an_answer_and_no_traceback(python, training):
    run = training()
    run.node["working_dir"] = "/nowhere"
    refused = answer_of(python, run.request(phase="stage"))
    assert refused["failed"] is True
    assert "the folder /nowhere is not there" in refused["message"]
    unknown = answer_of(python, training().request(phase="stage", container_engine="lxc"))
    assert unknown["failed"] is True
    assert "lxc" in unknown["message"]


def test_the_answer_is_found_between_whatever_a_login_shell_prints(python, training):
    shell = 'echo "Welcome to gpu00"; printf "no newline"; "$0" -c "$1"; echo; echo bye'
    done = send(python, training().request(phase="collect", offset=0), shell)
    assert "Welcome to gpu00" in done.stdout
    assert done.stdout.endswith("bye\n")
    assert answer_in(done.stdout)["size"] == 0


@pytest.mark.parametrize("output", ["", "bash: python3: command not found\n", "Traceback (most recent call last):\n"])
def test_an_output_without_an_answer_is_told_as_such(output):
    with pytest.raises(NoAnswerError):
        answer_in(output)


def test_the_program_is_one_line_of_text_that_any_shell_and_terminal_passes_on(training):
    program = standard_input(training().request(phase="stage", words="größe → ∞"))
    assert program.endswith(b"\n")
    assert program.count(b"\n") == 1
    assert program.isascii()
