from __future__ import annotations

from pathlib import Path

import pytest
from node_trees import library

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.elf import shared_library


def test_soname_and_abi_of_a_provider(tmp_path: Path) -> None:
    path = tmp_path / "libmlx5-rdmav34.so"
    path.write_bytes(library("libmlx5.so.1", "IBVERBS_1.1", "IBVERBS_PRIVATE_34"))
    assert shared_library(str(path)) == {"soname": "libmlx5.so.1", "rdma_abi": 34}


def test_a_provider_need_have_no_soname(tmp_path: Path) -> None:
    path = tmp_path / "libbnxt_re-rdmav34.so"
    path.write_bytes(library(None, "IBVERBS_PRIVATE_34"))
    assert shared_library(str(path)) == {"soname": None, "rdma_abi": 34}


def test_the_c_library_of_this_machine_tells_its_name() -> None:
    rows = [row.split() for row in Path("/proc/self/maps").read_text().splitlines()]
    mapped = {row[-1] for row in rows if Path(row[-1]).name.startswith(("libc.so.", "libc-", "ld-"))}
    names = {shared_library(path)["soname"] for path in mapped}
    assert any(name.startswith(("libc.so.", "ld-linux", "libc.musl", "ld-musl")) for name in names if name)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"#!/bin/sh\n" * 20, "it is not an ELF file"),
        (b"\x7fELF\x01" + bytes(100), "it is not for a 64-bit machine"),
        (library("lib.so")[:100], "unpack"),
        (b"\x7fELF\x02\x01" + bytes(100), "it has no dynamic section"),
    ],
)
def test_what_is_no_library_says_so(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(content)
    facts = shared_library(str(path))
    assert (facts["soname"], facts["rdma_abi"]) == (None, None)
    assert problem in facts["problem"]


def test_a_library_that_cannot_be_opened_says_so(tmp_path: Path) -> None:
    assert "No such file" in shared_library(str(tmp_path / "lib.so"))["problem"]
