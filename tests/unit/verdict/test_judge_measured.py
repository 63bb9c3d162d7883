# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a training learns, whether its values can be, and whether its logs are its own."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from training_logs import ALL, LOGS, OVER, SILENT, WORKLOAD, Node, codes, judged, line, lines

RESUMED = "  successfully loaded checkpoint from /ckpt [ t 1/1, p 1/1 ] at iteration 1000\n"


def learning(losses: t.Iterable[float], first: int = 1) -> str:
    values = list(losses)
    total = first + len(values) - 1
    return "".join(line(step, total, loss=loss) for step, loss in enumerate(values, start=first))


def of(log: str, folder: Path, **changes: t.Any) -> dict[str, t.Any]:
    iterations = changes.pop("iterations", 30)
    return judged(
        [Node("gpu00", changes.pop("head", "") + SILENT), Node("gpu01", log)],
        folder,
        parameters={"iterations": iterations},
        **changes,
    )


FLAT = [4.0 + (step * step % 31) / 1000 for step in range(30)]
FALLING = [9 - step / 5 + (step * step % 31) / 1000 for step in range(30)]


@pytest.mark.parametrize(
    ("losses", "verdict", "code"),
    [
        ([10 - step / 5 for step in range(30)], "PASS", "loss_falls"),
        ([4 + step / 5 for step in range(30)], "FAIL", "loss_rises"),
    ],
)
def test_a_training_that_begins_anew_has_to_learn(losses: t.Any, verdict: str, code: str, tmp_path: Path) -> None:
    summary = of(learning(losses), tmp_path)
    assert summary["verdict"] == verdict
    (reason,) = [one for one in summary["reasons"] if one["code"] == code]
    trend, values = summary["nodes"][1]["loss_trend"], reason["values"]
    assert (values["trend"], values["samples"]) == (trend, 30)
    if code == "loss_rises":
        assert (values["end"], values["lowest"]) == (pytest.approx(9.3), pytest.approx(4.5))
    else:
        assert (values["against"], values["printed_by"], values["change"]["unit"]) == ("rest", "gpu01", "%")
        assert values["change"]["value"] == 100 * trend["change"]


def test_a_smoke_test_is_too_short_to_tell_and_passes(tmp_path: Path) -> None:
    summary = of(learning(FLAT[:10]), tmp_path, iterations=10)
    assert summary["verdict"] == "PASS"
    (note,) = [one for one in summary["notes"] if one["code"] == "loss_not_judged"]
    assert (note["node"], note["case"]) == ("gpu01", "compared")
    assert (note["values"]["samples"], note["values"]["needed"]) == (10, 20)


def test_a_training_that_goes_on_from_a_checkpoint_may_be_flat_and_says_so(tmp_path: Path) -> None:
    summary = of(learning(FLAT, first=1001), tmp_path, iterations=1030, head=RESUMED)
    assert summary["verdict"] == "PASS"
    (note,) = [one for one in summary["notes"] if one["code"] == "loss_flat"]
    assert (note["node"], note["case"], note["values"]["first_step"]) == ("gpu01", "resumed", 1001)


def test_after_a_restart_a_flat_loss_is_no_reason_either(tmp_path: Path) -> None:
    log = lines(range(1, 6), total=30) + learning(FLAT[:2]) + learning(FLAT)
    assert of(log, tmp_path)["verdict"] == "PASS"


def test_even_a_training_that_was_resumed_must_not_get_worse(tmp_path: Path) -> None:
    summary = of(learning([4 + step / 5 for step in range(30)], first=1001), tmp_path, iterations=1030, head=RESUMED)
    assert (summary["verdict"], codes(summary)) == ("FAIL", [("loss_rises", "gpu01")])


