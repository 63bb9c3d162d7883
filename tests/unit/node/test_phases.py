from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from real_training import iteration, processes_with, wait_until

from ansible_collections.trainops.cluster.plugins.module_utils.logs import parts
from ansible_collections.trainops.cluster.plugins.module_utils.node import processes
from ansible_collections.trainops.cluster.plugins.module_utils.node.agent import answer_to
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.gpus import has_no_accelerator
from ansible_collections.trainops.cluster.plugins.module_utils.node.phase import NodeError, RunGoneError
from ansible_collections.trainops.cluster.plugins.module_utils.node.phases import follow, stage

# A script that continues when a test lets it.
WAIT_FOR = 'wait_for() { while [ ! -e "$1" ]; do sleep 0.02; done; }\n'
FOR_EVER = "while :; do sleep 0.1; done\n"


def steps(answer):
    return [step for block in answer["blocks"] for step in block["steps"]]


def test_stage_makes_a_run_ready_once_and_then_changes_nothing(training):
    run = training()
    assert run.stage()["changed"] is True
    assert run.stage()["changed"] is False
    assert run.stage()["status"] == "staged"
    assert {path.name for path in Path(run.node["run_folder"]).iterdir()} == {"launch.sh", "state.json"}


def test_stage_takes_a_changed_plan_over(training):
    run = training()
    run.stage()
    run.node["env"]["SEQ_LENGTH"] = "4096"
    assert run.stage()["changed"] is True
    assert "SEQ_LENGTH=4096" in Path(run.node["run_folder"], "launch.sh").read_text()


def test_stage_in_check_mode_tells_what_would_change_and_writes_nothing(training):
    run = training()
    assert run.stage(check_mode=True)["changed"] is True
    assert not Path(run.node["run_folder"]).exists()
    run.stage()
    assert run.stage(check_mode=True)["changed"] is False


def test_stage_tells_all_that_is_missing_at_once(training):
    run = training()
    run.node["working_dir"] = "/nowhere/Megatron-LM"
    with socket.socket() as taken:
        taken.bind(("", run.node["master_port"]))
        taken.listen()
        with pytest.raises(NodeError) as refused:
            run.stage()
    assert "the folder /nowhere/Megatron-LM does not exist" in str(refused.value)
    assert f"rendezvous port {run.node['master_port']} is not free here" in str(refused.value)
    assert not Path(run.node["run_folder"]).exists()


def without_accelerator() -> None:
    """Skip the test on a machine that may have an accelerator."""
    if not has_no_accelerator("/"):
        pytest.skip("this machine may have an accelerator")


@pytest.mark.parametrize("check_mode", [False, True])
def test_stage_refuses_a_machine_without_the_accelerator_of_the_plan(training, check_mode):
    without_accelerator()
    run = training()
    run.in_workspace("train.sh").unlink()
    with pytest.raises(NodeError) as refused:
        run.stage(gpu="mi300x", check_mode=check_mode)
    assert [one["code"] for one in refused.value.problems] == ["no_gpu", "script_missing"]
    assert not Path(run.node["run_folder"]).exists()


def test_stage_takes_a_machine_without_accelerators_that_the_plan_does_not_require(training):
    assert training().stage(gpu=None)["status"] == "staged"


def test_stage_tells_a_training_script_that_is_missing(training):
    run = training()
    run.in_workspace("train.sh").unlink()
    with pytest.raises(NodeError, match=r"the training script \S+/workspace/train\.sh does not exist"):
        run.stage()


def test_stage_tells_a_script_of_the_dataset_that_is_missing(training):
    run = training()
    run.node["dataset"] = {"script": "prepare.sh"}
    with pytest.raises(NodeError, match=r"^the dataset script \S+/workspace/prepare\.sh does not exist$"):
        run.stage()


@pytest.mark.parametrize("place", [{"nnodes": 1}, {"node_rank": 1}], ids=["the only node", "not the first node"])
def test_the_port_is_only_asked_of_the_node_where_the_others_meet(place, training):
    run = training()
    run.node |= place
    with socket.socket() as taken:
        taken.bind(("", run.node["master_port"]))
        taken.listen()
        assert run.stage()["status"] == "staged"


def test_stage_tells_a_folder_that_cannot_be_written(training):
    run = training()
    (run.folder / "logs").write_text("a file, where a folder has to be")
    with pytest.raises(NodeError, match=r"the run's folder \S+ cannot be \w+: Not a directory"):
        run.stage()


def test_stage_writes_what_comes_along_into_the_folder_of_the_run(training):
    run = training()
    run.stage(files={"trainer/pretrain.py": "print()\n"})
    assert Path(run.node["run_folder"], "trainer/pretrain.py").read_text() == "print()\n"


