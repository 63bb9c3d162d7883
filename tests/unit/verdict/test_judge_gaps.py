# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps, losses and values that a log ought to have."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
from training_logs import ALL, LOGS, SILENT, Node, codes, judged, line, lines

WHOLE = line(10)


def verdict_on(log: str, folder: Path, total: int = 10, **changes: t.Any) -> dict[str, t.Any]:
    return judged([Node("gpu00", SILENT), Node("gpu01", log)], folder, parameters={"iterations": total}, **changes)


@pytest.mark.parametrize(
    ("size", "verdict"),
    [(WHOLE.index("consumed"), "INCONCLUSIVE"), (WHOLE.index("lm loss") + 12, "INCONCLUSIVE"), (len(WHOLE), "PASS")],
    ids=["behind its head", "in its loss", "nowhere"],
)
def test_a_last_step_whose_line_is_torn_is_no_pass(size: int, verdict: str, tmp_path: Path) -> None:
    summary = verdict_on(lines(range(1, 10)) + WHOLE[:size], tmp_path)
    assert summary["verdict"] == verdict
    assert (("last_loss_missing", "gpu01") in codes(summary)) is (verdict != "PASS")


TORN = {"without its line": "", "torn": line(6, 10)[:90] + "\n"}


@pytest.mark.parametrize(("total", "verdict"), [(10, "INCONCLUSIVE"), (300, "PASS")])
@pytest.mark.parametrize("step", TORN.values(), ids=TORN)
def test_a_step_that_is_missing_weighs_as_much_as_the_run_is_short(
    step: str, total: int, verdict: str, tmp_path: Path
) -> None:
    step = step.replace("/      10", f"/{total:8d}")
    fall = [line(number, total, loss=9 - 5 * number / total) for number in range(1, total + 1)]
    summary = verdict_on("".join([*fall[:5], step, *fall[6:]]), tmp_path, total)
    code = "loss_missing" if step else "steps_missing"
    assert summary["verdict"] == verdict
    (told,) = [told for told in (*summary["reasons"], *summary["notes"]) if told["code"] == code]
    of = {} if step else {"of": total}
    assert (told["node"], told["row"], told["values"]) == ("gpu01", "gaps", {"first_step": 6, "steps": 1, **of})


def test_a_log_begins_with_the_first_step_or_says_where_the_training_went_on(tmp_path: Path) -> None:
    rest = lines(range(5, 11))
    assert codes(verdict_on(rest, tmp_path)) == [("steps_missing", "gpu01")]
    assert (
        verdict_on("  successfully loaded checkpoint from /ckpt at iteration 4\n" + rest, tmp_path)["verdict"] == "PASS"
    )
    assert verdict_on(lines(range(1, 5)) + "".join(rest), tmp_path)["verdict"] == "PASS"


@pytest.mark.parametrize(
    ("resumed", "told"),
    [(4, []), (2, [("steps_missing", "gpu01")]), (7, [("other_log", "gpu01")])],
    ids=["right after it", "later", "in front of it"],
)
def test_a_training_goes_on_right_after_its_checkpoint(
    resumed: int, told: list[tuple[str, str]], tmp_path: Path
) -> None:
    log = f"  successfully loaded checkpoint from /ckpt at iteration {resumed}\n{lines(range(5, 11))}"
    summary = verdict_on(log, tmp_path)
    assert (codes(summary) if summary["verdict"] != "PASS" else []) == told


def test_of_several_jobs_each_goes_on_from_its_own_checkpoint(tmp_path: Path) -> None:
    fall = [line(step, 10, loss=9 - step / 2) for step in range(1, 11)]
    went_on = "  successfully loaded checkpoint from /ckpt at iteration 4\n" + "".join(fall[4:])
    nodes = [Node("gpu00", "".join(fall)), Node("gpu01", went_on)]
    summary = judged(nodes, tmp_path, mode="single_node", parameters={"iterations": 10})
    assert not {"steps_missing", "other_log"}.intersection(code for code, _node in codes(summary))


@pytest.mark.parametrize(("ended", "verdict"), [(10, "PASS"), (7, "INCONCLUSIVE")])
def test_a_log_that_says_where_the_training_ended_is_held_against_the_last_step(
    ended: int, verdict: str, tmp_path: Path
) -> None:
    log = f"{lines(range(1, 11))}[exiting program at iteration {ended}] datetime: 2026-02-03 04:05:06\n"
    assert verdict_on(log, tmp_path)["verdict"] == verdict