@pytest.mark.parametrize(
    ("losses", "verdict", "code"),
    [
        ([4.0] * 30, "INCONCLUSIVE", "loss_constant"),
        ([9 - step / 30 for step in range(29)] + [1e4], "INCONCLUSIVE", "loss_too_high"),
        ([40 - step / 5 for step in range(29)] + [1e4], "INCONCLUSIVE", "loss_too_high"),
        ([9.0, 8.0, 7.0, 6.0, 9.5], "FAIL", "loss_rises"),
        ([9.0 - step / 4 for step in range(24)] + [3.0 + step for step in range(6)], "FAIL", "loss_rises"),
        ([9.0 - step / 10 for step in range(20)] + [7.0] * 10, "INCONCLUSIVE", "loss_constant"),
        ([9.0 - step / 8 for step in range(20)] + [1e-9] * 10, "INCONCLUSIVE", "loss_constant"),
    ],
)
def test_losses_that_no_good_training_has(losses: t.Any, verdict: str, code: str, tmp_path: Path) -> None:
    summary = of(learning(losses), tmp_path, iterations=len(losses), warmup_steps=1)
    assert (summary["verdict"], codes(summary)) == (verdict, [(code, "gpu01")])


@pytest.mark.parametrize("before", [9, 29, 99])
def test_a_last_loss_that_is_worse_than_guessing_is_no_pass_however_many_steps_there_were(
    before: int, tmp_path: Path
) -> None:
    summary = of(learning([9 - step / before for step in range(before)] + [1e4]), tmp_path, iterations=before + 1)
    assert summary["verdict"] in ("FAIL", "INCONCLUSIVE")
    assert ("loss_too_high", "gpu01") in codes(summary)


# From weights, a loss stays where it is; mock data has nothing to learn; spikes of large models come back.
@pytest.mark.parametrize(
    ("losses", "code"),
    [
        ([1.91 + (step * step % 21 - 10) / 1000 for step in range(30)], "loss_flat"),
        ([9 - step / 5 + 30 * (step == 20) for step in range(30)], "loss_spike"),
        ([9.0 - step / 30 for step in range(29)] + [16.0], "loss_spike"),
        ([40 - step / 5 for step in range(30)], "loss_too_high"),
        ([2659.0 * 0.94**step for step in range(30)], "loss_too_high"),
        ([9.0 - step / 8 for step in range(15)] + [8.45 + step**2 % 0.07 for step in range(16)], "loss_flat"),
        ([5 + 4 * 0.9**step + max(0, step - 24) / 5 for step in range(30)], "loss_climbs"),
    ],
)
def test_a_loss_that_a_good_training_may_have_is_told_and_not_judged(losses: t.Any, code: str, tmp_path: Path) -> None:
    for changes in ({}, LOGS):
        summary = of(learning(losses), tmp_path, iterations=len(losses), warmup_steps=1, **changes)
        assert summary["verdict"] == "PASS", summary["reasons"]
        assert (code, "gpu01") in [(note["code"], note.get("node")) for note in summary["notes"]]


def test_a_last_loss_that_is_no_further_from_the_others_than_these_are_is_noise(tmp_path: Path) -> None:
    losses = [9 - step / 5 + 2 * (step % 3) for step in range(29)] + [8.0]
    assert ("loss_spike", "gpu01") not in codes(of(learning(losses), tmp_path, iterations=30))


def test_a_training_that_went_on_and_climbs_at_its_end_says_by_how_much(tmp_path: Path) -> None:
    losses = [4.0 + 0.02 * (step % 3) + max(0, step - 24) / 10 for step in range(30)]
    summary = of(learning(losses, first=1001), tmp_path, iterations=1030, head=RESUMED)
    (note,) = [one for one in summary["notes"] if one["code"] == "loss_climbs"]
    values = note["values"]
    assert (values["losses"], values["end"], values["before"]) == (3, pytest.approx(4.42), pytest.approx(4.02))


