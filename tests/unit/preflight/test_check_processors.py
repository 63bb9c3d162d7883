from __future__ import annotations

import pytest


def test_fewer_gpus_than_the_plan_uses(bench) -> None:
    nodes = bench()
    nodes[2]["gpus"]["devices"].pop()
    cell = nodes.cell("gpus", 2)
    assert nodes.code("gpus", 2) == ("red", "gpus_missing", "plan_on_bus")
    assert cell["values"] == {
        "gpus": {"count": 7, "models": ["AMD Instinct MI300X"]},
        "wanted": 8,
        "on_bus": 8,
        "module": "amdgpu",
    }
    assert cell["command"] == "manual step: find the missing GPUs; to check: dmesg | grep -i amdgpu"


def test_gpus_whose_driver_is_not_loaded(bench) -> None:
    nodes = bench()
    nodes[1]["gpus"]["devices"] = []
    assert nodes.cell("gpus")["command"] == "modprobe amdgpu"
    nodes[1]["gpus"].update(vendor=None, on_bus=None)
    cell = nodes.cell("gpus")
    assert (cell["code"], cell["case"], cell["values"]["gpus"]["count"]) == ("gpus_missing", "plan", 0)
    assert cell["command"].endswith("lspci | grep -Ei 'display|3d|accelerator'")


def test_another_gpu_than_the_config_is_for(bench) -> None:
    nodes = bench()
    for device in nodes[2]["gpus"]["devices"]:
        device["name"] = "AMD Instinct MI325X"
    assert nodes.code("gpus", 2) == ("red", "other_gpu", "plan")
    assert nodes.cell("gpus", 2)["values"]["other"] == "AMD Instinct MI325X"


def test_a_model_that_the_name_does_not_tell_is_no_stranger(bench) -> None:
    nodes = bench()
    for device in nodes[2]["gpus"]["devices"]:
        device["name"] = "AMD Radeon Graphics"
    assert nodes.code("gpus", 2) == ("green", "gpus", "")


@pytest.mark.parametrize(
    ("of_plan", "code"), [({"require_gpu": False}, "gpus_not_required"), ({"rehearsal": True}, "gpus_not_used")]
)
def test_a_plan_that_does_not_require_its_gpu(bench, of_plan, code: str) -> None:
    nodes = bench()
    nodes.plan.update(of_plan)
    nodes[1]["gpus"]["devices"] = []
    for device in nodes[2]["gpus"]["devices"]:
        device["name"] = "AMD Instinct MI325X"
    assert [nodes.code("gpus", number)[:2] for number in (1, 2)] == [("grey", code), ("grey", code)]


def test_a_gpu_without_a_name_is_no_stranger(bench) -> None:
    nodes = bench()
    for device in nodes[1]["gpus"]["devices"]:
        device["name"] = None
    assert nodes.cell("gpus")["status"] == "green"


def test_gpus_that_could_not_be_looked_at_are_not_judged(bench) -> None:
    nodes = bench()
    nodes[1]["gpus"] = None
    nodes[1]["problems"]["gpus"] = "no answer within 10 s"
    assert nodes.code("gpus") == ("grey", "unknown", "said")
    assert nodes.cell("gpus")["values"] == {"said": "no answer within 10 s"}
    assert nodes.cell("idle")["status"] == "grey"
    assert nodes.cell("driver")["status"] != "red"


@pytest.mark.parametrize(
    ("run_id", "command"),
    [
        (None, "manual step: ask its owner to stop it; to check: ps -fp 7"),
        (
            "run3",
            "ansible-playbook playbooks/stop.yml -i INVENTORY -e training_run_id=run3",
        ),
    ],
)
def test_a_foreign_process_is_named_and_never_ended(bench, run_id: str | None, command: str) -> None:
    nodes = bench()
    nodes[1]["gpus"]["processes"] = [{"pid": 7, "command": "python3 train.py", "user": "alice", "run_id": run_id}]
    assert nodes.code("idle") == ("red", "gpus_busy", "")
    cell = nodes.cell("idle")
    assert cell["values"] == {"count": 1, "processes": nodes[1]["gpus"]["processes"]}
    assert cell["command"] == command


@pytest.mark.parametrize("run_id", ["x; touch owned", "$(reboot)", "a b", "-e", "x\ny", "run\u202e3", ""])
def test_a_run_that_no_plan_could_name_so_is_somebody_elses(bench, run_id: str) -> None:
    nodes = bench()
    nodes[1]["gpus"]["processes"] = [{"pid": 7, "command": "x" * 999, "user": "alice", "run_id": run_id}]
    cell = nodes.cell("idle")
    assert cell["values"]["processes"][0]["run_id"] is None
    assert cell["command"] == "manual step: ask its owner to stop it; to check: ps -fp 7"


def test_many_foreign_processes_are_counted(bench) -> None:
    nodes = bench()
    process = {"command": "x", "user": "bob", "run_id": None}
    nodes[1]["gpus"]["processes"] = [{**process, "pid": pid} for pid in range(8)]
    assert nodes.cell("idle")["values"]["count"] == 8


def test_processes_that_could_not_be_found_out_are_not_judged(bench) -> None:
    nodes = bench()
    nodes[1]["gpus"].update(processes=None, problems=["nvidia-smi is not installed"])
    assert nodes.code("idle") == ("grey", "unknown", "all_said")
    assert nodes.cell("idle")["values"] == {"said": ["nvidia-smi is not installed"]}


def test_numa_balancing(bench) -> None:
    nodes = bench(count=3)
    nodes[2]["numa"]["auto_balancing"] = 1
    nodes[3]["numa"]["auto_balancing"] = None
    assert [nodes.cell("numa", number)["status"] for number in (1, 2, 3)] == ["green", "red", "grey"]
    assert nodes.cell("numa", 2)["command"].startswith("sysctl -w kernel.numa_balancing=0")
