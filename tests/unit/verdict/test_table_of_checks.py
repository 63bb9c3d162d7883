# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of checks: it is whole, and each check does what its text says."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.contracts import Verdict
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.catalogue import VERDICT as CATALOGUE
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict import checks
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict import reasons as made
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.checks import CHECK_OF_CODE, CHECKS
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.reasons import FAIL, INCONCLUSIVE, PASS, Reasons

VERDICT = Path(checks.__file__).parent
# From plans that are made of logs, from an empty row of the ledger, and from a PASS.
OTHERS = {"evidence_missing"}
_ARGUED = ("argue",)


def codes_used() -> set[str]:
    """Return the codes of reasons and notes in the verdict's code, and those of plans made of logs."""
    texts = [*VERDICT.glob("*.py"), *VERDICT.parent.joinpath("run_from_logs").glob("*.py")]
    return {
        node.value
        for path in texts
        if path.name != "checks.py"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_each_check_is_there_once_and_somebody_makes_it() -> None:
    assert len(CHECK_OF_CODE) == len(CHECKS)
    assert {check.code for check in CHECKS} <= codes_used()


def test_a_verdict_other_than_pass_is_that_of_a_check_that_may_argue_for_it() -> None:
    for path in VERDICT.glob("*.py"):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _ARGUED):
                continue
            arguments = call.args[:2]
            if len(arguments) < 2 or not isinstance(arguments[0], ast.Name):
                continue
            verdict, code = arguments[0].id, arguments[1]
            if verdict in ("FAIL", "ERROR", "INCONCLUSIVE") and isinstance(code, ast.Constant):
                check = CHECK_OF_CODE[str(code.value)]
                assert verdict in check.effects or not check.effects, (path.name, check.code)


@pytest.fixture
def argue(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Argue with a code as a check does, whatever the values of its sentence are."""
    monkeypatch.setattr(made, "filled", lambda _text, _values: "")

    def one(reasons: Reasons, verdict: Verdict, code: str) -> None:
        reasons.argue(verdict, code, "gpu01", case=next(iter(CATALOGUE[code])))

    return one


@pytest.mark.parametrize("check", [check for check in CHECKS if check.outranked], ids=lambda check: check.code)
def test_what_the_facts_of_a_run_outrank_is_a_note(check: checks.Check, argue: Callable[..., None]) -> None:
    for complete in (False, True):
        reasons = Reasons(complete=complete)
        argue(reasons, PASS, "nodes")
        argue(reasons, check.effects[0], check.code)
        assert (reasons.verdict() == PASS) is complete
        assert [note["code"] for note in reasons.notes()] == [check.code] * complete


@pytest.mark.parametrize("code", ["loss_flat", "loss_spike"])
def test_a_check_without_an_effect_is_a_note(code: str, argue: Callable[..., None]) -> None:
    reasons = Reasons()
    argue(reasons, PASS, "nodes")
    argue(reasons, INCONCLUSIVE, code)
    assert (reasons.verdict(), [note["code"] for note in reasons.notes()]) == (PASS, [code])


def test_what_is_wrong_with_the_numbers_is_never_outranked(argue: Callable[..., None]) -> None:
    for row in ("exit status", "numbers"):
        assert not any(check.outranked for check in CHECKS if check.row == row)
    reasons = Reasons(complete=True)
    argue(reasons, FAIL, "not_finite")
    assert reasons.verdict() == FAIL


def test_each_check_has_its_sentences() -> None:
    assert {check.code for check in CHECKS} <= set(CATALOGUE)
