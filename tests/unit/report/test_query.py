# SPDX-License-Identifier: GPL-3.0-or-later
"""Queries over the summaries of runs."""

from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.query import query, result_text

SUMMARIES = [{"run_id": "a", "metrics": {"loss": {"value": 2.5}}}, {"run_id": "b", "metrics": {}}]


def test_a_query_sees_the_list_of_summaries() -> None:
    assert query(SUMMARIES, "[].[run_id, metrics.loss.value]") == [["a", 2.5], ["b", None]]


@pytest.mark.parametrize(
    ("expression", "where"),
    [
        ("[].run id", "unexpected 'id' at character 8\n  [].run id\n         ^"),
        ("[].run_id[", "it ends too early\n  [].run_id[\n            ^"),
        ("[].#", "unexpected '#' at character 4\n  [].#\n     ^"),
    ],
)
def test_a_query_that_is_none_tells_the_place(expression: str, where: str) -> None:
    with pytest.raises(ValueError, match="not a JMESPath expression") as refused:
        query(SUMMARIES, expression)
    assert str(refused.value).split("expression: ")[1] == where


@pytest.mark.parametrize("expression", ["no_such_function(@)", "abs([0].run_id)", "abs()"])
def test_a_query_that_cannot_be_answered_tells_why(expression: str) -> None:
    with pytest.raises(ValueError, match="cannot be evaluated: "):
        query(SUMMARIES, expression)


def test_a_text_is_shown_as_it_is_and_the_rest_as_json() -> None:
    assert result_text("node7") == "node7"
    assert result_text([1, None]) == "[\n  1,\n  null\n]"