@pytest.mark.parametrize(
    ("skipped", "scales", "changes", "told"),
    [
        ([], {}, {}, []),
        ([1, 2], {}, {}, []),
        ([6], {}, {}, ["skipped_iterations"]),
        ([6], {}, {"max_skipped": 1}, []),
        ([6, 7], {}, {"max_skipped": 1}, ["skipped_iterations"]),
        ([40], {}, {"max_skipped": 1}, ["last_step_skipped"]),
        # A lower loss scale after it: a search.
        ([6], {7: 0.5}, {}, []),
        (list(range(6, 16)), {step: 2.0**-step for step in range(7, 17)}, {}, ["skipped_iterations"]),
    ],
)
def test_skipped_iterations_are_bounded(
    skipped: list[int], scales: dict[int, float], changes: t.Any, told: list[str], tmp_path: Path
) -> None:
    def one(step: int) -> str:
        text = line(step, 40, skipped=int(step in skipped), loss=0 if step in skipped else 9 - step / 10)
        scale = min([scale for at, scale in scales.items() if at <= step], default=1.0)
        return text.replace("loss scale: 1.0", f"loss scale: {scale:.6f}")

    summary = verdict_on("".join(map(one, range(1, 41))), tmp_path, 40, **changes)
    assert [reason["code"] for reason in summary["reasons"] if reason["verdict"] != "PASS"] == told


@pytest.mark.parametrize(("skipped", "told"), [(2, []), (10, ["last_step_skipped"])])
def test_a_line_of_several_iterations_has_a_loss_unless_all_were_skipped(
    skipped: int, told: list[str], tmp_path: Path
) -> None:
    # As the log of a BERT on four GPUs with FP16 in an issue of NCCL: two of the iterations 11 to 20 were skipped.
    log = lines(range(10, 60, 10), 60) + line(60, 60, skipped=skipped, loss=0 if skipped == 10 else 3)
    summary = verdict_on(log, tmp_path, 60, max_skipped=10)
    found = {reason["code"] for reason in summary["reasons"] if reason["verdict"] != "PASS"}
    assert sorted(found & {"last_step_skipped", "no_loss", "loss_missing"}) == told
    (tmp_path / "short").mkdir()
    short = verdict_on(line(10, 20, skipped=10, loss=0) + line(20, 20, skipped=2), tmp_path / "short", 20)
    assert "no_loss" not in [reason["code"] for reason in short["reasons"]]


def test_what_an_earlier_attempt_lacked_is_past(tmp_path: Path) -> None:
    log = lines(range(1, 4)) + line(4)[:90] + "\n" + ALL
    assert "loss_missing" not in [note["code"] for note in verdict_on(log, tmp_path)["notes"]]


@pytest.mark.parametrize(("framework", "missing"), [("megatron", False), ("maxtext", True)])
def test_only_a_trainer_that_has_a_log_interval_may_print_each_second_step(
    framework: str, missing: bool, tmp_path: Path
) -> None:
    found = codes(verdict_on(lines(range(2, 11, 2)), tmp_path, framework=framework))
    assert (("steps_missing", "gpu01") in found) is missing


@pytest.mark.parametrize(("interval", "missing"), [(1.0, True), (2.0, False)])
def test_a_log_interval_that_is_said_is_held_against_the_steps(interval: float, missing: bool, tmp_path: Path) -> None:
    first = Node("gpu00", SILENT, told={"settings": {"steps_per_line": [interval]}})
    found = codes(judged([first, Node("gpu01", lines(range(2, 11, 2)))], tmp_path, parameters={"iterations": 10}))
    assert (("steps_missing", "gpu01") in found) is missing


@pytest.mark.parametrize(
    ("last", "message"),
    [(18, "The last logged step, 18 of 20, was reached."), (15, "gpu01 reached only step 15 of 20.")],
)
def test_a_log_interval_that_does_not_divide_the_steps_leaves_the_last_of_them_without_a_line(
    last: int, message: str, tmp_path: Path
) -> None:
    first = Node("gpu00", SILENT, told={"settings": {"steps_per_line": [3.0]}})
    last_rank = Node("gpu01", lines(range(3, last + 1, 3), 20))
    summary = judged([first, last_rank], tmp_path, parameters={"iterations": 20}, expected=[])
    assert message in [reason["message"] for reason in summary["reasons"]]
    assert summary["verdict"] == ("PASS" if last == 18 else "FAIL")


@pytest.mark.parametrize(("field", "verdict"), [("elapsed time", "INCONCLUSIVE"), ("throughput", "PASS")])
def test_what_each_line_has_is_not_missing_every_so_many_steps(field: str, verdict: str, tmp_path: Path) -> None:
    gone = [
        re.sub(rf" {field}[^|]*\|", "", line(step, 40)) if step in (9, 21, 33) else line(step, 40)
        for step in range(1, 41)
    ]
    summary = verdict_on("".join(gone), tmp_path, 40, expected=[], **LOGS)
    assert (summary["verdict"], ("metric_gaps", "gpu01") in codes(summary)) == (verdict, verdict != "PASS")


def test_what_the_lines_of_one_node_say_is_not_missing_in_all_of_another(tmp_path: Path) -> None:
    nodes = [Node("gpu00", ALL), Node("gpu01", lines(range(1, 11), tflops=None))]
    summary = judged(nodes, tmp_path, framework="maxtext", expected=[], **LOGS)
    (reason,) = [reason for reason in summary["reasons"] if reason["code"] == "metric_gaps"]
    assert reason["message"] == "No step line of gpu01 has its TFLOP/s per GPU, but gpu00's do."
