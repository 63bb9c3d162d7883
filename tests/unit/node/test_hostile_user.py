"""Attacks of another user of a node: to become root, to read the token, or to hold the node; see `own_folders`."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import time
import typing as t
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fault_table import add_row
from other_user import MALLORY, Mallory, as_user, needs_root
from real_training import Training, processes_with, wait_until
from sent_program import answer_of

pytestmark = needs_root

FOR_EVER = "touch begun\nwhile :; do sleep 0.1; done"
TOKEN = "hf_of_root"


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """Return a file of root that is to stay as it is."""
    path = tmp_path / "bashrc"
    path.write_text("precious\n")
    return path


@pytest.fixture
def run(training: Callable[..., Training], mallory: Mallory) -> Training:
    """Return a run of root whose log_dir everybody may write, and that is given a token."""
    run = training(FOR_EVER)
    run.move_to(mallory.open_folder / "logs")
    (mallory.open_folder / "logs").mkdir()
    (mallory.open_folder / "logs").chmod(0o1777)
    return run


@pytest.fixture
def token(run: Training) -> Iterator[Path]:
    """Return where the token of a run is to be."""
    path = Path(f"/dev/shm/trainops-{run.run_id}-{run.node_name}/hf_token")
    run.node["secrets"] = [{"name": "hf_token", "source": "/nowhere", "target": str(path)}]
    yield path
    with contextlib.suppress(NotADirectoryError):
        shutil.rmtree(path.parent, ignore_errors=True)
    path.parent.unlink(missing_ok=True) if path.parent.is_symlink() else None


def phase(run: Training, name: str, **needs: t.Any) -> dict[str, t.Any]:
    """Do a phase in a process of its own, as on a node, with all that any phase needs."""
    more: dict[str, t.Any] = {"cursor": {}, "wait_seconds": 0, "grace_seconds": 0, "offset": 0}
    request = run.request(phase=name, **{**more, "given_secrets": {"hf_token": TOKEN}, **needs})
    began = time.monotonic()
    return {**answer_of(sys.executable, request), "took": time.monotonic() - began}


def refused(answer: dict[str, t.Any], *told: str) -> bool:
    return answer["failed"] and all(words in answer["message"] for words in told)


def tried(what: str, answer: dict[str, t.Any], result: str = "") -> None:
    """Add another user's attack to the table of faults, with a phase's answer or else its result."""
    said = re.sub(r"/tmp/(?:pytest|trainops-test)\S*/", "…/", answer.get("message", ""))
    said = re.sub(r"node-\w{32}", "node0", said)
    verdict = "nothing starts" if answer.get("failed") else "unchanged"
    add_row(f"another user {what}", answer["took"], result or said, verdict, "what that user made")


def state_of(run: Training, **changes: t.Any) -> dict[str, t.Any]:
    return {
        "run_id": run.run_id,
        "node": run.node_name,
        "node_rank": 0,
        "engine": "none",
        "identity": {"nonce": run.nonce, "plan": {}},
        "status": "running",
        "started_at": 0,
        "handle": {"pid": 2**22 + 1, "start_time": "1", "container": "x"},
        **changes,
    }


def make_links(target: Path, folder: Path) -> str:
    """Make a link of every name that the draft of a state may get soon."""
    for pid in range(os.getpid(), os.getpid() + 300):
        (folder / f"state.json.{pid}").symlink_to(target)
    return "made"


def test_a_lock_in_the_old_place_is_not_even_looked_at(run: Training, mallory: Mallory, precious: Path) -> None:
    trap = mallory.open_folder / "trap"
    state = json.dumps({**state_of(run), "$(id >/dev/tty)": ""})
    lock = json.dumps({"run_id": "\x1b]0;owned\x07", "node": run.node_name, "run_folder": str(trap)})
    old = Path("/tmp/trainops-locks")
    was_there = old.exists()
    mallory.does(f"mkdir -p -m 1777 {old}; mkdir {trap}; printf %s '{state}' >{trap}/state.json")
    assert as_user(MALLORY, lambda: make_links(precious, trap)) == "made"
    planted = old / f"{run.node_name}.lock"
    try:
        mallory.does(f"printf %s '{lock}' >{planted}")
        answer = phase(run, "stage")
        assert answer["status"] == "staged"
        assert precious.read_text() == "precious\n"
        assert json.loads((trap / "state.json").read_text())["status"] == "running"
        tried("writes a lock that points to their own run folder", answer, "ignored; root's file is untouched")
    finally:
        planted.unlink()
        if not was_there:
            old.rmdir()


@pytest.mark.parametrize(
    "trap", ["mkdir -m 777 {0}", "mkdir -m 777 other; ln -s $PWD/other {0}"], ids=["a folder", "a link"]
)
def test_a_folder_of_the_machine_that_somebody_else_has_made_is_refused(
    trap: str,
    run: Training,
    mallory: Mallory,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    folder = mallory.open_folder / "machine"
    mallory.does(trap.format(folder))
    mallory.does(f'echo \'{{"run_id": "evil", "nodes": {{}}}}\' >{folder}/claim.json')
    with monkeypatch.context() as on_another_machine:
        on_another_machine.setenv("TRAINOPS_LOCK_FOLDER", str(folder))
        answer = phase(run, "stage")
        assert refused(answer, str(folder), f"uid {MALLORY}")
    tried(f"makes {request.node.callspec.id} where claims are kept", answer)
    assert not Path(run.node["run_folder"]).exists()


@pytest.mark.parametrize("name", ["train.log", "exit_status.new", "launch.sh", "state.json"])
def test_links_in_a_folder_of_the_run_that_somebody_else_has_made_are_not_followed(
    name: str,
    run: Training,
    mallory: Mallory,
    precious: Path,
) -> None:
    folder = run.node["run_folder"]
    mallory.does(f"umask 0; mkdir -p {folder}; ln -s {precious} {folder}/{name}")
    for name_of_phase in ("start", "follow", "stage"):
        answer = phase(run, name_of_phase)
        assert refused(answer, f"uid {MALLORY}")
    # The phases after a refusal go on, so that the run is judged.
    assert f"uid {MALLORY}" in phase(run, "stop")["warnings"][0]
    assert phase(run, "collect")["data"] == ""
    assert processes_with(run.mark) == set()
    assert precious.read_text() == "precious\n"
    tried(f"makes the run's folder beforehand, with {name} as a link to a file of root", answer)


@pytest.mark.parametrize("depth", ["run_id", "node"])
def test_a_link_in_the_place_of_the_runs_folder_is_not_followed(
    depth: str,
    run: Training,
    mallory: Mallory,
    tmp_path: Path,
) -> None:
    of_root = tmp_path / "of_root"
    of_root.mkdir()
    folder = Path(run.node["run_folder"])
    if depth == "run_id":
        mallory.does(f"ln -s {of_root} {folder.parent}")
    else:
        mallory.does(f"mkdir {folder.parent}; ln -s {of_root} {folder}")
    answer = phase(run, "stage")
    assert refused(answer, f"uid {MALLORY}")
    assert list(of_root.iterdir()) == []
    tried(f"makes a link to a folder of root where the folder of the {depth.replace('_id', '')} will be", answer)


def test_a_log_dir_in_which_anybody_may_exchange_anything_is_refused_with_what_mends_it(
    run: Training,
    mallory: Mallory,
) -> None:
    log_dir = mallory.open_folder / "logs"
    log_dir.chmod(0o777)
    answer = phase(run, "stage")
    assert refused(answer, str(log_dir))
    assert [problem["code"] for problem in answer["problems"]] == ["parent_open"]
    tried("may rename what is in log_dir", answer)
    log_dir.chmod(0o1777)
    assert phase(run, "stage")["status"] == "staged"


def test_what_a_planted_state_says_is_neither_believed_nor_run(
    run: Training,
    mallory: Mallory,
    precious: Path,
) -> None:
    folder = run.node["run_folder"]
    state = json.dumps(state_of(run, status="staged"))
    mallory.does(
        f"umask 0; mkdir -p {folder}; echo 'echo owned >>{precious}' >{folder}/launch.sh; "
        f"printf %s '{state}' >{folder}/state.json"
    )
    answer = phase(run, "start")
    assert refused(answer, f"uid {MALLORY}")
    assert processes_with(run.mark) == set()
    assert precious.read_text() == "precious\n"
    tried("writes a launch script and a state that says it is staged", answer)


def test_an_engine_that_is_none_is_not_run_whoever_wrote_the_state(run: Training, mallory: Mallory) -> None:
    evil = mallory.open_folder / "evil"
    mallory.does(f"printf '#!/bin/sh\\ntouch {evil}.ran\\n' >{evil}; chmod +x {evil}")
    phase(run, "stage")
    for wrong in ({"engine": str(evil)}, {"engine": "auto"}, {"run_id": "other"}, {"node": "other"}, {"status": []}):
        Path(run.node["run_folder"], "state.json").write_text(json.dumps(state_of(run, **wrong)))
        answer = phase(run, "start")
        assert refused(answer, "is not the state of run")
    assert not Path(f"{evil}.ran").exists()
    tried("plants a state file that names their own program as the container engine", answer)


@pytest.mark.parametrize(
    "trap",
    [
        "umask 0; mkdir {0}; touch {0}/hf_token",
        "mkdir -m 700 {0}; touch {0}/hf_token",
        "umask 0; mkdir mine; touch mine/hf_token; ln -s $PWD/mine {0}",
    ],
    ids=["open", "closed", "link"],
)
def test_the_token_does_not_go_to_a_folder_that_somebody_else_has_made(
    trap: str,
    run: Training,
    mallory: Mallory,
    token: Path,
    request: pytest.FixtureRequest,
) -> None:
    mallory.does(trap.format(token.parent))
    answer = phase(run, "stage")
    assert TOKEN not in mallory.does(f"cat {token}")
    assert refused(answer, str(token.parent), f"uid {MALLORY}")
    # Nor is anything of his removed.
    assert phase(run, "stop")["status"] == "not_started"
    assert mallory.does(f"ls {token}").strip() == str(token)
    mallory.does(f"rm -rf {token.parent}")
    tried(f"makes the folder of the token beforehand ({request.node.callspec.id})", answer)


def test_nobody_else_can_read_the_token_of_a_run(run: Training, mallory: Mallory, token: Path) -> None:
    answer = phase(run, "stage")
    assert answer["status"] == "staged"
    assert token.read_text() == TOKEN
    assert "Permission denied" in mallory.does(f"cat {token} 2>&1 || true")
    tried("reads the token of a run", answer, "Permission denied")


@pytest.mark.parametrize("setuid", [False, True], ids=["their own program", "a setuid program of root"])
def test_a_process_of_somebody_else_holds_no_node_whatever_its_labels_are(
    setuid: bool,
    run: Training,
    mallory: Mallory,
    own_machine: Path,
    request: pytest.FixtureRequest,
) -> None:
    sleep = mallory.open_folder / "sleep"
    shutil.copy("/bin/sleep", sleep)
    sleep.chmod(0o4755 if setuid else 0o755)
    labels = {"TRAINOPS_RUN_ID": "evil", "TRAINOPS_NODE": run.node_name, "TRAINOPS_LOCK_FOLDER": str(own_machine)}
    mallory.starts(str(sleep), "1000", **labels)
    wait_until(lambda: processes_with("TRAINOPS_RUN_ID=evil"))
    assert phase(run, "stage").get("status") == "staged"
    answer = phase(run, "start")
    assert answer.get("status") == "running"
    tried(f"runs {request.node.callspec.id} with the labels of a run", answer, "it holds nothing: the training starts")


def test_stop_does_not_end_what_somebody_else_gave_the_labels_of_the_run(
    run: Training,
    mallory: Mallory,
    own_machine: Path,
) -> None:
    labels = {
        "TRAINOPS_RUN_ID": run.run_id,
        "TRAINOPS_NODE": run.node_name,
        "TRAINOPS_LOCK_FOLDER": str(own_machine),
    }
    sleep = mallory.starts("/bin/sleep", "1000", **labels)
    wait_until(lambda: processes_with(run.mark))
    phase(run, "stage")
    phase(run, "start")
    answer = phase(run, "stop")
    assert answer["status"] == "stopped"
    assert processes_with(run.mark) == {sleep.pid}
    tried("labels their process as part of this run, and stop.yml is called", answer, "only the run's own are ended")


def test_the_token_is_gone_when_the_training_is_where_nobody_comes_to_stop_it(run: Training, token: Path) -> None:
    run.in_workspace("train.sh").write_text('cat "$TOKEN_FILE"\nwhile [ ! -e go ]; do sleep 0.1; done\n')
    run.node["env"]["TOKEN_FILE"] = str(token)
    phase(run, "stage")
    phase(run, "start")
    wait_until(lambda: TOKEN in run.log())
    assert token.exists()
    run.in_workspace("go").touch()
    began = time.monotonic()
    wait_until(lambda: not token.parent.exists())
    add_row("the training ends, and no controller comes", time.monotonic() - began, "the token is gone", "none yet")
    assert processes_with(run.mark) == set()
