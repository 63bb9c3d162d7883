from __future__ import annotations

import pytest


def test_fewer_gpus_than_the_plan_uses(bench) -> None:
    nodes = bench()
    nodes[2]["gpus"]["devices"].pop()
    cell = nodes.cell("gpus", 2)
    assert (cell["status"], cell["found"]) == ("red", "7 × AMD Instinct MI300X")
    assert cell["reason"] == "the plan uses 8 GPUs per node, but the driver reports 7; the PCI bus shows 8"
    assert cell["command"] == "manual step: find the missing GPUs; to check: dmesg | grep -i amdgpu"


def test_gpus_whose_driver_is_not_loaded(bench) -> None:
    nodes = bench()
    nodes[1]["gpus"]["devices"] = []
    assert nodes.cell("gpus")["command"] == "modprobe amdgpu"
    nodes[1]["gpus"].update(vendor=None, on_bus=None)
    cell = nodes.cell("gpus")
    assert (cell["found"], cell["command"]) == (
        "no GPU",
        "manual step: find the missing GPUs; to check: lspci | grep -Ei 'display|3d|accelerator'",
    )


def test_another_gpu_than_the_config_is_for(bench) -> None:
    nodes = bench()
    for device in nodes[2]["gpus"]["devices"]:
        device["name"] = "AMD Instinct MI325X"
    assert nodes.cell("gpus", 2)["reason"] == "the plan is for mi300x, but the node has AMD Instinct MI325X"


def test_a_gpu_without_a_name_is_no_stranger(bench) -> None:
    nodes = bench()
    for device in nodes[1]["gpus"]["devices"]:
        device["name"] = None
    assert nodes.cell("gpus")["status"] == "green"


def test_gpus_that_could_not_be_looked_at_are_not_judged(bench) -> None:
    nodes = bench()
    nodes[1]["gpus"] = None
    nodes[1]["problems"]["gpus"] = "no answer within 10 s"
    assert nodes.cell("gpus")["found"] == "no answer within 10 s"
    assert nodes.cell("idle")["status"] == "grey"
    assert nodes.cell("driver")["status"] != "red"


@pytest.mark.parametrize(
    ("run_id", "told", "command"),
    [
        (None, "python3 train.py (pid 7, alice)", "manual step: ask its owner to stop it; to check: ps -fp 7"),
        (
            "run3",
            "python3 train.py (pid 7, run run3)",
            "ansible-playbook playbooks/stop.yml -i INVENTORY -e training_run_id=run3",
        ),
    ],
)
def test_a_foreign_process_is_named_and_never_ended(bench, run_id: str | None, told: str, command: str) -> None:
    nodes = bench()
    nodes[1]["gpus"]["processes"] = [{"pid": 7, "command": "python3 train.py", "user": "alice", "run_id": run_id}]
    cell = nodes.cell("idle")
    assert (cell["status"], cell["reason"]) == ("red", f"the GPUs are in use by {told}")
    assert cell["command"] == command


@pytest.mark.parametrize("run_id", ["x; touch owned", "$(reboot)", "a b", "-e", "x\ny", "run\u202e3", ""])
def test_a_run_that_no_plan_could_name_so_is_somebody_elses(bench, run_id: str) -> None:
    nodes = bench()
    nodes[1]["gpus"]["processes"] = [{"pid": 7, "command": "x" * 999, "user": "alice", "run_id": run_id}]
    cell = nodes.cell("idle")
    assert cell["reason"] == f"the GPUs are in use by {'x' * 80} (pid 7, alice)"
    assert cell["command"] == "manual step: ask its owner to stop it; to check: ps -fp 7"


def test_many_foreign_processes_are_counted(bench) -> None:
    nodes = bench()
    process = {"command": "x", "user": "bob", "run_id": None}
    nodes[1]["gpus"]["processes"] = [{**process, "pid": pid} for pid in range(8)]
    assert nodes.cell("idle")["found"] == "8 busy"
    assert nodes.cell("idle")["reason"].endswith("x (pid 2, bob) and 5 more")


def test_processes_that_could_not_be_found_out_are_not_judged(bench) -> None:
    nodes = bench()
    nodes[1]["gpus"].update(processes=None, problems=["nvidia-smi is not installed"])
    assert (nodes.cell("idle")["status"], nodes.cell("idle")["found"]) == ("grey", "nvidia-smi is not installed")


def test_numa_balancing(bench) -> None:
    nodes = bench(count=3)
    nodes[2]["numa"]["auto_balancing"] = 1
    nodes[3]["numa"]["auto_balancing"] = None
    assert [nodes.cell("numa", number)["status"] for number in (1, 2, 3)] == ["green", "red", "grey"]
    assert nodes.cell("numa", 2)["command"].startswith("sysctl -w kernel.numa_balancing=0")
