"""Overrides and a matrix reach each framework as plain values, though Ansible tags all that it hands on."""

from __future__ import annotations

import json

import pytest
from playbook_bench import ROOT, Bench


def of_megatron(bench: Bench) -> str:
    return bench.config().read_text()


def of_maxtext(_bench: Bench) -> str:
    data = json.loads((ROOT / "examples/maxtext/2_nodes_mi300x_llama_3_1_70b.json").read_text())
    data["config"] |= {"coordinator_ip": "auto", "nccl_socket_ifname": "lo", "gloo_socket_ifname": "lo"}
    return json.dumps(data)


def of_nxdt(_bench: Bench) -> str:
    return (ROOT / "examples/nxdt/hf_llama3_8b_sft.yaml").read_text().replace("<changeme>", "100")


@pytest.mark.parametrize(
    ("config", "steps", "swept"),
    [
        pytest.param(of_megatron, "training_iterations", "batch_size", id="megatron", marks=pytest.mark.slow),
        pytest.param(of_maxtext, "training_steps", "max_target_length", id="maxtext", marks=pytest.mark.slow),
        pytest.param(of_nxdt, "trainer.max_steps", "data.global_batch_size", id="nxdt"),
    ],
)
def test_overrides_and_a_matrix_are_plain_values(bench: Bench, config, steps: str, swept: str) -> None:
    text = config(bench)
    file = bench.folder / f"config.{'json' if text.startswith('{') else 'yaml'}"
    file.write_text(text)
    done = bench.play(
        "plan.yml",
        bench.inventory(node0={}, node1={}),
        file,
        training_overrides={steps: 77},
        training_matrix={swept: [64, 128]},
        training_sweep=True,
        training_write_run=True,
        training_record_only=True,
        training_gpus_per_node=8,
        training_maxtext_entry_point="maxtext.trainers.pre_train.train",
    )
    assert done.status == 0, done.output
    plans = [json.loads(path.read_text()) for path in bench.runs.glob("*/plan.json")]
    plans.sort(key=lambda plan: plan["overrides"][swept])
    assert [plan["overrides"] for plan in plans] == [{steps: 77, swept: 64}, {steps: 77, swept: 128}]
    assert {plan["parameters"]["iterations"] for plan in plans} == {77}
