# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger as people see it."""

from __future__ import annotations

import typing as t

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.ledger_rows import ledger_lines, ledger_rows


def ledger(**evidence: tuple[str, str]) -> list[dict[str, t.Any]]:
    return [
        {
            "node": node,
            "node_rank": rank,
            "rows": {
                "network": {"verdict": verdict, "evidence": told},
                "loss": {"verdict": "PASS", "evidence": "falls"},
            },
        }
        for rank, (node, (verdict, told)) in enumerate(evidence.items())
    ]


def test_nodes_with_the_same_evidence_stand_together_the_gravest_first() -> None:
    nodes = {f"gpu{n}": ("PASS", "NET/IB") for n in range(5)}
    network, loss = ledger_rows(ledger(**nodes, gpu5=("FAIL", "NET/Socket")))
    assert (network.verdict, network.passed, network.nodes, network.more) == ("FAIL", 5, 6, 0)
    assert [tuple(group) for group in network.groups] == [
        ("FAIL", "NET/Socket", "gpu5"),
        ("PASS", "NET/IB", "gpu0, gpu1, gpu2 and 2 more"),
    ]
    assert (loss.verdict, len(loss.groups)) == ("PASS", 1)


def test_a_terminal_shows_what_lacks_on_which_node() -> None:
    assert ledger_lines(ledger(gpu0=("PASS", "NET/IB"), gpu1=("INCONCLUSIVE", "nothing is known"))) == [
        "Evidence by nodes:",
        "  network  1 of 2; INCONCLUSIVE on gpu1",
        "  loss     2 of 2",
    ]
    assert ledger_lines([]) == []


def test_many_different_ones_are_counted() -> None:
    (row, _loss) = ledger_rows(ledger(**{f"gpu{n}": ("PASS", f"{n} steps") for n in range(1024)}))
    assert (len(row.groups), row.more) == (6, 1018)
