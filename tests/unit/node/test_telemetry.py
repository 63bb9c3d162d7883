"""Accelerators' sensors, read from trees of the drivers' files and from what nvidia-smi prints."""

from __future__ import annotations

from pathlib import Path

import pytest

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


# index, temperature, power, clock, uncorrected errors. What stands for a value that is not known, and the sentence for
# a GPU that is lost, are those that reports of GPUs in such states quote: [Not Supported] of drivers before 445.
SOUND = "0, 45, 310.22, 1980, 0"
SOUND_READING = {"temperature": 45.0, "power": 310.22, "clock": 1980.0, "ecc_uncorrected": 0.0}
UNKNOWN = dict.fromkeys(SOUND_READING)


@pytest.mark.parametrize(
    ("line", "readings_after"),
    [
        ("1, 50, [N/A], 1965, [N/A]", [UNKNOWN | {"temperature": 50.0, "clock": 1965.0}]),
        ("1, [Not Supported], [Not Supported], 1965, [Not Supported]", [UNKNOWN | {"clock": 1965.0}]),
        ("1, [GPU requires reset], [Unknown Error], [Unknown Error], 2", [UNKNOWN | {"ecc_uncorrected": 2.0}]),
        ("1, ERR!, N/A, , null", [UNKNOWN]),
        (
            "Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error\n2, 46, 300, 1980, 0",
            [UNKNOWN, {"temperature": 46.0, "power": 300.0, "clock": 1980.0, "ecc_uncorrected": 0.0}],
        ),
        ("index, temperature.gpu, power.draw [W], clocks.current.sm [MHz], ecc", []),
        ("1, 50, 310", []),
    ],
    ids=["N/A", "not supported", "requires reset", "other words", "a lost GPU", "a header", "a line that was cut"],
)
def test_what_nvidia_smi_does_not_know_of_a_gpu_is_not_known_and_moves_no_other(line, readings_after):
    assert nvidia_readings(f"{SOUND}\n{line}\n") == [SOUND_READING, *readings_after]


@pytest.mark.parametrize("output", ["", "No devices were found\n", "NVIDIA-SMI has failed because it couldn't\n"])
def test_where_nvidia_smi_sees_no_gpu_there_are_no_readings(output):
    assert nvidia_readings(output) == []


NEURON = "sys/devices/virtual/neuron_device/neuron0"
COUNTED = {"temperature": None, "power": None, "clock": None, "ecc_uncorrected": 3.0}


@pytest.mark.parametrize("folder", ["stats/hardware", "hardware", "stats/hardware/ecc"])
def test_a_neuron_device_counts_errors_only_wherever_its_driver_keeps_them(folder, tmp_path):
    files = {f"{NEURON}/{folder}/mem_ecc_uncorrected/total": "2", f"{NEURON}/{folder}/sram_ecc_uncorrected": "1"}
    # Repairable ones, and those that were noted last, are no more errors.
    files |= {f"{NEURON}/{folder}/mem_ecc_repairable_uncorrected": "9", f"{NEURON}/{folder}/sram_ecc_corrected": "9"}
    root = tree(tmp_path, {**files, f"{NEURON}/{folder}/mem_ecc_uncorrected/present": "1"})
    (tmp_path / NEURON / "subsystem").symlink_to("..")
    assert readings(root) == [COUNTED]


def test_a_neuron_device_without_counters_is_not_one_without_errors(tmp_path):
    files = {f"{NEURON}/core_count": "2", f"{NEURON}/stats/power/utilization": "POWER_STATUS_NO_DATA,0,0.00,0.00,0.00"}
    assert readings(tree(tmp_path, files)) == [COUNTED | {"ecc_uncorrected": None}]


def test_a_node_without_accelerators_has_none(tmp_path):
    assert readings(str(tmp_path)) == []
