# SPDX-License-Identifier: GPL-3.0-or-later
"""The torchrun line of a plan for NxDT, compared with the command of its own train.sh.

``TRAINOPS_NXDT`` is a checkout of aws-neuron/neuronx-distributed-training: then its train.sh runs on each of its
examples, on one node and as Slurm starts it on several. Without it the transcript of one run takes its place.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from nxdt_configs import HF, planned_nxdt, trn
from script_runs import run_script

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan

CHECKOUT = os.environ.get("TRAINOPS_NXDT", "")
SECTION = "\ntrainops:\n  nxdt_root: /nxdt/examples\n  log_dir: /logs\n  result_dict: {tokens_per_gpu: 1}\n"
# It asks for more open files than this machine may allow.
TRAIN_SH = ["bash", "-c", "ulimit() { :; }; export -f ulimit; bash train.sh"]
# The place of a run's config and logs is its own matter; so is Hydra's folder.
OF_RUN = re.compile(r"--config-(path|name)=|exp_manager\.explicit_log_dir=|hydra\.run\.dir=|data\.global_batch_size=")
# train.sh at 9169aa03 (SDK 2.26) with 64 devices, as Slurm starts it on the second of two nodes.
ARGV = [
    *("--nproc_per_node", "64", "--nnodes", "2", "--node_rank", "1"),
    *("--master_addr", "10.0.0.10", "--master_port", "41000"),
    *("training_orchestrator.py", "trainer.devices=64", "trainer.num_nodes=2"),
]
EXPORTED = {
    "XLA_DISABLE_FUNCTIONALIZATION": "0",
    "HYDRA_FULL_ERROR": "1",
    "MALLOC_ARENA_MAX": "128",
    "MASTER_ADDR": "10.0.0.10",
    "MASTER_PORT": "41000",
}
OVER_EFA = {"FI_EFA_USE_DEVICE_RDMA": "1", "FI_PROVIDER": "efa", "FI_EFA_FORK_SAFE": "1"}


def compared(argv: list[str]) -> list[str]:
    """Return the arguments of torchrun without those that are a run's own."""
    return [word for word in argv[argv.index("--nproc_per_node") :] if not OF_RUN.match(word)]


def test_a_plan_starts_what_train_sh_starts() -> None:
    plan = planned_nxdt(HF)
    assert plan["faults"] == []
    node = plan["nodes"][1]
    assert compared(node["argv"]) == ARGV
    assert {**node["env"], **EXPORTED, **OVER_EFA} == node["env"]


@pytest.mark.skipif(not CHECKOUT, reason="TRAINOPS_NXDT names no checkout of neuronx-distributed-training")
def test_train_sh_starts_what_the_plans_of_its_examples_say(tmp_path: Path) -> None:
    held = []
    for path in sorted((Path(CHECKOUT) / "examples/conf").glob("*.yaml")):
        text = path.read_text("utf-8")
        [count] = re.findall(r"num_nodes: *([0-9]+)", text)
        # On one node it meets at localhost.
        nodes = trn(int(count)) if count != "1" else [Node("trn0", "trn0", "ubuntu", local=True)]
        plan = make_plan(text + SECTION, "config.yaml", {"container_engine": "none"}, nodes, "now")
        if plan["faults"]:
            continue
        last = len(nodes) - 1
        slurm = {
            "SLURM_NNODES": count,
            "SLURM_NTASKS": count,
            "SLURM_NODEID": str(last),
            "SLURM_JOB_ID": "7",
            "STUB_HOSTS": " ".join(node.address for node in nodes),
        }
        env = {"CONF_FILE": path.stem, **(slurm if last else {})}
        done = run_script(Path(CHECKOUT), tmp_path, TRAIN_SH, env, "examples")
        assert done.argv, done.output
        node = plan["nodes"][last]
        assert compared(node["argv"]) == compared(done.argv), path.stem
        exported = {name: done.environment[name] for name in {**EXPORTED, **(OVER_EFA if last else {})}}
        assert {**node["env"], **exported} == node["env"], path.stem
        held.append(path.stem)
    assert len(held) >= 22
