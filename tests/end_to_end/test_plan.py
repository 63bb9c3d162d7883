"""playbooks/plan.yml: the plan, or all that is wrong, without touching a node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playbook_bench import ROOT, Bench

DISTRIBUTED = ROOT / "examples/megatron/mi3xx_megatron_llama_distributed.json"
FILLED_IN = {
    "nnodes": "4",
    "master_address": "192.0.2.1",
    "training_iterations": "30",
    "nic_type": "thor2",
    "nccl_ib_hca_list": "bnxt_re0,bnxt_re1",
    "nccl_socket_ifname": "ens51f1np1",
    "gloo_socket_ifname": "ens51f1np1",
    "nccl_ib_gid_index": "3",
}


@pytest.fixture
def hosts(bench):
    """Four unreachable hosts, each with a user of its own."""
    path = bench.folder / "hosts"
    nodes = {f"gpu{n}": {"ansible_host": f"192.0.2.{n}", "ansible_user": f"user{n}"} for n in range(1, 5)}
    path.write_text(json.dumps({"all": {"hosts": nodes}}))
    return path


def planned(bench: Bench, hosts, config, *more: str, env=None, **variables):
    file = bench.folder / "plan.json"
    done = bench.play("plan.yml", hosts, config, *more, env=env, training_plan_file=str(file), **variables)
    return done, json.loads(file.read_text()) if file.exists() else None


def filled_in(bench: Bench, **changes):
    data = json.loads(DISTRIBUTED.read_text())
    data["config"] |= {**FILLED_IN, **changes}
    path = bench.folder / "distributed.json"
    path.write_text(json.dumps(data))
    return path


CHOICE = {"training_model": "llama3_1_8b", "training_gpu": "MI300X", "training_record_only": "true"}


def test_a_plan_is_made_for_nodes_that_nobody_can_reach_and_what_a_survey_leaves_empty_is_as_if_not_given(bench, hosts):
    empty = dict.fromkeys(("training_mode", "training_master_port", "training_overrides", "training_rehearsal"), "")
    config = filled_in(bench, hf_token_file="/nowhere/hf_token")
    done, plan = planned(bench, hosts, config, **{**CHOICE, **empty, "training_gpus_per_node": "8"})
    assert done.status == 0, done.output
    [warning] = [line for line in done.output.splitlines() if line.startswith("[WARNING]")]
    assert "hf_token_file /nowhere/hf_token " in warning
    assert plan["mode"] == "multi_node"
    assert plan["faults"] == []
    assert [node["node"] for node in plan["nodes"]] == ["gpu1", "gpu2", "gpu3", "gpu4"]
    assert [node["env"]["NODE_RANK"] for node in plan["nodes"]] == ["0", "1", "2", "3"]
    second = plan["nodes"][1]
    assert second["env"]["MASTER_ADDR"] == "192.0.2.1"
    assert "MASTER_ADDR=192.0.2.1" in second["argv"]
    assert second["env"]["LOG_DIR"].startswith("/home/user2/LOG_DIR/")
    assert {"source": "/home/user2", "target": "/home/user2"} in second["mounts"]
    assert second["image"] == "rocm/megatron-lm:v25.5_py310"
    assert "bash examples/llama/train_llama3.sh in /workspace/Megatron-LM" in done.output
    assert not bench.runs.exists()


def test_all_faults_are_shown_and_written_and_fail_the_play(bench, hosts):
    inventory = json.loads(hosts.read_text())
    inventory["all"]["hosts"]["gpu3"]["training_gpus_per_node"] = 4
    hosts.write_text(json.dumps(inventory))
    config = filled_in(bench, nnodes="3", nccl_ib_hca_list="bnxt_re0,bnxt_re0", training_iteration="30")
    wrong = {"training_mode": "both", "training_overrides": "x"}
    done, plan = planned(bench, hosts, config, **CHOICE, **wrong)
    assert done.status != 0
    assert plan["nodes"] == []
    of_config = {"config.nnodes", "config.nccl_ib_hca_list", "config.training_iteration"}
    keys = {fault["key"] for fault in plan["faults"]}
    assert keys == {*of_config, *wrong, "training_gpus_per_node"}
    for fault in plan["faults"]:
        assert fault["message"]
        assert fault["remedy"]
        assert fault["key"] in done.output
    assert "8 on gpu1, gpu2, gpu4; 4 on gpu3." in done.output
    assert "Validation of arguments failed" not in done.output
    assert "Traceback" not in done.output


def test_a_broken_config_is_told_with_its_place_and_no_traceback(bench, hosts):
    config = bench.folder / "broken.json"
    config.write_text('{"config": {\n  "nnodes": "2",\n}}')
    done, plan = planned(bench, hosts, config)
    assert done.status != 0
    assert plan["nodes"] == []
    assert any("line 3" in fault["message"] for fault in plan["faults"]), plan["faults"]
    assert "Traceback" not in done.output


@pytest.mark.slow
def test_files_that_are_not_there_are_told_with_their_paths(bench, hosts):
    done, plan = planned(bench, hosts, "/nowhere/config.json")
    assert done.status != 0
    assert [fault["key"] for fault in plan["faults"]] == ["training_config"]
    choice = {**CHOICE, "training_record_only": "false", "training_thresholds": "gone_threshold.json"}
    done, _plan = planned(bench, hosts, filled_in(bench), **choice)
    assert done.status != 0
    assert "gone_threshold.json cannot be read: No such file or directory." in " ".join(done.output.split())


@pytest.mark.parametrize(
    "playbook",
    ["plan.yml", "stop.yml", *(pytest.param(name, marks=pytest.mark.slow) for name in ("attach.yml", "node_prep.yml"))],
)
def test_nothing_is_done_on_no_host_as_if_it_had_been_done(bench, playbook):
    done = bench.play(playbook, bench.inventory(), bench.config(), training_run_id="lost")
    assert done.status != 0
    assert "The inventory has no hosts" in done.output


def inventories(bench: Bench) -> tuple[Path, Path]:
    """Write an inventory in JSON and a cluster file of CVS, of two hosts each."""
    own, cluster = bench.folder / "inventory.json", bench.folder / "cluster.json"
    own.write_text(json.dumps({"all": {"hosts": {"gpu01": {}, "gpu02": {}}}}))
    nodes = {name: {"bmc_ip": "NA", "vpc_ip": name} for name in ("10.0.0.1", "10.0.0.2")}
    data = {"username": "ops", "priv_key_file": "/k", "head_node_dict": {"mgmt_ip": "10.0.0.1"}, "node_dict": nodes}
    cluster.write_text(json.dumps(data))
    return own, cluster


def test_an_inventory_in_json_is_read_and_so_is_one_of_cvs(bench):
    own, cluster = inventories(bench)
    done, plan = planned(bench, own, filled_in(bench, master_address="auto"), "-i", str(cluster), **CHOICE)
    assert done.status == 0, done.output
    assert {node["node"] for node in plan["nodes"]} == {"gpu01", "gpu02", "10.0.0.1", "10.0.0.2"}


@pytest.mark.slow
def test_elsewhere_an_inventory_in_json_is_read_and_one_of_cvs_is_named(bench):
    elsewhere = {"cwd": bench.folder, "env": {"ANSIBLE_INVENTORY_ENABLED": "auto,yaml,ini"}}
    own, cluster = inventories(bench)
    config = filled_in(bench, nnodes="2", master_address="auto")
    done = bench.play("plan.yml", own, config, **elsewhere, **CHOICE)
    assert "gpu02" in done.output, done.output
    done = bench.play("plan.yml", cluster, config, **elsewhere, **CHOICE)
    told = " ".join(done.output.split())
    assert "a CVS cluster.json needs ANSIBLE_INVENTORY_ENABLED=trainops.cluster.cvs_cluster" in told, done.output


def test_hosts_are_chosen_left_out_and_ordered(bench, hosts):
    inventory = json.loads(hosts.read_text())
    inventory["all"]["hosts"]["gpu5"] = {"ansible_host": "192.0.2.5"}
    hosts.write_text(json.dumps(inventory))
    done, plan = planned(
        bench,
        hosts,
        filled_in(bench, nnodes="2", master_address="auto"),
        "--limit=gpu1,gpu2,gpu3,gpu4",
        training_hosts="gpu1:gpu2:gpu4:gpu5",
        training_exclude="gpu2",
        training_rank_order=["gpu4", "gpu1"],
        **CHOICE,
    )
    assert done.status == 0, done.output
    assert [node["node"] for node in plan["nodes"]] == ["gpu4", "gpu1"]
    assert plan["nodes"][1]["env"]["MASTER_ADDR"] == "192.0.2.4"


@pytest.mark.slow
def test_a_package_that_is_missing_on_the_controller_is_told_without_a_traceback(bench, hosts):
    hidden = bench.folder / "hidden"
    hidden.mkdir()
    (hidden / "pydantic.py").write_text("raise ModuleNotFoundError(\"No module named 'pydantic'\", name='pydantic')\n")
    done, plan = planned(bench, hosts, filled_in(bench), env={"PYTHONPATH": str(hidden)}, **CHOICE)
    assert done.status != 0
    assert plan is None
    assert "The Python of ansible-playbook lacks packages: No module named 'pydantic'. Run: " in " ".join(
        done.output.split()
    )
    assert "Traceback" not in done.output


def test_thresholds_come_from_a_file_of_cvs_and_impossible_ones_are_told(bench, hosts):
    file = bench.folder / "mi300x_threshold.json"
    bounds = {"training.throughput_per_gpu": {"kind": "min", "value": 2700}}
    file.write_text(json.dumps({"_comment": "Made up.", "PRECISION=FP8": bounds}))
    choice = {**CHOICE, "training_record_only": "false", "training_thresholds": str(file)}
    done, plan = planned(bench, hosts, filled_in(bench), **choice)
    assert done.status == 0, done.output
    assert plan["expected"] == [{"metric": "tflops_per_gpu", "kind": "min", "value": 2700.0}]
    assert "judged by  TFLOP/s per GPU ≥ 2,700" in done.output
    assert "is impossible: the peak of mi300x in fp8 is 2,614.9 TFLOP/s." in " ".join(done.output.split())


def test_with_v_the_plan_is_shown_once(bench: Bench, hosts) -> None:
    done = bench.play("plan.yml", hosts, filled_in(bench), "-v", training_gpus_per_node="8", **CHOICE)
    assert done.status == 0, done.output
    assert done.output.count("MASTER_ADDR=192.0.2.1") == 1
