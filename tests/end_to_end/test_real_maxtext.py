"""The unmodified MaxText from PyPI, on two nodes of this machine, by the contract of a real run.

It is left out unless MAXTEXT_PYTHON is a Python with MaxText: ``make test-trainers`` installs one and sets it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from playbook_bench import ROOT, wait_until
from ports import free_port

sys.path.insert(0, str(ROOT / "collections"))
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.maxtext.keys import ELSEWHERE, KEYS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.maxtext.xla_flag_sets import FLAG_SETS

PYTHON = os.environ.get("MAXTEXT_PYTHON")
pytestmark = pytest.mark.skipif(
    not PYTHON, reason="MAXTEXT_PYTHON names no Python with MaxText; run `make test-trainers`"
)

BRANCH = {
    "per_device_batch_size": "1",
    "max_target_length": "128",
    "attention": "dot_product",
    "dataset_type": "synthetic",
    "base_emb_dim": "64",
    "base_num_query_heads": "2",
    "base_num_kv_heads": "2",
    "base_num_decoder_layers": "2",
    "base_mlp_dim": "128",
    "head_dim": "32",
    "vocab_size": "512",
    "mlp_activations": ["silu", "linear"],
    "normalization_layer_epsilon": "1.0e-5",
    "rope_max_timescale": "500_000",
    "quantization": "",
    "jax_cache_dir": "",
    "result_dict": {"tokens_per_sec_per_gpu": "1", "loss": "20"},
}


@pytest.fixture
def run(bench):
    """Return a function that gives the arguments of a run on two nodes, for a number of steps."""

    def run(steps: int) -> tuple[tuple[str, Path, Path], dict]:
        config = {
            "nnodes": "2",
            "coordinator_ip": "auto",
            "training_steps": str(steps),
            "log_dir": str(bench.nodes),
            "data_cache_dir": str(bench.folder / "cache"),
            "nccl_socket_ifname": "lo",
            "gloo_socket_ifname": "lo",
            "env_vars": {"JAX_PLATFORMS": "cpu", "DECOUPLE_GCLOUD": "TRUE"},
        }
        path = bench.folder / "maxtext.json"
        path.write_text(json.dumps({"config": config, "model_params": {"multi_node": {"default": {"cpu": BRANCH}}}}))
        variables = {
            "training_maxtext_root": str(bench.folder),
            "training_maxtext_python": PYTHON,
            "training_maxtext_entry_point": "maxtext.trainers.pre_train.train",
            "training_master_port": free_port(),
        }
        return ("maxtext_multinode.yml", bench.inventory(node0={}, node1={}), path), variables

    return run


def trainer_of(node: str, port: int) -> int | None:
    """Return the pid of a node's trainer."""
    marks = {f"TRAINOPS_NODE={node}".encode(), f"JAX_COORDINATOR_PORT={port}".encode()}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes().split(b"\0")
            arguments = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if marks <= set(environment) and b"maxtext.trainers" in arguments and arguments.startswith(PYTHON.encode()):
            return int(process.name)
    return None


def test_two_nodes_train_together(bench, run):
    arguments, variables = run(steps=12)
    done = bench.play(*arguments, **variables)
    assert done.status == 0, done.output
    assert done.summary["verdict"] == "PASS"
    assert {node["last_step"] for node in done.summary["nodes"]} == {11}
    for node in ("node0", "node1"):
        log = (done.run_dir / "nodes" / node / "train.log").read_text()
        assert "Jax distributed system initialized on GPU!" in log
        assert "Num_devices: 2" in log


def test_a_lost_peer_is_noticed_before_jax_notices_it(bench, run):
    """JAX gives a peer up after 100 s without a heartbeat, says so then, and ends at no SIGTERM before."""
    arguments, variables = run(steps=100_000)
    playing = bench.start(*arguments, **variables)
    port = variables["training_master_port"]

    def trains() -> bool:
        logs = list(bench.nodes.glob("*/node1/train.log"))
        return bool(logs) and b"completed step: 3," in logs[0].read_bytes()

    wait_until(trains, seconds=240)
    os.kill(trainer_of("node1", port), signal.SIGKILL)
    output, _errors = playing.communicate(timeout=240)
    assert playing.returncode != 0
    assert re.search(r"\nnode1 .* failed=1\b", output), output
    first = json.loads(next(bench.runs.glob("*/summary.json")).read_text())["first_failure"]
    assert (first["node"], first["class"]) == ("node1", "killed")
    assert "import_error" not in output
    (log,) = bench.nodes.glob("*/node0/train.log")
    assert "heartbeat" not in log.read_text().partition("completed step: 3,")[2]
    assert [trainer_of(node, port) for node in ("node0", "node1")] == [None, None]


def asked(program: str, *arguments: str) -> str:
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "DECOUPLE_GCLOUD": "TRUE"}
    command = [PYTHON, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_the_keys_that_are_known_are_those_of_the_package():
    fields = asked("from maxtext.configs.types import MaxTextConfig as c; print(*c.model_fields)").split()
    derived = asked("from maxtext.configs.types import DerivedValues as c; print(*c.model_fields)").split()
    elsewhere = {*ELSEWHERE, "base_config"}
    here = {name for name, key in KEYS.items() if not key.until}
    assert here <= {*fields}
    assert {*fields} - {*derived} - elsewhere == here - {*derived}


def test_flag_sets_are_the_whole_of_their_scripts():
    configs = Path(asked("import maxtext, os; print(os.path.dirname(maxtext.__file__))")) / "configs"
    for name, flags in FLAG_SETS.items():
        theirs = set(re.findall(r"--(xla_\w+)", (configs / f"{name}.sh").read_text())) - {"xla_dump_to"}
        # The scripts for single sizes of slices call another one. The flags for pipelining were renamed in August 2026.
        if theirs:
            mine = {flag for flag in flags if flag.startswith("xla_") and "gpu_enable_pipelined" not in flag}
            assert mine == {flag for flag in theirs if "gpu_pipeline_" not in flag}, name


def test_maxtext_takes_the_yaml_of_every_example(tmp_path):
    """The dimensions of the two-node example (the 405B's) have no effect: the preset takes precedence."""
    read = (
        "import sys; from maxtext.configs import pyconfig; "
        "c = pyconfig.initialize(['train', sys.argv[1], 'skip_jax_distributed_system=true']); "
        "print(c.model_name, c.base_emb_dim, c.base_num_decoder_layers, c.mlp_activations, c.steps)"
    )
    found = []
    for name in ("llama3_1_70b_mi300x_2_nodes", "llama3_1_405b_mi300x_4_nodes", "llama2_70b_tpu_v5p_4_nodes"):
        plan = json.loads((ROOT / f"tests/data/plans/maxtext_{name}.json").read_text())
        # Version 0.2.5 needs this with attention cudnn_flash_te; a warning says so for images that have it.
        text = plan["nodes"][0]["files"]["maxtext.yml"] + "packing: false\n"
        (tmp_path / "maxtext.yml").write_text(text)
        found.append(asked(read, str(tmp_path / "maxtext.yml")))
    assert found == [
        "llama3.1-70b 8192 80 ['silu', 'linear'] 20",
        "llama3.1-405b 16384 126 ['silu', 'linear'] 20",
        "llama2-70b 8192 80 ['silu', 'linear'] 30",
    ]
