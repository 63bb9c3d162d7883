from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from module_runs import call_module
from node_trees import bare, h100_cx7, mi300x_thor2, write

from ansible_collections.trainops.cluster.plugins.modules.rdma_library import (
    Link,
    RefusedError,
    change,
    drivers_link,
    links_made,
    needed_link,
)

OF_RDMA_CORE = "/usr/lib/x86_64-linux-gnu/libibverbs/libbnxt_re-rdmav{}.so"
ANY = "/usr/local/lib/libbnxt_re-rdmav*.so"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A node whose only provider library is rdma-core's."""
    mi300x_thor2(tmp_path)
    (tmp_path / "usr/local/lib/libbnxt_re-rdmav34.so").unlink()
    return tmp_path


def refused(root: Path, path: str) -> str:
    with pytest.raises(RefusedError) as error:
        needed_link(str(root), path)
    return error.value.code


@pytest.mark.parametrize("number", ["34", "57", "59"])
def test_the_library_has_the_number_of_the_installed_one(root: Path, number: str) -> None:
    installed = root / OF_RDMA_CORE.format(34).lstrip("/")
    installed.rename(root / OF_RDMA_CORE.format(number).lstrip("/"))
    path = f"/usr/local/lib/libbnxt_re-rdmav{number}.so"
    for asked in (ANY, path):
        assert needed_link(str(root), asked) == Link(path, OF_RDMA_CORE.format(number))
    assert refused(root, "/usr/local/lib/libbnxt_re-rdmav22.so") == "other_abi"


@pytest.mark.parametrize("path", [ANY, "/usr/local/lib/libbnxt_re-rdmav34.so"])
def test_a_library_of_the_vendor_stays(tmp_path: Path, path: str) -> None:
    assert needed_link(str(mi300x_thor2(tmp_path)), path) is None


@pytest.mark.parametrize("node", [bare, h100_cx7])
def test_a_node_without_such_adapters_needs_none(tmp_path: Path, node: object) -> None:
    assert needed_link(str(node(tmp_path)), ANY) is None  # type: ignore[operator]


def test_a_link_that_leads_nowhere_is_replaced(root: Path) -> None:
    (root / "usr/local/lib/libbnxt_re-rdmav34.so").symlink_to("/gone.so")
    assert needed_link(str(root), ANY) == Link("/usr/local/lib/libbnxt_re-rdmav34.so", OF_RDMA_CORE.format(34))


def test_what_cannot_be_provided_is_refused(root: Path) -> None:
    assert refused(root, "/usr/local/lib/libbnxt_re.so") == "not_a_library_name"
    (root / "usr/local/lib/libbnxt_re-rdmav34.so").mkdir(parents=True)
    assert refused(root, ANY) == "folder_in_place"
    (root / OF_RDMA_CORE.format(34).lstrip("/")).unlink()
    assert refused(root, ANY) == "not_installed"


def test_links_are_made_and_only_these_removed(root: Path) -> None:
    write(root, {"/etc/libibverbs.d/bnxt_re.driver": "driver bnxt_re"})
    drivers, library = drivers_link(str(root), expect_rdma_core=False), needed_link(str(root), ANY)
    assert drivers == Link("/lib/libibverbs.d", "/etc/libibverbs.d")
    assert library is not None
    change(str(root), [drivers, library], absent=False)
    assert (root / "lib/libibverbs.d").readlink() == Path("/etc/libibverbs.d")
    assert links_made(str(root)) == [drivers, library]
    # Somebody's own since.
    (root / library.path.lstrip("/")).unlink()
    write(root, {library.path: "the vendor's"})
    change(str(root), links_made(str(root)), absent=True)
    assert not (root / "lib/libibverbs.d").is_symlink()
    assert (root / library.path.lstrip("/")).read_text() == "the vendor's\n"
    assert links_made(str(root)) == []


def test_the_list_of_drivers_needs_rdma_core(root: Path) -> None:
    shutil.rmtree(root / "etc/libibverbs.d")
    assert drivers_link(str(root), expect_rdma_core=False) is None
    assert drivers_link(str(root), expect_rdma_core=True) is not None
    (root / "lib/libibverbs.d").mkdir(parents=True)
    assert drivers_link(str(root), expect_rdma_core=True) is None


def test_the_module_says_why_it_refuses() -> None:
    assert call_module("rdma_library", check=True, path="/usr/local/lib/libbnxt_re.so")["code"] == "not_a_library_name"
