from __future__ import annotations

from pathlib import Path

from node_trees import bare, h100_cx7, mi300x_thor2, write

from ansible_collections.trainops.cluster.plugins.module_utils.node.hardware import hardware_facts


def test_a_node_tells_its_accelerators_driver_firmware_and_rdma_devices(tmp_path: Path) -> None:
    facts = hardware_facts(str(mi300x_thor2(tmp_path)))
    assert facts["accelerators"] == {
        "name": "AMD Instinct MI300X",
        "count": 8,
        "driver": "amdgpu",
        "driver_version": "6.10.5",
        "firmware": {"vbios": "113-M3000100-102", "mec": "0x000000a5"},
    }
    assert len(facts["nics"]) == 8
    assert set(facts["nics"][0]) == {"name", "driver", "driver_version", "firmware", "rate"}
    assert facts["nics"][0]["firmware"]


def test_firmware_that_differs_between_the_accelerators_is_not_told_as_theirs(tmp_path: Path) -> None:
    mi300x_thor2(tmp_path)
    write(tmp_path, {"/sys/bus/pci/devices/0000:75:00.0/vbios_version": "113-OTHER"})
    assert hardware_facts(str(tmp_path))["accelerators"]["firmware"] == {"mec": "0x000000a5"}


def test_another_vendor_and_none_at_all(tmp_path: Path) -> None:
    assert hardware_facts(str(h100_cx7(tmp_path / "h100")))["accelerators"]["driver"] == "nvidia"
    facts = hardware_facts(str(bare(tmp_path / "bare")))
    assert (facts["accelerators"], facts["nics"]) == (None, [])
