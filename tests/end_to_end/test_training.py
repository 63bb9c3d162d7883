"""The main job from config to verdict, on two nodes of this machine."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from faults import kernel_of_its_own
from finished_runs import changeable, finished_run, folder_of
from not_run import need, need_root
from playbook_bench import ROOT, Bench, Finished, wait_until
from ports import free_port
from recaps import blamed, changes, recap

TWO = {"node0": {}, "node1": {}}


@pytest.fixture
def passed():
    return finished_run("pass")


@pytest.mark.slow
@pytest.mark.long  # the matrix of versions runs it, too
def test_the_demo_passes_names_its_report_and_learns():
    demo = finished_run("demo")
    assert demo.status == 0, demo.output
    assert demo.output.rstrip().endswith(f"Report: {demo.run_dir}/report.html")
    assert f"PASS  {demo.run_dir.name}" in demo.output
    assert any(line.endswith("left") for line in demo.output.splitlines() if line.startswith("step "))
    assert loss(demo, "node0", 30) < loss(demo, "node0", 1) - 1
    for node in TWO:
        assert "iteration       30/      30" in (demo.run_dir / "nodes" / node / "train.log").read_text()


def test_a_run_passes_and_names_its_report(passed):
    assert passed.status == 0, passed.output
    assert passed.output.rstrip().endswith(f"Report: {passed.run_dir}/report.html")
    assert f"PASS  {passed.run_dir.name}" in passed.output


def test_the_last_step_is_shown_before_the_training_is_done(passed):
    lines = passed.output.splitlines()
    last = max(number for number, line in enumerate(lines) if line.startswith("step "))
    assert lines.index("changed: [node0] Start all ranks and follow the training") > last


def test_a_good_run_is_shown_on_a_screen(passed):
    # How many lines follow the steps depends on how fast the machine is.
    assert len([line for line in passed.output.splitlines() if not line.startswith("step ")]) <= 45, passed.output
    assert "TASK [" not in passed.output


def test_a_run_tells_its_progress(passed):
    following = passed.output.split(f"Run {passed.run_dir.name}\n")[1].split("PLAY RECAP")[0]
    lines = [line for line in following.splitlines() if line.startswith("step ")]
    assert any("/30" in line and " ms  " in line and "tokens/s per GPU" in line and "loss" in line for line in lines)


def records(done: Finished) -> list[dict[str, str]]:
    with open(done.run_dir / "records.csv", newline="") as stream:
        return list(csv.DictReader(stream))


def loss(done: Finished, node: str, step: int) -> float:
    wanted = {"node": node, "step": str(step), "metric": "loss"}
    (found,) = [float(row["value"]) for row in records(done) if wanted.items() <= row.items()]
    return found


def test_a_run_writes_records_of_both_nodes_and_every_step(passed):
    rows = records(passed)
    of_step = ["run_id", "attempt", "node", "node_rank", "step"]
    assert list(rows[0]) == [*of_step, "metric", "value", "unit", "counted", "clock"]
    losses = {(row["node"], int(row["step"])) for row in rows if row["metric"] == "loss"}
    assert losses == {(node, step) for node in TWO for step in range(1, 31)}
    assert loss(passed, "node0", 30) < loss(passed, "node0", 1)
    assert {row["metric"] for row in rows} >= {"step_time_ms", "tflops_per_gpu", "tokens_per_sec_per_gpu", "loss"}


def test_a_run_writes_a_summary_that_says_what_the_verdict_rests_on(passed):
    summary = passed.summary
    assert summary["verdict"] == "PASS"
    assert summary["run_id"] == passed.run_dir.name
    tokens = summary["metrics"]["tokens_per_sec_per_gpu"]
    assert tokens["met"] is True
    assert tokens["direction"] == "min"
    warm_up = summary["warm_up"]
    assert (warm_up["detected"], warm_up["steps"]) == (False, 2)
    assert (tokens["samples"], tokens["first_step"], tokens["last_step"]) == (
        2 * (30 - warm_up["steps"]),
        warm_up["steps"] + 1,
        30,
    )
    assert {"loss_falls", "logs", "world"} <= {reason["code"] for reason in summary["reasons"]}
    assert {node["exit_code"] for node in summary["nodes"]} == {0}


def test_a_run_leaves_plan_table_page_and_logs(passed):
    plan = json.loads((passed.run_dir / "plan.json").read_text())
    assert [node["node"] for node in plan["nodes"]] == ["node0", "node1"]
    assert (passed.run_dir / "summary.csv").read_text().startswith("run_id,")
    assert passed.run_dir.name in (passed.run_dir / "report.html").read_text()
    for node in ("node0", "node1"):
        assert "iteration       30/      30" in (passed.run_dir / "nodes" / node / "train.log").read_text()


@pytest.mark.slow
def test_a_rank_that_hangs_is_stopped_when_another_fails_even_if_it_ignores_sigterm(bench):
    root = bench.megatron(
        'export "$@"\n[ "$NODE_RANK" = 1 ] && { echo "RuntimeError: HIP out of memory. Tried to allocate"; exit 1; }\n'
        "trap '' TERM\nwhile :; do sleep 0.1; done\n"
    )
    done = bench.play("megatron_multinode.yml", bench.inventory(**TWO), bench.config(), training_megatron_root=root)
    assert done.status != 0
    first = done.summary["first_failure"]
    assert (first["node"], first["node_rank"], first["class"]) == ("node1", 1, "out_of_memory")
    assert re.search(r"\nnode1 .* failed=1\b", done.output)
    assert bench.trainings() == []


@pytest.mark.slow
def test_a_script_that_hides_a_crash_behind_exit_status_0_does_not_pass(bench):
    root = bench.megatron(
        'for i in 1 2 3 4 5 6; do echo " iteration $i/ 8 | elapsed time per iteration (ms): 10.0 | lm loss: 4.0E+00 |'
        ' number of nan iterations: 0 |"; done; echo "throughput per GPU: nan"; exit 0\n'
    )
    done = bench.play("megatron_multinode.yml", bench.inventory(**TWO), bench.config(), training_megatron_root=root)
    assert done.status != 0
    assert done.summary["verdict"] == "FAIL"
    assert "last_step_missing" in {reason["code"] for reason in done.summary["reasons"]}


def test_a_threshold_that_is_missed_fails_the_play_after_the_report_is_written():
    done = finished_run("fail")
    assert done.status != 0
    assert done.summary["verdict"] == "FAIL"
    assert done.summary["metrics"]["step_time_ms"]["met"] is False
    assert (done.run_dir / "report.html").exists()
    assert "the allowed 0.001 ms" in done.output


@pytest.mark.slow
def test_a_node_without_python_leaves_a_verdict_that_says_so():
    done = finished_run("error")
    assert done.status != 0
    assert "set ansible_python_interpreter to it" in " ".join(done.output.split())
    assert done.summary["verdict"] == "ERROR"
    assert "/nowhere/python3" in json.dumps(done.summary)
    assert not list(done.runs.parent.glob("nodes/*/*/train.log"))


SILENT_NCCL = {"nccl_ib_hca_list": "mlx5_0", "nccl_debug": "ERROR"}
"""As users' own configs have it."""


