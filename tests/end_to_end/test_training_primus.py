# SPDX-License-Identifier: GPL-3.0-or-later
"""Primus' way from config to verdict on two nodes of this machine, with a stand-in for torchrun.

``TRAINOPS_PRIMUS`` is a checkout of AMD-AGI/Primus: then its own runner starts the stand-in, but without its hooks,
which install packages and fetch data. Without it a script takes the runner's place.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import yaml
from playbook_bench import Bench
from ports import free_port

CHECKOUT = os.environ.get("TRAINOPS_PRIMUS", "")
STEPS = 30
# The lines of Primus' logger, and of Megatron-LM in it: the last rank, on the last node, prints all steps. Each node's
# log has the ranks that the runner lets through.
TORCHRUN = """\
#!/usr/bin/env python3
import os, sys, time
at = lambda name: sys.argv[sys.argv.index(name) + 1]
nodes, rank, gpus = int(at("--nnodes")), int(at("--node_rank")), int(at("--nproc_per_node"))
assert (nodes, gpus) == (2, 8) and os.environ["HF_TOKEN"] == "hf_secret"
assert "train_iters" in open(at("--config")).read() and sys.argv[sys.argv.index("train") + 1] == "pretrain"
steps = int(at("--train_iters")) if "--train_iters" in sys.argv else STEPS
local = 0 if rank == 0 else gpus - 1
assert at("--local-ranks-filter") == str(local)
def say(text):
    stamp = time.strftime("%Y%m%d %H:%M:%S")
    print(f"[{stamp}][rank-{rank * gpus + local}/{nodes * gpus}][INFO     ] [--------train.py:10] : {text}", flush=True)
say("setting up Megatron")
if rank == 0:
    say(f"using world size: {nodes * gpus}, data-parallel size: 16, tensor-model-parallel size: 1, "
        "pipeline-model-parallel size: 1")
    say("[before the start of training step] datetime: 2026-11-27 10:00:00 ")
    say("[after training is done] datetime: 2026-11-27 10:00:30 ")
for step in range(1, steps + 1) if rank == 1 else ():
    # A node knows for how long the training ran.
    ms = 60 + step % 7
    time.sleep(ms / 1000)
    say(f"[2026-11-27 10:00:{step:02d}.{step * 1000:06d}] iteration {step:8d}/{steps:8d} | consumed samples: "
        f"{32 * step:12d} | elapsed time per iteration (ms): {ms:.1f}/{ms:.1f} | compute per GPU (TFLOP/s/GPU): "
        f"{46521 / ms:.1f} (avg {46521 / ms:.1f})  | tokens/s/GPU inst/harmonic mean: "
        f"{1024000 / ms:.1f}/{1024000 / ms:.1f} | learning rate: 1.000000E-05 | "
        f"global batch size: {32:5d} | lm loss: {11 - step / 20:.6E} | loss scale: 1.0 | grad norm: 2.000 | "
        "number of skipped iterations:   0 | number of nan iterations:   0 | hip mem usage/free/total/usage_ratio: "
        "174.24GB/113.76GB/288.00GB/60.50%")
sys.exit(int(os.environ.get("EXIT_STATUS", 0)) if rank == 1 else 0)
""".replace("else STEPS", f"else {STEPS}")
TOP = {"work_group": "amd", "user_name": "root", "exp_name": "e", "workspace": "./output"}
# The parts of primus-cli-direct.sh that a plan relies on.
RUNNER = """\
#!/usr/bin/env bash
[[ $1 == direct && $2 == --log_file && $4 == -- ]] || exit 2
local_rank=$(( NODE_RANK == 0 ? 0 : GPUS_PER_NODE - 1 ))
torchrun --nproc_per_node "$GPUS_PER_NODE" --nnodes "$NNODES" --node_rank "$NODE_RANK" --master_addr "$MASTER_ADDR" \\
  --master_port "$MASTER_PORT" --local-ranks-filter "$local_rank" primus/cli/main.py "${@:5}" 2>&1 | tee "$3"
