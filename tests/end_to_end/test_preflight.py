"""playbooks/preflight.yml on nodes that are processes: on one node of a run, and with no node that can be inspected."""

from __future__ import annotations

import os
import re
import sys
import time

import pytest
from fault_table import add_row
from not_run import need
from playbook_bench import Bench
from recaps import recap


@pytest.mark.slow
def test_one_node_of_a_run_is_judged_by_the_plan_of_all(bench: Bench) -> None:
    need("ip")
    done = bench.play("preflight.yml", bench.inventory(node0={}, node1={}), bench.config(), "--limit", "node1")
    assert done.status == 0, done.output
    assert "Ready: nothing is red on 1 node." in done.output
    assert "only rank 0 listens" in done.output
    assert "2 × 1 GPU" in done.output
    assert "MASTER_ADDR" not in done.output


@pytest.mark.slow
def test_a_node_whose_clock_is_wrong_is_red(bench: Bench) -> None:
    need("ip", "faketime")
    python = bench.folder / "python3"
    python.write_text(f'#!/bin/sh\nexec faketime -f +120s {sys.executable} "$@"\n')
    python.chmod(0o755)
    ahead = {"ansible_python_interpreter": str(python)}
    began = time.monotonic()
    done = bench.play("preflight.yml", bench.inventory(node0={}, node1=ahead), bench.config())
    checked = time.monotonic() - began
    assert done.status != 0
    said = re.search(r"the clock is at least 1[012]\d\.\d s ahead of node0's", " ".join(done.output.split()))
    assert said
    assert "Not ready: 1 red cell on 1 of 2 nodes." in done.output
    add_row("a clock is 120 s off, in preflight", checked, said[0], "not ready")


BROKEN = {"ansible_python_interpreter": "/nowhere/python3"}


def test_machines_are_looked_at_without_a_config(bench: Bench) -> None:
    inventory = bench.inventory(node0={}, node1=BROKEN)
    without = {"training_config": "", "training_gpu": "cpu"}
    done = bench.play("preflight.yml", inventory, bench.config(), **without)
    shown = " ".join(done.output.split())
    assert done.status != 0
    assert recap(done.output) == {"node0": (0, 0), "node1": (1, 0)}, done.output
    assert "Preflight of machines (no training config)" in shown
    assert "mounts, token, cache, image on node0: no training config (set -e training_config=FILE)" in shown
    assert "Not ready: 1 red cell on 1 of 2 nodes." in shown
    assert "/nowhere/python3: not found. Python 3.8 or newer is needed there; set ansible_python_interpreter" in shown


@pytest.mark.slow
def test_a_machine_is_ready_without_a_config_and_no_machine_is_refused(bench: Bench) -> None:
    without = {"training_config": "", "training_gpu": "cpu"}
    done = bench.play("preflight.yml", bench.inventory(node0={}), bench.config(), **without)
    assert done.status == 0, done.output
    assert "Ready: nothing is red on 1 node." in done.output
    done = bench.play("preflight.yml", bench.inventory(), bench.config(), **without)
    assert done.status != 0
    assert "The inventory has no hosts." in done.output


@pytest.mark.slow
def test_nodes_that_all_fail_the_same_way_are_one_row_and_one_reason(bench: Bench) -> None:
    done = bench.play("preflight.yml", bench.inventory(node0=BROKEN, node1=BROKEN), bench.config())
    assert done.status != 0
    told = " ".join(done.output.split())
    assert "node[0-1] RED reached on node[0-1] the node could not be inspected: /nowhere/python3 did not run" in told
    assert "fatal: [node1]" not in told
    assert "Not ready: 2 red cells on 2 of 2 nodes." in told


MISSING = "sudo is missing, and Ansible needs it to become another user; install it, or set ansible_become=false"
ASKS = "udo asks for a password; add --ask-become-pass, or allow this login sudo without one"


@pytest.mark.parametrize(
    "playbook", ["preflight.yml", "node_prep.yml", pytest.param("megatron_multinode.yml", marks=pytest.mark.slow)]
)
def test_a_sudo_that_keeps_ansible_out_is_named(bench: Bench, playbook: str) -> None:
    sudo = bench.folder / "sudo"
    sudo.write_text("#!/bin/sh\necho 'sudo: a password is required' >&2; exit 1\n")
    sudo.chmod(0o755)
    # A root login would need no sudo to become root, and a user needs root to give files to another one.
    become = {"ansible_become": True, "ansible_become_user": "root" if os.geteuid() else "nobody"}
    node0 = {**become, "ansible_become_exe": "/nowhere/sudo"}
    inventory = bench.inventory(node0=node0, node1={**become, "ansible_become_exe": str(sudo)})
    done = bench.play(playbook, inventory, bench.config())
    shown = " ".join(done.output.split())
    assert done.status != 0
    assert MISSING in shown, done.output
    assert ASKS in shown, done.output
    assert "No start of json" not in shown
    # Ansible itself reports the task that leaves a file for the preflight; the table has the reason.
    assert "Premature end" not in shown or "the node could not be inspected: " in shown
    assert not bench.nodes.exists()
