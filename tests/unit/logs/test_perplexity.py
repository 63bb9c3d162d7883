# SPDX-License-Identifier: GPL-3.0-or-later
"""Perplexities beside the losses that they are made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.reader import read_log

EVALUATED = " validation loss at iteration 9 | lm loss value: {} | lm loss PPL: {} |"
EVALUATED_BY_MAXTEXT = "eval metrics after step: 20, loss={}, total_weights={}"
STEP = "completed step: 7, seconds: 1.000, loss: 9.000, lm_loss: {}, perplexity: {}"


@pytest.mark.parametrize(
    ("framework", "line", "loss", "perplexity", "wrong"),
    [
        ("megatron", EVALUATED, "7.000000E+00", "1.096633E+03", 0),
        ("megatron", EVALUATED, "7.000000E+00", "2.193266E+03", 1),
        ("megatron", EVALUATED, "2.000000E+01", "4.851652E+08", 0),
        ("megatron", EVALUATED, "3.000000E+01", "4.851652E+08", 1),
        ("megatron", EVALUATED, "-1.000000E+00", "3.678794E-01", 1),
        ("megatron", EVALUATED, "7.000000E+00", "0.000000E+00", 1),
        ("megatron", EVALUATED, "nan", "nan", 1),
        ("megatron", EVALUATED, "NAN", "4.851652E+08", 1),
        ("megatron", EVALUATED, "7.000000E+00", "nan", 1),
        ("megatron", EVALUATED, "7.000000E+00", "1.09.6", 1),
        ("megatron", EVALUATED, "7.000000E+00", "1.096633E iteration", 0),
        ("megatron", EVALUATED, "1" * 160_000, "2", 0),
        ("maxtext", STEP, "6.668", "786.580", 0),
        ("maxtext", STEP, "6.668", "393.290", 1),
        ("maxtext", STEP, "21.000", "1318815734.483", 0),
        ("maxtext", STEP, "6.668", "inf", 1),
        ("maxtext", STEP, "6.668", "None", 1),
        ("nxdt", STEP, "6.668", "inf", 0),
        ("maxtext", EVALUATED_BY_MAXTEXT, "9.123", "1024.0", 0),
        ("maxtext", EVALUATED_BY_MAXTEXT, "170.0", "1024.0", 1),
        ("maxtext", EVALUATED_BY_MAXTEXT, "-0.1", "1024.0", 1),
        ("maxtext", EVALUATED_BY_MAXTEXT, "0.000", "0.0", 1),
        ("maxtext", EVALUATED_BY_MAXTEXT, "nan", "1024.0", 0),
    ],
)
def test_perplexities_that_do_not_fit_their_loss(
    framework: str, line: str, loss: str, perplexity: str, wrong: int, tmp_path: Path
) -> None:
    (tmp_path / "log").write_text(line.format(loss, perplexity) + "\n")
    assert read_log(str(tmp_path / "log"), framework)["wrong_perplexities"] == wrong
