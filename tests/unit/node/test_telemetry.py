"""Accelerators' sensors, read from trees of the drivers' files and from what nvidia-smi prints."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.trainops.cluster.plugins.module_utils.node.telemetry import nvidia_readings, readings

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
}


def tree(root: Path, files: dict[str, str]) -> str:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{content}\n")
    return str(root)


def test_an_amd_board_tells_its_hottest_sensor_and_all_uncorrected_errors(tmp_path):
    assert readings(tree(tmp_path, AMD)) == [
        {"temperature": 63.5, "power": 702.0, "clock": 2100.0, "ecc_uncorrected": 3.0}
    ]


def test_partitions_of_a_board_are_one_reading(tmp_path):
    partition = {path.replace("nodes/1", "nodes/2"): content for path, content in AMD.items()}
    assert len(readings(tree(tmp_path, AMD | partition))) == 1


def test_nvidia_smi_says_in_brackets_what_it_does_not_know():
    assert nvidia_readings("45, 310.22, 1980, 0\n50, [N/A], 1965, [N/A]\nunexpected\n") == [
        {"temperature": 45.0, "power": 310.22, "clock": 1980.0, "ecc_uncorrected": 0.0},
        {"temperature": 50.0, "power": None, "clock": 1965.0, "ecc_uncorrected": None},
    ]


def test_a_neuron_device_counts_errors_only(tmp_path):
    folder = "sys/devices/virtual/neuron_device/neuron0/stats/hardware"
    files = {f"{folder}/mem_ecc_uncorrected/total": "2", f"{folder}/sram_ecc_uncorrected": "1"}
    assert readings(tree(tmp_path, files)) == [
        {"temperature": None, "power": None, "clock": None, "ecc_uncorrected": 3.0}
    ]


def test_a_node_without_accelerators_has_none(tmp_path):
    assert readings(str(tmp_path)) == []
