"""The two ways to judge logs: as playbooks/report.yml does, and as a run that is followed live ends."""

from __future__ import annotations

import json
import re
import time
import typing as t
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from good_runs import GOOD, STARTED, STEPS, Logs

from ansible_collections.trainops.cluster.plugins.module_utils.node.phases import follow
from ansible_collections.trainops.cluster.plugins.plugin_utils.report import write
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.answers import FOLLOW, accepted
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.follow import Follower, News, Patience
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.files import find_runs
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.open import read_runs, write_run
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.plan import Known

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
RUN_ID = "the-run"


@cache
def known(framework: str) -> Known:
    """Return the known facts about a good run besides its logs: with a training config, but for MaxText."""
    if framework == "maxtext":
        return Known("", "", {"training_record_only": True}, 2, 0)
    if framework == "nxdt":
        text = (EXAMPLES / "nxdt/hf_llama3_8b_pretraining.yaml").read_text()
        for key, value in (("num_nodes", 2), ("max_steps", STEPS["nxdt"]), ("global_batch_size", 256)):
            text = re.sub(rf"\b{key}: \d+ ?", f"{key}: {value} ", text, count=1)
        return Known(text, "c.yaml", {"training_record_only": True, "container_engine": "none"}, None, 0)
    data = json.loads((EXAMPLES / "megatron/mi3xx_megatron_llama_distributed.json").read_text())
    data["config"] |= {
        "nnodes": "4", "master_address": "192.0.2.1", "training_iterations": str(STEPS["megatron"]),
        "nic_type": "thor2", "nccl_ib_hca_list": "bnxt_re0,bnxt_re1", "nccl_socket_ifname": "ens51f1np1",
        "gloo_socket_ifname": "ens51f1np1", "nccl_ib_gid_index": "3",
    }  # fmt: skip
    cell = data["model_params"]["multi_node"]["llama3_1_8b"]["mi300x"]
    cell["sequence_length"] = "1024"
    cell["result_dict"] = {"throughput_per_gpu": "360", "elapsed_time_per_iteration": "520"}
    return Known(json.dumps(data), "c.json", {"training_model": "llama3_1_8b", "training_gpu": "mi300x"}, None, 0)


def reported(framework: str, logs: Logs) -> dict[str, t.Any]:
    """Return the summary of ``report.yml``; its verdict is REFUSED if the logs are not even accepted."""
    with TemporaryDirectory() as folder:
        for name, text in logs.items():
            path = Path(folder, "logs", name if "." in name else f"{name}.log")
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        try:
            (run,) = find_runs([f"{folder}/logs"])
            (read,) = read_runs(run, Path(folder, "out"), framework, None, known(framework))
        except ValueError as error:
            return {"verdict": "REFUSED", "reasons": [{"code": str(error)}]}
        write_run(read, 0)
        return _summary(read.run_dir)


@cache
def _plan(framework: str) -> str:
    with TemporaryDirectory() as folder:
        for name, text in GOOD[framework]().items():
            Path(folder, f"{name}.log").write_text(str(text))
        (run,) = find_runs([folder])
        (read,) = read_runs(run, Path(folder, "out"), framework, None, known(framework))
        write_run(read, 0)
        return (read.run_dir / "plan.json").read_text()


def followed(framework: str, logs: Logs) -> dict[str, t.Any]:
    """Return the summary of a run that was followed to its end, on whose nodes the trainers left these logs."""
    plan = {**json.loads(_plan(framework)), "run_id": RUN_ID}
    del plan["logs"]
    ended = {
        "status": "exited",
        "exit_status": 0,
        "started_at": STARTED.timestamp() - 30,
        "ended_at": STARTED.timestamp() + 3600,
    }
    with TemporaryDirectory() as folder, mock.patch.object(follow, "_state_of", return_value=ended):
        board = Board(Path(folder, RUN_ID))
        board.write_plan(plan)
        for node in [planned["node"] for planned in plan["nodes"]]:
            path = Path(folder, f"{node}.log")
            text = logs.get(node, logs.get(f"{node}.out", ""))
            text = text if isinstance(text, bytes) else text.encode()
            path.write_bytes(f"trainops.cluster: run {RUN_ID}, node {node}\n".encode() + text)
            fixed = {
                "node": {"log_file": str(path), "node": node},
                "framework": framework,
                "run_id": RUN_ID,
                **{name: plan.get(name) for name in ("tokens_per_step_per_gpu", "tokens_per_sequence_per_gpu")},
            }

            def ask(request: dict[str, t.Any], fixed: dict[str, t.Any] = fixed) -> dict[str, t.Any]:
                answer = json.loads(
                    json.dumps({"failed": False, **follow.follow({**fixed, **request, "start": False})})
                )
                return {**accepted(FOLLOW, answer), "now": time.time()}

            Follower(ask, board, plan, node, Patience(1, 1, 1), News()).follow()
        return _summary(Path(folder, RUN_ID))


def _summary(run_dir: Path) -> dict[str, t.Any]:
    with mock.patch.object(write, "_write_files", return_value=True):
        summary: dict[str, t.Any] = write.write_report(run_dir)[0]
    return summary


WAYS = {"report": reported, "live": followed}
