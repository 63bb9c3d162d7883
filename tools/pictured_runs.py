# SPDX-License-Identifier: GPL-3.0-or-later
"""Made-up runs whose reports docs/ shows; their logs are in the format of Megatron-LM, and the same every time."""

from __future__ import annotations

import json
import math
import random
import sys
import tempfile
import typing as t
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "collections"))

from ansible_collections.trainops.cluster.plugins.module_utils.logs.ending import end_of_training
from ansible_collections.trainops.cluster.plugins.module_utils.logs.reader import read_log, tail
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.files import PAGE, RECORDS
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.write import write_report
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.frame import columns_of, records_frame
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.warm_up import AUTO, parse_warm_up, warm_up_of

if t.TYPE_CHECKING:
    from ansible_collections.trainops.cluster.plugins.plugin_utils.contracts import NodePlan

_CONFIG = ROOT / "examples/megatron/mi3xx_megatron_llama_distributed.json"
_STARTED_AT = 1_795_000_000.0
_STEPS, _WARM_UP, _MILLISECONDS, _TOKENS = 60, 4, 420.0, 4096
_OF_SEEN = ("world_size", "settings", "signs", "ranks", "conflicts", "starts", "arguments", "transports")


class Run(t.NamedTuple):
    """A run of this many nodes; one may hang its GPU at a step, and one may take this much longer for each step.

    ``slow_from`` is the first step that takes longer, ``pauses`` the steps between two pauses and their seconds, and
    ``stops_learning`` the last step where the loss falls. ``day`` counts from the first run, and ``tokens`` counts the
    tokens of a step on each GPU.
    """

    name: str
    nodes: int
    hangs: tuple[str, int] | None = None
    slow: tuple[str, float] | None = None
    slow_from: int = 1
    pauses: tuple[int, float] | None = None
    stops_learning: int = _STEPS
    day: int = 0
    milliseconds: float = _MILLISECONDS
    tokens: int = _TOKENS


def write_records(run: Run, folder: Path) -> None:
    """Write the folder of a run with its ``records.csv``, and no report."""
    nodes, columns = [], {}
    for rank in range(run.nodes):
        name = f"mi300x-{rank:03}"
        with tempfile.NamedTemporaryFile("w", suffix=".log", encoding="utf-8") as log:
            log.write(_log(run, rank, name))
            log.flush()
            news = read_log(log.name, "megatron", final=True, tokens_per_step_per_gpu=run.tokens, failures="open")
        nodes.append(t.cast("NodePlan", {"node": name, "node_rank": rank}))
        columns[name] = columns_of(news["rows"].blocks())
    records = records_frame(run.name, nodes, columns, warm_up_of(parse_warm_up(AUTO), columns).steps)
    (folder / run.name).mkdir(parents=True)
    records.to_csv(folder / run.name / RECORDS, index=False, na_rep="NaN")


def page_of(run: Run, folder: Path) -> Path:
    """Write the folder of a run and its report, and return the page."""
    names = [f"mi300x-{rank:03}" for rank in range(run.nodes)]
    hosts = [Node(name, f"10.0.0.{rank}", "root", local=False) for rank, name in enumerate(names)]
    options = {"container_engine": "none", "training_megatron_root": "/opt/megatron", "training_gpus_per_node": 8}
    options |= {"training_run_id": run.name, "training_megatron_release": "v26.1"}
    plan = make_plan(_config(run), "my.json", options, hosts)
    assert not plan["faults"], plan["faults"]
    board = Board(folder / run.name)
    board.write_plan(plan)
    for rank, name in enumerate(names):
        log = board.log_path(name)
        log.write_text(_log(run, rank, name), encoding="utf-8")
        news = read_log(
            str(log), "megatron", final=True, tokens_per_step_per_gpu=plan["tokens_per_step_per_gpu"], failures="open"
        )
        board.append_steps(name, news["rows"].blocks())
        board.update(
            name,
            node_rank=rank,
            **_end(run, name),
            **{of_log: news[of_log] for of_log in _OF_SEEN},
            **end_of_training(str(log), "megatron"),
            failures=news["failures"],
            survived=news["survived"],
            log_run_id=run.name,
            log_bytes=log.stat().st_size,
            last_lines=tail(str(log)),
            first_step=1,
            last_step=news["cursor"]["step"],
            steps_total=_STEPS,
        )
    write_report(board.run_dir, index="../index.html")
    return board.run_dir / PAGE


