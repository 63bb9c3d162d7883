# SPDX-License-Identifier: GPL-3.0-or-later
"""The message of each problem of a node, and its remedy."""

from __future__ import annotations

import string
import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.problems import Problem, problem
from ansible_collections.trainops.cluster.plugins.plugin_utils.text import problems
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.problems import (
    UNREACHABLE,
    in_words,
    remedy_of,
    why_unreachable,
)

RUN = {"run_id": "run-7", "since": "started at 2026-11-28 10:00:00 UTC", "different": ["argv", "image"]}
ANOTHER = "another run of the name run-7 is here, started at 2026-11-28 10:00:00 UTC: "
CHOOSE = " To train, choose another training_run_id, or omit it"
# Code and values of a problem, and its message.
ROWS: tuple[tuple[str, dict[str, t.Any], str], ...] = (
    (
        "not_started_here",
        {"run_id": "run-7"},
        "no training of run run-7 was started here, so there is none to follow or to judge",
    ),
    (
        "no_gpu",
        {"wanted": "mi300x", "option": "training_require_gpu"},
        "the plan trains on mi300x, but neither the PCI bus nor /dev shows an accelerator here; "
        "training_require_gpu=false trains on the node anyway",
    ),
    (
        "other_gpu",
        {"wanted": "mi300x", "found": ["NVIDIA H100 80GB HBM3"], "option": "training_require_gpu"},
        "the plan is for mi300x, but the node has NVIDIA H100 80GB HBM3; training_require_gpu=false trains on it "
        "anyway",
    ),
    ("not_staged", {"run_id": "run-7"}, "run run-7 is not staged here and cannot be started"),
    ("held", {"holder": "a b", "quoted": "'a b'"}, "the node is held by run a b"),
    ("held_by_same_name", {"holder": "a b", "quoted": "'a b'"}, "the node is held by another run a b"),
    ("plan_differs", RUN, f"{ANOTHER}its plan differs in argv, image.{CHOOSE}"),
    (
        "other_run_and_plan",
        RUN,
        f"{ANOTHER}it was begun from another folder of runs; its plan differs in argv, image.{CHOOSE}",
    ),
    (
        "other_run",
        {**RUN, "different": []},
        f"{ANOTHER}it was begun from another folder of runs; its plan is the same.{CHOOSE}; or follow and judge that "
        "run: attach.yml with its training_run_id and training_config",
    ),
    (
        "already_running",
        {"run_id": "run-7", "what": "process 7 (python)"},
        "run run-7 is already running here, although its state says otherwise: process 7 (python)",
    ),
    ("state_gone", {"path": "/l/state.json"}, "/l/state.json is gone: somebody removed it after the start"),
    (
        "run_folder_gone",
        {"path": "/l/run-7/a"},
        "the run's folder /l/run-7/a, with its log, is gone: somebody removed it after the start",
    ),
    (
        "other_state",
        {"path": "/l/state.json", "run_id": "run-7", "node": "a"},
        "/l/state.json is not the state of run run-7 on a",
    ),
    (
        "not_ended",
        {"run_id": "run-7", "left": ["process 7 is still there", "docker rm failed: busy"]},
        "run run-7 may not have ended here: process 7 is still there, docker rm failed: busy",
    ),
    ("tests_over", {}, "the node is no longer held for tests"),
    (
        "port_taken",
        {"port": 6000, "why": "Address already in use"},
        "rendezvous port 6000 is not free here (Address already in use)",
    ),
    (
        "interface_unknown",
        {"variables": ["A", "B"], "why": "ip is not installed"},
        "no interface can be found for A, B: ip is not installed",
    ),
    (
        "no_interface",
        {"variables": ["A"], "master": "10.0.0.1"},
        "no network interface of this node routes to 10.0.0.1, so A cannot be set",
    ),
    (
        "too_little_room",
        {"paths": ["/l", "/d"], "disk": "/", "needed_gib": 2.0, "free_gib": 0.04},
        "/l, /d need 2.0 GiB but have 0.0 GiB free; free up space there (du -xh /), or choose another log_dir or data "
        "folder",
    ),
    (
        "run_folder_unwritable",
        {"path": "/l", "why": "Permission denied"},
        "the run's folder /l cannot be written: Permission denied",
    ),
    (
        "run_folder_unreadable",
        {"path": "/l", "why": "Permission denied"},
        "the run's folder /l cannot be read: Permission denied",
    ),
    ("disk_full", {"path": "/l", "why": "No space left on device"}, "/l: No space left on device"),
    ("file_error", {"path": "/l", "why": "File too large"}, "/l: File too large"),
    ("checkout_missing", {"path": "/m"}, "the folder /m does not exist; it has to be the trainer's checkout"),
    ("script_missing", {"what": "training script", "path": "/m/t.sh"}, "the training script /m/t.sh does not exist"),
    ("device_missing", {"path": "/dev/kfd"}, "the device /dev/kfd does not exist"),
    (
        "mount_wrong",
        {"source": "/x", "reason": "/x does not exist", "command": "mkdir /x"},
        "/x does not exist",
    ),
    (
        "no_engine",
        {"looked_for": ["docker", "podman"]},
        "no container engine is installed here (looked for docker, podman)",
    ),
    (
        "engine_unknown",
        {"name": "lxc", "known": ["docker", "podman"]},
        "container_engine is 'lxc', not one of auto, none, docker, podman",
    ),
    ("engine_missing", {"name": "podman"}, "the container engine podman is not installed here"),
    ("engine_refused", {"command": "docker pull", "said": "no such image"}, "docker pull failed: no such image"),
    ("engine_slow", {"command": "docker pull", "seconds": 60.0}, "docker pull did not finish within 60 s"),
    ("engine_silent", {"said": "docker's daemon does not answer"}, "docker's daemon does not answer"),
    (
        "container_name_taken",
        {"name": "t", "image": "i:1", "status": "exited", "created": "2026-11-28T10:00:00"},
        "the container name t is taken by somebody else's container of i:1 (exited, created 2026-11-28T10:00:00); "
        "choose another container_name, or have its owner remove it",
    ),
    (
        "image_missing",
        {"image": "i:1", "archive": "/i.tar"},
        "the node has neither the image i:1 nor its archive /i.tar; copy the archive to the node, or omit "
        "training_image_archive so that the image is pulled",
    ),
    ("not_in_archive", {"image": "i:1", "archive": "/i.tar"}, "/i.tar does not contain the image i:1"),
    (
        "folder_of_other",
        {"path": "/l", "owner": "eve (uid 7)", "user": "root (uid 0)"},
        "/l belongs to eve (uid 7), not to root (uid 0), who runs this: it may be a trap; inspect it, then remove it",
    ),
    ("folder_is_link", {"path": "/l"}, "/l must be a folder, not a link; inspect it, then remove it"),
    (
        "folder_open",
        {"path": "/l", "mode": "0777", "quoted": "/l"},
        "others can write to /l (mode 0777)",
    ),
    ("loop_of_links", {"path": "/l"}, "/l contains a loop of links"),
    (
        "parent_open",
        {"path": "/l", "quoted": "/l"},
        "every user can write to /l and could replace a run's files",
    ),
    (
        "made_by_other",
        {"path": "/tmp/l", "owner": "eve (uid 7)", "folder": "/tmp"},
        "/tmp/l was created by eve (uid 7), as every user can write to /tmp: inspect it, then remove it, or choose "
        "another log_dir or training_run_id",
    ),
    *((code, {"said": "so said ssh"}, f"{one.cause} (so said ssh)") for code, one in UNREACHABLE.items()),
    *((code, {"said": "so said ssh"}, "so said ssh") for code in ("no_answer", "job_ended")),
    (
        "connected_without_answer",
        {"seconds": 330},
        "connected, but no answer for 330 s; a file system there may be hanging",
    ),
    ("task_silent", {"seconds": 90.0}, "it has not answered for 90 s"),
    (
        "program_not_run",
        {"python": "/no/python", "exit_status": 127, "said": "not found"},
        "/no/python did not run the program of this collection (exit status 127): not found. Python 3.8 or newer is "
        "needed there; set ansible_python_interpreter to it",
    ),
    (
        "become_program_missing",
        {"program": "sudo"},
        "sudo is missing, and Ansible needs it to become another user; install it, or set ansible_become=false",
    ),
    ("become_password_wrong", {}, "the sudo password is wrong; enter it with --ask-become-pass"),
    (
        "become_password_missing",
        {},
        "sudo asks for a password; add --ask-become-pass, or allow this login sudo without one",
    ),
    (
        "become_user_missing",
        {},
        "the user to become does not exist there, or cannot own files there; correct ansible_become_user, or set "
        "ansible_become=false",
    ),
    ("become_forbidden", {}, "this login may not use sudo; allow it, or set ansible_become=false"),
    ("become_failed", {"said": "no answer"}, "Ansible could not become another user: no answer"),
    ("run_silent", {"seconds": 60.2}, "no log of the run has grown for 60 s"),
    ("log_silent", {"seconds": 60.2}, "its log has not grown for 60 s"),
    ("loss_not_finite", {"loss": "nan", "step": 7}, "the loss is nan at step 7 (training_abort_on_nan)"),
    ("nan_iteration", {"step": 7}, "the trainer reported a NaN iteration at step 7 (training_abort_on_nan)"),
    ("steps_not_kept", {"most": 5}, "its log has more than 5 steps: the rest is not kept"),
    ("preflight_red", {"reasons": "GPUs: none"}, "its preflight is red: GPUs: none"),
)
OF_CODE = {code: problem(code, **values) for code, values, _text in ROWS}


