"""Accelerators' sensors, read from trees of the drivers' files and from nvidia-smi's output."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.contracts import Reading
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection import sensors
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.sensors import (
    measured,
    nvidia_readings,
    readings,
)
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.tools import ToolError

BOARD = "sys/bus/pci/devices/0000:0c:00.0"
AMD = {
    "sys/class/kfd/kfd/topology/nodes/1/gpu_id": "5",
    "sys/class/kfd/kfd/topology/nodes/1/properties": "location_id 3072\ndomain 0",
    f"{BOARD}/hwmon/hwmon4/temp1_input": "41000",
    f"{BOARD}/hwmon/hwmon4/temp2_input": "63500",
    f"{BOARD}/hwmon/hwmon4/power1_input": "702000000",
    f"{BOARD}/hwmon/hwmon4/freq1_input": "2100000000",
    f"{BOARD}/ras/umc_err_count": "ue: 1\nce: 40",
    f"{BOARD}/ras/gfx_err_count": "ue: 2\nce: 0",
    f"{BOARD}/ras/features": "feature mask: 0x7",
    f"{BOARD}/hwmon/hwmon4/power1_cap": "750000000",
    f"{BOARD}/pp_dpm_sclk": "0: 132Mhz\n1: 2100Mhz *",
    f"{BOARD}/gpu_busy_percent": "97",
    f"{BOARD}/mem_info_vram_used": "150000000000",
    f"{BOARD}/mem_info_vram_total": "206000000000",
}


def tree(root: Path, files: dict[str, str]) -> str:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{content}\n")
    return str(root)


UNKNOWN = dict.fromkeys(Reading.__annotations__)


def test_an_amd_board_tells_its_hottest_sensor_its_limits_its_memory_and_all_errors(tmp_path):
    assert readings(tree(tmp_path, AMD)) == [
        UNKNOWN
        | {
            "temperature": 63.5,
            "power": 702.0,
            "power_limit": 750.0,
            "clock": 2100.0,
            "clock_limit": 2100.0,
            "utilization": 97.0,
            "memory_used": 150e9,
            "memory_total": 206e9,
            "ecc_corrected": 40.0,
            "ecc_uncorrected": 3.0,
        }
    ]


def test_partitions_of_a_board_are_one_reading(tmp_path):
    partition = {path.replace("nodes/1", "nodes/2"): content for path, content in AMD.items()}
    assert len(readings(tree(tmp_path, AMD | partition))) == 1


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # A virtual function of MI300X has no sensors but its clock; an APU averages its power.
        ({"temp1_input": None, "temp2_input": None, "power1_input": None}, [None, None, 2100.0]),
        ({"power1_average": "650000000"}, [63.5, 650.0, 2100.0]),
        ({"temp2_input": "N/A", "power1_input": "", "freq1_input": "0x"}, [41.0, None, None]),
        ({"temp1_input": "0", "temp2_input": None, "power1_input": "0", "freq1_input": "0"}, [0.0, 0.0, 0.0]),
    ],
    ids=["a virtual function", "an average", "nonsense", "zeros"],
)
def test_what_an_amd_board_does_not_say_is_not_known(changes, expected, tmp_path):
    files = AMD | {f"{BOARD}/hwmon/hwmon4/{name}": value for name, value in changes.items()}
    (reading,) = readings(tree(tmp_path, {path: value for path, value in files.items() if value is not None}))
    assert [reading[name] for name in ("temperature", "power", "clock")] == expected


def test_an_amd_board_without_error_counters_has_no_errors_that_are_known(tmp_path):
    (reading,) = readings(tree(tmp_path, {path: value for path, value in AMD.items() if "/ras/" not in path}))
    assert reading["ecc_uncorrected"] is None


# In the order of the query; H200 under load. The marks for unknown values, and the sentence for a lost GPU, are quoted
# from reports of GPUs in such states: [Not Supported] from drivers before 445.
SOUND = "0, 65, 690.12, 700.00, 1665, 1980, 100, 136821, 143771, 2, 0, 1, 0x0000000000000004"
SOUND_READING = {
    "temperature": 65.0,
    "power": 690.12,
    "power_limit": 700.0,
    "clock": 1665.0,
    "clock_limit": 1980.0,
    "utilization": 100.0,
    "memory_used": 136821.0 * 2**20,
    "memory_total": 143771.0 * 2**20,
    "ecc_corrected": 2.0,
    "ecc_uncorrected": 0.0,
    "ecc_uncorrected_ever": 1.0,
    "held_down_by": ["power cap"],
}


@pytest.mark.parametrize(
    ("line", "readings_after"),
    [
        (f"1, 50, {'[N/A], ' * 10}[N/A]", [UNKNOWN | {"temperature": 50.0}]),
        (f"1, 50, {'[Not Supported], ' * 10}0x1", [UNKNOWN | {"temperature": 50.0, "held_down_by": ["idle"]}]),
        (f"1, [GPU requires reset], {'[Unknown Error], ' * 10}0x0", [UNKNOWN | {"held_down_by": []}]),
        (f"1, ERR!, N/A, , null{', ' * 8}", [UNKNOWN]),
        (
            "Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error\n2" + SOUND[1:],
            [UNKNOWN, SOUND_READING],
        ),
        (", ".join(["index, temperature.gpu, power.draw [W]", *["x"] * 10]), []),
        ("1, 50, 310", []),
    ],
    ids=["N/A", "not supported", "requires reset", "other words", "a lost GPU", "a header", "a line that was cut"],
)
def test_what_nvidia_smi_does_not_know_of_a_gpu_is_not_known_and_moves_no_other(line, readings_after):
    assert nvidia_readings(f"{SOUND}\n{line}\n") == [SOUND_READING, *readings_after]


@pytest.mark.parametrize("output", ["", "No devices were found\n", "NVIDIA-SMI has failed because it couldn't\n"])
def test_where_nvidia_smi_sees_no_gpu_there_are_no_readings(output):
    assert nvidia_readings(output) == []


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ("0x0000000000000000", []),
        ("0x0000000000000001", ["idle"]),
        ("0x0000000000000024", ["power cap", "thermal"]),
        ("0x0000000000000068", ["thermal"]),
        ("0x0000000000000088", ["power brake"]),
        ("0x0000000000000008", ["hardware slowdown"]),
        ("[N/A]", None),
    ],
)
def test_the_mask_of_reasons_is_said_in_words(mask, words):
    (reading,) = nvidia_readings(SOUND.replace("0x0000000000000004", mask))
    assert reading["held_down_by"] == words


SMI = """#!/bin/sh
for field in {unknown}; do
  case "$1" in *$field*) echo "Field \\"$field\\" is not a valid field to query."; exit 2 ;; esac
