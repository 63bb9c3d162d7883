"""Training logs in the formats of Megatron-LM, torchrun, NCCL and JAX, and the records of a followed node with them."""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from ansible_collections.trainops.cluster.plugins.module_utils.logs.ending import end_of_training
from ansible_collections.trainops.cluster.plugins.module_utils.logs.reader import read_log, tail
from ansible_collections.trainops.cluster.plugins.module_utils.logs.rows import StepRows
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.status import status_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.frame import (
    StepColumns,
    columns_of,
    records_frame,
    steps_frame,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.machine_events import AcceleratorsSeen
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.verdict import judge
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.warm_up import warm_up_of

STARTED_AT = 1_750_000_000.0


def line(
    step: int,
    total: int = 10,
    *,
    ms: float = 100.0,
    memory: float | None = 0.5,
    tflops: float | None = 400.0,
    loss: float | None = None,
    grad_norm: float = 1.0,
    skipped: int = 0,
    nan: int = 0,
) -> str:
    """Return an iteration line; the loss, if not given, falls to 4 at step 10.

    As in Megatron-LM, a loss that is not greater than zero is left out; as in its first releases, there is no time.
    """
    loss = 4.0 + (10 - step) * 0.01 if loss is None else loss
    return (
        f" iteration {step:8d}/{total:8d} | consumed samples: {step * 8:12d} |"
        f" elapsed time per iteration (ms): {ms:.1f} |"
        + (f" mem usages: {memory:.4f} |" if memory is not None else "")
        + (f" throughput per GPU (TFLOP/s/GPU): {tflops:.1f} |" if tflops is not None else "")
        + f" learning rate: {1e-4:.6E} | global batch size: {8:5d} |"
        + (f" lm loss: {loss:.6E} |" if loss > 0 else "")
        + f" loss scale: {1:.1f} | grad norm: {grad_norm:.3f} |"
        f" number of skipped iterations: {skipped:3d} | number of nan iterations: {nan:3d} |\n"
    )


def lines(steps: t.Iterable[int], total: int = 10, **values: t.Any) -> str:
    return "".join(line(step, total, **values) for step in steps)


ALL = lines(range(1, 11))
OVER = "[after training is done] datetime: 2026-01-02 03:14:05 \n"

# Who writes what: the formats are the trainers', the numbers are made up.
OUT_OF_MEMORY = (
    "[rank5]: Traceback (most recent call last):\n"
    '[rank5]:   File "/workspace/Megatron-LM/pretrain_gpt.py", line 300, in <module>\n'
    "[rank5]: torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 5 has a total capacity of"
    " 191.98 GiB of which 1.20 GiB is free.\n"
)
PYTHON_ERROR = (
    "[rank3]: Traceback (most recent call last):\n"
    '[rank3]:   File "/workspace/Megatron-LM/megatron/training/training.py", line 900, in train\n'
    "[rank3]: KeyError: 'tokens'\n"
)
NCCL_ERROR = (
    "[rank1]: Traceback (most recent call last):\n"
    '[rank1]:   File "/opt/venv/lib/python3.12/site-packages/torch/distributed/c10d_logger.py", line 81, in wrapper\n'
    "[rank1]: torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/ProcessGroupNCCL.cpp:2251,"
    " remote process exited or there was a network error, NCCL version 2.21.5\n"
    "[rank1]: ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\n"
)
WATCHDOG = (
    "[rank0]:[E1103 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout:"
    " WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600060 milliseconds"
    " before timing out.\n"
)
GLOO_PEER_CLOSED = (
    "[rank0]: Traceback (most recent call last):\n"
    '[rank0]:   File "train.py", line 7, in <module>\n'
    "[rank0]: RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer"
    " [10.0.0.2]:41311\n"
)
LOST_PEER = "ConnectionError: lost the connection to rank 1 (gpu01 at 10.0.0.2)\n"
GPU_HANG = "HW Exception by GPU node-9 (Agent handle: 0x55d1c0) reason :GPU Hang\nAborted (core dumped)\n"
RENDEZVOUS = (
    "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to"
    " (10.0.0.1, 6000).\n"
)
HEARTBEAT = (
    "E1103 02:07:08.4 77 client.h:80] Terminating process because the JAX distributed service detected fatal errors."
    " absl::Status: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n"
    "/job:jax_worker/replica:0/task:1\n"
)
IMPORT_WARNING = "ImportError: libcudart.so.12: cannot open shared object file; the fused kernels are not used\n"


def elastic(exit_code: int, local_rank: int = 6) -> str:
    """Return torchrun's output if one of its processes has failed."""
    return (
        "W1103 02:14:02.158000 92046 torch/distributed/elastic/multiprocessing/api.py:1010] Sending process 92115"
        " closing signal SIGTERM\n"
        "E1103 02:14:02.632000 92046 torch/distributed/elastic/multiprocessing/api.py:984] failed"
        f" (exitcode: {exit_code}) local_rank: {local_rank} (pid: 92121) of binary: /opt/venv/bin/python\n"
        "Traceback (most recent call last):\n"
        '  File "/opt/venv/bin/torchrun", line 33, in <module>\n'
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
        "============================================================\n"
        "Root Cause (first observed failure):\n"
        "[0]:\n"
        "  time      : 2026-11-03_02:14:02\n"
        f"  rank      : {local_rank} (local_rank: {local_rank})\n"
        f"  exitcode  : {exit_code} (pid: 92121)\n"
        "  error_file: <N/A>\n"
        "============================================================\n"
    )


@dataclass
class Node:
    """A node of a run: its log, and how it ended, this many seconds after the start."""

    name: str
    log: str = ""
    status: str = "exited"
    exit_status: int | None = 0
    seconds: float | None = 100.0
    told: dict[str, t.Any] = field(default_factory=dict)
    """What the board holds besides."""


def known_of(
    node: Node, folder: Path, node_rank: int = 0, framework: str = "megatron"
) -> tuple[dict[str, t.Any], StepRows]:
    """Return the board's record of a node whose log was read to its end, and its step rows."""
    log = folder / f"{node.name}.log"
    log.write_text(node.log, encoding="utf-8")
    news = read_log(str(log), framework, final=True, tokens_per_step_per_gpu=4096, failures="open")
    known = {
        "node": node.name,
        "node_rank": node_rank,
        "status": node.status,
        "exit_status": node.exit_status if node.status == "exited" else None,
        "started_at": STARTED_AT,
        "ended_at": None if node.seconds is None else STARTED_AT + node.seconds,
        "failures": news["failures"],
        "survived": news["survived"],
        "transports": news["transports"],
        **{
            name: news[name]
            for name in ("world_size", "settings", "signs", "ranks", "conflicts", "starts", "arguments")
        },
        **end_of_training(str(log), framework),
        "log_run_id": "the-run",
    }
    if node.status in ("exited", "killed"):
        known["last_lines"] = tail(str(log))
    if news["rows"]:
        known["first_step"] = 1
        known |= {name: news["cursor"][other] for name, other in (("last_step", "step"), ("steps_total",) * 2)}
    return known | node.told, news["rows"]


WORKLOAD: dict[str, t.Any] = {
    "precision": "bf16",
    "tokens_per_step": 8192,
    "gpus": 2,
    "model_flops_per_token": 10e9,
    "model_flops_reason": None,
    "peak_tflops_per_gpu": 1000.0,
    "peak_reason": None,
}
"""What plans compute here: two nodes of one GPU, which do 4096 tokens in a step each."""


def plan_of(nodes: t.Sequence[str], **changes: t.Any) -> dict[str, t.Any]:
    """Return a plan as far as a verdict needs it."""
    plan = {
        "schema_version": 1,
        "run_id": "the-run",
        "framework": "megatron",
        "mode": "multi_node",
        "model": "llama3_1_8b",
        "gpu": "mi300x",
        "config_file": "config.json",
        "container_engine": "docker",
        "record_only": False,
        "parameters": {"iterations": 10},
        "first_step": 1,
        "expected": [{"metric": "tflops_per_gpu", "kind": "min", "value": 300.0}],
    } | changes
    single = plan["mode"] == "single_node"
    env, addresses = plan.pop("env", {}), plan.pop("addresses", nodes)
    plan["nodes"] = [
        {"node": name, "node_rank": 0 if single else place, "env": env, "address": address}
        for place, (name, address) in enumerate(zip(nodes, addresses, strict=True))
    ]
    return plan


def judged(
    nodes: t.Sequence[Node],
    folder: Path,
    warmup_steps: int | None = 2,
    accelerators: t.Mapping[str, AcceleratorsSeen] | None = None,
    **plan_changes: t.Any,
) -> dict[str, t.Any]:
    """Return the summary of a run whose nodes left these logs."""
    plan = plan_of([node.name for node in nodes], **plan_changes)
    statuses, told = [], {}
    for node, planned in zip(nodes, plan["nodes"], strict=True):
        known, rows = known_of(node, folder, planned["node_rank"], plan.get("log_grammar", "megatron"))
        told[node.name] = columns_of(rows.blocks())
        statuses.append(status_of(known))
    warm_up = warm_up_of(warmup_steps, told)
    steps = steps_frame(plan["nodes"], told, warm_up.steps)
    records = records_frame(plan["run_id"], plan["nodes"], told)
    return judge(plan, statuses, steps, records, warm_up, accelerators=accelerators)


def codes(summary: dict[str, t.Any]) -> list[tuple[str, str | None]]:
    """Return the codes of a summary's reasons, each with its node."""
    return [(reason["code"], reason.get("node")) for reason in summary["reasons"]]


def row(step: int, attempt: int = 1, **metrics: float) -> dict[str, t.Any]:
    """Return a step row."""
    return {"attempt": attempt, "step": step, "steps_total": 10, "metrics": metrics}


def columns(*rows: dict[str, t.Any]) -> StepColumns:
    """Return step rows as columns."""
    kept = StepRows()
    for one in rows:
        kept.add(one)
    return columns_of(kept.blocks())


def frame_of(values: dict[str, list[float]], metric: str, warmup_steps: int = 0) -> pd.DataFrame:
    """Return the steps of nodes whose logs have these values of one metric, from step 1 on; NaN is a missing one."""
    nodes = [{"node": node, "node_rank": rank} for rank, node in enumerate(values)]
    told = {
        node: columns(
            *(
                row(step, loss=1.0) if math.isnan(value) else row(step, **{metric: value})
                for step, value in enumerate(series, start=1)
            )
        )
        for node, series in values.items()
    }
    return steps_frame(nodes, told, warmup_steps)


SILENT = (
    "Number of parameters in transformer layers in billions:  6.98\n"
    "[before the start of training step] datetime: 2026-01-02 03:04:05 \n"
    "[after training is done] datetime: 2026-01-02 03:14:05 \n"
)


def two(last_rank_log: str = ALL, **last_rank) -> list[Node]:
    """Return two nodes of one job, as Megatron-LM writes their logs: the steps are in the last rank's log."""
    return [Node("gpu00", SILENT), Node("gpu01", last_rank_log, **last_rank)]


LOGS: dict[str, t.Any] = {"logs": {"folder": "/logs"}}
"""What makes a plan one of existing logs, which nobody followed."""
