from __future__ import annotations

import pytest
from training_configs import DISTRIBUTED, REMOVED, SINGLE, filled, keys, only, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.container import container_options, is_mounted

CONTAINER = "config/container_config"


def test_two_mounts_at_one_place_are_a_fault() -> None:
    changes = {f"{CONTAINER}/volume_dict": {"/home/{user-id}": "/a", "/b": "/c", "/d": "/c"}}
    fault = only(planned(filled(DISTRIBUTED, changes))["faults"])
    assert fault["key"] == 'config.container_config.volume_dict["/d"]'
    assert fault["message"] == "/b is mounted at /c as well."


def test_a_secret_in_env_dict_is_a_fault_that_another_one_does_not_hide() -> None:
    changes = {f"{CONTAINER}/env_dict": {"HF_TOKEN": "x", "A-B": "y", "NCCL_PROTO": "Simple"}}
    faults = planned(filled(DISTRIBUTED, changes))["faults"]
    assert keys(faults) == ["config.container_config.env_dict.A-B", "config.container_config.env_dict.HF_TOKEN"]
    assert "hf_token_file" in faults[1]["remedy"]


def test_without_a_container_its_keys_are_not_read_and_told_in_one_warning() -> None:
    changes = {"config/container_image": "<changeme>", "config/shm_size": "lots", f"{CONTAINER}/device_list": "x"}
    plan = planned(filled(DISTRIBUTED, changes), container_engine="none")
    assert plan["faults"] == []
    warning = only(plan["warnings"])
    assert warning["key"] == "container_engine"
    assert warning["message"] == (
        "Without a container, these keys of config have no effect: container_image, container_name, shm_size, "
        "container_config.device_list, container_config.volume_dict."
    )
    node = plan["nodes"][0]
    assert (node["image"], node["mounts"], node["devices"], node["container_options"]) == (None, [], [], {})


def test_without_a_container_a_config_needs_nothing_of_it() -> None:
    removed = dict.fromkeys(("config/container_image", "config/container_config", "config/shm_size"), REMOVED)
    plan = planned(filled(DISTRIBUTED, {**removed, "config/container_name": REMOVED}), container_engine="none")
    assert (plan["faults"], plan["warnings"]) == ([], [])


def test_with_a_container_there_has_to_be_an_image() -> None:
    fault = only(planned(filled(DISTRIBUTED, {"config/container_image": REMOVED}))["faults"])
    assert (fault["key"], fault["message"]) == ("config.container_image", "container_image is missing.")


def test_without_container_config_nothing_of_the_node_is_seen_but_the_runs_folder() -> None:
    plan = planned(filled(DISTRIBUTED, {CONTAINER: REMOVED}))
    assert plan["faults"] == []
    assert keys(plan["warnings"]) == ["config.data_cache_dir"]
    assert plan["nodes"][0]["devices"] == []
    folder = plan["nodes"][0]["run_folder"]
    assert plan["nodes"][0]["mounts"][0] == {"source": folder, "target": folder, "staged": True}


@pytest.mark.parametrize(
    ("path", "inside"),
    [("/home/amd", True), ("/home/amd/cache", True), ("/home/amd2", False), ("/home", False), ("/root/x", True)],
)
def test_a_path_lies_in_a_mount_by_its_folders(path: str, inside: bool) -> None:
    assert is_mounted(path, {"/a": "/home/amd", "/b": "/root/"}) is inside


def test_the_privileged_container_is_that_of_the_guide() -> None:
    options = container_options("training", "64G", "privileged", multi_node=False)
    assert (options["name"], options["shm_size"], options["network"], options["ipc"]) == (
        "training",
        "64G",
        "host",
        "host",
    )
    assert (options["privileged"], options["cap_add"]) == (True, ["SYS_PTRACE", "IPC_LOCK"])
    assert options["ulimits"]["memlock"] == "-1:-1"
    plan = planned(filled(DISTRIBUTED))
    assert plan["notes"][-1].startswith("The container is privileged: whoever chooses its image is root on the nodes.")


@pytest.mark.parametrize(("name", "hosts", "network"), [(DISTRIBUTED, 4, "host"), (SINGLE, 1, "bridge")])
def test_the_hardened_container_keeps_what_rdma_and_gpus_need_and_says_so(name: str, hosts: int, network: str) -> None:
    config = filled(name, {"config/nnodes": str(hosts)})
    plan = planned(config, hosts, container_profile="hardened")
    options = plan["nodes"][0]["container_options"]
    assert (options["privileged"], options["network"], options["cap_drop"]) == (False, network, ["ALL"])
    assert options["cap_add"] == ["IPC_LOCK", "SYS_PTRACE", "SYS_NICE"]
    assert options["security_opt"] == ["no-new-privileges"]
    told = "the host's network, which RDMA devices need" if hosts > 1 else "a network of its own"
    assert f"seccomp filter, {told}, and the host's shared memory" in plan["notes"][-1]
    assert "IPC_LOCK pins memory for RDMA" in plan["notes"][-1]


def test_without_a_container_nothing_is_said_of_its_privileges() -> None:
    assert not [note for note in planned(filled(DISTRIBUTED), container_engine="none")["notes"] if "privileg" in note]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("/", "Through / the container can change the node's operating system."),
        ("//", "Through / the container can change the node's operating system."),
        ("/etc", "Through /etc the container can change the node's operating system."),
        ("/etc/sudoers.d", "Through /etc/sudoers.d the container can change the node's operating system."),
        ("/home/../etc", "/home/../etc resolves to /etc through .., which hides what is mounted."),
        ("/var/run/docker.sock", "Anyone who reaches the engine's socket can start any container as root on the node."),
        ("/run", "Anyone who reaches the engine's socket can start any container as root on the node."),
        ("/etc/libibverbs.d", None),
        ("/home/{user-id}", None),
        ("/etcetera", None),
    ],
)
def test_a_mount_that_gives_the_node_away_is_a_warning(source: str, message: str | None) -> None:
    changes = {f"{CONTAINER}/volume_dict": {source: "/x", "/home/y": "/home/{user-id}"}}
    plan = planned(filled(DISTRIBUTED, changes))
    assert plan["faults"] == []
    assert [warning["message"] for warning in plan["warnings"]] == ([message] if message else [])


@pytest.mark.parametrize("variable", ["LD_PRELOAD", "BASH_ENV"])
def test_a_variable_that_brings_code_into_every_program_is_a_warning(variable: str) -> None:
    warning = only(planned(filled(DISTRIBUTED, {f"{CONTAINER}/env_dict": {variable: "/x.so"}}))["warnings"])
    assert warning["key"] == f"config.container_config.env_dict.{variable}"
    assert warning["message"] == (
        f"Every program of the training, the launch script included, runs what {variable} names."
    )


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("IFS", ",", "bash itself uses IFS"),
        ("SHELLOPTS", "noexec", "bash itself uses SHELLOPTS"),
        ("UID", "0", "bash itself uses UID"),
        ("PATH", "/opt/venv/bin", "without /usr/bin or /bin"),
        ("PATH", "/opt/venv/bin:/usr/bin", None),
    ],
)
def test_a_variable_with_which_no_script_runs_is_a_fault(name: str, value: str, told: str | None) -> None:
    faults = planned(filled(DISTRIBUTED, {f"{CONTAINER}/env_dict": {name: value}}))["faults"]
    assert [told in fault["message"] for fault in faults] == ([True] if told else [])
