"""The main job on real nodes: over SSH, in containers of podman and docker, with the project's own trainer."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import time
from pathlib import Path

import pytest
from ansible_commands import ROOT, Playing
from cluster_command import IMAGE
from fault_table import add_row
from paced_trainer import paced_trainer

CANARY = "hf_canary_5b1e0c7d"
FOLDER = "/root/trainops-test"


@pytest.fixture(scope="module")
def archive(cluster, tmp_path_factory) -> str:
    """The image as a file on every node, where its engines can load it."""
    folder = tmp_path_factory.mktemp("image")
    local = folder / "trainer.tar"
    done = cluster.run("image", str(local), "--trainer", str(paced_trainer(folder)))
    assert done.returncode == 0, done.stderr
    for node in cluster.nodes:
        cluster.copy(node, local, "/root/trainer.tar")
    return "/root/trainer.tar"


@pytest.fixture
def job(cluster, archive, tmp_path):
    return Job(cluster, archive, tmp_path)


class Job:
    """A training config for the cluster, and the playbooks run with it."""

    def __init__(self, cluster, archive: str, folder: Path) -> None:
        self.cluster, self.archive, self.folder = cluster, archive, folder
        self.runs = folder / "runs"

    def config(self, **changes) -> Path:
        config = {
            "container_image": IMAGE,
            "container_name": "megatron_tiny",
            "nnodes": "3",
            "master_address": "auto",
            "training_iterations": "10",
            "nccl_socket_ifname": "fab0",
            "gloo_socket_ifname": "fab0",
            "shm_size": "64M",
            "mock_data": "True",
            "data_cache_dir": f"{FOLDER}/cache",
            "log_dir": f"{FOLDER}/logs",
            "container_config": {
                "device_list": ["/dev/kfd", "/dev/dri"],
                "volume_dict": {"/root": "/root", "/dev/infiniband": "/dev/infiniband"},
            },
        }
        branch = {
            "tokenizer_model": "bytes",
            "model_size": "tiny",
            "num_layers": "2",
            "num_attention_heads": "1",
            "batch_size": "12",
            "micro_batch_size": "2",
            "precision": "TE_BF16",
            "sequence_length": "2",
            "result_dict": {"tokens_per_gpu": "1", "elapsed_time_per_iteration": "60000"},
        }
        path = self.folder / "config.json"
        whole = {"config": {**config, **changes}, "model_params": {"multi_node": {"llama3_tiny": {"cpu": branch}}}}
        path.write_text(json.dumps(whole))
        return path

    def variables(self, **more) -> dict:
        return {
            "training_output_dir": str(self.runs),
            "training_gpus_per_node": 1,
            # It is not AMD's, and knows the size tiny.
            "training_megatron_root": "/workspace/Megatron-LM",
            "training_image_archive": self.archive,
            "training_address": "{{ ansible_host | regex_replace('^10\\.77', '10.78') }}",
            "container_engine": "podman",
            **more,
        }

    def train(self, *more: str, config: Path | None = None, **variables):
        config = config or self.config()
        return self.cluster.play(
            "megatron_multinode.yml", *more, **self.variables(training_config=str(config), **variables)
        )

    def begin(self, config: Path, **variables) -> Playing:
        return self.cluster.start("megatron_multinode.yml", **self.variables(training_config=str(config), **variables))

    def run_dir(self) -> Path:
        return next(summary.parent for summary in self.runs.glob("*/summary.json"))

    def summary(self) -> dict:
        return json.loads((self.run_dir() / "summary.json").read_text())

    def reached(self, step: int, run_id: str, node: str = "node1") -> None:
        status = self.runs / run_id / "nodes" / node / "status.json"
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if status.exists() and json.loads(status.read_text()).get("last_step", 0) >= step:
                return
            time.sleep(0.2)
        pytest.fail(f"{node} did not reach step {step}")

    def containers(self, node: str, engine: str = "podman") -> list[str]:
        return self.cluster.on(node, engine, "ps", "--all", "--format", "{{.Names}}").split()


@pytest.mark.parametrize("engine", [pytest.param("podman", marks=pytest.mark.long), "docker"])
def test_three_nodes_train_in_containers_and_pass(job, engine):
    done = job.train(container_engine=engine)
    assert done.returncode == 0, done.stdout
    with open(job.run_dir() / "records.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {(row["node"], row["step"]) for row in rows if row["metric"] == "loss"} == {
        (node, str(step)) for node in job.cluster.nodes for step in range(1, 11)
    }
    assert [job.containers(node, engine) for node in job.cluster.nodes] == [[], [], []]


@pytest.mark.parametrize("engine", ["podman", pytest.param("docker", marks=pytest.mark.long)])
def test_the_role_container_launch_has_a_container_on_each_node_until_it_is_absent(job, engine):
    launch = {
        "container_launch_name": "hello",
        "container_launch_engine": engine,
        "container_launch_image": IMAGE,
        "container_launch_image_archive": job.archive,
        "container_launch_command": ["sh", "-c", "echo rank $NODE_RANK of $NNODES; ls /data; exec sleep 600"],
        "container_launch_mounts": {FOLDER: "/data"},
        "container_launch_devices": ["/dev/kfd"],
        "container_launch_folder": f"{FOLDER}/launches",
        "container_launch_options": {"shm_size": "64M"},
    }
    roles = ["trainops.cluster.rank_assignment", "trainops.cluster.container_launch"]
    playbook = job.folder / "mine.yml"
    playbook.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "roles": roles}]))
    for node in job.cluster.nodes:
        job.cluster.on(node, "mkdir", "-p", f"{FOLDER}/here")

    def play(*more, **changes) -> set[str]:
        done = job.cluster.play(str(playbook), *more, **{**launch, **changes})
        assert done.returncode == 0, done.stdout
        return set(re.findall(r"^changed: \[(\w+)\]", done.stdout, re.MULTILINE))

    nodes = set(job.cluster.nodes)
    assert play("--check") == nodes
    assert [job.containers(node, engine) for node in job.cluster.nodes] == [[], [], []]
    assert play() == nodes
    label = f"label=trainops.node={job.cluster.nodes[1]}"
    found = job.cluster.on(job.cluster.nodes[1], engine, "ps", "--filter", label, "--format", "{{.Names}}").split()
    assert len(found) == 1
    assert play() == set()
    assert job.containers(job.cluster.nodes[1], engine) == found
    for rank, node in enumerate(job.cluster.nodes):
        output = job.cluster.on(node, "cat", f"{FOLDER}/launches/hello/{node}/output.log")
        assert f"rank {rank} of 3\nhere\n" in output, output
    assert play(container_launch_state="absent") == nodes
    assert [job.containers(node, engine) for node in job.cluster.nodes] == [[], [], []]
    assert play(container_launch_state="absent") == set()


@pytest.mark.parametrize("engine", ["podman", pytest.param("docker", marks=pytest.mark.long)])
def test_isolate_measures_in_the_container_of_the_training_and_names_the_slow_node(job, engine):
    usual = (ROOT / "tests/data/probes/nccl_tests_2_19.txt").read_text()
    slow = re.sub(r"(?m)^( +\d+ +\d+ +float .*)", lambda row: re.sub(r"\b(2\d{3})\.", r"3\1.", row[1]), usual)
    smi = "#!/bin/sh\necho 'GPU 0: H100'\necho 'GPU 1: H100'\n"
    # The folder of the trainer is in the image alone.
    reduce = "#!/bin/sh\ntest -d /workspace/Megatron-LM && cat /opt/nccl-tests/build/output\n"
    for node in job.cluster.nodes:
        job.cluster.on(node, "mkdir", "-p", "/root/tools")
        output = slow if node == "node2" else usual
        for name, text in (("nvidia-smi", smi), ("all_reduce_perf", reduce), ("output", output)):
            (job.folder / name).write_text(text)
            job.cluster.copy(node, job.folder / name, f"/root/tools/{name}")
            job.cluster.on(node, "chmod", "+x", f"/root/tools/{name}")
    container = {"device_list": ["/dev/kfd"], "volume_dict": {"/root/tools": "/opt/nccl-tests/build"}}
    done = job.cluster.play(
        "isolate.yml",
        **job.variables(
            training_config=str(job.config(container_config=container)),
            training_node_environment={"PATH": "/root/tools:$PATH"},
            container_engine=engine,
            isolate_name=engine,
            isolate_node_dir=f"{FOLDER}/isolation",
            isolate_probes=["nccl_tests"],
        ),
    )
    found = json.loads((job.runs / "isolation" / engine / "isolation.json").read_text())
    assert {node: one["reason"] for node, one in found["nodes"].items() if one["verdict"] != "good"}.keys() == {"node2"}
    (suspect,) = found["suspects"]
    assert (suspect["node"], suspect["part"]) == ("node2", "GPUs"), done.stdout
    assert [job.containers(node, engine) for node in job.cluster.nodes] == [[], [], []]


@pytest.mark.long
def test_the_same_command_again_reports_and_changes_nothing(job):
    # The report of the second says that the training was not started by its command; the third has nothing to add.
    first, second, third = (job.train(training_run_id="again") for _time in range(3))
    assert (first.returncode, second.returncode, third.returncode) == (0, 0, 0), third.stdout
    assert "not started by this command" in second.stdout
    recap = [line for line in third.stdout.splitlines() if "changed=" in line]
    assert recap
    assert all("changed=0" in line for line in recap), third.stdout


def test_check_mode_touches_no_node(job):
    done = job.train("--check", training_run_id="checked")
    assert done.returncode == 0, done.stdout
    assert "checked" not in job.cluster.on("node1", "ls", f"{FOLDER}/logs", check=False)
    assert not job.runs.exists()


def test_a_container_that_is_killed_is_named_and_stops_the_others(job):
    config = job.config(training_iterations="100000")
    run = job.begin(config, training_run_id="killed")
    job.reached(3, "killed", "node2")
    job.cluster.on("node2", "podman", "kill", "--signal", "KILL", "megatron_tiny")
    output, _ = run.communicate(timeout=120)
    assert run.returncode != 0
    assert re.search(r"\nnode2 .* failed=1\b", output), output
    first = json.loads((job.runs / "killed/summary.json").read_text())["first_failure"]
    assert (first["node"], first["class"]) == ("node2", "killed")
    assert [job.containers(node) for node in job.cluster.nodes] == [[], [], []]


# Bytes until the kernel steps in, and its victim: the trainer, not the program that fills the memory.
FILL = """
import os
for pid in filter(str.isdigit, os.listdir("/proc")):
    with open(f"/proc/{pid}/oom_score_adj", "w") as adjusted:
        adjusted.write("0" if int(pid) == os.getpid() else "1000")
