"""The requested reports of a run are checked before it trains."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.query import dialect_faults, query_faults


@pytest.mark.parametrize("expression", ["[].{verdict", "nosuch(@)", "[?a==`1]"])
def test_a_query_that_cannot_be_read_is_a_fault(expression: str) -> None:
    [fault] = query_faults(expression)
    assert (fault["key"], fault["value"]) == ("training_query", expression)


@pytest.mark.parametrize("expression", ["", None, "[].verdict", "[?verdict=='PASS'].{run: run_id}", "length(@)"])
def test_a_query_that_can_be_read_is_none(expression: t.Any) -> None:
    assert query_faults(expression) == []


def test_a_dialect_that_does_not_exist_is_a_fault_with_the_nearest_one() -> None:
    [fault] = dialect_faults(["junti", "openmetrics"])
    assert "Did you mean junit?" in fault["remedy"]
    assert dialect_faults("junit, openmetrics") == dialect_faults([]) == dialect_faults(None) == []
