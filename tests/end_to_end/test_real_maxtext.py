"""The unmodified MaxText from PyPI, on two nodes of this machine, by the contract of a real run.

It is left out unless MAXTEXT_PYTHON names a Python that has MaxText: ``make test-trainers`` installs one and sets it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playbook_bench import ROOT, free_port

sys.path.insert(0, str(ROOT / "collections"))
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._maxtext_keys import ELSEWHERE, KEYS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._xla_flag_sets import FLAG_SETS

PYTHON = os.environ.get("MAXTEXT_PYTHON")
pytestmark = pytest.mark.skipif(
    not PYTHON, reason="MAXTEXT_PYTHON names no Python with MaxText; see make test-trainers"
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


def test_two_nodes_train_together(bench):
    config = bench.folder / "maxtext.json"
    run = {
        "nnodes": "2",
        "coordinator_ip": "auto",
        "training_steps": "12",
        "log_dir": str(bench.nodes),
        "data_cache_dir": str(bench.folder / "cache"),
        "nccl_socket_ifname": "lo",
        "gloo_socket_ifname": "lo",
        "env_vars": {"JAX_PLATFORMS": "cpu", "DECOUPLE_GCLOUD": "TRUE"},
    }
    config.write_text(json.dumps({"config": run, "model_params": {"multi_node": {"default": {"cpu": BRANCH}}}}))
    done = bench.play(
        "maxtext_multinode.yml",
        bench.inventory(node0={}, node1={}),
        config,
        training_maxtext_root=str(bench.folder),
        training_maxtext_python=PYTHON,
        training_maxtext_entry_point="maxtext.trainers.pre_train.train",
        training_master_port=free_port(),
    )
    assert done.status == 0, done.output
    assert done.summary["verdict"] == "PASS"
    assert {node["last_step"] for node in done.summary["nodes"]} == {11}
    for node in ("node0", "node1"):
        log = (done.run_dir / "nodes" / node / "train.log").read_text()
        assert "Jax distributed system initialized on GPU!" in log
        assert "Num_devices: 2" in log


def asked(program: str) -> str:
    done = subprocess.run([PYTHON, "-c", program], capture_output=True, text=True, check=False)
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