@pytest.mark.parametrize(("code", "values", "text"), ROWS, ids=[code for code, *_rest in ROWS])
def test_a_problem_says(code: str, values: dict[str, t.Any], text: str) -> None:
    assert in_words([problem(code, **values)]) == text


def test_every_problem_is_in_the_table() -> None:
    assert set(problems.SENTENCES) == {code for code, *_rest in ROWS}


def test_several_problems_are_one_sentence() -> None:
    both = [OF_CODE["device_missing"], OF_CODE["engine_missing"]]
    assert in_words(both) == "the device /dev/kfd does not exist; the container engine podman is not installed here"


@pytest.mark.parametrize(
    ("code", "part"),
    [
        ("port_taken", "ss -ltnp 'sport = :6000'"),
        ("held", "Wait for that run"),
        ("program_not_run", "ansible_python_interpreter"),
        ("no_engine", "container_engine=none"),
        ("parent_open", "owner"),
        ("not_started_here", "training_run_id"),
        ("run_folder_unwritable", "log_dir"),
        ("too_little_room", "log_dir"),
        ("disk_full", "log_dir"),
        ("checkout_missing", "Put it there"),
        ("become_password_missing", "--become"),
        ("device_missing", "preflight.yml"),
    ],
)
def test_the_remedy_of_a_node_that_is_not_ready_follows_from_the_code(code: str, part: str) -> None:
    assert part in remedy_of([OF_CODE[code]])