def of_its_own(bench: Bench) -> tuple[dict, Path]:
    """Return variables of a node with a GPU, and a kernel of its own, and the folder of its port's counters."""
    need_root("only root can mount files over those of the kernel")
    need("unshare")
    own = kernel_of_its_own(bench)
    counters = bench.folder / "class/infiniband/mlx5_0/ports/1/counters"
    gpu = bench.folder / "class/kfd/kfd/topology/nodes/1"
    gpu.mkdir(parents=True)
    (gpu / "gpu_id").write_text("5\n")
    (gpu / "properties").write_text("location_id 3072\ndomain 0\n")
    for name in ("port_xmit_data", "port_rcv_data"):
        (counters / name).write_text("7\n")
    return own, counters


def sends(bench: Bench, counters: Path, sent: int, xid: int = 0) -> str:
    """Return a Megatron-LM that sends this many bytes while it trains, after which node1's GPU fails with an Xid."""
    logged = f'echo "3,1,$(cut -d. -f1 /proc/uptime)999999,-;NVRM: Xid (PCI:0000:3b:00): {xid}, pid=7"'
    # The counters are in words of four bytes, and count once both nodes have begun.
    return bench.megatron(
        f'cd {ROOT}/roles/training/files/trainer && bash examples/llama/train_llama3.sh "$@"\n'
        f"ended=$?; echo {7 + sent // 4} >{counters}/port_xmit_data\n"
        f'[ {xid} = 0 ] || [ "$TRAINOPS_NODE" = node0 ] || {logged} >>{bench.folder}/kmsg\nexit $ended\n'
    )


