from __future__ import annotations

import json
import os
import shutil
import typing as t
from pathlib import Path

import pytest
from node_trees import amd_gpus, bare, h100_cx7, mi300x_thor2, mi325x_ainic, write

from ansible_collections.trainops.cluster.plugins.module_utils.node.contracts import Reading
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.amd import (
    amd_smi_in,
    amd_tool,
    rocm_smi_in,
)
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.gpus import (
    gpu_facts,
    with_sensors,
    with_tool,
)
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.sensors import measured
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.tools import ToolError


def test_mi300x_as_the_driver_shows_them(tmp_path: Path) -> None:
    facts = gpu_facts(str(mi300x_thor2(tmp_path)))
    assert (facts["vendor"], len(facts["devices"]), facts["on_bus"]) == ("amd", 8, 8)
    assert facts["driver"] == {"name": "amdgpu", "version": "6.10.5"}
    assert facts["devices"][7] == {
        "name": "AMD Instinct MI300X",
        "architecture": "gfx942",
        "pci_address": "0000:75:00.0",
        "numa_node": 1,
        "memory_bytes": 206141652992,
        "firmware": {"vbios": "113-M3000100-102", "mec": "0x000000a5"},
    }
    assert (facts["processes"], facts["problems"]) == ([], [])


def test_the_name_is_the_boards_own_or_that_of_its_pci_device(tmp_path: Path) -> None:
    assert gpu_facts(str(mi325x_ainic(tmp_path)))["devices"][0]["name"] == "AMD Instinct MI325X"
    write(tmp_path, {"/sys/bus/pci/devices/0000:05:00.0/product_name": "AMD Instinct MI325X OAM"})
    assert gpu_facts(str(tmp_path))["devices"][0]["name"] == "AMD Instinct MI325X OAM"


def test_a_gpu_that_the_driver_lost_is_still_on_the_bus(tmp_path: Path) -> None:
    amd_gpus(tmp_path)
    write(tmp_path, {"/sys/bus/pci/devices/0000:95:00.0/vendor": "0x1002"})
    write(tmp_path, {"/sys/bus/pci/devices/0000:95:00.0/class": "0x120000"})
    facts = gpu_facts(str(tmp_path))
    assert (len(facts["devices"]), facts["on_bus"]) == (8, 9)


def test_gpus_without_a_driver_are_known_from_the_bus(tmp_path: Path) -> None:
    write(tmp_path, {"/sys/bus/pci/devices/0000:17:00.0/vendor": "0x10de"})
    write(tmp_path, {"/sys/bus/pci/devices/0000:17:00.0/class": "0x030200"})
    facts = gpu_facts(str(tmp_path))
    assert (facts["vendor"], facts["devices"], facts["on_bus"]) == ("nvidia", [], 1)


def test_a_machine_without_any_says_none(tmp_path: Path) -> None:
    facts = gpu_facts(str(bare(tmp_path)))
    assert (facts["vendor"], facts["devices"], facts["on_bus"], facts["problems"]) == (None, [], None, [])


def test_a_process_on_an_amd_gpu_is_named_with_its_run(tmp_path: Path) -> None:
    amd_gpus(tmp_path)
    write(tmp_path, {"/proc/4711/comm": "python3", "/sys/class/kfd/kfd/proc/4711/vram_51110": 1})
    (tmp_path / "proc/4711/cmdline").write_bytes(b"python3\0-u\0pretrain_gpt.py\0--tensor\0")
    (tmp_path / "proc/4711/environ").write_bytes(b"HOME=/root\0TRAINOPS_RUN_ID=run7\0")
    (process,) = gpu_facts(str(tmp_path))["processes"]
    assert process["user"]
    assert {**process, "user": ""} == {
        "pid": 4711,
        "command": "python3 -u pretrain_gpt.py",
        "user": "",
        "run_id": "run7",
    }


def test_a_process_that_ended_meanwhile_is_left_out(tmp_path: Path) -> None:
    amd_gpus(tmp_path)
    write(tmp_path, {"/sys/class/kfd/kfd/proc/4711/vram_51110": 1})
    assert gpu_facts(str(tmp_path))["processes"] == []


def test_nvidia_gpus_as_their_driver_shows_them(tmp_path: Path) -> None:
    facts = gpu_facts(str(h100_cx7(tmp_path)))
    assert (facts["vendor"], len(facts["devices"])) == ("nvidia", 8)
    assert facts["driver"] == {"name": "nvidia", "version": "550.90.07"}
    assert facts["devices"][0]["name"] == "NVIDIA H100 80GB HBM3"
    assert facts["devices"][0]["firmware"] == {"vbios": "96.00.74.00.01"}


