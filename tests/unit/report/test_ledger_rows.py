# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger as people see it."""

from __future__ import annotations

import typing as t

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.ledger_rows import (
    ledger_lines,
    ledger_rows,
    whole_in_words,
)


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
        ("PASS", "NET/IB", "gpu[0-4]"),
    ]
    assert (loss.verdict, len(loss.groups)) == ("PASS", 1)


def test_what_says_the_same_of_each_node_is_one_line() -> None:
    network, _loss = ledger_rows(ledger(**{f"gpu{n}": ("FAIL", f"The log of gpu{n} is torn.") for n in range(200)}))
    assert [tuple(group) for group in network.groups] == [("FAIL", "The log of gpu[0-199] is torn.", "gpu[0-199]")]


def test_a_terminal_shows_what_lacks_on_which_nodes() -> None:
    whole = {f"gpu{n}": ("PASS", "NET/IB") for n in range(64)}
    assert ledger_lines(ledger(**whole)) == ["Evidence from 64 nodes: network, loss"]
    lacking = {f"gpu{n}": ("INCONCLUSIVE", "no evidence") for n in range(8, 12)}
    assert ledger_lines(ledger(**whole | lacking)) == [
        "Evidence from 64 nodes: loss",
        "  network: 60 of 64, INCONCLUSIVE on gpu[8-11]",
    ]
    assert ledger_lines([]) == []


def test_many_different_ones_are_counted() -> None:
    (row, _loss) = ledger_rows(ledger(**{f"gpu{n}": ("PASS", f"kernel v{n}") for n in range(1024)}))
    assert (len(row.groups), row.more) == (6, 1018)


def test_evidence_that_differs_in_numbers_only_is_one_group_with_their_ranges() -> None:
    told = {f"gpu{n}": ("PASS", f"median {420 + n}.5, batch 16 at 20:44:0{n} on rocm/v25.{n}") for n in range(3)}
    row, _loss = ledger_rows(ledger(**told))
    # What is part of a time of day, or of a name, is no number.
    assert len(row.groups) == 3
    short = {node: (verdict, text.partition(" at")[0]) for node, (verdict, text) in told.items()}
    row, _loss = ledger_rows(ledger(**short))
    assert [tuple(group) for group in row.groups] == [("PASS", "median 420.5 – 422.5, batch 16", "gpu[0-2]")]


def test_numbers_with_thousands_and_signs_are_whole() -> None:
    told = {
        f"gpu{n}": ("PASS", f"{times} ms, {change} %")
        for n, (times, change) in enumerate((("1,689", "−3.1"), ("998.5", "2.4")))
    }
    row, _loss = ledger_rows(ledger(**told))
    assert [tuple(group) for group in row.groups] == [("PASS", "998.5 – 1,689 ms, −3.1 – 2.4 %", "gpu[0-1]")]


def test_what_is_known_of_a_node_takes_the_place_of_no_evidence() -> None:
    lacking = ledger(gpu0=("INCONCLUSIVE", "no evidence"), gpu1=("PASS", "NET/IB"))
    row, _loss = ledger_rows(lacking, {(node, "network"): "stopped because gpu7 failed" for node in ("gpu0", "gpu1")})
    assert [group.evidence for group in row.groups] == ["stopped because gpu7 failed", "NET/IB"]


def test_one_line_says_how_many_checks_passed_and_which_did_not() -> None:
    assert "2 checks" in whole_in_words(ledger(gpu0=("PASS", "NET/IB")))
    mixed = whole_in_words(ledger(gpu0=("FAIL", "NET/Socket")))
    assert "1 of 2" in mixed
    assert "network" in mixed
    never = [{"node": "gpu0", "node_rank": 0, "rows": {"loss": {"verdict": "INCONCLUSIVE", "evidence": "no evidence"}}}]
    assert "loss" not in whole_in_words(never)