def test_a_node_is_held_for_one_run_until_that_is_stopped(training):
    first, second = training(), training(run_id="run-2")
    first.stage()
    with pytest.raises(NodeError, match=r"the node is held by run run-1\b"):
        second.stage()
    assert not Path(second.node["run_folder"]).exists()
    first.stop()
    assert second.stage()["status"] == "staged"


def test_a_node_is_free_again_when_its_run_has_ended_even_where_nobody_stopped_it(training):
    training().run_to_its_end()
    assert training(run_id="run-2").run_to_its_end()["exit_status"] == 0


def test_a_node_is_held_by_what_really_runs_there(training):
    first = training("touch begun\n" + FOR_EVER)
    first.begin_until("begun")
    # The state is lost, the processes are not.
    Path(first.node["run_folder"], "state.json").unlink()
    with pytest.raises(NodeError, match=r"the node is held by run run-1\b"):
        training(run_id="run-2").stage()


def test_an_engine_that_is_not_known_is_refused(training):
    with pytest.raises(ValueError, match="container_engine is 'lxc'"):
        training().stage(container_engine="lxc")


def test_a_run_that_was_not_staged_cannot_be_started(training):
    with pytest.raises(NodeError, match="run run-1 is not staged here and cannot be started"):
        training().start()


def test_a_second_start_starts_nothing(training):
    run = training('echo "$$" >>started\n' + FOR_EVER)
    run.begin()
    wait_until(lambda: run.in_workspace("started").exists() and run.in_workspace("started").read_text())
    launched = run.launch_pid()
    assert run.start() == {"changed": False, "status": "running"}
    assert run.launch_pid() == launched
    commands = []
    for pid in processes_with(run.mark):
        # The training starts processes that end meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            commands.append(Path(f"/proc/{pid}/cmdline").read_bytes())
    assert sum(b"launch.sh" in command for command in commands) == 1


@pytest.mark.parametrize("exit_status", [0, 1, 77])
def test_the_exit_status_of_the_training_is_that_of_the_run(exit_status, training):
    run = training(f"echo last words\nexit {exit_status}")
    answer = run.run_to_its_end()
    assert (answer["status"], answer["exit_status"]) == ("exited", exit_status)
    assert answer["last_lines"][1:] == ["last words"]
    assert answer["log_run_id"] == "run-1"
    assert answer["started_at"] <= answer["ended_at"] <= answer["now"]


@pytest.mark.parametrize("ahead", [-3600, 3600])
def test_the_end_is_by_the_clock_of_the_node_and_not_of_its_file_server(training, ahead):
    run = training("sleep 0.2; exit 3")
    run.begin()
    began = time.time()
    recorded = Path(run.node["run_folder"], "exit_status")
    wait_until(recorded.exists)
    wait_until(lambda: not processes_with(run.mark))
    written = recorded.stat().st_mtime
    os.utime(recorded, (written + ahead, written + ahead))
    assert began <= run.follow(wait_seconds=30)["ended_at"] <= written + 1


def test_for_how_long_a_training_ran_is_told_by_the_monotonic_clock(training):
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    ran = training("sleep 0.2").run_to_its_end()["ran_seconds"]
    assert 0.15 < ran < time.clock_gettime(time.CLOCK_BOOTTIME) - before + 0.05


def test_a_training_script_that_was_killed_ends_with_the_status_of_its_signal(training):
    answer = training("kill -KILL $$").run_to_its_end()
    assert (answer["status"], answer["exit_status"]) == ("exited", 137)


def test_a_launch_script_that_was_killed_leaves_no_exit_status(training):
    run = training("touch begun\n" + FOR_EVER)
    run.begin_until("begun")
    os.kill(run.launch_pid(), signal.SIGKILL)
    answer = run.follow(wait_seconds=600)
    assert (answer["status"], answer["exit_status"]) == ("killed", None)
    assert run.stop()["changed"] is True
    assert processes_with(run.mark) == set()
    assert run.follow()["status"] == "killed"


def test_follow_tells_a_running_training_without_waiting_longer_than_asked(training):
    run = training("touch begun\n" + FOR_EVER)
    run.begin_until("begun")
    answer = run.follow()
    assert (answer["status"], answer["exit_status"], answer["ended_at"]) == ("running", None, None)
    assert "last_lines" not in answer