done
echo "$1" >>{asked}
echo "{line}"
"""


@pytest.mark.parametrize(
    ("unknown", "line", "missing", "asked"),
    [
        ("nothing", SOUND, [], "clocks_event_reasons.active"),
        ("clocks_event_reasons.active", SOUND, [], "clocks_throttle_reasons.active"),
        ("clocks_event_reasons.active clocks_throttle_reasons.active", SOUND[:-20], ["held_down_by"], "aggregate"),
    ],
    ids=["a driver of today", "before R535", "neither name"],
)
def test_a_field_that_a_driver_does_not_know_is_asked_under_its_older_name(
    unknown, line, missing, asked, tmp_path, monkeypatch
):
    smi = tmp_path / "bin/nvidia-smi"
    smi.parent.mkdir()
    smi.write_text(SMI.format(unknown=unknown, line=line, asked=tmp_path / "asked"))
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{smi.parent}:{os.environ['PATH']}")
    root = tree(tmp_path, {"proc/driver/nvidia/gpus/0000:06:00.0/information": "Model: NVIDIA H200"})
    assert readings(root) == [SOUND_READING | dict.fromkeys(missing)]
    assert asked in (tmp_path / "asked").read_text()


def test_without_nvidia_smi_there_are_no_readings_and_whoever_wants_to_know_why_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(sensors, "run_tool", lambda *_: (_ for _ in ()).throw(ToolError("it hangs")))
    root = tree(tmp_path, {"proc/driver/nvidia/gpus/0000:06:00.0/information": "Model: NVIDIA H200"})
    assert readings(root) == []
    with pytest.raises(ToolError, match="it hangs"):
        measured(root)


NEURON = "sys/devices/virtual/neuron_device/neuron0"
COUNTED = UNKNOWN | {"ecc_uncorrected": 3.0}


@pytest.mark.parametrize("folder", ["stats/hardware", "hardware", "stats/hardware/ecc"])
def test_a_neuron_device_counts_errors_only_wherever_its_driver_keeps_them(folder, tmp_path):
    files = {f"{NEURON}/{folder}/mem_ecc_uncorrected/total": "2", f"{NEURON}/{folder}/sram_ecc_uncorrected": "1"}
    # Repairable errors, and those noted last, do not count.
    files |= {f"{NEURON}/{folder}/mem_ecc_repairable_uncorrected": "9", f"{NEURON}/{folder}/sram_ecc_corrected": "9"}
    root = tree(tmp_path, {**files, f"{NEURON}/{folder}/mem_ecc_uncorrected/present": "1"})
    (tmp_path / NEURON / "subsystem").symlink_to("..")
    assert readings(root) == [COUNTED]


def test_a_neuron_device_without_counters_is_not_one_without_errors(tmp_path):
    files = {f"{NEURON}/core_count": "2", f"{NEURON}/stats/power/utilization": "POWER_STATUS_NO_DATA,0,0.00,0.00,0.00"}
    assert readings(tree(tmp_path, files)) == [COUNTED | {"ecc_uncorrected": None}]


def test_a_node_without_accelerators_has_none(tmp_path):
    assert readings(str(tmp_path)) == []
