from __future__ import annotations

import pytest
from preflight_cases import GIB, PROBE, path_facts

from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.check_storage import bytes_of

CACHE = "/home/ops/cache"


@pytest.mark.parametrize(
    ("size", "count"), [("128G", 128 * GIB), ("64m", 64 * 1024**2), ("512", 512), ("1T", 1024 * GIB)]
)
def test_sizes_as_container_engines_read_them(size: str, count: int) -> None:
    assert bytes_of(size) == count


@pytest.mark.parametrize(
    ("changes", "found", "command"),
    [
        ({"free_bytes": GIB // 2}, "0.5 GiB free", "manual step: free some space; to check: df -h /home"),
        ({"free_inodes": 12}, "12 inodes", "manual step: delete some files; to check: df -i /home"),
        ({"writable": False}, "read-only", "manual step: give this user write access; to check: ls -ld /home"),
    ],
)
def test_no_room_where_the_run_writes(bench, changes: dict[str, object], found: str, command: str) -> None:
    nodes = bench()
    nodes[2]["paths"][CACHE].update(changes)
    cell = nodes.cell("disk", 2)
    assert (cell["status"], cell["found"], cell["command"]) == ("red", found, command)
    assert CACHE in cell["reason"]


def test_a_file_system_without_inodes_has_enough(bench) -> None:
    nodes = bench()
    nodes[1]["paths"][CACHE]["free_inodes"] = None
    assert nodes.cell("disk")["found"] == "500.0 GiB free"


def test_a_file_system_that_hangs(bench) -> None:
    nodes = bench()
    nodes[1]["paths"][CACHE] = None
    nodes[1]["problems"][CACHE] = "no answer within 10 s"
    assert nodes.cell("disk")["reason"] == f"{CACHE}: no answer within 10 s"


def test_an_image_that_is_still_to_be_fetched_needs_room(bench) -> None:
    nodes = bench()
    nodes[1]["engines"]["docker"]["storage"]["free_bytes"] = 0
    assert nodes.cell("disk")["status"] == "green"
    nodes[1]["engines"]["docker"]["image"] = None
    assert nodes.cell("disk")["reason"] == "/var/lib/docker has 0.0 GiB free, but needs at least 1.0 GiB"


def test_shared_memory_smaller_than_the_config_asks_for(bench) -> None:
    nodes = bench()
    nodes[2]["limits"]["shm"]["total_bytes"] = 64 * GIB
    cell = nodes.cell("shm", 2)
    assert cell["reason"].endswith("(ipc host), which is 64.0 GiB, but shm_size asks for 128.0 GiB")
    assert cell["command"].startswith("mount -o remount,size=128G /dev/shm")


def test_the_containers_own_shared_memory_is_as_large_as_asked_for(bench) -> None:
    nodes = bench()
    nodes[1]["limits"]["shm"]["total_bytes"] = GIB
    nodes.plan["nodes"][0]["container_options"]["ipc"] = "private"
    assert nodes.cell("shm")["status"] == "green"


def test_a_docker_container_gets_its_own_limits(bench) -> None:
    nodes = bench()
    nodes[1]["limits"]["memlock"] = {"soft": 8 * 1024**2, "hard": 8 * 1024**2}
    assert (nodes.cell("limits")["status"], nodes.cell("limits")["found"]) == ("green", "set for the container")


def test_more_open_files_than_the_kernel_allows(bench) -> None:
    nodes = bench()
    nodes[1]["limits"]["nr_open"] = 65536
    cell = nodes.cell("limits")
    assert cell["reason"] == "the container asks for 1048576 open files, but the kernel allows 65536"
    assert cell["command"] == "sysctl -w fs.nr_open=1048576"


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
        assert cell["reason"] == "RDMA locks all memory that it uses, but this login may lock only 8192 KiB"


def test_without_rdma_memlock_does_not_matter(bench) -> None:
    nodes = bench(engine="none", nic_type=None, nccl_ib_hca_list=None)
    nodes[1]["limits"]["memlock"]["hard"] = 65536
    assert nodes.cell("limits")["status"] == "grey"


def test_a_mount_or_a_device_that_is_not_there(bench) -> None:
    nodes = bench()
    nodes[1]["paths"]["/tmp/TRAINING_LOGS"]["kind"] = "missing"
    for path in ("/dev/kfd", "/dev/dri", "/tmp/TRAINING_LOGS"):
        nodes[2]["paths"][path]["kind"] = "missing"
    advised = "manual step: mount what belongs at /tmp/TRAINING_LOGS, or remove it from volume_dict in the config"
    assert nodes.cell("mounts", 1)["command"] == advised
    cell = nodes.cell("mounts", 2)
    assert cell["reason"].startswith("the device /dev/dri does not exist; the device /dev/kfd does not exist; /tmp/TR")
    assert cell["command"].startswith("manual step: load its kernel driver; ")
    assert cell["command"].endswith(advised)


def test_the_runs_own_folder_need_not_be_there(bench) -> None:
    nodes = bench()
    nodes[1]["paths"][nodes.plan["nodes"][0]["run_folder"]]["kind"] = "missing"
    assert nodes.cell("mounts")["status"] == "green"


def test_a_cache_that_all_nodes_see(bench) -> None:
    nodes = bench()
    assert [nodes.cell("cache", number)["found"] for number in (1, 2)] == ["shared", "shared"]


def test_a_cache_that_a_node_has_for_itself(bench) -> None:
    nodes = bench()
    nodes[2]["paths"][PROBE] = path_facts(kind="missing")
    nodes[2]["paths"][CACHE]["file_system"] = "ext4"
    assert nodes.reds() == [("gpu02", "cache")]
    cell = nodes.cell("cache", 2)
    assert f"the file that gpu01 left in {CACHE} is missing here (ext4 here, nfs4 on gpu01)" in cell["reason"]
    assert cell["command"].startswith(f"manual step: mount the same file system at {CACHE}")


def test_a_cache_inside_the_container_is_shared_by_nobody(bench) -> None:
    nodes = bench(data_cache_dir="/root/cache")
    cell = nodes.cell("cache", probe=None)
    assert cell["reason"].startswith("data_cache_dir /root/cache is not on a mount")


def test_without_a_file_of_rank_0_nothing_is_proved(bench) -> None:
    nodes = bench()
    assert nodes.cell("cache", probe=None)["status"] == "grey"
    del nodes.facts["gpu01"]
    assert nodes.cell("cache", 2)["status"] == "grey"
