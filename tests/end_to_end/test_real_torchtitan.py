"""The unmodified TorchTitan from PyPI, on two nodes of this machine over gloo.

It is left out unless TORCHTITAN_PYTHON is a Python with TorchTitan 0.2.2: requirements-torchtitan.txt says how to make
one.
"""

from __future__ import annotations

import os
import subprocess

import pytest
from playbook_bench import ROOT
from ports import free_port

PYTHON = os.environ.get("TORCHTITAN_PYTHON")
pytestmark = pytest.mark.skipif(
    not PYTHON, reason="TORCHTITAN_PYTHON names no Python with TorchTitan 0.2.2; run `make test-torchtitan`"
)
TRAINER = ROOT / "tests/trainers/torchtitan"

CONFIG = """\
[job]
description = "a run on CPUs"
[model]
name = "llama3"
flavor = "debugmodel"
hf_assets_path = "{folder}/tokenizer"
[lr_scheduler]
warmup_steps = 2
[training]
dataset = "c4_test"
dataset_path = "{folder}/dataset"
local_batch_size = 2
seq_len = 32
steps = {steps}
[parallelism]
# gloo lacks the reduction that FSDP needs.
data_parallel_replicate_degree = 2
data_parallel_shard_degree = 1
[activation_checkpoint]
mode = "none"
[metrics]
log_freq = 2
[trainops]
module = "titan_on_cpu"
log_dir = "{nodes}"
container_config = {{env_dict = {{PYTHONPATH = "{trainer}", GLOO_SOCKET_IFNAME = "lo", OMP_NUM_THREADS = "1"}}}}
result_dict = {{tokens_per_gpu = 1, loss = 20}}
"""


@pytest.mark.parametrize("steps", [21])
def test_two_nodes_train_together_to_a_last_step_without_a_line(bench, steps):
    made = [PYTHON, str(TRAINER / "make_data.py"), str(bench.folder / "tokenizer"), str(bench.folder / "dataset")]
    subprocess.run(made, check=True)
    config = bench.folder / "titan.toml"
    config.write_text(CONFIG.format(folder=bench.folder, steps=steps, nodes=bench.nodes, trainer=TRAINER))
    variables = {
        "training_torchtitan_python": PYTHON,
        "training_gpu": "cpu",
        "training_gpus_per_node": 1,
        "training_master_port": free_port(),
    }
    done = bench.play("train_multinode.yml", bench.inventory(node0={}, node1={}), config, **variables)
    assert done.status == 0, done.output
    assert done.summary["verdict"] == "PASS", done.output
    assert {node["last_step"] for node in done.summary["nodes"]} == {20}
    logs = [(done.run_dir / "nodes" / node / "train.log").read_text() for node in ("node0", "node1")]
    assert all("dp_replicate=2" in log and "[rank" in log for log in logs)