def test_neuron_devices_and_who_holds_one(tmp_path: Path) -> None:
    write(tmp_path, {f"/sys/class/neuron_device/neuron{n}/core_count": 2 for n in range(16)})
    write(tmp_path, {"/sys/class/neuron_device/neuron0/info/architecture/device_name": "Trainium1"})
    write(tmp_path, {"/sys/module/neuron/version": "2.19.64.0", "/sys/class/dmi/id/product_name": "trn1.32xlarge"})
    write(tmp_path, {"/proc/99/fd/3": "->/dev/neuron4", "/proc/99/comm": "python3", "/proc/98/fd/3": "->/dev/null"})
    facts = gpu_facts(str(tmp_path))
    assert (facts["vendor"], len(facts["devices"])) == ("neuron", 16)
    assert [device["name"] for device in facts["devices"][:2]] == ["Trainium1", "trn1.32xlarge"]
    assert facts["driver"]["version"] == "2.19.64.0"
    assert [process["pid"] for process in facts["processes"]] == [99]


def test_tpu_chips_and_who_holds_one(tmp_path: Path) -> None:
    for slot in range(4):
        files = {"vendor": "0x1ae0", "device": "0x0062", "numa_node": 0}
        write(tmp_path, {f"/sys/bus/pci/devices/0000:00:0{slot}.0/{name}": value for name, value in files.items()})
    # Google's network card is not a TPU.
    write(tmp_path, {"/sys/bus/pci/devices/0000:00:09.0/vendor": "0x1ae0"})
    write(tmp_path, {"/sys/bus/pci/devices/0000:00:09.0/device": "0x0042"})
    write(tmp_path, {"/proc/5/fd/9": "->/dev/vfio/2", "/proc/5/comm": "train"})
    facts = gpu_facts(str(tmp_path))
    assert (facts["vendor"], [device["name"] for device in facts["devices"]]) == ("tpu", ["TPU v5p"] * 4)
    assert [process["command"] for process in facts["processes"]] == ["train"]


def test_only_processes_that_are_seen_through_proc_count(tmp_path: Path) -> None:
    write(tmp_path, {"/sys/class/neuron_device/neuron0/core_count": 2, f"/proc/{os.getpid()}/comm": "pytest"})
    assert gpu_facts(str(tmp_path))["processes"] == []


AMD_SMI = [
    {"gpu": gpu, "asic": {"market_name": "AMD Instinct MI300X"}, "driver": {"version": "6.12.12"}} for gpu in (0, 1)
]


def test_amd_smi_before_and_since_rocm_7() -> None:
    told = {"names": ["AMD Instinct MI300X"] * 2, "driver_version": "6.12.12"}
    assert amd_smi_in(json.dumps(AMD_SMI)) == told
    assert amd_smi_in(json.dumps({"gpu_data": AMD_SMI})) == told


def test_rocm_smi_names_cards_and_system() -> None:
    output = {
        "card0": {"Card Series": "AMD Instinct MI300X", "Card Model": "0x74a1"},
        "card1": {"Card series": "AMD Instinct MI300X"},
        "system": {"Driver version": "6.8.5"},
    }
    assert rocm_smi_in(json.dumps(output)) == {"names": ["AMD Instinct MI300X"] * 2, "driver_version": "6.8.5"}


# rocm-smi prints its warnings to standard output, above the JSON (ROCm/rocm_smi_lib, rocm_smi.py); amd-smi prints N/A
# for values it could not get (ROCm/amdsmi, amdsmi_commands.py).
LOW_POWER = "WARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status\n\n"


@pytest.mark.parametrize(
    ("read", "before", "output", "told"),
    [
        (rocm_smi_in, LOW_POWER, {"card0": {"Card Series": "N/A"}}, {"names": [None], "driver_version": None}),
        (rocm_smi_in, "", {"card1": {}, "system": {"Driver version": None}}, {"names": [None], "driver_version": None}),
        (
            amd_smi_in,
            "[WARNING] some of the GPUs did not answer\n",
            [{"gpu": 0, "asic": {"market_name": "N/A"}, "driver": {"version": "N/A"}}, AMD_SMI[1]],
            {"names": [None, "AMD Instinct MI300X"], "driver_version": "6.12.12"},
        ),
        (amd_smi_in, "", {"gpu_data": []}, {"names": [], "driver_version": None}),
    ],
    ids=["a warning", "null", "N/A", "no card"],
)
def test_what_amds_tools_do_not_know_is_not_known(read, before, output, told) -> None:
    assert read(f"{before}{json.dumps(output, indent=2)}\n") == told


