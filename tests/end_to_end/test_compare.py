# SPDX-License-Identifier: GPL-3.0-or-later
"""Comparing two real runs."""

from __future__ import annotations

from playbook_bench import Bench


def test_two_runs_are_compared_without_an_inventory_and_bad_names_fail(tmp_path):
    bench = Bench(tmp_path)
    inventory = bench.inventory(compare0={})
    for run_id, iterations in {"one": "6", "other": "7"}.items():
        config = bench.config("single_node", nnodes="1", master_address="localhost", training_iterations=iterations)
        done = bench.play("megatron_single_node.yml", inventory, config, training_run_id=run_id)
        assert done.status == 0, done.output
    page = bench.runs / "comparisons/one--other/compare.html"
    looked = bench.play("compare.yml", inventory, config, "--check", training_compare="one,other")
    assert f"Not written (check mode): {page}" in looked.output
    assert not page.parent.parent.exists()
    done = bench.play("compare.yml", inventory, config, training_compare="one,other")
    assert done.status == 0, done.output
    assert "one → other" in done.output
    assert "TOTAL_ITERS: 6 → 7" in done.output
    assert page.exists()
    again = bench.play("compare.yml", inventory, config, training_compare="one,other")
    assert "changed=0" in again.output
    refused = bench.play("compare.yml", inventory, config, training_compare="one,gone")
    assert refused.status != 0
    assert "gone is neither a run" in refused.output
