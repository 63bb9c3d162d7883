"""The inventory plugin slurm_allocation asks a real Slurm."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_commands import run
from not_run import need_root
from slurm_bench import NoSlurmError, Slurm, unpacked

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "collections"))

from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.hostlist import expand_hostlist


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    need_root("slurmctld is started as root here", "make test-slurm")
    try:
        found = unpacked(tmp_path_factory.mktemp("slurm"))
        found.start()
    except NoSlurmError as error:
        pytest.skip(str(error))
    reserve(found, "acceptance", "gpu[02-05]")
    yield found
    found.stop()


def reserve(slurm: Slurm, name: str, nodes: str) -> None:
    of = [f"reservationname={name}", f"nodes={nodes}", "starttime=now", "duration=60", "users=root"]
    slurm.run("scontrol", "create", "reservation", *of, "flags=maint,ignore_jobs,overlap")


def asked(slurm: Slurm, folder: Path, options: str, command: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    source = folder / "slurm_allocation.yml"
    source.write_text(f"plugin: trainops.cluster.slurm_allocation\nscontrol: {slurm.scontrol}\n{options}")
    return run(command[0], "-i", str(source), *command[1:], **slurm.environment)


def inventory(slurm: Slurm, folder: Path, options: str) -> dict:
    done = asked(slurm, folder, options, ("ansible-inventory", "--list", "--export"))
    assert done.returncode == 0, done.stderr
    loaded: dict = json.loads(done.stdout)
    return loaded


@pytest.mark.parametrize("text", ["gpu[01-03,7],login1", "gpu[3,1]", "r[1-2]n[8-10]", "ib-a[1-2],b", "gpu[098-101]"])
def test_the_plugin_expands_a_hostlist_as_slurm_does(slurm: Slurm, text: str) -> None:
    assert expand_hostlist(text) == slurm.run("scontrol", "show", "hostnames", text).split()


def test_the_nodes_of_a_reservation_are_the_inventory(slurm: Slurm, tmp_path: Path) -> None:
    found = inventory(slurm, tmp_path, "reservation: acceptance\n")
    assert found["ungrouped"]["hosts"] == ["gpu02", "gpu03", "gpu04", "gpu05"]


def test_the_switches_make_groups_and_neighbouring_ranks(slurm: Slurm, tmp_path: Path) -> None:
    options = "reservation: acceptance\ntopology: true\ncompose: {ansible_user: \"'train'\"}\n"
    found = inventory(slurm, tmp_path, options)
    assert found["switch_leaf1"]["hosts"] == ["gpu03", "gpu05"]
    assert found["switch_leaf2"]["hosts"] == ["gpu02", "gpu04"]
    assert set(found["switch_spine"]["children"]) == {"switch_leaf1", "switch_leaf2"}
    plan = tmp_path / "plan.json"
    config = tmp_path / "config.json"
    example = json.loads((ROOT / "inventories/local/tiny_llama.json").read_text())
    example["config"] |= {"nnodes": "4", "master_address": "auto", "nccl_socket_ifname": "eth0"}
    config.write_text(json.dumps(example))
    variables = {
        "training_config": str(config),
        "training_plan_file": str(plan),
        "training_gpus_per_node": 1,
        "training_megatron_root": "/opt/megatron",
        "container_engine": "none",
    }
    done = asked(slurm, tmp_path, options, ("ansible-playbook", "playbooks/plan.yml", "-e", json.dumps(variables)))
    assert done.returncode == 0, done.stdout + done.stderr
    assert [node["node"] for node in json.loads(plan.read_text())["nodes"]] == ["gpu02", "gpu04", "gpu03", "gpu05"]


def test_what_slurm_does_not_know_and_a_job_that_waits_are_told(slurm: Slurm, tmp_path: Path) -> None:
    listing = ("ansible-inventory", "--list")
    job = slurm.run("sbatch", "--parsable", "--nodes=2", "--wrap=true").strip()
    waiting = " ".join(asked(slurm, tmp_path, f"job_id: {job}\n", listing).stderr.split())
    assert f"the job {job} has no nodes: its state is PENDING" in waiting
    wrong = " ".join(asked(slurm, tmp_path, "nodelist: a[1-2]-ib\n", listing).stderr.split())
    assert "Slurm cannot expand the hostlist a[1-2]-ib" in wrong
    unknown = " ".join(asked(slurm, tmp_path, "reservation: nosuch\n", listing).stderr.split())
    assert "Reservation nosuch not found" in unknown


def test_the_cache_answers_until_it_is_refreshed(slurm: Slurm, tmp_path: Path) -> None:
    options = (
        "reservation: changing\ncache: true\ncache_plugin: ansible.builtin.jsonfile\n"
        f"cache_connection: {tmp_path}/cache\n"
    )
    reserve(slurm, "changing", "gpu01")
    assert inventory(slurm, tmp_path, options)["ungrouped"]["hosts"] == ["gpu01"]
    slurm.run("scontrol", "update", "reservationname=changing", "nodes=gpu06")
    assert inventory(slurm, tmp_path, options)["ungrouped"]["hosts"] == ["gpu01"]
    refreshed = asked(slurm, tmp_path, options, ("ansible-inventory", "--list", "--export", "--flush-cache"))
    assert json.loads(refreshed.stdout)["ungrouped"]["hosts"] == ["gpu06"]