kept = []
while True:
    kept.append(bytearray(1 << 20))
"""


@pytest.mark.parametrize("engine", ["podman", pytest.param("docker", marks=pytest.mark.long)])
def test_a_container_whose_memory_runs_out_is_named_so_whatever_its_engine_says(job, engine):
    config = job.config(training_iterations="100000")
    run = job.begin(config, training_run_id=f"memory_{engine}", container_engine=engine)
    job.reached(3, f"memory_{engine}", "node2")
    job.cluster.on("node2", engine, "update", "--memory", "96m", "--memory-swap", "96m", "megatron_tiny")
    began = time.monotonic()
    job.cluster.on("node2", engine, "exec", "megatron_tiny", "python3", "-c", FILL, check=False)
    output, _ = run.communicate(timeout=120)
    ended = time.monotonic() - began
    assert run.returncode != 0
    first = job.summary()["first_failure"]
    assert (first["node"], first["class"]) == ("node2", "host_memory"), output
    assert [job.containers(node, engine) for node in job.cluster.nodes] == [[], [], []]
    told = f"{first['class']}: {first['message']}"
    add_row(f"memory runs out in a container of {engine}", ended, told, job.summary()["verdict"])


def test_a_docker_daemon_that_is_stopped_is_named_and_not_the_network(job):
    config = job.config(training_iterations="100000")
    run = job.begin(config, training_run_id="daemon", container_engine="docker")
    job.reached(3, "daemon", "node2")
    units = ("docker.socket", "docker.service")
    began = time.monotonic()
    job.cluster.on("node2", "systemctl", "stop", *units)
    try:
        output, _ = run.communicate(timeout=180)
        ended = time.monotonic() - began
        assert run.returncode != 0
        first = job.summary()["first_failure"]
        assert (first["node"], first["class"]) == ("node2", "engine_stopped"), output
        assert (job.run_dir() / "report.html").exists()
    finally:
        job.cluster.on("node2", "systemctl", "start", "docker.socket")
    stopped = job.cluster.play("stop.yml", **job.variables(training_run_id="daemon", container_engine="docker"))
    assert stopped.returncode == 0, stopped.stdout
    assert [job.containers(node, "docker") for node in job.cluster.nodes] == [[], [], []]
    add_row(
        *("the docker daemon is stopped", ended, f"engine_stopped: {first['message']}", job.summary()["verdict"]),
        "the ended container, until stop.yml",
    )


def test_a_run_is_picked_up_after_the_controller_was_killed_and_can_be_stopped(job):
    variables = job.variables(training_config=str(job.config(training_iterations="100000")), training_run_id="long")
    command = job.cluster.command("megatron_multinode.yml", **variables)
    with (job.folder / "output.log").open("w") as log:
        run = subprocess.Popen(command, cwd=ROOT, env=job.cluster.environment(), stdout=log, stderr=log)
    job.reached(3, "long")
    run.kill()
    run.wait()
    refused = job.train(training_run_id="other")
    assert refused.returncode != 0
    assert "held by run long" in refused.stdout
    attached = job.cluster.start("attach.yml", **job.variables(training_run_id="long"))
    before = json.loads((job.runs / "long/nodes/node1/status.json").read_text())["last_step"]
    job.reached(before + 3, "long")
    stopped = job.cluster.play("stop.yml", **job.variables(training_run_id="long"))
    attached.communicate(timeout=120)
    assert stopped.returncode == 0, stopped.stdout
    assert (job.runs / "long/report.html").exists()
    assert (job.runs / "long/nodes/node3/train.log").stat().st_size > 0
    assert [job.containers(node) for node in job.cluster.nodes] == [[], [], []]


def test_a_name_that_somebody_else_uses_is_left_alone_and_told(job):
    job.cluster.on("node3", "podman", "load", "--input", job.archive)
    job.cluster.on(
        "node3",
        "podman",
        "run",
        "--detach",
        "--name",
        "megatron_tiny",
        "--entrypoint",
        "sleep",
        IMAGE,
        "600",
    )
    try:
        done = job.train(training_run_id="taken")
        assert done.returncode != 0
        assert "the container name megatron_tiny is taken by somebody else" in done.stdout
        assert job.containers("node3") == ["megatron_tiny"]
    finally:
        job.cluster.on("node3", "podman", "rm", "--force", "--time", "0", "megatron_tiny")


def test_a_library_that_is_not_there_stops_the_run_and_becomes_no_folder(job):
    library = "/usr/local/lib/libbnxt_re-rdmav34.so"
    mounts = {
        "device_list": ["/dev/kfd"],
        "volume_dict": {library: "/usr/lib/x86_64-linux-gnu/libibverbs/libbnxt_re-rdmav34.so.host"},
    }
    done = job.train(config=job.config(container_config=mounts), training_run_id="library")
    assert done.returncode != 0
    assert f"the library {library} does not exist" in " ".join(done.stdout.split())
    assert "No such file" in job.cluster.on("node1", "sh", "-c", f"ls {library} 2>&1", check=False)


def test_nodes_with_different_images_do_not_start(job):
    job.cluster.on("node2", "podman", "load", "--input", job.archive)
    commit = f"podman run --name other --entrypoint true {IMAGE} && podman commit -q other {IMAGE}"
    job.cluster.on("node2", "sh", "-c", f"{commit}; podman rm other")
    try:
        done = job.train(training_run_id="images")
        assert done.returncode != 0
        assert "The nodes have different images" in done.stdout
    finally:
        job.cluster.on("node2", "podman", "rmi", "--force", IMAGE)


def test_the_token_is_nowhere_but_in_its_file_and_gone_after_the_run(job):
    token = job.folder / "hf_token"
    token.write_text(CANARY + "\n")
    config = job.config(hf_token_file=str(token), training_iterations="100000")
    command = job.cluster.command(
        "megatron_multinode.yml", "-vvvv", **job.variables(training_config=str(config), training_run_id="token")
    )
    log = job.folder / "output.log"
    with log.open("w") as stream:
        run = subprocess.Popen(command, cwd=ROOT, env=job.cluster.environment(), stdout=stream, stderr=stream)
        job.reached(3, "token")
        path = json.loads((job.runs / "token/plan.json").read_text())["nodes"][0]["env"]["HF_TOKEN_PATH"]
        in_container = job.cluster.on("node1", "podman", "exec", "megatron_tiny", "cat", path)
        mode = job.cluster.on("node1", "stat", "--format", "%a", path)
        inspected = job.cluster.on("node1", "podman", "inspect", "megatron_tiny")
        processes = job.cluster.on("node1", "sh", "-c", 'cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr -d "\\0"')
        stopped = job.cluster.play("stop.yml", **job.variables(training_run_id="token"))
        run.communicate(timeout=120)
    assert in_container.strip() == CANARY
    assert mode.strip() == "600"
    for text in (inspected, processes, log.read_text(), stopped.stdout):
        assert CANARY not in text
    for file in job.runs.rglob("*"):
        assert not file.is_file() or CANARY not in file.read_text(errors="replace"), file
    for node in job.cluster.nodes:
        assert CANARY not in job.cluster.on(node, "grep", "-rl", CANARY, FOLDER, "/dev/shm", "/tmp", check=False)
        assert "No such file" in job.cluster.on(node, "sh", "-c", f"ls {path} 2>&1", check=False)


def test_the_hardened_profile_runs_without_privileges(job):
    config = job.config(training_iterations="100000")
    run = job.begin(config, training_run_id="hard", container_profile="hardened")
    job.reached(3, "hard")
    container = json.loads(job.cluster.on("node1", "podman", "inspect", "megatron_tiny"))[0]
    stopped = job.cluster.play("stop.yml", **job.variables(training_run_id="hard"))
    run.communicate(timeout=120)
    assert stopped.returncode == 0, stopped.stdout
    assert container["HostConfig"]["Privileged"] is False


def test_a_host_that_does_not_answer_before_launch_stops_the_run(job):
    inventory = job.folder / "gone"
    inventory.write_text(json.dumps({"all": {"hosts": {"node4": {"ansible_host": "10.77.255.254"}}}}))
    done = job.train(
        "-i", str(inventory), "-e", "ansible_ssh_timeout=3", config=job.config(nnodes="4", batch_size="16")
    )
    assert done.returncode != 0
    assert [job.containers(node) for node in job.cluster.nodes] == [[], [], []]


@pytest.mark.long
def test_a_rehearsal_of_the_distributed_example_trains_in_the_containers(job):
    example = Path(__file__).parents[2] / "examples/megatron/mi3xx_megatron_llama_distributed.json"
    whole = json.loads(example.read_text())
    whole["config"] |= {
        "container_image": IMAGE,
        "nnodes": "3",
        "master_address": "auto",
        "training_iterations": "5000",
        "nic_type": "thor2",
        "nccl_ib_hca_list": "bnxt_re0",
        "nccl_socket_ifname": "auto",
        "gloo_socket_ifname": "auto",
        "nccl_ib_gid_index": "auto",
        "log_dir": f"{FOLDER}/logs",
    }
    whole["config"]["container_config"] |= {
        "device_list": ["/dev/kfd", "/dev/dri"],
        "volume_dict": {"/root": "/root", "/dev/infiniband": "/dev/infiniband"},
    }
    whole["model_params"]["multi_node"]["llama3_1_8b"]["mi300x"]["batch_size"] = "192"
    config = job.folder / "distributed.json"
    config.write_text(json.dumps(whole))
    done = job.train(
        config=config,
        training_model="llama3_1_8b",
        training_gpu="mi300x",
        training_gpus_per_node=8,
        training_rehearsal=True,
    )
    assert done.returncode == 0, done.stdout
    assert "REHEARSAL PASS" in done.stdout
    log = (job.run_dir() / "nodes/node2/train.log").read_text()
    assert "iteration       10/      10" in log
