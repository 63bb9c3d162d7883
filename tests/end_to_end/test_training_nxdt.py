# SPDX-License-Identifier: GPL-3.0-or-later
"""NxDT's way from config to verdict on two nodes of this machine, with stand-ins for torchrun and the compiler."""

from __future__ import annotations

import pytest
from playbook_bench import ROOT, Bench
from ports import free_port

# Refuses what torchrun and NxDT refuse; the bars are drawn as PyTorch Lightning does for NxDT, for an epoch longer than
# the training.
TORCHRUN = """\
#!/usr/bin/env python3
import os, sys, time
arguments = dict(word.split("=", 1) for word in sys.argv if "=" in word)
folder, name = arguments["--config-path"], arguments["--config-name"]
assert "model_alignment_strategy:" in open(f"{folder}/{name}.yaml").read()
assert os.path.exists("training_orchestrator.py") and os.environ["XLA_DOWNCAST_BF16"] == "1"
node_rank = sys.argv[sys.argv.index("--node_rank") + 1]
print(f"rank {node_rank} of {arguments['trainer.num_nodes']}, COMPILE={os.environ.get('COMPILE')}", flush=True)
compiles = os.environ.get("COMPILE") == "1"
for step in range(1, 11 if compiles else int(os.environ["STEPS"]) + 1):
    # A node knows for how long the training ran.
    time.sleep(0.03)
    sys.stderr.write(f"\\rEpoch 0:   1%|# | {step}/91 [00:01<01:00, 33.{node_rank}{step % 10}it/s, v_num=2, "
                     f"reduced_train_loss={0 if compiles else 7 - step / 20:.2f}, lr=7.5e-9, throughput=8.0, "
                     f"throughput_peak=8.5]")
sys.stderr.write("\\n")
if not compiles:
    print(f"`Trainer.fit` stopped: `max_steps={os.environ['STEPS']}` reached.")
"""
COMPILER = """\
#!/usr/bin/env bash
"$@" && echo 'INFO ||PARALLEL_COMPILE||: Total graphs: 3'
"""


@pytest.fixture
def play(bench: Bench):
    """Return a function that trains the SFT example without a container, for a number of steps."""

    def play(steps: int = 100, node1: dict | None = None, **variables):
        checkout, programs = bench.folder / "examples", bench.folder / "venv/bin"
        checkout.mkdir()
        (checkout / "training_orchestrator.py").touch()
        programs.mkdir(parents=True)
        for name, text in {"torchrun": TORCHRUN, "neuron_parallel_compile": COMPILER}.items():
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        text = (ROOT / "examples/nxdt/hf_llama3_8b_sft.yaml").read_text()
        for old, new in {
            "<changeme>": "100",
            "compile_first: false": "compile_first: true",
            "/home/{user-id}/aws_neuron_venv_pytorch": str(programs.parent),
            "/home/{user-id}/LOG_DIR": str(bench.nodes),
        }.items():
            assert old in text
            text = text.replace(old, new)
        config = bench.folder / "nxdt.yaml"
        config.write_text(f"{text}  container_config: {{env_dict: {{STEPS: '{steps}'}}}}\n")
        own = {"training_nxdt_root": str(checkout), "training_master_port": free_port(), "training_require_gpu": False}
        hosts = bench.inventory(node0={}, node1=node1 or {})
        return bench.play("nxdt_multinode.yml", hosts, config, **(own | variables))

    return play


def test_a_run_compiles_trains_and_passes_at_its_last_step_within_an_epoch(play):
    done = play()
    assert done.status == 0, done.output
    assert done.summary["verdict"] == "PASS"
    assert {node["last_step"] for node in done.summary["nodes"]} == {100}
    # 8 sequences/s of 4096 tokens on 64 devices, whatever steps per second the bar shows.
    assert done.summary["metrics"]["tokens_per_sec_per_gpu"]["value"] == 512.0
    log = (done.run_dir / "nodes/node1/train.log").read_text()
    assert log.index("rank 1 of 2, COMPILE=1") < log.index("Total graphs: 3") < log.index("rank 1 of 2, COMPILE=0")


def test_a_run_that_ends_before_its_last_step_does_not_pass(play):
    done = play(steps=91)
    assert done.status != 0
    assert done.summary["verdict"] == "FAIL"
    assert "last_step_missing" in {reason["code"] for reason in done.summary["reasons"]}


def test_a_run_of_which_a_node_has_no_python_is_an_error(play):
    done = play(node1={"ansible_python_interpreter": "/nowhere/python3"})
    assert done.status != 0
    assert (done.summary["verdict"], done.summary["framework"]) == ("ERROR", "nxdt")
    assert done.summary["first_failure"]["node"] == "node1"


@pytest.mark.slow
def test_a_rehearsal_of_an_nxdt_run_needs_no_nxdt(play):
    done = play(training_rehearsal=True, training_nxdt_root="/nowhere")
    assert done.status == 0, done.output
    assert f"REHEARSAL PASS  {done.run_dir.name}" in done.output
    assert done.summary["framework"] == "nxdt"
