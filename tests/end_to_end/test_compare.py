# SPDX-License-Identifier: GPL-3.0-or-later
"""Comparing two real runs."""

from __future__ import annotations

import json
import shutil

import yaml
from ansible_commands import finished
from finished_runs import changeable, finished_run
from playbook_bench import Bench


def test_two_runs_are_compared_without_an_inventory_and_bad_names_fail(tmp_path):
    bench = Bench(tmp_path)
    changeable("single", tmp_path)
    one, other = finished_run("single").run_dir, finished_run("pass").run_dir
    shutil.copytree(other, bench.runs / other.name)
    names = f"{one.name},{other.name}"
    page = bench.runs / f"comparisons/{one.name}--{other.name}/compare.html"
    inventory, config = bench.inventory(), bench.config()
    looked = bench.play("compare.yml", inventory, config, "--check", training_compare=names)
    assert looked.status == 0, looked.output
    assert f"Not written (check mode): {page}" in looked.output
    assert not page.parent.parent.exists()

    # The role's own tasks: the second time nothing changes, the third is refused.
    role = {"name": "trainops.cluster.training", "tasks_from": "compare"}
    tasks = [
        {
            "name": f"Compare {asked}",
            "block": [{"ansible.builtin.include_role": role, "vars": {"training_compare": asked}}],
            "rescue": [{"ansible.builtin.debug": {"msg": "refused"}}],
        }
        for asked in (names, names, f"{one.name},gone")
    ]
    playbook = tmp_path / "compare.yml"
    playbook.write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    variables = json.dumps({"training_output_dir": str(bench.runs)})
    done = finished(["ansible-playbook", str(playbook), "-e", variables], bench.environment())
    assert done.returncode == 0, done.stdout
    words = " ".join(done.stdout.split())
    assert done.stdout.count(f"{one.name} → {other.name}") == 2
    assert "TOTAL_ITERS: 7 → 30" in words
    assert page.exists()
    assert "changed=1 " in words
    assert "rescued=1" in words
    assert "gone is neither a run" in words