def test_follow_returns_what_is_new_since_the_cursor(training):
    run = training(
        WAIT_FOR + f'echo "{iteration(1)}"; echo "{iteration(2)}"\ntouch first; wait_for go\n'
        f'echo "{iteration(3)}"; echo "RuntimeError: HIP out of memory. Tried to allocate"; exit 1\n'
    )
    run.begin_until("first")
    first = run.follow()
    assert steps(first) == [1, 2]
    assert first["blocks"][0]["metrics"]["tokens_per_sec_per_gpu"][0] == 1000.0 * 1000 / 50
    assert first["log_bytes"] == len(run.log())
    again = run.follow(first["cursor"])
    assert (again["blocks"], again["log_bytes"]) == ([], first["log_bytes"])
    run.in_workspace("go").touch()
    last = run.follow(again["cursor"], wait_seconds=600)
    assert steps(last) == [3]
    assert [failure["class"] for failure in last["failures"]] == ["out_of_memory"]
    assert (last["status"], last["exit_status"]) == ("exited", 1)


def test_what_is_staged_is_started_and_followed_in_one_round_trip_and_never_twice(training):
    run = training("echo begun >>begun")
    with pytest.raises(NodeError, match="is not staged here"):
        run.follow(start=True)
    run.stage()
    first = run.follow(wait_seconds=60, start=True)
    assert (first["changed"], first["status"], first["exit_status"]) == (True, "exited", 0)
    again = run.follow(start=True)
    assert (again["changed"], again["status"]) == (False, "exited")
    assert run.in_workspace("begun").read_text() == "begun\n"


def test_follow_tells_a_long_log_in_several_answers_and_the_end_with_the_last(training, monkeypatch):
    monkeypatch.setattr(follow, "_READ_BYTES", 1)
    monkeypatch.setattr(parts, "_CHUNK_BYTES", 64)
    run = training("".join(f'echo "{iteration(step)}"\n' for step in range(1, 11)) + "exit 3")
    run.begin()
    answers = [run.follow(wait_seconds=600)]
    while answers[-1]["status"] == "running":
        answers.append(run.follow(answers[-1]["cursor"]))
    assert len(answers) > 3
    assert [step for answer in answers for step in steps(answer)] == list(range(1, 11))
    assert {(answer["exit_status"], answer["ended_at"]) for answer in answers[:-1]} == {(None, None)}
    assert (answers[-1]["status"], answers[-1]["exit_status"]) == ("exited", 3)
    assert answers[-1]["last_lines"][-1] == iteration(10)


def test_follow_tells_which_network_and_how_many_ranks_the_log_names_also_to_whoever_follows_anew(training):
    run = training("echo 'using world size: 16, x'; echo 'n1:1:2 [0] NCCL INFO Using network Socket'")
    for answer in (run.run_to_its_end(), run.follow()):
        assert (answer["transports"], answer["world_size"]) == (["NET/Socket"], 16)


def test_follow_turns_sequences_into_tokens_where_the_trainer_prints_those(training):
    run = training("echo 'Epoch 0:   3%|#| 3/91 [03:00<88:00, 60.00s/it, throughput=0.5]'")
    run.framework = "nxdt"
    [block] = run.run_to_its_end()["blocks"]
    assert block["metrics"]["tokens_per_sec_per_gpu"] == [50.0]


def test_follow_reads_a_last_line_that_was_never_ended(training):
    answer = training(f'printf %s "{iteration(10)}"').run_to_its_end()
    assert steps(answer) == [10]


@pytest.mark.parametrize(("steps", "classes"), [(1, ["out_of_memory"]), (0, [])])
def test_follow_tells_at_the_end_what_failed_behind_the_last_step(steps, classes, training):
    run = training(
        f'echo "RuntimeError: HIP error: no"; {f"echo {iteration(1)!r}" if steps else ":"}\n'
        'echo "RuntimeError: HIP out of memory. Tried to allocate"'
    )
    for answer in (run.run_to_its_end(), run.follow()):
        at_end = answer.get("failures_at_end")
        assert (at_end and [failure["class"] for failure in at_end]) == classes


def test_follow_survives_that_somebody_removed_the_log(training):
    run = training(f'echo "{iteration(1)}"')
    cursor = run.run_to_its_end()["cursor"]
    Path(run.node["log_file"]).unlink()
    answer = run.follow(cursor)
    assert (answer["status"], answer["last_lines"], answer["failures_at_end"]) == ("exited", [], [])


def test_whoever_follows_anew_is_told_everything_again(training):
    run = training(f'echo "{iteration(1)}"; exit 4')
    first = run.run_to_its_end()
    again = run.follow()
    assert again["blocks"] == first["blocks"]
    assert (again["status"], again["exit_status"], again["ended_at"]) == ("exited", 4, first["ended_at"])