def test_each_of_several_jobs_is_told_of(tmp_path: Path) -> None:
    learns, does_not = ([10 - step / 5 for step in range(30)], FLAT)
    nodes = [Node("gpu00", learning(learns) + OVER), Node("gpu01", learning(does_not) + OVER)]
    summary = judged(nodes, tmp_path, mode="single_node", parameters={"iterations": 30})
    assert [note.get("node") for note in summary["notes"] if note["code"] == "loss_flat"] == ["gpu01"]


@pytest.mark.parametrize(
    ("tflops", "ms", "metric"), [(1000.1, 41.0, "tflops_per_gpu"), (900.0, 40.9, "tokens_per_sec_per_gpu")]
)
def test_more_than_the_peak_cannot_be(tflops: float, ms: float, metric: str, tmp_path: Path) -> None:
    world = "using world size: 2, data-parallel size: 2\n"
    summary = of(world + lines(range(1, 11), tflops=tflops, ms=ms), tmp_path, iterations=10, workload=WORKLOAD)
    assert (summary["verdict"], codes(summary)) == ("INCONCLUSIVE", [("impossible", "gpu01")])
    (reason,) = summary["reasons"]
    values = reason["values"]
    assert reason["case"] == ("above_peak" if metric == "tflops_per_gpu" else "above_peak_by_tokens")
    assert (values["metric"], values["gpu"], values["precision"], values["peak_tflops"]) == (
        metric,
        "mi300x",
        "bf16",
        1000.0,
    )


def test_a_single_step_beyond_the_peak_is_not_the_median(tmp_path: Path) -> None:
    log = lines(range(1, 6)) + line(6, tflops=9999.0) + lines(range(7, 11))
    summary = of("using world size: 2, x\n" + log, tmp_path, iterations=10, workload=WORKLOAD)
    assert summary["verdict"] == "PASS"


@pytest.mark.parametrize(
    ("log_run_id", "words"),
    [("an-older-run", "belongs to run an-older-run"), (None, "does not name its run")],
)
def test_a_log_of_another_run_is_no_pass(log_run_id: str | None, words: str, tmp_path: Path) -> None:
    nodes = [Node("gpu00", SILENT), Node("gpu01", ALL, told={"log_run_id": log_run_id})]
    summary = judged(nodes, tmp_path)
    assert (summary["verdict"], codes(summary)) == ("INCONCLUSIVE", [("other_log", "gpu01")])
    assert summary["reasons"][0]["message"] == f"The log of gpu01 {words}."


def test_steps_that_do_not_count_are_told_with_their_reason(tmp_path: Path) -> None:
    summary = judged([Node("gpu00", SILENT), Node("gpu01", ALL)], tmp_path, 1)
    assert summary["left_out"] == [{"reason": "Warm-up.", "steps": 1, "nodes": 1}]
    assert summary["warm_up"] == {
        "steps": 1,
        "reason": "Warm-up: first step of each node not counted, as requested.",
        "detected": False,
        "steady": True,
        "apart": 0.0,
    }


def test_the_warm_up_is_found_where_it_is_not_given(tmp_path: Path) -> None:
    log = lines(range(1, 4), total=30, ms=5000.0) + learning([10 - step / 5 for step in range(27)], first=4)
    summary = of(log, tmp_path, warmup_steps=None)
    assert (summary["warmup_steps"], summary["warm_up"]["detected"]) == (3, True)
    assert summary["metrics"]["step_time_ms"]["first_step"] == 4
    assert ("warm_up", summary["warm_up"]["reason"]) in [(one["code"], one["message"]) for one in summary["notes"]]


@pytest.mark.parametrize(("ms", "is_told"), [(108.0, False), (150.0, True)])
def test_a_slow_beginning_is_no_warm_up_where_it_is_long_and_clearly_slower(
    ms: float, is_told: bool, tmp_path: Path
) -> None:
    log = lines(range(1, 16), total=40, ms=ms) + learning([10 - step / 5 for step in range(25)], first=16)
    summary = of(log, tmp_path, warmup_steps=None, iterations=40)
    assert (summary["warmup_steps"], round(100 * summary["warm_up"]["apart"])) == (15, ms - 100)
    assert ("long_warm_up" in [code for code, _node in codes(summary)]) is is_told


