"""A part of a run, chosen with --tags: an already started run is judged again, staged, or followed to its end."""

from __future__ import annotations

import json

import pytest
from finished_runs import changeable
from playbook_bench import Bench
from ports import free_port


def test_a_run_is_judged_again_without_its_nodes(bench: Bench) -> None:
    run_dir = changeable("pass", bench.folder).run_dir
    (run_dir / "summary.json").unlink()
    gone = {"ansible_connection": "ssh", "ansible_host": "192.0.2.1"}
    hosts = bench.inventory(node0=gone, node1=gone)
    given = {"training_output_dir": str(run_dir.parent), "training_run_id": run_dir.name}
    done = bench.play("attach.yml", hosts, bench.config(), "--tags", "report", **given)
    assert done.status == 0, done.output
    assert json.loads((run_dir / "summary.json").read_text())["verdict"] == "PASS"


@pytest.mark.parametrize("retries", [0, 1])
def test_a_run_is_staged_first_and_trained_later(bench: Bench, retries: int) -> None:
    hosts, config = bench.inventory(node0={}, node1={}), bench.config()
    given = {"training_run_id": "nightly", "training_retries": retries, "training_master_port": free_port()}
    staged = bench.play("megatron_multinode.yml", hosts, config, "--tags", "stage,trian", **given)
    assert staged.status == 0, staged.output
    assert "No part of a run has the tag trian" in " ".join(staged.output.split())
    run_dir = bench.runs / "nightly"
    assert (run_dir / "plan.json").exists()
    assert not (run_dir / "summary.json").exists()
    assert len(list(bench.nodes.rglob("launch.sh"))) == 2
    assert bench.trainings() == []
    trained = bench.play("megatron_multinode.yml", hosts, config, "--tags", "train,finish,report", **given)
    assert trained.status == 0, trained.output
    assert json.loads((run_dir / "summary.json").read_text())["verdict"] == "PASS"