status=${PIPESTATUS[0]}
if [[ $status == 0 ]]; then
  echo "[NODE-$NODE_RANK($HOSTNAME)] [INFO] [direct] torchrun finished successfully (code 0)"
else
  echo "[NODE-$NODE_RANK($HOSTNAME)] [ERROR] [direct] torchrun exited with code $status" >&2
fi
exit "$status"
"""


def primus_in(folder: Path) -> Path:
    """Return a folder of Primus with its runner."""
    root = folder / "Primus"
    if CHECKOUT:
        left_out = shutil.ignore_patterns("hooks")
        shutil.copytree(Path(CHECKOUT) / "runner", root / "runner", ignore=left_out, symlinks=True)
        return root
    (root / "runner").mkdir(parents=True)
    (root / "runner/primus-cli").write_text(RUNNER)
    return root


@pytest.fixture
def play(bench: Bench):
    """Return a function that trains an experiment without a container."""

    def play(exit_status: int = 0, node1: dict | None = None, **variables):
        programs, config, token = bench.folder / "bin", bench.folder / "exp.yaml", bench.folder / "token"
        programs.mkdir()
        (programs / "torchrun").write_text(TORCHRUN)
        (programs / "torchrun").chmod(0o755)
        token.write_text("hf_secret\n")
        # Without ROCm's libraries the runner ends at once.
        (bench.folder / "rocm/lib").mkdir(parents=True)
        overrides = {"train_iters": STEPS, "micro_batch_size": 2, "global_batch_size": 32, "seq_length": 512}
        module = {"framework": "megatron", "config": "pre_trainer.yaml", "model": "llama3.1_8B.yaml"}
        config.write_text(
            yaml.safe_dump(
                {
                    **TOP,
                    "modules": {"pre_trainer": {**module, "overrides": overrides}},
                    "trainops": {
                        "log_dir": str(bench.nodes),
                        "result_dict": {"tokens_per_gpu": 100},
                        "container_config": {
                            "env_dict": {
                                "PATH": f"{programs}:{os.environ['PATH']}",
                                "ROCM_HOME": str(bench.folder / "rocm"),
                                "EXIT_STATUS": str(exit_status),
                            }
                        },
                    },
                }
            )
        )
        own = {
            "training_primus_root": str(primus_in(bench.folder)),
            "training_master_port": free_port(),
            "training_gpus_per_node": 8,
            "training_require_gpu": False,
            "training_hf_token_file": str(token),
        }
        hosts = bench.inventory(node0={}, node1=node1 or {})
        return bench.play("train_multinode.yml", hosts, config, **(own | variables))

    return play


def test_a_run_passes_by_the_steps_of_its_last_node(play):
    done = play()
    assert done.status == 0, done.output
    assert done.summary["verdict"] == "PASS"
    assert done.summary["framework"] == "primus"
    assert [node["last_step"] for node in done.summary["nodes"]] == [None, STEPS]
    assert 15_500 < done.summary["metrics"]["tokens_per_sec_per_gpu"]["value"] < 17_100


def test_a_run_whose_launcher_fails_does_not_pass_whatever_number_of_steps_is_asked_for_by_an_argument(play):
    done = play(exit_status=3, training_overrides={"train_iters": 10})
    assert done.status != 0
    assert done.summary["verdict"] == "FAIL"
    # Both nodes end so, at about the same time.
    assert done.summary["first_failure"]["exit_code"] == 3
    assert done.summary["nodes"][1]["last_step"] == 10


def test_a_run_of_which_a_node_has_no_python_is_an_error(play):
    done = play(node1={"ansible_python_interpreter": "/nowhere/python3"})
    assert done.status != 0
    assert (done.summary["verdict"], done.summary["framework"]) == ("ERROR", "primus")
    assert done.summary["first_failure"]["node"] == "node1"


@pytest.mark.slow
def test_a_rehearsal_needs_no_primus(play):
    done = play(training_rehearsal=True, training_primus_root="/nowhere")
    assert done.status == 0, done.output
    assert f"REHEARSAL PASS  {done.run_dir.name}" in done.output
