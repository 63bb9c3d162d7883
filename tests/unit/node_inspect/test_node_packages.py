"""The module node_packages on recorded answers of the package managers, of which most machines have one at most."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from node_trees import system

from ansible_collections.trainops.cluster.plugins.module_utils.node.preparation import FILE as NOTES
from ansible_collections.trainops.cluster.plugins.modules.node_packages import (
    FAMILIES,
    RefusedError,
    Result,
    install,
    remove,
)

Answer = tuple[int, str, str]


class Manager:
    """A package manager: its packages, what a command answers by its last but package words, and what was run."""

    def __init__(self, *installed: str, refused: dict[str, Answer] | None = None, needed: tuple[str, ...] = ()) -> None:
        self.installed, self.refused, self.needed = set(installed), refused or {}, set(needed)
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str]) -> Answer:
        if "--query" in command or "--show" in command:
            rows = [
                f"installed {name}" if name in self.installed else f"package {name} is not installed"
                for name in command[4:]
            ]
            return 1, "\n".join(rows), ""
        self.commands.append(command)
        for word, answer in self.refused.items():
            if word in command:
                return answer
        names = [word for word in command[1:] if word in ALL]
        is_trial = "--test" in command or "--simulate" in command
        if "install" in command:
            self.installed |= set(names)
        elif "update" not in command:
            if self.needed & set(names):
                return 1, "", f"{min(self.needed)} is needed by (installed) vendor-tools"
            self.installed -= set() if is_trial else set(names)
        return 0, "", ""


ALL = {name for family in FAMILIES.values() for names in family.packages.values() for name in names}
RELEASES = [
    ("ubuntu", "apt-get", ["rdma-core", "ibverbs-providers", "ibverbs-utils"]),
    ("noble", "apt-get", ["rdma-core", "ibverbs-providers", "ibverbs-utils"]),
    ("debian", "apt-get", ["rdma-core", "ibverbs-providers", "ibverbs-utils"]),
    ("rocky", "dnf", ["rdma-core", "libibverbs", "libibverbs-utils"]),
    ("rhel", "dnf", ["rdma-core", "libibverbs", "libibverbs-utils"]),
    ("sles", "zypper", ["rdma-core", "libibverbs", "libibverbs-utils"]),
    ("azurelinux", "tdnf", ["rdma-core", "libibverbs", "libibverbs-utils"]),
]


@pytest.mark.parametrize(("release", "program", "names"), RELEASES)
def test_what_is_missing_is_installed_under_the_names_of_the_system_and_removed_again(
    tmp_path: Path, release: str, program: str, names: list[str]
) -> None:
    system(tmp_path, release=release)
    manager = Manager(names[0])
    missing = Result(names[1:], [])
    assert (install(str(tmp_path), ["rdma"], True, manager), manager.commands) == (missing, [])
    assert install(str(tmp_path), ["rdma"], False, manager) == missing
    assert {command[0] for command in manager.commands} == {program}
    assert manager.commands[-1][-2:] == names[1:]
    manager.commands.clear()
    # What is there is not fetched.
    assert (install(str(tmp_path), ["rdma"], False, manager), manager.commands) == (Result([], []), [])
    assert remove(str(tmp_path), ["rdma", "ethtool"], True, manager) == missing
    assert manager.installed == set(names)
    assert remove(str(tmp_path), ["rdma", "ethtool"], False, manager) == missing
    assert manager.installed == {names[0]}
    assert not (tmp_path / NOTES.lstrip("/")).exists()
    assert remove(str(tmp_path), ["rdma"], False, manager) == Result([], [])


# What apt-get and dnf print without a network.
WORDS = {
    "ubuntu": "E: Failed to fetch http://archive.ubuntu.com/ubuntu/dists/jammy/InRelease"
    "  Temporary failure resolving 'archive.ubuntu.com'",
    "rocky": "Error: Failed to download metadata for repo 'baseos': Cannot prepare internal mirrorlist: "
    "No URLs in mirrorlist",
}


@pytest.mark.parametrize("release", WORDS)
def test_a_repository_that_is_down_is_named_with_the_words_of_the_package_manager(tmp_path: Path, release: str) -> None:
    system(tmp_path, release=release)
    manager = Manager(refused={"install": (100, "Reading package lists...", f"{WORDS[release]}\n{WORDS[release]}\n")})
    with pytest.raises(RefusedError) as error:
        install(str(tmp_path), ["rdma"], False, manager)
    assert error.value.code == "not_installed"
    assert str(error.value).count(" ".join(WORDS[release].split())) == 1
    assert not (tmp_path / NOTES.lstrip("/")).exists()


def test_old_lists_of_packages_do(tmp_path: Path) -> None:
    system(tmp_path)
    manager = Manager(refused={"update": (100, "", "E: The repository is not signed")})
    assert install(str(tmp_path), ["ethtool"], False, manager).packages == ["ethtool"]
    assert json.loads((tmp_path / NOTES.lstrip("/")).read_text()) == {"node_packages": {"ethtool": "ethtool"}}


def test_an_unknown_system_says_what_it_would_need(tmp_path: Path) -> None:
    system(tmp_path, release="alpine")
    with pytest.raises(RefusedError) as error:
        install(str(tmp_path), ["rdma", "setpci"], True, Manager())
    assert error.value.code == "unknown_system"
    assert "Alpine" in str(error.value)
    assert "rdma-core, libibverbs, libibverbs-utils, pciutils" in str(error.value)


@pytest.mark.parametrize("check", [True, False])
def test_a_package_that_another_one_needs_by_now_stays(tmp_path: Path, check: bool) -> None:
    system(tmp_path, release="rocky")
    manager = Manager()
    install(str(tmp_path), ["rdma"], False, manager)
    manager.needed = {"libibverbs"}
    found = remove(str(tmp_path), ["rdma"], check, manager)
    assert found == Result(["libibverbs-utils", "rdma-core"], ["libibverbs"])
    assert manager.installed == {"libibverbs", *(found.packages if check else ())}
