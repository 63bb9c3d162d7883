from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.launch import launch_script, run_of_log

HOSTILE = {
    "blanks": " two  words ",
    "quotes": """it's "quoted" and `run`""",
    "expansion": "$HOME ${HOME} $(touch expanded) \\$HOME",
    "syntax": "a; touch parted & b | c > d && e # f",
    "newlines": "one\ntwo\n\nthree\n",
    "glob": "* ? [a-z] ~ {a,b}",
    "escapes": r"\n \t \\ !!",
    "empty": "",
    "unicode": "größe → ∞",
}
# The output of a training that only prints its arguments.
TELL = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]))"


def planned(folder: Path, **changes) -> dict:
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "node": "gpu00",
        "node_rank": 0,
        "env": {},
        "argv": [sys.executable, "-c", TELL],
        "working_dir": str(folder),
        "run_folder": str(folder),
        "log_file": str(folder / "train.log"),
        **changes,
    }


def launch(node: dict, preparation: dict | None = None) -> subprocess.CompletedProcess[str]:
    """Run the launch script of a node's plan as anybody may by hand, from elsewhere."""
    script = Path(node["run_folder"], "launch.sh")
    script.write_text(launch_script(node, "run-1", preparation or {}), encoding="utf-8")
    return subprocess.run(["bash", str(script)], cwd="/", capture_output=True, text=True, check=False)


BEGIN = "trainops.cluster: run run-1, node gpu00\n"


def log_of(node: dict) -> str:
    """Return a log without the line that it begins with."""
    begin, log = Path(node["log_file"]).read_text(encoding="utf-8").split("\n", 1)
    assert f"{begin}\n" == BEGIN
    return log


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
def test_values_arrive_as_they_are_in_arguments_and_environment(value, tmp_path):
    node = planned(tmp_path, env={"VALUE": value, "OTHER": "other"})
    node["argv"] = [*node["argv"], value, f"VALUE={value}"]
    done = launch(node)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    argv, environment, _ = json.loads(log_of(node))
    assert argv == [value, f"VALUE={value}"]
    assert (environment["VALUE"], environment["OTHER"]) == (value, "other")
    assert {path.name for path in tmp_path.iterdir()} == {"launch.sh", "train.log", "exit_status"}


@pytest.mark.parametrize("name", ["with a blank", "it's $HOME; `x`", "two\nlines"])
def test_folders_may_have_any_name(name, tmp_path):
    node = planned(tmp_path / name)
    assert launch(node).returncode == 0
    assert json.loads(log_of(node))[2] == str(tmp_path / name)
    assert (tmp_path / name / "exit_status").read_text().splitlines()[0] == "0"


@pytest.mark.parametrize("exit_status", [0, 1, 42])
def test_the_exit_status_of_the_training_is_recorded_and_returned(exit_status, tmp_path):
    node = planned(tmp_path, argv=["bash", "-c", f"exit {exit_status}"])
    assert launch(node).returncode == exit_status
    assert (tmp_path / "exit_status").read_text().splitlines()[0] == f"{exit_status}"
    assert not (tmp_path / "exit_status.new").exists()


def test_the_log_has_output_and_errors_in_their_order_and_what_was_there_before(tmp_path):
    node = planned(tmp_path, argv=["bash", "-c", "echo one; echo two >&2; echo three"])
    launch(node)
    launch(node)
    assert log_of(node) == f"one\ntwo\nthree\n{BEGIN}one\ntwo\nthree\n"


def test_the_training_has_no_standard_input(tmp_path):
    node = planned(tmp_path, argv=["bash", "-c", "cat; echo done"])
    assert launch(node).returncode == 0
    assert log_of(node) == "done\n"


def test_a_working_directory_that_is_gone_is_told_in_the_log_and_nothing_is_run(tmp_path):
    node = planned(tmp_path, working_dir=str(tmp_path / "gone"), argv=["bash", "-c", "echo ran"])
    assert launch(node).returncode == 1
    assert "gone: No such file or directory" in log_of(node)
    assert "ran" not in log_of(node)
    assert (tmp_path / "exit_status").read_text().splitlines()[0] == "1"


def test_a_training_script_that_cannot_be_found_ends_with_the_status_of_the_shell(tmp_path):
    node = planned(tmp_path, argv=["no-such-program"])
    assert launch(node).returncode == 127
    assert "no-such-program: command not found" in log_of(node)


def test_functions_that_prepare_run_in_their_order_in_the_trainers_folder_before_the_training(tmp_path):
    preparation = {"second_name": ["second_name() {", "  pwd", "}"], "a_name": ["a_name() { echo next; }"]}
    node = planned(tmp_path, argv=["echo", "training"])
    assert launch(node, preparation).returncode == 0
    assert log_of(node) == f"{tmp_path}\nnext\ntraining\n"


def test_the_first_preparation_that_fails_is_the_end(tmp_path):
    preparation = {"one": ["one() { return 7; }"], "two": ["two() { echo two; }"]}
    node = planned(tmp_path, argv=["echo", "training"])
    assert launch(node, preparation).returncode == 7
    assert log_of(node) == ""
    assert (tmp_path / "exit_status").read_text().splitlines()[0] == "7"


def test_a_trainer_that_wants_the_secret_itself_gets_it_when_it_starts_and_the_script_has_only_its_path(tmp_path):
    token = tmp_path / "a token"
    token.write_text("hf_$ecret 'x'\n")
    secret = {"target": str(token), "variable": "HF_TOKEN_PATH", "value_variable": "HF_TOKEN"}
    node = planned(tmp_path / "run", secrets=[secret])
    assert launch(node).returncode == 0
    assert json.loads(log_of(node))[1]["HF_TOKEN"] == "hf_$ecret 'x'"
    assert "hf_$ecret" not in Path(node["run_folder"], "launch.sh").read_text()


def test_a_secret_that_is_not_there_leaves_its_variable_alone(tmp_path):
    secret = {"target": str(tmp_path / "gone"), "variable": "HF_TOKEN_PATH", "value_variable": "OWN_TOKEN"}
    node = planned(tmp_path / "run", secrets=[secret])
    assert launch(node).returncode == 0
    assert "OWN_TOKEN" not in json.loads(log_of(node))[1]


def test_a_log_tells_which_run_it_is_of(tmp_path):
    node = planned(tmp_path, argv=["echo", "training"])
    assert run_of_log(node["log_file"]) is None
    launch(node)
    assert run_of_log(node["log_file"]) == "run-1"


@pytest.mark.parametrize("stale", ["iteration 1/10\n", "", "trainops.cluster: run an-older-one, node gpu00\n"])
def test_a_log_that_something_else_has_begun_is_not_of_this_run(stale, tmp_path):
    node = planned(tmp_path, argv=["echo", "training"])
    Path(node["log_file"]).write_text(stale, encoding="utf-8")
    launch(node)
    assert run_of_log(node["log_file"]) == ("an-older-one" if "older" in stale else None if stale else "run-1")