def _config(run: Run) -> str:
    data = json.loads(_CONFIG.read_text(encoding="utf-8"))
    model = data["model_params"]["multi_node"]["llama3_1_8b"]["mi300x"]
    model |= {"batch_size": str(8 * run.nodes), "micro_batch_size": "1", "sequence_length": str(_TOKENS)}
    model |= {"precision": "TE_BF16", "result_dict": {"throughput_per_gpu": "430", "tokens_per_gpu": "9000"}}
    places = {"nnodes": str(run.nodes), "master_address": "10.0.0.0", "training_iterations": str(_STEPS)}
    network = {"nic_type": "thor2", "nccl_ib_hca_list": "bnxt_re0,bnxt_re1", "nccl_ib_gid_index": "3"}
    network |= dict.fromkeys(("nccl_socket_ifname", "gloo_socket_ifname"), "ens51f1np1")
    folders = {"log_dir": "/scratch/logs", "data_cache_dir": "/scratch/cache"}
    config = {**data["config"], **places, **network, **folders}
    for name in ("container_config", "hf_token_file", "shm_size", "container_image", "container_name"):
        config.pop(name)
    return json.dumps({"config": config, "model_params": {"multi_node": {"llama3_1_8b": {"mi300x": model}}}})


def _end(run: Run, name: str) -> dict[str, t.Any]:
    failed = run.hangs and run.hangs[0] == name
    status = "stopped" if run.hangs and not failed else "exited"
    exit_status = None if status == "stopped" else 134 if failed else 0
    seconds = 31.0 if not run.hangs else 14.0 if failed else 17.0
    return {
        "status": status,
        "exit_status": exit_status,
        "started_at": _STARTED_AT,
        "ended_at": _STARTED_AT + seconds,
    }


def _log(run: Run, rank: int, name: str) -> str:
    """Return the log of a node; all nodes share the same noise, and each adds a little of its own."""
    common, own = random.Random(run.name), random.Random(name)
    slower = 1 + (run.slow[1] if run.slow and run.slow[0] == name else 0.0)
    last = run.hangs[1] - 1 if run.hangs else _STEPS
    lines, clock = _head(run, rank, name), 3.0
    for step in range(1, last + 1):
        warming = 1.0 if step > _WARM_UP else 4.0 if step == 1 else 1.5
        noise = common.gauss(0, 0.006) + own.gauss(0, 0.002)
        milliseconds = run.milliseconds * warming * ((slower if step >= run.slow_from else 1) + noise)
        clock += milliseconds / 1000
        loss = 7 + 4 * math.exp(-4 * min(step, run.stops_learning) / _STEPS) + common.gauss(0, 0.01)
        lines.append(
            f" [{_stamp(clock + 86_400 * run.day)}] iteration {step:8d}/{_STEPS:8d} |"
            f" consumed samples: {8 * run.nodes * step:12d} |"
            f" elapsed time per iteration (ms): {milliseconds:.1f} | throughput per GPU (TFLOP/s/GPU):"
            f" {198_500 / milliseconds:.1f} | mem usages: 0.{7000 + own.randrange(100)} | learning rate: 1.000000E-04 |"
            f" global batch size: {8 * run.nodes:5d} | lm loss: {loss:.6E} | loss scale: 1.0 |"
            f" grad norm: {1 + own.random() / 10:.3f} | number of skipped iterations:   0 |"
            " number of nan iterations:   0 |"
        )
        if run.pauses and step % run.pauses[0] == 0:
            clock += run.pauses[1]
    if run.hangs and run.hangs[0] == name:
        lines.append("HW Exception by GPU node-4 (Agent handle: 0x55d0c0) reason :GPU Hang")
    elif not run.hangs:
        lines.append(f"[after training is done] datetime: {_stamp(clock)} ")
    return "\n".join(lines) + "\n"


def _head(run: Run, rank: int, name: str) -> list[str]:
    ranks, first = 8 * run.nodes, 8 * rank
    sizes = {"bf16": True, "global_batch_size": ranks, "hidden_size": 4096, "micro_batch_size": 1, "num_layers": 32}
    sizes |= {"seq_length": _TOKENS, "train_iters": _STEPS, "world_size": ranks}
    nccl = f"{name}:77:77 [0] NCCL INFO"
    return [
        f"using world size: {ranks}, data-parallel size: {ranks}, context-parallel size: 1, "
        "tensor-model-parallel size: 1, pipeline-model-parallel size: 1",
        "------------------------ arguments ------------------------",
        *(f"  {key} {'.' * (48 - len(key))} {value}" for key, value in sizes.items()),
        "-------------------- end of arguments ---------------------",
        " > padded vocab (size: 128256) with 0 dummy tokens (new size: 128256)",
        f"{nccl} NET/IB : Using [0]bnxt_re0:1/RoCE [1]bnxt_re1:1/RoCE [RO]; OOB ens51f1np1:10.0.0.{rank}<0>",
        f"{nccl} Using network IB",
        f"{nccl} Channel 00/0 : {first}[0] -> {(first + 8) % ranks}[0] [send] via NET/IB/0/GDRDMA",
        f"{nccl} ncclCommInitRank comm 0x55 rank {first} nranks {ranks} cudaDev 0 busId 5000 commId 0xabc"
        " - Init COMPLETE",
        f"[before the start of training step] datetime: {_stamp(2.0)} ",
    ]


def _stamp(seconds: float) -> str:
    return f"{datetime.fromtimestamp(_STARTED_AT + seconds, tz=UTC):%Y-%m-%d %H:%M:%S}"
