"""MaxText's way from config to verdict on two nodes of this machine, with a script that prints MaxText's lines."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from playbook_bench import ROOT, Bench
from ports import free_port

# Reads the same files as MaxText and refuses the same; the lines come from MaxText's metric_logger.py.
TRAINER = """
import os, signal, sys, time, yaml
config = yaml.safe_load(open(sys.argv[1]))
assert config["base_config"] == "base.yml" and sys.argv[2].startswith("base_output_directory=")
rank, nodes = int(os.environ["NODE_RANK"]), int(os.environ["NNODES"])
print(f"Config param steps: {config['steps']}", flush=True)
if os.environ.get("FAILS") == str(rank):
    sys.exit("jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1 bytes.")
if "FAILS" in os.environ:
    # JAX ends at no SIGTERM, and tells of a lost peer after more than a minute.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(3600)
print(f"meeting at {os.environ['JAX_COORDINATOR_IP']}:{os.environ['JAX_COORDINATOR_PORT']} as {rank} of {nodes}")
if os.environ["NCCL_DEBUG"] == "INFO":
    print(f"gpu{rank}:7:9 NCCL INFO Channel 00/0 : {8 - 8 * rank}[0] -> {8 * rank}[0] [receive] via NET/IB/0/GDRDMA")
for step in range(int(os.environ.get("STEPS", config["steps"]))):
    # A device has 64 tokens in a step, and each process its own clock. A node knows for how long the training ran.
    seconds = 0.07 + rank / 1000 + step / 10000
    time.sleep(seconds)
    print(f"completed step: {step}, seconds: {seconds:.3f}, TFLOP/s/device: 400.000, "
          f"Tokens/s/device: {64 / seconds:.3f}, total_weights: 1024, loss: {10 - step / 10:.3f}", flush=True)
"""


def processes_of(run_id: str) -> list[str]:
    """Return the pids of processes that carry a run's label."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"TRAINOPS_RUN_ID={run_id}".encode() in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
        except OSError:
            continue
    return found


@pytest.fixture
def play(bench: Bench):
    """Return a function that trains the two-node example without a container."""

    def play(node1: dict | None = None, **variables):
        checkout = bench.folder / "maxtext"
        checkout.mkdir()
        (checkout / "train.py").write_text(TRAINER)
        data = json.loads((ROOT / "examples/maxtext/2_nodes_mi300x_llama_3_1_70b.json").read_text())
        data["config"] |= {"coordinator_ip": "auto", "nccl_socket_ifname": "lo", "log_dir": str(bench.nodes)}
        data["config"] |= {"gloo_socket_ifname": "lo", "env_vars": variables.pop("env_vars", {})}
        del data["config"]["hf_token_file"]
        (model,) = data["model_params"]["multi_node"].values()
        model["mi300x"] |= {"per_device_batch_size": "1", "max_target_length": "64"}
        config = bench.folder / "maxtext.json"
        config.write_text(json.dumps(data))
        own = {
            "training_maxtext_root": str(checkout),
            "training_maxtext_entry_point": "train.py",
            "training_maxtext_python": sys.executable,
            "training_gpus_per_node": 8,
            "training_require_gpu": False,
            "training_master_port": free_port(),
        }
        inventory = bench.inventory(node0={}, node1=node1 or {})
        return bench.play("maxtext_multinode.yml", inventory, config, **(own | variables))

    return play


def test_a_run_passes_at_the_step_before_the_number_of_steps(play):
    done = play()
    assert done.status == 0, done.output
    assert done.summary["verdict"] == "PASS"
    assert {node["last_step"] for node in done.summary["nodes"]} == {19}
    assert done.summary["metrics"]["tokens_per_sec_per_gpu"]["value"] == pytest.approx(888.3, abs=0.5)
    assert all("NET/IB" in node["rows"]["network"]["evidence"] for node in done.summary["ledger"])
    assert "step 20/20" in done.output
    log = (done.run_dir / "nodes/node1/train.log").read_text()
    assert "as 1 of 2" in log


@pytest.mark.slow
def test_a_run_that_ends_before_its_last_step_does_not_pass(play):
    done = play(env_vars={"STEPS": "15"})
    assert done.status != 0
    assert "last_step_missing" in {reason["code"] for reason in done.summary["reasons"]}


@pytest.mark.slow
def test_a_node_that_fails_ends_the_others_though_jax_ignores_sigterm(play):
    done = play(env_vars={"FAILS": "1"})
    assert done.status != 0
    assert done.summary["verdict"] == "FAIL"
    first = done.summary["first_failure"]
    assert (first["node"], first["node_rank"], first["class"]) == ("node1", 1, "out_of_memory")
    assert re.search(r"\nnode1 .* failed=1\b", done.output)
    assert processes_of(done.run_dir.name) == []


def test_a_run_of_which_a_node_has_no_python_is_an_error(play):
    done = play(node1={"ansible_python_interpreter": "/nowhere/python3"})
    assert done.status != 0
    assert (done.summary["verdict"], done.summary["framework"]) == ("ERROR", "maxtext")
    assert done.summary["first_failure"]["node"] == "node1"


@pytest.mark.slow
def test_a_rehearsal_of_a_maxtext_run_needs_no_maxtext(play):
    done = play(training_rehearsal=True, training_maxtext_root="/nowhere")
    assert done.status == 0, done.output
    assert f"REHEARSAL PASS  {done.run_dir.name}" in done.output
    assert done.summary["framework"] == "maxtext"
