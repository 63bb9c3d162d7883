"""A metric is two rows, because half of it travels to nodes: `module_utils.logs.record` and `plugin_utils.metrics`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.record import (
    ALL_METRICS,
    EVIDENCE,
    METRICS,
    METRICS_OF_RUN,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.metrics import FIGURES, ROWS

# Computed on the controller, from a metric that a node has.
COMPUTED = {"mfu"}


def repeated(names: Iterable[object]) -> list[object]:
    return [name for name, count in Counter(names).items() if count > 1]


def test_both_tables_have_the_same_metrics() -> None:
    assert set(ROWS) == set(ALL_METRICS) | COMPUTED
    assert not set(METRICS) & set(METRICS_OF_RUN)
    assert not set(ALL_METRICS) & set(EVIDENCE)


def test_no_name_stands_for_two_metrics() -> None:
    assert repeated(row.family.name for row in ROWS.values()) == []
    assert repeated(name for metric, row in ROWS.items() for name in (metric, *row.aliases, *row.keys)) == []
    assert repeated(row.label for row in ROWS.values()) == []
    assert repeated(ROWS[metric].place for metric in FIGURES) == []
    assert repeated(setting for row in METRICS_OF_RUN.values() for setting, _units in row.printed) == []


@pytest.mark.parametrize("metric", ALL_METRICS)
def test_a_row_fits_its_other_half(metric: str) -> None:
    row, travels = ROWS[metric], ALL_METRICS[metric]
    assert not row.expected or (metric in METRICS and travels.better != "none"), "result_dict has a direction for each"
    assert not (row.plotted or row.in_short) or row.place, "only a figure is drawn, or stands in a line"
    assert not travels.printed or (metric in METRICS_OF_RUN and travels.statistic == "max")
    assert not row.as_percent or travels.unit == "1"