def test_the_first_problem_with_a_remedy_of_its_own_decides() -> None:
    assert remedy_of([OF_CODE["device_missing"], OF_CODE["no_engine"]]) == remedy_of([OF_CODE["no_engine"]])
    assert "preflight.yml" in remedy_of([])


@pytest.mark.parametrize(
    ("code", "command"),
    [("held", "stop.yml"), ("folder_open", "chmod"), ("parent_open", "chmod"), ("mount_wrong", "mkdir")],
)
def test_a_command_is_in_the_remedy_and_not_in_the_title(code: str, command: str) -> None:
    assert command not in in_words([OF_CODE[code]])
    assert command in remedy_of([OF_CODE[code]])


def test_the_command_that_stops_a_run_quotes_its_name() -> None:
    assert remedy_of([OF_CODE["held"]]).endswith("-e training_run_id='a b'")


def test_every_remedy_names_values_of_its_problem() -> None:
    for code, remedy in problems.REMEDIES.items():
        assert {name for _text, name, *_way in string.Formatter().parse(remedy) if name} <= {
            *OF_CODE[code]["values"],
            *problems.SOME_CALL,
        }


@pytest.mark.parametrize(
    ("code", "part"),
    [
        ("unknown_host", "ansible_host"),
        ("login_refused", "ssh-copy-id"),
        ("host_key_unknown", "ssh-keyscan"),
        ("host_key_changed", "ssh-keygen -R"),
        ("connection_refused", "sshd"),
        ("no_route", "BMC"),
        ("timeout", "firewall"),
        ("connection_ended", "MaxStartups"),
        ("no_answer", "management network"),
    ],
)
def test_each_cause_of_an_unreachable_node_has_its_own_remedy(code: str, part: str) -> None:
    reason, remedy = why_unreachable(OF_CODE[code])
    assert part in remedy
    assert "so said ssh" in reason
    assert reason[0].isupper()


def test_a_node_that_says_nothing_is_unreachable_as_well() -> None:
    silent: Problem = problem("no_answer", said="")
    assert why_unreachable(silent)[0] == "The node did not answer: nothing more is known"