def test_the_tool_fills_in_what_the_driver_does_not_tell(tmp_path: Path) -> None:
    amd_gpus(tmp_path, count=2, device=0xFFFF, driver=None)
    facts = with_tool(gpu_facts(str(tmp_path)), dict(amd_smi_in(json.dumps(AMD_SMI)), tool="amd-smi"))
    assert [device["name"] for device in facts["devices"]] == ["AMD Instinct MI300X"] * 2
    assert (facts["driver"]["version"], facts["tool"], facts["problems"]) == ("6.12.12", "amd-smi", [])


def test_a_tool_that_sees_other_gpus_or_fails_is_a_problem(tmp_path: Path) -> None:
    amd_gpus(tmp_path, count=3)
    facts = gpu_facts(str(tmp_path))
    fewer = with_tool(facts, dict(amd_smi_in(json.dumps(AMD_SMI)), tool="amd-smi"))
    assert fewer["problems"] == ["amd-smi sees 2 GPUs, but the driver sees 3"]
    failed = with_tool(facts, ToolError("amd-smi is not installed; rocm-smi is not installed"))
    assert failed["problems"] == ["amd-smi is not installed; rocm-smi is not installed"]
    assert len(failed["devices"]) == 3


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> t.Callable[[str, str], None]:
    """Put a program in the place of one of AMD's tools."""

    def put(name: str, script: str) -> None:
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return put


def test_the_tool_that_is_installed_is_asked(stand_in: t.Callable[[str, str], None]) -> None:
    stand_in("rocm-smi", f"echo '{json.dumps({'card0': {'Card Series': 'MI'}, 'system': {}})}'")
    assert amd_tool() == {"tool": "rocm-smi", "names": ["MI"], "driver_version": None}
    stand_in("amd-smi", f"[ $1 = static ] && echo '{json.dumps(AMD_SMI)}'")
    assert amd_tool()["tool"] == "amd-smi"


@pytest.mark.parametrize("output", ["no JSON", "[1]", "{}", '[{"gpu": 0}]'])
def test_a_tool_that_prints_something_else_says_so(stand_in: t.Callable[[str, str], None], output: str) -> None:
    stand_in("amd-smi", f"echo '{output}'")
    with pytest.raises(ToolError, match=r"^amd-smi printed unexpected output$"):
        amd_tool()


def test_without_any_tool_both_are_named() -> None:
    if shutil.which("amd-smi") or shutil.which("rocm-smi"):
        pytest.skip("this machine has one of AMD's tools")
    with pytest.raises(ToolError, match=r"^amd-smi is not installed, rocm-smi is not installed$"):
        amd_tool()


def test_amds_tool_says_nothing_of_others(tmp_path: Path) -> None:
    facts = gpu_facts(str(bare(tmp_path)))
    assert with_tool(facts, ToolError("amd-smi is not installed")) == facts


def test_sensors_stand_with_their_device_and_know_the_memory_that_no_file_says(tmp_path: Path) -> None:
    facts = gpu_facts(str(h100_cx7(tmp_path)))
    said = [dict.fromkeys(Reading.__annotations__) | {"memory_total": 2.0**30 * place} for place in range(1, 9)]
    devices = with_sensors(facts, said)["devices"]
    assert [device["memory_bytes"] for device in devices] == [2**30 * place for place in range(1, 9)]
    assert [device["sensors"] for device in devices] == said


def test_partitions_of_a_board_share_its_sensors_and_keep_their_own_memory(tmp_path: Path) -> None:
    facts = gpu_facts(str(mi300x_thor2(tmp_path)))
    facts["devices"] = [device for device in facts["devices"] for _partition in range(2)]
    said = measured(str(tmp_path))
    devices = with_sensors(facts, said)["devices"]
    assert [device["sensors"] for device in devices] == [sensors for sensors in said for _partition in range(2)]
    assert {device["memory_bytes"] for device in devices} == {206141652992}
    assert devices[0]["sensors"]["power_limit"] == 750.0


@pytest.mark.parametrize(
    ("said", "problem"),
    [(ToolError("nvidia-smi is not installed"), "sensors of the GPUs: nvidia-smi is"), ([{}], "1 GPUs have sensors")],
    ids=["no tool", "other GPUs"],
)
def test_sensors_that_are_not_known_are_null_and_why_is_a_problem(said: t.Any, problem: str, tmp_path: Path) -> None:
    facts = with_sensors(gpu_facts(str(h100_cx7(tmp_path))), said)
    assert [(device["sensors"], device["memory_bytes"]) for device in facts["devices"]] == [(None, None)] * 8
    assert any(problem in one for one in facts["problems"])
