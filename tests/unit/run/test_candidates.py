"""Which hosts a run gets: spares, hosts in quarantine, and the rank order that the user wants."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.candidates import candidates_of, chosen_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.quarantine import Quarantine

GROUPS = {"all": ["a", "b", "s", "z"], "ungrouped": [], "spares": ["s", "z"]}
OF_PLAY = ["a", "b", "s"]


def held(folder: Path, *hosts: str) -> Quarantine:
    quarantine = Quarantine(folder / "quarantine.json", "hosts")
    quarantine.add(dict.fromkeys(hosts, "gpu_ecc: x"), "before")
    return quarantine


def test_spares_train_only_in_place_of_others_and_only_those_of_the_play() -> None:
    assert candidates_of("spares", GROUPS, OF_PLAY, OF_PLAY) == (["a", "b"], ["s"], [])
    assert candidates_of("", GROUPS, OF_PLAY, OF_PLAY) == (OF_PLAY, [], [])


def test_a_group_of_spares_without_hosts_is_a_fault_with_the_groups_that_there_are() -> None:
    hosts, spares, [fault] = candidates_of("sparse", GROUPS, OF_PLAY, OF_PLAY)
    assert (hosts, spares, fault["key"], fault["value"]) == (OF_PLAY, [], "training_spares", "sparse")
    assert "spares" in fault["remedy"]
    assert "ungrouped" not in fault["remedy"]


@pytest.mark.parametrize(
    ("out", "hosts", "order"),
    [(["b"], ["a", "s"], ["s", "a"]), (["b", "s"], ["a"], ["a"]), ([], ["a", "b"], ["b", "a"])],
)
def test_a_spare_takes_the_place_of_a_host_in_quarantine_in_the_rank_order_as_well(
    tmp_path: Path, out: list[str], hosts: list[str], order: list[str]
) -> None:
    chosen = chosen_of(candidates_of("spares", GROUPS, OF_PLAY, OF_PLAY), held(tmp_path, *out), ["b", "a"])
    assert (chosen.hosts, chosen.rank_order, chosen.faults) == (hosts, order, [])
    assert [warning["value"] for warning in chosen.warnings] == [host for host in out if host != "s"]


def test_a_quarantine_that_cannot_be_trusted_is_a_fault(tmp_path: Path) -> None:
    quarantine = held(tmp_path, "b")
    (tmp_path / "quarantine.json").chmod(0o666)
    chosen = chosen_of(candidates_of("", GROUPS, ["a", "b"], OF_PLAY), quarantine, None)
    assert ([fault["key"] for fault in chosen.faults], chosen.hosts, chosen.warnings) == (
        ["quarantine"],
        ["a", "b"],
        [],
    )


def test_without_a_quarantine_all_take_part() -> None:
    assert chosen_of(candidates_of("", GROUPS, ["a"], OF_PLAY), None, "given as text") == (
        ["a"],
        "given as text",
        [],
        [],
    )