def codes(summary: dict) -> set[str]:
    return {reason["code"] for reason in summary["reasons"]}


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "verdict"), [(10**9, "PASS"), (1000, "INCONCLUSIVE")], ids=["enough", "too little"])
def test_rdma_is_proven_by_the_counters_of_the_ports_while_nccl_says_nothing(bench, sent, verdict):
    own, counters = of_its_own(bench)
    hosts, root = bench.inventory(node0=own, node1=own), sends(bench, counters, sent)
    config = bench.config(**SILENT_NCCL)
    # A training that was planned for CPUs needs no RDMA.
    config.write_text(config.read_text().replace('"cpu": {', '"mi300x": {'))
    done = bench.play("megatron_multinode.yml", hosts, config, training_megatron_root=root, training_require_gpu=False)
    assert done.summary["verdict"] == verdict, done.output
    assert codes(done.summary) & {"transport", "low_traffic"} == {"transport" if verdict == "PASS" else "low_traffic"}


@pytest.mark.slow
def test_nodes_that_fall_back_to_tcp_are_named_with_the_first_step_and_fail_the_run(bench):
    line = "gpu01:7:9 [0] NCCL INFO NET/Socket : Using [0]lo:127.0.0.1<0>"
    trainer = f'cd {ROOT}/roles/training/files/trainer && bash examples/llama/train_llama3.sh "$@"\n'
    root = bench.megatron(f'echo "{line}"\n{trainer}')
    config = bench.config(training_iterations="40", nccl_ib_hca_list="mlx5_0", nccl_debug="INFO")
    config.write_text(config.read_text().replace('"cpu": {', '"mi300x": {'))
    hosts = bench.inventory(node0={}, node1={})
    done = bench.play("megatron_multinode.yml", hosts, config, training_megatron_root=root, training_require_gpu=False)
    lines = done.output.splitlines()
    # A line about the steps comes once a second, however many there were.
    first = next(place for place, line in enumerate(lines) if re.match(r"step +\d+/40", line))
    assert any("!! TCP, not RDMA, on node" in line for line in lines[: first + 1]), done.output
    # Where the first line comes before the answer of one node, the next line about the steps names both.
    second = next(place for place, line in enumerate(lines) if place > first and re.match(r"step +\d+/40", line))
    assert any("!! TCP, not RDMA, on node[0-1]" in line for line in lines[: second + 1]), done.output
    assert (done.summary["verdict"], codes(done.summary) & {"tcp_transport"}) == ("FAIL", {"tcp_transport"})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("xid", "verdict"),
    [(79, "FAIL"), pytest.param(94, "PASS", marks=pytest.mark.slow)],
    ids=["off the bus", "contained"],
)
def test_what_the_kernel_says_of_a_gpu_counts_although_the_run_trained_to_its_end(bench, xid, verdict):
    own, counters = of_its_own(bench)
    hosts, root = bench.inventory(node0={}, node1=own), sends(bench, counters, 0, xid)
    done = bench.play("megatron_multinode.yml", hosts, bench.config(), training_megatron_root=root)
    assert done.summary["verdict"] == verdict, done.output
    (told,) = [one for kind in ("reasons", "notes") for one in done.summary[kind] if one["code"].startswith("machine")]
    assert told["node"] == "node1"
    assert f"(Xid {xid})" in told["message"]
    assert (done.summary["first_failure"] or {}).get("node") == ("node1" if verdict == "FAIL" else None)
    assert f"(Xid {xid})" in (done.run_dir / "report.html").read_text()