@pytest.mark.parametrize(
    ("asked", "ms", "is_told"), [(25, 170.0, True), (25, 105.0, False), (10, 170.0, False), (15, 170.0, False)]
)
def test_a_warm_up_that_is_asked_for_has_to_leave_half_of_the_run(
    asked: int, ms: float, is_told: bool, tmp_path: Path
) -> None:
    log = lines(range(1, asked + 1), total=30, ms=ms)
    log += learning([10 - step / 5 for step in range(30 - asked)], first=asked + 1)
    summary = of(log, tmp_path, warmup_steps=asked, iterations=30)
    assert summary["warm_up"]["apart"] == pytest.approx(ms / 100 - 1)
    assert ("long_warm_up" in [code for code, _node in codes(summary)]) is is_told


def test_the_thresholds_stand_in_the_summary_with_what_they_rest_on(tmp_path: Path) -> None:
    bounds = [
        {"metric": "tflops_per_gpu", "kind": "within", "value": 380.0, "tolerance_pct": 10.0},
        {"metric": "memory_fraction", "kind": "info", "value": 0.9},
        {"metric": "step_time_ms", "kind": "max", "value": 99.0, "statistic": "p95"},
    ]
    summary = of(ALL, tmp_path, iterations=10, expected=bounds)
    assert codes(summary) == [("threshold_missed", None)]
    (reason,) = summary["reasons"]
    assert (reason["case"], reason["values"]["value"]["unit"]) == ("step_time_ms", "ms")
    assert (reason["values"]["value"]["value"], reason["values"]["bound"]["statistic"]) == (pytest.approx(100), "p95")
    within, info, late = summary["thresholds"]
    assert (within["least"], within["greatest"], within["met"]) == (342.0, 418.0, True)
    assert (within["interval"], within["samples"], within["unit"]) == ({"low": 400.0, "high": 400.0}, 8, "TFLOP/s")
    assert (info["measured"], info["met"], late["met"]) == (0.5, None, False)
    assert reason["values"]["bound"]["measured"] == late["measured"]


def test_stamps_of_another_day_than_the_run(tmp_path: Path) -> None:
    stamped = "".join(f"[2026-01-02 03:04:{step:02d}]{line(step)}" for step in range(1, 11))
    summary = of(stamped, tmp_path, iterations=10, **LOGS)
    assert summary["verdict"] == "INCONCLUSIVE"
    assert codes(summary)[0] == ("other_time", "gpu01")


@pytest.mark.parametrize(("rates", "verdict"), [((1024, 1024), "PASS"), ((1024, 1300), "INCONCLUSIVE")])
def test_token_rates_contradict_the_step_times_from_step_to_step(
    rates: tuple[int, int], verdict: str, tmp_path: Path
) -> None:
    rated = "".join(
        line(step).replace("ms): 100.0 |", f"ms): 100.0 | tokens per GPU (tokens/s/GPU): {rates[step % 2]:.1f} |")
        for step in range(1, 11)
    )
    summary = of(rated, tmp_path, iterations=10, workload=None, **LOGS)
    assert summary["verdict"] == verdict, summary["reasons"]
    assert ("rates_disagree" in [code for code, _node in codes(summary)]) == (verdict != "PASS")


def test_a_single_low_loss_of_small_batches_is_no_low_from_which_a_training_diverged(tmp_path: Path) -> None:
    losses = [1.75 + 3 * 0.8**step + 0.02 * (step * step % 7) for step in range(100)]
    losses[60] = 1.1
    summary = of(learning(losses), tmp_path, iterations=100)
    assert summary["verdict"] == "PASS"
