# SPDX-License-Identifier: GPL-3.0-or-later
"""Rehearsal: the plan of a real run, with the embedded trainer instead of the real one.

Image, mounts, devices, environment, ranks, ports and limits stay unchanged. What keeps the nodes from meeting over the
configured interface shows within a minute, without a GPU.
"""

from __future__ import annotations

import re

from ....module_utils.logs.grammars.known import OF_EMBEDDED_TRAINER, grammar_of
from ...contracts import NodePlan, Plan, Workload
from .architecture import FORMULA

# Enough to show that one node is the slowest in most of them, see `verdict.stragglers.note_slow_rank`.
STEPS = 20
_SEQUENCE_LENGTH = 32
_SEQUENCES_PER_NODE = 2
FOLDER_NAME = "rehearsal"
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_SCRIPT = "examples/llama/train_llama3.sh"


def rehearsed(plan: Plan) -> Plan:
    """Return the rehearsal of a plan. It has no thresholds for throughput."""
    nodes = [_rehearsed_node(node) for node in plan["nodes"]]
    if not nodes:
        return {**plan, "rehearsal": True, "expected": []}
    return {
        **plan,
        "rehearsal": True,
        "log_grammar": OF_EMBEDDED_TRAINER,
        "expected": [],
        "first_step": grammar_of(OF_EMBEDDED_TRAINER).first_step,
        "parameters": {**plan["parameters"], "iterations": STEPS},
        "tokens_per_sequence_per_gpu": None,
        "tokens_per_step_per_gpu": float(_SEQUENCES_PER_NODE * _SEQUENCE_LENGTH),
        "workload": _workload(plan["nodes"][0]["nnodes"]),
        "nodes": nodes,
    }


def _workload(nnodes: int) -> Workload:
    """Return the workload of the embedded trainer, with one "GPU" per node."""
    reason = "A rehearsal trains a toy model on the CPU."
    return {
        "precision": "fp64",
        "global_batch_size": _SEQUENCES_PER_NODE * nnodes,
        "micro_batch_size": 1,
        "sequence_length": _SEQUENCE_LENGTH,
        "tokens_per_step": _SEQUENCES_PER_NODE * nnodes * _SEQUENCE_LENGTH,
        "gpus": nnodes,
        "parameters": None,
        "layers": None,
        "hidden_size": None,
        "feed_forward_size": None,
        "model_flops_per_token": None,
        "model_flops_reason": reason,
        "peak_tflops_per_gpu": None,
        "peak_reason": reason,
        "formula": FORMULA,
    }


def _rehearsed_node(node: NodePlan) -> NodePlan:
    """Return a node of the rehearsal: one process of the embedded trainer, whatever the real one does with its GPUs."""
    trainer = {
        "MASTER_ADDR": node["master_address"],
        "MASTER_PORT": str(node["master_port"]),
        "NNODES": str(node["nnodes"]),
        "NODE_RANK": str(node["node_rank"]),
        "MODEL_SIZE": "tiny",
        "TOTAL_ITERS": str(STEPS),
        "MBS": "1",
        "BS": str(_SEQUENCES_PER_NODE * node["nnodes"]),
        "SEQ_LENGTH": str(_SEQUENCE_LENGTH),
        "TP": "1",
        "PP": "1",
        "CP": "1",
        "TE_FP8": "0",
        "FSDP": "0",
        "RECOMPUTE": "0",
        "MOCK_DATA": "1",
        "TOKENIZER_MODEL": "bytes",
    }
    given = dict(word.split("=", 1) for word in node["argv"] if _ASSIGNMENT.match(word))
    rehearsed_node: NodePlan = {
        **node,
        "argv": ["bash", _SCRIPT, *(f"{name}={value}" for name, value in {**given, **trainer}.items())],
        "env": {**node["env"], **trainer},
        "script": _SCRIPT,
        "working_dir": f"{node['run_folder']}/{FOLDER_NAME}",
    }
    # The embedded trainer uses synthetic data, so no dataset is fetched.
    rehearsed_node.pop("dataset", None)
    return rehearsed_node