def test_single_node_mode_runs_independent_jobs_and_one_failure_stops_no_other(bench):
    root = bench.megatron(
        'case "$TRAINOPS_NODE" in node1) echo "RuntimeError: it broke"; exit 3 ;; esac\n'
        f'cd {ROOT}/roles/training/files/trainer && exec bash examples/llama/train_llama3.sh "$@"\n'
    )
    config = bench.config("single_node", master_address="localhost", training_iterations="60")
    done = bench.play("megatron_single_node.yml", bench.inventory(**TWO), config, training_megatron_root=root)
    nodes = {node["node"]: node for node in done.summary["nodes"]}
    assert done.status != 0
    assert (nodes["node0"]["exit_code"], nodes["node0"]["last_step"]) == (0, 60)
    assert nodes["node1"]["exit_code"] == 3
    assert done.summary["first_failure"]["node"] == "node1"


@pytest.mark.slow
def test_single_node_mode_passes_when_every_node_does(bench):
    config = bench.config("single_node", master_address="localhost")
    done = bench.play("megatron_single_node.yml", bench.inventory(**TWO), config)
    assert done.status == 0, done.output
    assert {node["last_step"] for node in done.summary["nodes"]} == {8}


def test_what_is_missing_on_a_node_stops_the_run_before_any_rank_starts(bench):
    inventory = bench.inventory(node0={}, node1={"training_megatron_root": "/nowhere"})
    done = bench.play("megatron_multinode.yml", inventory, bench.config(), training_megatron_root="/nowhere")
    assert done.status != 0
    assert "the folder /nowhere does not exist" in done.output
    assert not list(bench.nodes.glob("*/*/train.log"))


@pytest.mark.slow
def test_a_node_that_is_lost_in_mid_run_leaves_a_verdict_and_no_other_node_running(bench):
    inventory = bench.inventory(**TWO)
    config = bench.config(training_iterations="100000")
    variables = {"training_run_id": "lost", "training_lost_timeout": 1, "training_master_port": free_port()}
    run = bench.start("megatron_multinode.yml", inventory, config, **variables)
    status = bench.runs / "lost/nodes/node1/status.json"
    wait_until(lambda: status.exists() and json.loads(status.read_text()).get("last_step"))
    bench.lose("node1")
    output, _ = run.communicate(timeout=120)
    assert run.returncode != 0
    assert re.search(r"\nnode1 .* unreachable=1\b", output), output
    summary = json.loads((bench.runs / "lost/summary.json").read_text())
    assert summary["verdict"] in ("FAIL", "ERROR")
    assert summary["first_failure"]["node"] == "node1"
    assert "No route to host" in summary["first_failure"]["message"]
    assert {node["node"]: node["state"] for node in summary["nodes"]}["node1"] == "unreachable"
    assert (bench.runs / "lost/report.html").exists()
    assert (bench.runs / "lost/nodes/node0/train.log").stat().st_size
    bench.find_again("node1")
    stopped = bench.play("stop.yml", inventory, config, training_run_id="lost")
    assert stopped.status == 0, stopped.output
    assert bench.trainings() == []


def test_attach_takes_up_a_run_that_is_over_and_says_that_it_did_not_start_it(bench):
    done, played = changeable("pass", bench.folder), Bench(folder_of("pass"))
    before, inventory, config = done.summary, played.folder / "hosts", played.folder / "config.json"
    attached = bench.play("attach.yml", inventory, config, training_run_id=done.run_dir.name)
    assert attached.status == 0, attached.output
    assert "not started by this command" in attached.output
    after = attached.summary
    assert (after["verdict"], after["ended_at"]) == (before["verdict"], before["ended_at"])
    assert bench.trainings() == []


