# SPDX-License-Identifier: GPL-3.0-or-later
"""Megatron Bridge's way from a recipe to the verdict on two nodes of this machine, with a stand-in for torchrun."""

from __future__ import annotations

import os

import pytest
import yaml
from playbook_bench import Bench
from ports import free_port

STEPS = 30
# The lines of training_log() in Bridge: rank 0 prints the time and the rate of a step, the last rank its iteration.
TORCHRUN = """\
#!/usr/bin/env python3
import os, sys, time
at = lambda name: sys.argv[sys.argv.index(name) + 1]
nodes, rank, gpus = int(at("--nnodes")), int(at("--node_rank")), int(at("--nproc_per_node"))
assert (nodes, gpus) == (2, 8) and os.environ["HF_TOKEN"] == "hf_secret"
assert os.path.exists("scripts/training/run_recipe.py") and "scripts/training/run_recipe.py" in sys.argv
assert (at("--recipe"), at("--mode")) == ("llama3_8b_pretrain_8gpu_h100_bf16_config", "pretrain")
given = dict(word.split("=", 1) for word in sys.argv if "=" in word)
assert given["logger.log_throughput"] == "true" and given["checkpoint.load"] == "null"
steps = int(given["train.train_iters"])
say = lambda text: print(text, flush=True)
if rank == 0:
    say("> initialized tensor model parallel with size 1")
    say("> initialized pipeline model parallel with size 1")
    say("[after dataloaders are built] datetime: 2026-11-27 09:59:58 ")
    say("Starting training loop at iteration 0")
for step in range(1, steps + 1):
    # A node knows for how long the training ran.
    ms = 60 + step % 7
    time.sleep(ms / 1000)
    rate = 46521 / ms
    if rank == 0:
        say(f"Step Time : {ms / 1000:.2f}s GPU utilization: {rate:.1f}MODEL_TFLOP/s/GPU")
    else:
        say(f" [2026-11-27 10:00:{step:02d}] iteration {step:8d}/{steps:8d} | consumed samples: {32 * step:12d} | "
            f"elapsed time per iteration (ms): {ms:.1f} | throughput per GPU (TFLOP/s/GPU): {rate:.1f} | "
            f"learning rate: 1.000000E-05 | global batch size: {32:5d} | lm loss: {11 - step / 20:.6E} | "
            "loss scale: 1.0 | grad norm: 2.000 | number of skipped iterations:   0 | "
            "number of nan iterations:   0 |")
if rank == 0:
    say("[after training is done] datetime: 2026-11-27 10:00:30 ")
sys.exit(int(os.environ["EXIT_STATUS"]) if rank == 1 else 0)
"""


@pytest.fixture
def play(bench: Bench):
    """Return a function that trains a recipe without a container."""

    def play(exit_status: int = 0, node1: dict | None = None, **variables):
        programs, config, token = bench.folder / "bin", bench.folder / "recipe.yaml", bench.folder / "token"
        programs.mkdir()
        (programs / "torchrun").write_text(TORCHRUN)
        (programs / "torchrun").chmod(0o755)
        (bench.folder / "bridge/scripts/training").mkdir(parents=True)
        (bench.folder / "bridge/scripts/training/run_recipe.py").touch()
        token.write_text("hf_secret\n")
        config.write_text(
            yaml.safe_dump(
                {
                    "recipe": "llama3_8b_pretrain_8gpu_h100_bf16_config",
                    "overrides": {
                        "train": {"train_iters": STEPS, "global_batch_size": 32, "micro_batch_size": 1},
                        "dataset.seq_length": 512,
                    },
                    "trainops": {
                        "log_dir": str(bench.nodes),
                        "result_dict": {"tokens_per_gpu": 100},
                        "container_config": {
                            "env_dict": {
                                "PATH": f"{programs}:{os.environ['PATH']}",
                                "EXIT_STATUS": str(exit_status),
                            }
                        },
                    },
                }
            )
        )
        own = {
            "training_megatron_bridge_root": str(bench.folder / "bridge"),
            "training_master_port": free_port(),
            "training_gpus_per_node": 8,
            "training_require_gpu": False,
            "training_hf_token_file": str(token),
        }
        hosts = bench.inventory(node0={}, node1=node1 or {})
        return bench.play("train_multinode.yml", hosts, config, **(own | variables))

    return play


def test_a_run_passes_by_the_steps_of_its_last_node_and_the_rates_of_its_first(play):
    done = play()
    assert done.status == 0, done.output
    assert done.summary["verdict"] == "PASS"
    assert done.summary["framework"] == "megatron_bridge"
    assert [node["last_step"] for node in done.summary["nodes"]] == [None, STEPS]
    assert 700 < done.summary["metrics"]["tflops_per_gpu"]["value"] < 780


def test_a_run_whose_launcher_fails_does_not_pass(play):
    done = play(exit_status=3)
    assert done.status != 0
    assert done.summary["verdict"] == "FAIL"
    # Both nodes end so, at about the same time.
    assert done.summary["first_failure"]["exit_code"] == 3


def test_a_run_of_which_a_node_has_no_python_is_an_error(play):
    done = play(node1={"ansible_python_interpreter": "/nowhere/python3"})
    assert done.status != 0
    assert (done.summary["verdict"], done.summary["framework"]) == ("ERROR", "megatron_bridge")
    assert done.summary["first_failure"]["node"] == "node1"


@pytest.mark.slow
def test_a_rehearsal_needs_no_megatron_bridge(play):
    done = play(training_rehearsal=True, training_megatron_bridge_root="/nowhere")
    assert done.status == 0, done.output
    assert f"REHEARSAL PASS  {done.run_dir.name}" in done.output
