"""Nodes of Slurm as an inventory without scontrol; test_real_slurm.py asks a real one."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_commands import run
from inventory_runs import in_play_order

PLUGIN = "plugin: trainops.cluster.slurm_allocation\nscontrol: /nowhere/scontrol\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "slurm_allocation.yml"
    path.write_text(PLUGIN)
    return path


def test_inside_of_an_allocation_its_nodes_are_the_inventory(source: Path) -> None:
    assert in_play_order(source, SLURM_JOB_NODELIST="gpu[3,01-02]") == ["gpu3", "gpu01", "gpu02"]


def test_a_nodelist_wins_over_the_allocation(source: Path) -> None:
    source.write_text(PLUGIN + "nodelist: cpu[1-2]\n")
    assert in_play_order(source, SLURM_JOB_NODELIST="gpu[1-2]") == ["cpu1", "cpu2"]


@pytest.mark.parametrize(
    ("options", "environment", "told"),
    [
        ("", {}, "SLURM_JOB_NODELIST is not set. Run inside salloc or sbatch"),
        ("", {"SLURM_JOB_NODELIST": "gpu[1-"}, "'gpu[1-' is not a hostlist such as"),
        ("job_id: 7\nreservation: mine\n", {}, "only one of nodelist, job_id and reservation may be set"),
        ("job_id: 7\n", {}, "/nowhere/scontrol was not found, so Slurm cannot be asked for the job"),
        ("nodelist: gpu1\ntopology: true\n", {}, "cannot be asked for the topology"),
    ],
)
def test_what_keeps_it_from_naming_nodes_is_told(source: Path, options: str, environment: dict, told: str) -> None:
    source.write_text(PLUGIN + options)
    done = run("ansible-inventory", "-i", str(source), "--list", **environment)
    assert done.returncode != 0
    assert told in " ".join(done.stderr.split())


def test_a_cache_knows_one_allocation_from_another(source: Path, tmp_path: Path) -> None:
    cache = f"cache: true\ncache_plugin: ansible.builtin.jsonfile\ncache_connection: {tmp_path}/cache\n"
    source.write_text(PLUGIN + cache)
    assert in_play_order(source, SLURM_JOB_NODELIST="gpu[1-2]") == ["gpu1", "gpu2"]
    assert in_play_order(source, SLURM_JOB_NODELIST="gpu[3-4]") == ["gpu3", "gpu4"]


def test_a_slurm_without_switches_is_told(source: Path, tmp_path: Path) -> None:
    scontrol = tmp_path / "scontrol"
    scontrol.write_text('#!/bin/sh\n[ "$3" = hostnames ] && echo gpu1 || echo "No topology information available"\n')
    scontrol.chmod(0o755)
    source.write_text(
        f"plugin: trainops.cluster.slurm_allocation\nscontrol: {scontrol}\nnodelist: gpu1\ntopology: true\n"
    )
    done = run("ansible-inventory", "-i", str(source), "--list")
    assert done.returncode == 0, done.stderr
    assert "Slurm reports no switches" in " ".join(done.stderr.split())


def test_a_scontrol_that_fails_is_quoted(source: Path, tmp_path: Path) -> None:
    scontrol = tmp_path / "scontrol"
    scontrol.write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2\nexit 1\n")
    scontrol.chmod(0o755)
    source.write_text(f"plugin: trainops.cluster.slurm_allocation\nscontrol: {scontrol}\njob_id: 7\n")
    told = " ".join(run("ansible-inventory", "-i", str(source), "--list").stderr.split())
    assert "show job 7 failed with exit status 1: Unable to contact slurm controller" in told