@pytest.mark.slow
def test_a_command_that_is_given_again_judges_its_own_run_only_and_starts_nothing(bench):
    inventory, config = bench.inventory(**TWO), bench.config()
    same = {"training_run_id": "nightly", "training_master_port": free_port()}
    launch = ("megatron_multinode.yml", inventory, config)
    first = bench.play(*launch, **same)
    assert first.status == 0, first.output
    assert "not started by this command" not in first.output

    def kept():
        """The nodes' files of the run, except the program that they are sent."""
        return {path: path.stat().st_mtime for path in bench.nodes.glob("*/*/*") if path.name != "program"}

    before = kept()
    # The second one adds to the report that the training was over before, the third one nothing.
    second, third = bench.play(*launch, **same), bench.play(*launch, **same)
    assert f"finished at {first.summary['ended_at'][:10]}" in second.output
    assert "not started by this command" in second.output
    assert third.status == 0, third.output
    assert set(changes(third.output)) == {0}, third.output

    bench.config(training_iterations="9", sequence_length="2")
    other = bench.play(*launch, **same)
    assert other.status != 0
    assert "its plan differs in parameters.iterations" in other.output
    # The nodes know of the run as well.
    shutil.rmtree(bench.runs)
    refused = bench.play(*launch, **same)
    assert refused.status != 0
    assert refused.summary["verdict"] == "ERROR"
    assert "its plan differs in " in refused.output

    shutil.rmtree(bench.runs)
    bench.config()
    attached = bench.play("attach.yml", inventory, config, **same)
    assert attached.status == 0, attached.output
    assert "Resuming run nightly from its nodes" in attached.output
    assert "not started by this command" in attached.output
    assert attached.summary["ended_at"][:16] == first.summary["ended_at"][:16]
    assert kept() == before
    stopped = bench.play("stop.yml", inventory, config, **same)
    assert stopped.status == 0, stopped.output

    # Only node1 still has the run that the controller has forgotten.
    shutil.rmtree(bench.runs)
    shutil.rmtree(bench.nodes / "nightly/node0")
    fresh = bench.play(*launch, **same)
    assert fresh.status != 0
    assert "begun from another folder of runs; its plan is the same" in " ".join(fresh.output.split())
    assert fresh.summary["verdict"] == "ERROR"
    assert not any(path.stat().st_size for path in bench.runs.glob("nightly/nodes/*/train.log"))
    assert recap(fresh.output) == {"node0": (0, 0), "node1": (1, 0)}, fresh.output
    assert blamed(fresh.output) == {"node1"}, fresh.output


@pytest.mark.slow
def test_a_run_shows_steps_through_a_pipe_goes_on_without_its_controller_is_picked_up_and_stopped(bench):
    inventory, config = bench.inventory(**TWO), bench.config(training_iterations="100000")
    run = bench.start_as_user("megatron_multinode.yml", inventory, config, training_run_id="long")
    status = bench.runs / "long/nodes/node0/status.json"
    # Python would keep it in a buffer, as it does for tee, nohup or a CI server.
    shown = next(line for line in run.stdout if "/100000" in line)
    assert " ms  " in shown
    # If a node is late, it follows.
    assert " left" in shown

    def reached(step):
        return status.exists() and json.loads(status.read_text()).get("last_step", 0) >= step

    wait_until(lambda: reached(3))
    run.kill()
    run.communicate()
    wait_until(lambda: not bench.controllers())
    assert bench.trainings()
    refused = bench.play("megatron_multinode.yml", inventory, config, training_run_id="other")
    assert refused.status != 0
    assert "held by run long" in refused.output
    assert f"/stop.yml -i {inventory} -e training_output_dir={bench.runs} -e training_run_id=long" in refused.output
    attached = bench.start("attach.yml", inventory, config, training_run_id="long")
    last = json.loads(status.read_text())["last_step"]
    wait_until(lambda: reached(last + 3))
    stopped = bench.play("stop.yml", inventory, config, training_run_id="long")
    output, _ = attached.communicate(timeout=60)
    assert stopped.status == 0, stopped.output
    assert bench.trainings() == []
    assert attached.returncode != 0
    assert "node[0-1] were stopped before the training finished" in output
    assert "lost the connection" not in output
    assert (bench.runs / "long/nodes/node1/train.log").stat().st_size > 0


