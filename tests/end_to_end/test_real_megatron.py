"""Megatron Core from PyPI in a trainer of our own, on two nodes of this machine, by the contract of train_llama3.sh.

It is left out unless MEGATRON_PYTHON is a Python with Megatron Core: ``make test-trainers`` installs one and sets it.
tests/trainers/megatron says which parts of it are Megatron's.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
from pathlib import Path

import pytest
from playbook_bench import ROOT, Bench, Finished, wait_until

PYTHON = os.environ.get("MEGATRON_PYTHON")
pytestmark = pytest.mark.skipif(
    not PYTHON, reason="MEGATRON_PYTHON names no Python with Megatron Core; run `make test-megatron`"
)
TRAINER = ROOT / "tests/trainers/megatron"
STEPS = 8


def configured(bench: Bench, generation: str, changes: dict[str, object], **broken: str) -> tuple[Path, dict[str, str]]:
    """Return the config of a training on two nodes with a script of some generation, and variables that go with it.

    ``broken`` are variables that break it.
    """
    cache = str(bench.folder / "cache")
    variables = {"GENERATION": generation, "PYTHON": PYTHON, "OMP_NUM_THREADS": "1", "FIXED_CACHE": cache, **broken}
    config = bench.config(
        **{
            "training_iterations": str(STEPS),
            "num_attention_heads": "4",
            "batch_size": "8",
            "micro_batch_size": "2",
            "sequence_length": "64",
            "data_cache_dir": cache,
            "container_config": {"env_dict": variables},
            "tokens_per_gpu": "1",
            "elapsed_time_per_iteration": "60000",
            **changes,
        }
    )
    return config, {"training_megatron_root": str(TRAINER), "training_megatron_release": generation}


def train(bench: Bench, generation: str, changes: dict[str, object] | None = None, **broken: str) -> Finished:
    """Train on two nodes with a script of some generation; ``broken`` are variables that break it."""
    config, variables = configured(bench, generation, changes or {}, **broken)
    return bench.play("megatron_multinode.yml", bench.inventory(node0={}, node1={}), config, **variables)


def log_of(done: Finished, node: str) -> str:
    return Path(done.run_dir, "nodes", node, "train.log").read_text()


def losses(done: Finished) -> list[float]:
    return [float(loss) for loss in re.findall(r"lm loss: (\S+)", log_of(done, "node1"))]


def ends(done: Finished) -> dict[str, tuple[int, int | None]]:
    """Return the exit status and the last step of each node."""
    return {node["node"]: (node["exit_code"], node["last_step"]) for node in done.summary["nodes"]}


@pytest.mark.parametrize("generation", ["v25.3", "v25.5", "v26.1"])
def test_two_nodes_train_together_with_the_script_of_each_generation(bench, generation):
    done = train(bench, generation)
    assert done.status == 0, done.output
    assert done.summary["verdict"] == "PASS"
    # Only the last rank prints steps; the other node's closing lines are nan, and count for nothing.
    assert " iteration " not in log_of(done, "node0")
    assert "tokens/GPU/s: nan" in log_of(done, "node0")
    assert len(losses(done)) == STEPS
    assert "Using Mock data" in log_of(done, "node0")


def test_tensor_parallelism_over_two_nodes_computes_what_data_parallelism_does(tmp_path):
    found = {}
    for name, ranks in (("data", "1"), ("tensor", "2")):
        folder = tmp_path / name
        folder.mkdir()
        done = train(Bench(folder), "v25.5", {"tensor_parallelism": ranks})
        assert (done.status, done.summary["verdict"]) == (0, "PASS"), done.output
        found[name] = losses(done)
    assert found["tensor"] == pytest.approx(found["data"], rel=1e-4)
    assert found["data"][-1] < found["data"][0] - 0.5


@pytest.mark.parametrize(("generation", "status"), [("v25.3", 0), ("v25.5", 0), ("v26.1", 1)])
def test_a_training_that_failed_is_no_success_whatever_the_script_ends_with(bench, generation, status):
    done = train(bench, generation, FAIL_AT_STEP="4")
    assert done.status != 0
    assert done.summary["verdict"] == "FAIL"
    first = done.summary["first_failure"]
    assert (first["node"], first["class"]) == ("node0", "python_error")
    assert "step 4 was told to fail" in done.output
    assert ends(done)["node0"][0] == status
    assert all(last is None or last < STEPS for _, last in ends(done).values())


def test_an_unshared_data_cache_is_named_on_the_node_that_misses_it(bench):
    done = train(bench, "v25.5", UNSHARED_CACHE="1")
    assert done.status != 0
    assert done.summary["verdict"] == "FAIL"
    first = done.summary["first_failure"]
    assert (first["node"], first["class"], first["exit_code"]) == ("node1", "data_cache", 0)
    assert "Put the data cache path on storage that all nodes share" in done.output


def test_the_next_attempt_goes_on_from_the_checkpoint_that_megatron_core_wrote(bench):
    kept = bench.folder / "checkpoints"
    folders = {"SAVE_CKPT_PATH": str(kept), "LOAD_CKPT_PATH": str(kept), "SAVE_INTERVAL": "12"}
    config, variables = configured(bench, "v26.1", {"training_iterations": "24"}, **folders)
    hosts = bench.inventory(node0={}, node1={}, spare0={})
    inventory = json.loads(hosts.read_text())
    inventory["all"]["children"] = {"spares": {"hosts": {"spare0": {}}}}
    hosts.write_text(json.dumps(inventory))
    more = {"training_run_id": "nightly", "training_retries": 1, "training_spares": "spares"}
    run = bench.start("megatron_multinode.yml", hosts, config, **variables, **more)
    wait_until((kept / "latest_checkpointed_iteration.txt").exists, 240)
    for pid in bench.trainings("node1"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    output, _ = run.communicate(timeout=400)
    assert run.returncode == 0, output
    assert "PASS (attempt 2)  nightly-2" in output
    again = bench.runs / "nightly-2"
    steps = re.findall(r" iteration +(\d+)/", (again / "nodes/spare0/train.log").read_text())
    assert (steps[0], steps[-1]) == ("13", "24")
    summary = json.loads((again / "summary.json").read_text())
    (note,) = [note["message"] for note in summary["notes"] if note["code"] == "retry"]
    assert f"it resumed with step 13, from the last checkpoint in {kept}." in note