def test_stop_lets_a_training_clean_up(training):
    run = training('trap "echo cleaned; touch cleaned; exit 0" TERM\ntouch begun\n' + FOR_EVER)
    run.begin_until("begun")
    answer = run.stop()
    assert (answer["changed"], answer["status"]) == (True, "stopped")
    assert processes_with(run.mark) == set()
    assert run.in_workspace("cleaned").exists()
    assert run.follow()["status"] == "stopped"


def test_stop_ends_what_ignores_sigterm_and_what_left_for_a_session_of_its_own(training):
    run = training(
        "trap '' TERM\n"
        "setsid bash -c 'trap \"\" TERM; touch detached; while :; do sleep 0.1; done' &\n"
        "touch begun\n" + FOR_EVER
    )
    run.begin_until("begun", "detached")
    assert len(processes_with(run.mark)) >= 3
    assert run.stop(grace_seconds=0.2)["status"] == "stopped"
    assert processes_with(run.mark) == set()


def test_stop_ends_what_a_training_left_behind_and_keeps_its_exit_status(training):
    run = training("setsid bash -c 'while :; do sleep 0.1; done' </dev/null >/dev/null 2>&1 &\nexit 5")
    run.run_to_its_end()
    answer = run.stop()
    assert (answer["changed"], answer["status"]) == (True, "exited")
    assert processes_with(run.mark) == set()
    assert run.follow()["exit_status"] == 5


def test_stop_changes_nothing_where_everything_has_ended(training):
    run = training("exit 5")
    run.run_to_its_end()
    for _ in range(2):
        stopped = run.stop()
        assert stopped.pop("machine_changes")["booted"] is False
        assert stopped == {"changed": False, "status": "exited", "warnings": []}
    assert run.follow()["exit_status"] == 5


def test_stop_of_a_run_that_is_not_here_changes_nothing(training):
    assert training().stop() == {"changed": False, "status": "not_started", "warnings": []}


def test_a_run_that_was_stopped_stays_stopped(training):
    run = training("touch begun\n" + FOR_EVER)
    run.begin_until("begun")
    run.stop()
    again = run.stop()
    assert (again["changed"], again["status"]) == (False, "stopped")
    assert run.follow()["exit_status"] is None


@pytest.mark.parametrize(
    ("run_id", "node"),
    [("run-10", "{node}"), ("run-1", "{node}0"), ("run-2", "{node}"), ("run-1", "other")],
    ids=["a longer run_id", "a longer name of the node", "another run", "another node"],
)
def test_stop_never_touches_the_processes_of_another_run_or_node(run_id, node, training):
    run = training("touch begun\n" + FOR_EVER)
    # It carries the same labels with other values; as plain text, the values are part of each other.
    environment = {
        "TRAINOPS_RUN_ID": run_id,
        "TRAINOPS_NODE": node.format(node=run.node_name),
        "HINT": f"TRAINOPS_RUN_ID={run.run_id} TRAINOPS_NODE={run.node_name}",
    }
    run.begin_until("begun")
    stranger = subprocess.Popen(["/bin/sleep", "1000"], env=environment)
    try:
        wait_until(lambda: processes_with(f"HINT={environment['HINT']}"))
        run.stop(grace_seconds=0)
        assert processes_with(run.mark) - {stranger.pid} == set()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_training_outlives_whoever_started_it(training):
    run = training("read -r _ _ _ _ _ session _ </proc/$$/stat; echo session $session; exit 0")
    run.run_to_its_end()
    assert run.log().split()[-2:] == ["session", str(run.launch_pid())]
    assert run.launch_pid() != os.getsid(0)


def test_collect_returns_the_log_in_parts(training):
    run = training()
    run.stage()
    log = os.urandom(1000) * (9 * 1024) + b"the end"
    Path(run.node["log_file"]).write_bytes(log)
    first, answer = run.collect()
    assert 0 < len(first) < len(log)
    assert answer["size"] == len(log)
    second, answer = run.collect(len(first))
    assert first + second == log
    assert run.collect(answer["size"])[0] == b""


def test_collect_of_a_log_that_is_not_there_is_nothing(training):
    assert training().collect() == (b"", {"data": "", "size": 0})


def test_whoever_follows_a_training_that_is_being_stopped_sees_a_stop_and_no_kill(training):
    run = training("trap '' TERM\nwhile :; do sleep 0.1; done")
    run.begin()
    with ThreadPoolExecutor() as pool:
        follower = pool.submit(run.follow, wait_seconds=30)
        run.stop(grace_seconds=0.3)
    assert follower.result()["status"] == "stopped"