def test_a_name_that_is_taken_or_not_known_and_a_folder_without_a_name_are_refused_with_one_reason_each(bench):
    done = changeable("pass", bench.folder)
    inventory, config, taken = bench.inventory(**TWO), bench.config(), done.run_dir.name
    other = bench.play("plan.yml", inventory, config, training_run_id=taken, training_write_run=True)
    assert other.status != 0
    assert f"{taken} has another run of this name" in other.output
    assert "caused by" not in other.output
    unknown = bench.play("stop.yml", inventory, config, training_run_id="nosuch")
    assert unknown.status != 0
    assert "has no run 'nosuch'" in unknown.output
    nowhere = bench.play("megatron_multinode.yml", inventory, config, training_output_dir="")
    assert nowhere.status != 0
    assert "training_output_dir" in nowhere.output
    assert "It is empty." in nowhere.output
    assert "has no run" not in nowhere.output


def test_check_mode_plans_and_looks_but_starts_nothing(bench):
    done = bench.play("megatron_multinode.yml", bench.inventory(**TWO), bench.config(), "--check")
    assert done.status == 0, done.output
    assert "nodes running" not in done.output
    assert not bench.runs.exists()
    assert not bench.nodes.exists()


@pytest.mark.slow
def test_a_hung_training_is_found_by_its_silent_log(bench):
    root = bench.megatron("echo begun\nwhile :; do sleep 0.1; done\n")
    done = bench.play(
        "megatron_multinode.yml",
        bench.inventory(**TWO),
        bench.config(),
        training_megatron_root=root,
        training_stall_timeout=2,
    )
    assert done.status != 0
    assert "node_stalled" in {reason["code"] for reason in done.summary["reasons"]}
    assert bench.trainings() == []


@pytest.mark.slow
def test_of_a_training_that_hangs_the_rank_that_holds_the_others_up_is_named(bench):
    config = bench.config(training_iterations="100000")
    run = bench.start("megatron_multinode.yml", bench.inventory(**TWO), config, training_stall_timeout=4)
    status = wait_until(lambda: next(iter(bench.runs.glob("*/nodes/node1/status.json")), None))
    wait_until(lambda: json.loads(status.read_text()).get("last_step", 0) > 3)
    for pid in bench.trainings():
        if b"TRAINOPS_NODE=node1" in Path(f"/proc/{pid}/environ").read_bytes():
            os.kill(pid, signal.SIGSTOP)
    output, _ = run.communicate(timeout=120)
    assert run.returncode != 0
    assert re.search(r"\nnode1 .* failed=1\b", output), output
    summary = json.loads(next(bench.runs.glob("*/summary.json")).read_text())
    assert summary["verdict"] == "FAIL"
    assert (summary["first_failure"]["node"], summary["first_failure"]["class"]) == ("node1", "stalled")
    assert "Rank 1 on node1 holds the others up: it is stopped by a signal (1 of 2 ranks)." in " ".join(output.split())
    assert bench.trainings() == []


@pytest.mark.slow
def test_a_run_works_through_a_become_method_that_takes_no_standard_input(bench):
    need_root("only root becomes another user here without a password")
    inventory = bench.inventory(node0={}, node1={})
    done = bench.play("megatron_multinode.yml", inventory, bench.config(), "--become", "--become-method", "su")
    assert done.status == 0, done.output


def test_make_demo_in_a_terminal_ends_with_the_report():
    # These tests may themselves be called by make, which tells its children to print the names of their folders.
    recipe = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "demo"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert recipe[-1].endswith("ansible-playbook playbooks/megatron_multinode.yml -i inventories/local/hosts")


