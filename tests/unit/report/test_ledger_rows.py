# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger as people see it."""

from __future__ import annotations

import typing as t

from judged_runs import bound

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.node_rows import (
    ledger_lines,
    ledger_rows,
    whole_in_words,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.catalogue import PROOFS
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.sentences import filled


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


def proven(row: str, case: str, *values: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    form = PROOFS[row][case]
    entries = [{"verdict": "PASS", "case": case, "evidence": filled(form.one, own), "values": own} for own in values]
    return [{"node": f"gpu{rank}", "node_rank": rank, "rows": {row: entry}} for rank, entry in enumerate(entries)]


def test_evidence_that_differs_in_numbers_only_is_one_group_with_their_ranges() -> None:
    (row,) = ledger_rows(proven("time", "", *({"median": 998.5 + 690.5 * n, "mean": 1.0} for n in range(2))))
    assert [tuple(group) for group in row.groups] == [("PASS", "median 998.5 – 1,689, mean 1 ms", "gpu[0-1]")]


def test_evidence_that_differs_in_words_stays_apart() -> None:
    (row,) = ledger_rows(proven("network", "log", {"transports": ["NET/IB"]}, {"transports": ["NET/OFI"]}))
    assert [group.evidence for group in row.groups] == ["NET/IB", "NET/OFI"]


def test_last_lines_are_one_example_and_how_many_others_there_are() -> None:
    (row,) = ledger_rows(proven("last line", "", *({"line": f"iteration {n}"} for n in range(64))))
    assert [tuple(group) for group in row.groups] == [("PASS", "iteration 0 and 63 other lines", "gpu[0-63]")]
    (row,) = ledger_rows(proven("last line", "", {"line": "iteration 1"}, {"line": "iteration 2"}))
    assert [group.evidence for group in row.groups] == ["iteration 1", "iteration 2"]


def test_evidence_in_words_of_an_earlier_version_stays_as_it_is() -> None:
    earlier = proven("time", "", {"median": 1.0, "mean": 2.0})
    earlier[0]["rows"]["time"]["evidence"] = "median 1 ms"
    (row,) = ledger_rows(earlier)
    assert [group.evidence for group in row.groups] == ["median 1 ms"]


def test_what_is_known_of_a_node_takes_the_place_of_no_evidence() -> None:
    lacking = ledger(gpu0=("INCONCLUSIVE", "no evidence"), gpu1=("PASS", "NET/IB"))
    row, _loss = ledger_rows(lacking, {(node, "network"): "stopped because gpu7 failed" for node in ("gpu0", "gpu1")})
    assert [group.evidence for group in row.groups] == ["stopped because gpu7 failed", "NET/IB"]


def judged(rows: list[dict[str, t.Any]], step: int | None = 9, **changes: t.Any) -> dict[str, t.Any]:
    nodes = [{"node": row["node"], "last_step": step} for row in rows]
    return {"ledger": rows, "nodes": nodes, "thresholds": [], "thresholds_judged": True, **changes}


def test_one_line_says_how_many_checks_passed_and_which_failed_or_are_open() -> None:
    assert "2 checks" in whole_in_words(judged(ledger(gpu0=("PASS", "NET/IB"))))
    mixed = whole_in_words(judged(ledger(gpu0=("FAIL", "NET/Socket"), gpu1=("INCONCLUSIVE", "no evidence"))))
    assert mixed.startswith("1 of 2 checks passed on both nodes")
    assert mixed.endswith("failed: network")
    assert whole_in_words(judged(ledger(gpu0=("INCONCLUSIVE", "no evidence")))).endswith("open: network")


def test_beside_a_missed_threshold_all_checks_do_not_look_like_a_pass() -> None:
    whole = ledger(gpu0=("PASS", "NET/IB"))
    missed = bound("step_time_ms", "max", 10_000.0, 9_000.0, met=False)
    assert "1 threshold" in whole_in_words(judged(whole, thresholds=[missed]))
    assert "threshold" not in whole_in_words(judged(whole, thresholds=[missed], thresholds_judged=False))


def test_of_a_run_without_a_step_it_is_told_how_many_checks_have_nothing_to_look_at() -> None:
    verdicts = {"exit status": "FAIL", "log": "PASS", "steps": "FAIL", "loss": "INCONCLUSIVE", "time": "INCONCLUSIVE"}
    rows = {row: {"verdict": verdict, "evidence": verdict} for row, verdict in verdicts.items()}
    told = whole_in_words(judged([{"node": "gpu0", "node_rank": 0, "rows": rows}], step=None))
    assert "3 of 5" in told
    assert not any(row in told for row in ("exit status", "loss", "time"))
