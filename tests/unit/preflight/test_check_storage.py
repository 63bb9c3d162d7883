from __future__ import annotations

import pytest
from preflight_cases import GIB, PROBE, path_facts

from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.check_storage import bytes_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.needs import inspection_of

DRIVERS = "/lib/libibverbs.d"
CACHE = "/home/ops/cache"


@pytest.mark.parametrize(
    ("size", "count"), [("128G", 128 * GIB), ("64m", 64 * 1024**2), ("512", 512), ("1T", 1024 * GIB)]
)
def test_sizes_as_container_engines_read_them(size: str, count: int) -> None:
    assert bytes_of(size) == count


@pytest.mark.parametrize(
    ("changes", "code", "values"),
    [
        ({"free_bytes": GIB // 2}, "disk_full", {"free": GIB // 2, "least": GIB}),
        ({"free_inodes": 12}, "disk_without_inodes", {"inodes": 12, "least": 10_000}),
        ({"writable": False}, "disk_read_only", {}),
    ],
)
def test_no_room_where_the_run_writes(bench, changes: dict[str, object], code: str, values: dict[str, int]) -> None:
    nodes = bench()
    nodes[2]["paths"][CACHE].update(changes)
    cell = nodes.cell("disk", 2)
    assert (cell["status"], cell["code"]) == ("red", code)
    assert cell["values"] == {"path": CACHE, "nearest": "/home", **values}


def test_a_file_system_without_inodes_has_enough(bench) -> None:
    nodes = bench()
    nodes[1]["paths"][CACHE]["free_inodes"] = None
    assert nodes.cell("disk")["values"] == {"free": 500 * GIB}


def test_a_file_system_that_hangs(bench) -> None:
    nodes = bench()
    nodes[1]["paths"][CACHE] = None
    nodes[1]["problems"][CACHE] = "no answer within 10 s"
    assert nodes.code("disk") == ("red", "disk_unknown", "")
    assert nodes.cell("disk")["values"] == {"path": CACHE, "said": "no answer within 10 s"}


def test_an_image_that_is_still_to_be_fetched_needs_room(bench) -> None:
    nodes = bench()
    nodes[1]["engines"]["docker"]["storage"]["free_bytes"] = 0
    assert nodes.cell("disk")["status"] == "green"
    nodes[1]["engines"]["docker"]["image"] = None
    assert nodes.code("disk") == ("red", "disk_full", "")
    assert nodes.cell("disk")["values"]["path"] == "/var/lib/docker"


def test_shared_memory_smaller_than_the_config_asks_for(bench) -> None:
    nodes = bench()
    nodes[2]["limits"]["shm"]["total_bytes"] = 64 * GIB
    cell = nodes.cell("shm", 2)
    assert (cell["status"], cell["code"]) == ("red", "shared_memory_small")
    assert cell["values"] == {"total": 64 * GIB, "wanted": 128 * GIB, "size": "128G"}


def test_the_containers_own_shared_memory_is_as_large_as_asked_for(bench) -> None:
    nodes = bench()
    nodes[1]["limits"]["shm"]["total_bytes"] = GIB
    nodes.plan["nodes"][0]["container_options"]["ipc"] = "private"
    assert nodes.cell("shm")["status"] == "green"


def test_a_docker_container_gets_its_own_limits(bench) -> None:
    nodes = bench()
    nodes[1]["limits"]["memlock"] = {"soft": 8 * 1024**2, "hard": 8 * 1024**2}
    assert nodes.code("limits") == ("green", "limits_of_container", "")


def test_more_open_files_than_the_kernel_allows(bench) -> None:
    nodes = bench()
    nodes[1]["limits"]["nr_open"] = 65536
    cell = nodes.cell("limits")
    assert (cell["status"], cell["code"]) == ("red", "open_files")
    assert cell["values"] == {"wanted": 1048576, "allowed": 65536}


@pytest.mark.parametrize(
    ("engine", "uid", "status"), [("none", 0, "red"), ("podman", 1000, "red"), ("podman", 0, "green")]
)
def test_where_the_login_bounds_the_training_memlock_must_be_unlimited(
    bench, engine: str, uid: int, status: str
) -> None:
    nodes = bench(engine=engine)
    nodes[1]["engines"]["podman"] = nodes[1]["engines"]["docker"]
    nodes[1]["limits"].update(uid=uid, memlock={"soft": 8 * 1024**2, "hard": 8 * 1024**2})
    cell = nodes.cell("limits")
    assert cell["status"] == status
    if status == "red":
        assert (cell["code"], cell["values"]) == ("memlock_small", {"limit": 8 * 1024**2})


def test_without_rdma_memlock_does_not_matter(bench) -> None:
    nodes = bench(engine="none", nic_type=None, nccl_ib_hca_list=None)
    nodes[1]["limits"]["memlock"]["hard"] = 65536
    assert nodes.cell("limits")["status"] == "grey"


def test_a_mount_or_a_device_that_is_not_there(bench) -> None:
    nodes = bench()
    nodes[1]["paths"]["/tmp/TRAINING_LOGS"]["kind"] = "missing"
    for path in ("/dev/kfd", "/dev/dri", "/tmp/TRAINING_LOGS"):
        nodes[2]["paths"][path]["kind"] = "missing"
    folder = {"code": "mount_missing", "path": "/tmp/TRAINING_LOGS"}
    devices = [{"code": "device_missing", "path": path} for path in ("/dev/dri", "/dev/kfd")]
    assert nodes.cell("mounts", 1)["values"] == {"count": 1, "problems": [folder]}
    assert nodes.cell("mounts", 2)["values"] == {"count": 3, "problems": [*devices, folder]}


def test_the_list_of_rdma_drivers_is_made_by_node_prep(bench) -> None:
    nodes = bench(volume_dict={DRIVERS: DRIVERS})
    nodes[1]["paths"][DRIVERS] = path_facts(kind="missing")
    cell = nodes.cell("mounts", 1)
    assert cell["values"]["problems"] == [{"code": "drivers_missing", "path": DRIVERS}]
    assert "playbooks/node_prep.yml" in cell["command"]


def test_the_runs_own_folder_need_not_be_there(bench) -> None:
    nodes = bench()
    nodes[1]["paths"][nodes.plan["nodes"][0]["run_folder"]]["kind"] = "missing"
    assert nodes.cell("mounts")["status"] == "green"


def test_a_cache_that_all_nodes_see(bench) -> None:
    nodes = bench()
    assert nodes.code("cache", 1) == nodes.code("cache", 2) == ("green", "cache", "")


def test_a_cache_that_a_node_has_for_itself(bench) -> None:
    nodes = bench()
    nodes[2]["paths"][PROBE] = path_facts(kind="missing")
    nodes[2]["paths"][CACHE]["file_system"] = "ext4"
    assert nodes.reds() == [("gpu02", "cache")]
    assert nodes.code("cache", 2) == ("red", "cache_not_shared", "")
    assert nodes.cell("cache", 2)["values"] == {"first": "gpu01", "folder": CACHE, "here": "ext4", "there": "nfs4"}


def test_a_cache_inside_the_container_is_shared_by_nobody(bench) -> None:
    nodes = bench(data_cache_dir="/root/cache")
    cell = nodes.cell("cache", probe=None)
    assert (cell["code"], cell["values"]) == ("cache_in_container", {"inside": "/root/cache"})


def test_without_a_file_of_rank_0_nothing_is_proved(bench) -> None:
    nodes = bench()
    assert nodes.cell("cache", probe=None)["status"] == "grey"
    del nodes.facts["gpu01"]
    assert nodes.cell("cache", 2)["status"] == "grey"


def test_a_token_file_of_the_config_is_looked_for_and_blocks_nothing(bench) -> None:
    path = "/home/ops/.hf_token"
    nodes = bench(hf_token_file=path)
    nodes[1]["paths"][path] = path_facts(kind="file")
    nodes[2]["paths"][path] = path_facts(kind="missing")
    assert path in inspection_of(nodes.plan, nodes.plan["nodes"][0])["paths"]
    assert nodes.code("token", 1) == ("green", "token", "")
    assert (nodes.code("token", 2), nodes.cell("token", 2)["values"]) == (("grey", "token_missing", ""), {"path": path})
    assert nodes.reds() == []
    assert bench(hf_token_file=None).code("token") == ("grey", "no_token", "")