def test_a_rehearsal_runs_the_plan_of_a_real_config_with_the_embedded_trainer(bench):
    example = json.loads((ROOT / "examples/megatron/mi3xx_megatron_llama_distributed.json").read_text())
    example["config"] |= {
        "nnodes": "2",
        "master_address": "127.0.0.1",
        "training_iterations": "5000",
        "nic_type": "thor2",
        "nccl_ib_hca_list": "bnxt_re0,bnxt_re1",
        "nccl_socket_ifname": "lo",
        "gloo_socket_ifname": "lo",
        "nccl_ib_gid_index": "3",
        "log_dir": str(bench.nodes),
    }
    del example["config"]["hf_token_file"]
    config = bench.folder / "distributed.json"
    config.write_text(json.dumps(example))
    inventory = bench.inventory(node0={"training_gpus_per_node": 8}, node1={"training_gpus_per_node": 8})
    done = bench.play(
        "megatron_multinode.yml",
        inventory,
        config,
        training_model="llama3_1_70b",
        training_gpu="mi300x",
        training_rehearsal="true",
    )
    assert done.status == 0, done.output
    assert f"REHEARSAL PASS  {done.run_dir.name}" in done.output
    assert done.summary["rehearsal"] is True
    assert done.summary["thresholds_judged"] is False
    assert "<title>REHEARSAL PASS" in (done.run_dir / "report.html").read_text()
    plan = json.loads((done.run_dir / "plan.json").read_text())
    assert plan["nodes"][1]["env"]["NCCL_IB_HCA"] == "bnxt_re0,bnxt_re1"
    assert "NODE_RANK=1" in plan["nodes"][1]["argv"]


PREPARE_DATASET = """\
[ -e "$DATA_DIR/broken" ] && { echo "no route to the dataset"; exit 42; }
echo "$TRAINOPS_NODE" >>"$DATA_DIR/fetched_by"
# The embedded trainer reads the file DATA_PATH itself, Megatron-LM the two with the ends .bin and .idx.
for end in "" .bin .idx; do yes "one line of $DATASET" | head -n 200 >"$DATA_DIR/data_text_document$end"; done
"""


@pytest.fixture
def fetching(bench):
    """Return a player of a run on two nodes that share a folder, with a script in place of the real one."""
    root = bench.folder / "megatron"
    shutil.copytree(ROOT / "roles/training/files/trainer", root)
    (root / "examples/llama/prepare_dataset.sh").write_text(PREPARE_DATASET)
    source = {"dataset": "bookcorpus", "data_dir": str(bench.folder / "data")}
    # Named RDMA devices and a silent NCCL matter to no training on CPUs.
    config = bench.config(mock_data="False", dataset_source=source, **SILENT_NCCL)

    def play():
        return bench.play("megatron_multinode.yml", bench.inventory(**TWO), config, training_megatron_root=str(root))

    return play


@pytest.mark.slow
def test_a_dataset_is_fetched_once_for_two_nodes_and_trained_on(bench, fetching):
    done = fetching()
    assert done.status == 0, done.output
    [fetched_by] = (bench.folder / "data/fetched_by").read_text().split()
    logs = {node: (done.run_dir / "nodes" / node / "train.log").read_text() for node in TWO}
    for node, log in logs.items():
        assert "Dataset bookcorpus tokenized with bytes: " in log
        assert ("fetching to" in log) == (node == fetched_by)
    # The trainer refuses to start if its training file is missing.
    plan = json.loads((done.run_dir / "plan.json").read_text())
    read = {(node["env"]["MOCK_DATA"], node["env"]["DATA_PATH"]) for node in plan["nodes"]}
    assert read == {("0", f"{bench.folder}/data/data_text_document")}


@pytest.mark.slow
def test_a_dataset_that_cannot_be_fetched_fails_the_run_with_what_was_said(bench, fetching):
    (bench.folder / "data").mkdir()
    (bench.folder / "data/broken").touch()
    done = fetching()
    assert done.status != 0
    assert done.summary["verdict"] == "FAIL"
    assert 42 in {node["exit_code"] for node in done.summary["nodes"]}
    logs = [path.read_text() for path in done.run_dir.glob("nodes/*/train.log")]
    assert any("no route to the dataset" in log for log in logs)
    assert bench.trainings() == []
