from __future__ import annotations

from pathlib import Path

import pytest
from node_trees import bare, system, write

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.clock import clock_facts
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.system import ids_in, system_facts


def test_a_server_tells_what_it_is(tmp_path: Path) -> None:
    system(tmp_path)
    write(tmp_path, {"/sys/class/dmi/id/bios_version": "3.4a"})
    facts = system_facts(str(tmp_path))
    assert facts.pop("architecture")
    assert facts == {
        "hostname": "gpu01",
        "kernel": "5.15.0-116-generic",
        "bios": "3.4a",
        "os": {"name": "Ubuntu 22.04.4 LTS", "id": "ubuntu", "version": "22.04", "family": "debian"},
        "cpus": {"model": "AMD EPYC 9554 64-Core Processor", "count": 16, "sockets": 2},
        "memory_bytes": 2377216044 * 1024,
        "numa": {"nodes": [0, 1], "auto_balancing": 0},
    }


@pytest.mark.parametrize(("release", "family"), [("ubuntu", "debian"), ("rocky", "rhel"), ("alpine", None)])
def test_the_family_of_a_distribution(tmp_path: Path, release: str, family: str | None) -> None:
    system(tmp_path, release=release)
    assert system_facts(str(tmp_path))["os"]["family"] == family


def test_a_kernel_without_numa_balancing_says_none(tmp_path: Path) -> None:
    assert system_facts(str(bare(tmp_path)))["numa"]["auto_balancing"] is None


def test_an_empty_tree_breaks_nothing(tmp_path: Path) -> None:
    facts = system_facts(str(tmp_path))
    assert (facts["kernel"], facts["memory_bytes"], facts["cpus"]["sockets"]) == (None, None, None)


def test_lists_of_the_kernel_hold_ranges() -> None:
    assert ids_in("0-2,8") == [0, 1, 2, 8]
    assert ids_in(None) == []


def test_the_clock_of_this_machine_is_asked_and_not_set() -> None:
    first, second = clock_facts(5.0), clock_facts(6.0)
    assert (first["began"], second["began"]) == (5.0, 6.0)
    assert first["time"] <= second["time"]
    assert first["synchronized"] in (True, False, None)
    assert (first["estimated_error_seconds"] is not None) == bool(first["synchronized"])