@pytest.mark.parametrize(
    ("recorded", "status", "exit_status"),
    [(None, "killed", None), (143, "killed", None), (0, "exited", 0), (1, "exited", 1)],
    ids=["killed by the boot", "ended by the shutdown", "done before it", "failed before it"],
)
def test_a_machine_that_booted_is_told_apart_from_a_training_that_was_killed(training, recorded, status, exit_status):
    run = training(FOR_EVER)
    run.begin()
    folder = Path(run.node["run_folder"])
    state = json.loads((folder / "state.json").read_text())
    state["before"]["boot_id"] = "the boot before"
    (folder / "state.json").write_text(json.dumps(state))
    if recorded is not None:
        (folder / "exit_status").write_text(f"{recorded}\n{time.time()}\n")
    answer = run.follow()
    assert (answer["status"], answer["exit_status"]) == (status, exit_status)
    assert answer.get("booted", False) is (status == "killed")
    assert run.stop()["machine_changes"]["booted"] is True


def test_a_run_folder_that_was_removed_is_called_so_and_its_processes_are_ended(training):
    run = training("touch begun\n" + FOR_EVER)
    run.begin_until("begun")
    Path(run.node["run_folder"], "state.json").unlink()
    with pytest.raises(RunGoneError, match=r"state\.json is gone: somebody removed it after the start"):
        run.follow()
    shutil.rmtree(run.node["run_folder"])
    with pytest.raises(RunGoneError, match=r"the run's folder \S+, with its log, is gone"):
        run.follow()
    run.stop()
    assert processes_with(run.mark) == set()


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lambda log: log.rename(f"{log}.1"), "was moved or removed while the training was writing it"),
        (lambda log: os.truncate(log, 3), "was truncated or replaced: it has 3 bytes, but "),
    ],
)
def test_a_log_that_was_moved_or_cut_is_called_so(harm, told, training):
    run = training(f'echo "{iteration(1)}"; touch begun\n' + FOR_EVER)
    run.begin_until("begun")
    first = run.follow()
    assert "log_problem" not in first
    harm(Path(run.node["log_file"]))
    assert told in run.follow(first["cursor"])["log_problem"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk of its own")
def test_a_full_disk_keeps_nobody_from_learning_the_end_and_is_named(training, tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "LEAST_BYTES", 1024)
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], check=True)
    try:
        run = training("wait_for() { while [ ! -e go ]; do sleep 0.02; done; }; wait_for\nexit 3")
        run.move_to(disk)
        run.begin()
        with contextlib.suppress(OSError), open(disk / "filler", "wb", buffering=0) as filler:
            while filler.write(b"x" * 4096):
                pass
        run.in_workspace("go").touch()
        answer = run.follow(wait_seconds=60)
        assert (answer["status"], answer["full_disk"]) == ("killed", run.node["run_folder"])
        assert run.stop()["status"] == "killed"
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


@contextlib.contextmanager
def no_room():
    """Let no file that this process writes have room for more than a few bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(("phase", "name"), [("stage", "claim.json"), ("start", "state.json")])
def test_a_file_that_a_disk_does_not_take_is_named_and_not_its_draft(phase, name, training, own_machine):
    run = training(FOR_EVER)
    run.stage()
    folders = {"claim.json": own_machine, "state.json": Path(run.node["run_folder"])}
    if phase == "stage":
        (own_machine / name).unlink()
    with no_room():
        refused = answer_to(run.request(phase=phase))
    values = {"path": f"{folders[name]}/{name}", "why": "File too large"}
    assert refused["problems"] == [{"code": "file_error", "values": values}]
    assert refused["message"] == f"{folders[name]}/{name}: File too large"


def test_a_machine_without_room_keeps_no_run_from_its_end(training):
    run = training()
    run.stage()
    with no_room():
        assert run.stop()["status"] == "not_started"
    assert training(run_id="run-2").stage()["status"] == "staged"


def test_what_went_wrong_with_no_file_is_told_without_one(training, monkeypatch):
    run = training()
    run.stage()
    monkeypatch.setattr(processes, "begin", lambda *_args, **_options: os.close(1 << 20))
    assert answer_to(run.request(phase="start"))["message"] == "Bad file descriptor"


def test_a_disk_without_room_for_the_run_is_named_while_staging(training, monkeypatch):
    run = training()
    monkeypatch.setattr(stage, "LEAST_BYTES", 1 << 60)
    with pytest.raises(NodeError, match=r"/logs/run-1/node-\S+ need 1,073,741,824.0 GiB but have \S+ GiB free; free"):
        run.stage()
    assert not Path(run.node["run_folder"]).exists()
