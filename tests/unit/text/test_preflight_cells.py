"""The text of each cell of a preflight, and the remedy of a red one: a line of preflight_cells.jsonl for each."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.text.preflight import CELLS, REASONS, cell_in_words
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.sentences import fields_of

LINES = (Path(__file__).parents[2] / "data/texts/preflight_cells.jsonl").read_text("utf-8").splitlines()
ROWS: list[dict[str, t.Any]] = list(map(json.loads, LINES))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['code']} {row['case']} {row['remedy']}")
def test_what_a_cell_says(row: dict[str, t.Any]) -> None:
    said = cell_in_words(row["code"], row["case"], row["values"], row["remedy"])
    assert said == (row["found"], row["reason"], row["command"])


def test_each_cell_with_each_of_its_remedies_is_shown() -> None:
    assert {(row["code"], row["case"], row["remedy"]) for row in ROWS} == {
        (code, case, remedy)
        for code, cases in CELLS.items()
        for case, form in cases.items()
        for remedy in form.remedies or ("",)
    }


def test_what_is_said_of_many_nodes_has_only_values_that_one_node_shows() -> None:
    for code, cases in REASONS.items():
        for case, form in cases.items():
            of_many = fields_of(form.many) | fields_of(form.each)
            assert of_many <= fields_of(form.one) | {"node", "each"}, (code, case)
