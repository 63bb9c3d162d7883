"""The unmodified MaxText from PyPI, on two nodes of this machine, by the contract of a real run.

It is left out unless MAXTEXT_PYTHON names a Python that has MaxText: ``make test-trainers`` installs one and sets it.
"""

from __future__ import annotations

import json
import os

import pytest
from playbook_bench import free_port

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
