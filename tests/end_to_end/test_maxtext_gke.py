# SPDX-License-Identifier: GPL-3.0-or-later
"""MaxText on GKE by its playbook: with a stand-in for XPK, and on request with XPK itself in its dry run.

The real one is left out unless XPK is set to its program: ``make test-trainers`` installs it and sets that. No workload
was started on GKE for this.
"""

from __future__ import annotations

import json
import os
import subprocess

import pytest
import yaml
from playbook_bench import ROOT

XPK = os.environ.get("XPK")
# Keeps its arguments, one a line.
STAND_IN = """\
#!/usr/bin/env bash
printf '%s\\n' "$@" > "$(dirname "$0")/arguments"
"""


@pytest.fixture
def config(bench):
    data = json.loads((ROOT / "examples/maxtext/gke_v5p_llama2_70b.json").read_text())
    data["config"] |= {"container_image": "gcr.io/lab/maxtext:0.2.5", "env_vars": {"MINE": "a b"}}
    data["config"]["gke"] |= {"cluster": "mine", "project": "lab", "zone": "us-east5-a"}
    branch = data["model_params"]["multi_node"]["llama2-70b"]["v5p"]
    branch |= {"base_output_directory": "gs://lab/maxtext", "result_dict": {"tflops_per_gpu": "300"}}
    path = bench.folder / "gke.json"
    path.write_text(json.dumps(data))
    return path


@pytest.fixture
def xpk(bench, monkeypatch):
    """Put a stand-in for XPK first on PATH, and return where it keeps its arguments."""
    program = bench.folder / "bin/xpk"
    program.parent.mkdir()
    program.write_text(STAND_IN)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return program.parent / "arguments"


def test_the_controller_runs_the_line_that_the_plan_shows(bench, config, xpk):
    plan = bench.folder / "plan.json"
    done = bench.play(
        "maxtext_gke.yml",
        bench.inventory(),
        config,
        training_gpus_per_node=4,
        training_run_id="mine",
        training_plan_file=str(plan),
    )
    assert done.status == 0, done.output
    argv = json.loads(plan.read_text())["gke"]["argv"]
    assert xpk.read_text().splitlines() == argv[1:]
    assert "jobset-name=mine" in done.output


@pytest.mark.slow
def test_check_mode_only_shows_it(bench, config, xpk):
    done = bench.play("maxtext_gke.yml", bench.inventory(), config, "--check", training_gpus_per_node=4)
    assert done.status == 0, done.output
    assert "xpk workload create \\" in done.output
    assert not xpk.exists()


@pytest.mark.slow
def test_a_fault_starts_nothing(bench, config, xpk):
    done = bench.play("maxtext_gke.yml", bench.inventory(), config, training_gpus_per_node=8)
    assert done.status != 0
    assert "nnodes × training_gpus_per_node is 64 × 8" in done.output
    assert not xpk.exists()


@pytest.mark.skipif(not XPK, reason="XPK names no program of XPK; run `make test-trainers`")
def test_xpk_takes_the_line_and_makes_a_workload_of_it(bench, config):
    plan, manifest = bench.folder / "plan.json", bench.folder / "manifest.yml"
    variables = {"training_gpus_per_node": 4, "training_plan_file": str(plan)}
    shown = bench.play("maxtext_gke.yml", bench.inventory(), config, "--check", **variables)
    assert shown.status == 0, shown.output
    gke = json.loads(plan.read_text())["gke"]
    dry = ["--dry-run", "--skip-validation", "--output-manifest-file", str(manifest)]
    done = subprocess.run(
        [XPK, *gke["argv"][1:], *dry],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    (workload,) = [part for part in yaml.safe_load_all(manifest.read_text()) if part and part["kind"] == "JobSet"]
    assert workload["metadata"]["name"] == gke["workload"]
    (job,) = workload["spec"]["replicatedJobs"]
    pods = job["template"]["spec"]
    assert (job["replicas"], pods["completions"]) == (2, 32)
    (container,) = pods["template"]["spec"]["containers"]
    assert container["image"] == "gcr.io/lab/maxtext:0.2.5"
    variables = {variable["name"]: variable.get("value") for variable in container["env"]}
    assert variables["MINE"] == "a b"
    assert "--xla_tpu_megacore_fusion_allow_ags=false" in variables["LIBTPU_INIT_ARGS"].split()
    assert f"({gke['argv'][-1]})" in "\n".join(container["command"])
