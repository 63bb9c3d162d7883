# SPDX-License-Identifier: GPL-3.0-or-later
"""The tile that shows how a run compares with the earlier ones of its kind."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.history import NOISE, REAL
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.tiles import tiles_of

Run = dict[str, t.Any]
RATE = "tokens_per_sec_per_gpu"


def history(**changed: t.Any) -> Run:
    change = {"percent": -3.2, "runs": 5, "better": False, "outcome": REAL, **changed}
    runs = [{RATE: value} for value in (100.0, None, 101.0, 97.0)]
    return {"comparison": {RATE: change}, "runs": runs}


@pytest.mark.parametrize(
    ("changed", "tone"),
    [({}, "bad"), ({"percent": 3.2, "better": True}, "good"), ({"outcome": NOISE}, ""), ({"outcome": "few"}, "")],
)
def test_a_change_against_earlier_runs_has_the_tone_of_what_it_proves(summary: Run, changed: Run, tone: str) -> None:
    of = history(**changed)
    last = tiles_of(summary, of)[-1]
    assert (float(last.value.replace("\N{MINUS SIGN}", "-")), last.unit) == (of["comparison"][RATE]["percent"], "%")
    assert last.tone == tone
    assert "5 runs" in last.label


def test_without_earlier_runs_no_tile_compares(summary: Run) -> None:
    for of in (None, history(runs=0), history(percent=None)):
        assert tiles_of(summary, of) == tiles_of(summary)


@pytest.mark.parametrize(("samples", "tone", "met"), [(4, "", None), (5, "bad", False)])
def test_a_threshold_that_a_few_steps_miss_is_not_red(summary: Run, samples: int, tone: str, met: bool | None) -> None:
    summary["metrics"]["step_time_ms"]["samples"] = samples
    summary["thresholds"][0] |= {"measured": 10_123.0, "greatest": 5_000.0, "met": False}
    (tile,) = (tile for tile in tiles_of(summary) if tile.label == "Step time")
    assert tile.gauge
    assert (tile.tone, tile.gauge.met) == (tone, met)
