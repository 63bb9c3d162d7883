# SPDX-License-Identifier: GPL-3.0-or-later
"""Two runs, or two periods, side by side."""

from __future__ import annotations

import json

import pytest
from history_runs import plan_of, run_row, summary_of

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.compare import comparison_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.compare_write import (
    comparison_lines,
    folder_of,
    write_comparison,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.history_store import write_row
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board

TOKENS = "tokens_per_sec_per_gpu"


@pytest.fixture
def runs(tmp_path):
    """Return a function that leaves a judged run, in its folder and in the history, and one that compares."""

    def leave(run_id, tokens=100.0, hour=0.0, verdict="PASS", judged=True, loss=None, **changes):
        plan = plan_of(run_id, **changes)
        board = Board(tmp_path / run_id)
        board.write_plan(plan)
        for node in plan["nodes"]:
            board.update(node["node"], status="exited", image_id="sha256:one")
        if judged:
            summary = summary_of(plan, tokens, verdict, hour, loss)
            (board.run_dir / "summary.json").write_text(json.dumps(summary))
            write_row(tmp_path / "history", run_row(run_id, tokens, hour, verdict, loss=loss, **changes))

    def compare(*names):
        return comparison_of(list(names), tmp_path, tmp_path / "history")

    return leave, compare


def test_two_runs_are_held_against_the_noise_of_runs_like_the_first(runs):
    leave, compare = runs
    for hour, tokens in enumerate([100.0, 101.0, 99.0, 100.5, 99.5]):
        leave(f"old{hour}", tokens, hour)
    leave("new", 90.0, 9)
    change = compare("old1", "new")["comparison"][TOKENS]
    assert (change["before"], change["after"], change["outcome"], change["better"]) == (
        101.0,
        90.0,
        "real change",
        False,
    )
    assert change["percent"] == pytest.approx(-10.891, abs=1e-3)
    lines = comparison_lines(compare("old1", "new"))
    assert lines[1].startswith("new is 10.9 % slower than old1")
    (measured,) = (line for line in lines if "noise 97.90 to 104.1" in line)
    assert "−10.9 %  real change, worse" in measured
    assert (change["test_code"], change["test_case"]) == ("prediction_interval", "second_run")
    assert lines[lines.index(measured) + 1] == f"  Test: {change['test']}."


def test_each_test_is_told_once_with_its_metrics_if_there_are_several(runs, tmp_path):
    leave, compare = runs
    leave("old", 100.0, loss=(20, 2.0))
    leave("new", 90.0, 1, loss=(20, 2.5))
    comparison = compare("old", "new")
    tests = [change["test"] for change in comparison["comparison"].values()]
    assert len(tests) > 1
    assert "\n".join(comparison_lines(comparison)).count(tests[0]) == 2  # with the first sentence
    first = next(iter(comparison["comparison"]))
    comparison["comparison"][first] = {**comparison["comparison"][first], "test": "another one"}
    told = [line for line in comparison_lines(comparison) if line.startswith("  Test of ")]
    assert [line.rpartition(": ")[2] for line in told] == ["another one.", f"{tests[1]}."]
    write_comparison(tmp_path / "c", comparison)
    page = (tmp_path / "c/compare.html").read_text()
    assert page.count('<p class="soft">Test of ') == 2


def test_earlier_runs_of_the_same_name_are_noise_too(runs, tmp_path):
    leave, compare = runs
    for night in range(6):
        write_row(tmp_path / "history", run_row("nightly", 100.0 + night / 10, hour=night))
    leave("first", 100.0, 7)
    leave("nightly", 90.0, 9)
    assert compare("first", "nightly")["comparison"][TOKENS]["test_values"] == {"runs": 7}


def test_noise_is_rounded_as_what_it_is_compared_with(runs):
    leave, compare = runs
    for hour, tokens in enumerate([10_000.0, 10_100.0, 9_900.0, 10_050.0, 9_950.0, 10_020.0]):
        leave(f"run{hour}", tokens, hour)
    assert "(noise 9,690 to 10,310)" in " ".join(comparison_lines(compare("run0", "run5")))


def test_a_run_that_is_slower_than_the_first_one_is_not_better_as_most_runs_are_slower_still(runs):
    leave, compare = runs
    for hour in range(19):
        leave(f"old{hour}", 110.0 + hour % 3, hour)
    leave("fast", 130.0, 19)
    leave("new", 122.0, 20)
    change = compare("fast", "new")["comparison"][TOKENS]
    assert (change["outcome"], change["better"], change["low"] < 122.0 < change["high"]) == ("within noise", None, True)


def test_runs_behind_the_first_one_make_no_noise_where_there_are_enough_up_to_it(runs):
    leave, compare = runs
    for hour, tokens in enumerate([100.0, 101.0, 99.0, 100.5, 99.5]):
        leave(f"old{hour}", tokens, hour)
    for hour in range(5, 10):
        leave(f"shifted{hour}", 90.0 + hour / 10, hour)
    assert compare("old4", "shifted9")["comparison"][TOKENS]["outcome"] == "real change"


def test_what_differs_in_config_and_environment_is_told(runs):
    leave, compare = runs
    leave("one", env={"NCCL_DEBUG": "WARN"})
    leave("other", precision="fp8", env={"NCCL_DEBUG": "INFO"}, hour=1)
    comparison = compare("one", "other")
    assert comparison["identity"] == [{"name": "precision", "before": "bf16", "after": "fp8"}]
    assert [change["name"] for change in comparison["environment"]] == ["NCCL_DEBUG"]
    lines = comparison_lines(comparison)
    assert "  precision: bf16 → fp8" in lines
    assert "  NCCL_DEBUG: WARN → INFO" in lines


def test_a_run_may_be_named_by_its_folder(runs, tmp_path):
    leave, compare = runs
    leave("one")
    leave("other", hour=1)
    assert compare(str(tmp_path / "one"), "other")["before"]["run_id"] == "one"


@pytest.mark.slow
def test_two_periods_are_compared_key_by_key(runs):
    leave, compare = runs
    for number in range(4):
        leave(f"march{number}", 100.0 + number, 24 * number)
        leave(f"april{number}", 90.0 + number, 24 * (40 + number))
        leave(f"alone{number}", 1.0, 24 * number, precision="fp8")
    leave("broken", 1.0, 24 * 45, verdict="FAIL")
    comparison = compare("2026-03", "2026-04")
    (key,) = comparison["keys"]
    assert (key["before_runs"], key["after_runs"]) == (4, 4)
    change = key["comparison"][TOKENS]
    assert (change["before"], change["after"], change["outcome"], change["better"]) == (
        101.5,
        91.5,
        "real change",
        False,
    )
    days = compare("2026-03-01..2026-03-04", "2026-04-10..2026-04-11")
    assert (days["keys"][0]["before_runs"], days["keys"][0]["after_runs"]) == (4, 2)
    assert any(
        "llama3_1_8b on mi300x" in line and "batch 128: 4 → 4 runs" in line for line in comparison_lines(comparison)
    )


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["one"], "training_compare is one; give two runs or two periods"),
        ([], "training_compare is nothing; give two"),
        (["2026-03-02..2026-03-01", "2026-04"], "2026-03-02..2026-03-01 is no period: it ends before it begins"),
        (["one", "2026-03"], "are a run and a period"),
        (["one", "gone"], "gone is neither a run below"),
        (["one", "open"], "open was not judged yet"),
        (["2026-13", "2026-03"], "2026-13 is no period"),
        (["2026-01", "2026-03"], r"no key has runs .* \(0 in 2026-01 and 1 in 2026-03\)"),
    ],
)
def test_names_that_cannot_be_compared_are_refused_in_words(runs, names, told):
    leave, compare = runs
    leave("one")
    leave("open", judged=False)
    with pytest.raises(ValueError, match=told):
        compare(*names)


def test_all_tests_of_a_page_share_the_level(runs):
    leave, compare = runs
    for number in range(5):
        for precision in ("bf16", "fp8"):
            leave(f"march-{precision}-{number}", 100.0 + number, number, precision=precision)
            leave(f"april-{precision}-{number}", 90.0 + number, 24 * 40 + number, precision=precision, loss=(30, 2.5))
        leave(f"none{number}", 100.0, 24 * 40 + number, precision="int8")
    leave("few", 100.0, 9, precision="int8")
    keys = compare("2026-03", "2026-04")["keys"]
    of_tokens = [key["comparison"][TOKENS] for key in keys]
    assert [one["test_code"] for one in of_tokens] == ["mann_whitney", "mann_whitney", "too_few_to_differ"]
    assert [one["test_values"]["tests"] for one in of_tokens[:2]] == [2, 2]
    leave("one", 100.0, 24 * 80, loss=(30, 2.5))
    two = compare("april-bf16-4", "one")["comparison"]
    assert [two[metric]["test_values"]["tests"] for metric in (TOKENS, "loss")] == [2, 2]


def test_losses_of_two_runs_are_compared_only_where_they_stem_from_the_same_step(runs):
    leave, compare = runs
    for hour in range(6):
        leave(f"short{hour}", hour=hour, loss=(30, 2.5 + hour / 100))
    leave("mixed", hour=4.5, loss=(90, 9.0))
    leave("long", hour=8, loss=(90, 1.5), iterations=90)
    leave("worse", hour=9, loss=(30, 3.0))
    assert "loss" not in compare("short5", "long")["comparison"]
    change = compare("short5", "worse")["comparison"]["loss"]
    assert (change["outcome"], change["better"]) == ("real change", False)
    assert change["test_values"]["runs"] == 6


def test_periods_compare_the_losses_of_the_step_that_most_runs_share(runs):
    leave, compare = runs
    for number in range(4):
        leave(f"march{number}", hour=24 * number, loss=(30, 2.5 + number / 100))
        leave(f"april{number}", hour=24 * (40 + number), loss=(30, 2.6 + number / 100))
        leave(f"long{number}", hour=24 * (40 + number), loss=(90, 1.5))
    leave("once", hour=1, loss=(60, 2.0))
    leave("again", hour=24 * 40, loss=(60, 2.0))
    leave("short", hour=24 * 70, loss=(10, 5.0))
    (key,) = compare("2026-03", "2026-04")["keys"]
    assert (key["comparison"]["loss"]["before"], key["comparison"]["loss"]["after"]) == pytest.approx((2.515, 2.615))
    (key,) = compare("2026-03", "2026-05")["keys"]
    assert list(key["comparison"]) == [TOKENS]


# The facts in a plan of logs without a training config.
UNKNOWN = {"model": "", "gpu": "", "parameters": {"iterations": None}}


def test_logs_without_a_config_are_compared(runs, tmp_path):
    leave, compare = runs
    leave("one", 100.0, **UNKNOWN)
    leave("other", 90.0, 1, **UNKNOWN)
    comparison = compare("one", "other")
    assert (comparison["comparison"][TOKENS]["percent"], comparison["scaling"]) == (-10.0, {})
    folder = folder_of(tmp_path, ["one", "other"])
    write_comparison(folder, comparison)
    assert ">megatron</td>" in (folder / "compare.html").read_text()


def test_periods_name_what_is_known_of_their_runs_and_count_whole_nodes(runs):
    leave, compare = runs
    for hour in (0, 24 * 40):
        leave(f"config{hour}", 100.0, hour)
        leave(f"logs{hour}", 100.0, hour + 1, **UNKNOWN)
    titles = [key["title"] for key in compare("2026-03", "2026-04")["keys"]]
    assert titles == ["llama3_1_8b on mi300x, megatron, 2 nodes, bf16, batch 128", "megatron"]


def test_a_damaged_file_of_the_history_is_named_and_the_others_are_compared(runs, tmp_path):
    leave, compare = runs
    for hour in range(6):
        leave(f"run{hour}", 100.0, hour)
    damaged = next((tmp_path / "history").rglob("*_run3.parquet"))
    damaged.write_bytes(b"PAR1")
    comparison = compare("run0", "run5")
    assert comparison["comparison"][TOKENS]["test_values"] == {"runs": 4, "needed": 5}
    told = f"Left out of the history because unreadable as a run: {damaged}. Restore or delete it."
    assert comparison["notes"] == [told]
    assert f"  · {told}" in comparison_lines(comparison)
    folder = folder_of(tmp_path, ["run0", "run5"])
    write_comparison(folder, comparison)
    assert told in (folder / "compare.html").read_text()


def test_the_page_tells_all_of_it_and_is_written_once(runs, tmp_path):
    leave, compare = runs
    leave("one", 100.0, nodes=1, global_batch_size=64)
    leave("two", 95.0, 1, nodes=2, global_batch_size=128)
    comparison = compare("one", "two")
    folder = folder_of(tmp_path, ["one", "two"])
    assert write_comparison(folder, comparison) is True
    assert write_comparison(folder, comparison) is False
    page = (folder / "compare.html").read_text()
    assert "Weak scaling" in page
    # The tested part is the same for all metrics, so it is below the table and in no column.
    assert f'<p class="soft">Test: {comparison["comparison"][TOKENS]["test"]}' in page
    assert '<th scope="col">Test</th>' not in page
    assert "<svg" in page
    assert json.loads((folder / "compare.json").read_text())["scaling"]["weak"][1]["efficiency"] == 0.95
    assert "Weak scaling, efficiency: 1 node 100.0 %, 2 nodes 95.0 %" in comparison_lines(comparison)


def test_a_rehearsal_is_said_first_and_its_numbers_are_not_compared(runs):
    leave, compare = runs
    leave("base", 100.0)
    leave("reh", 10.0, 1, rehearsal=True)
    found = compare("base", "reh")
    assert found["comparison"] == {}
    apart = found["incomparable"]
    assert (apart["code"], apart["case"]) == ("not_comparable", "rehearsal")
    assert apart["values"] == {"run_id": "reh", "model": "llama3_1_8b", "gpu": "mi300x"}
    lines = comparison_lines(found)
    assert lines[1] == apart["message"]
    assert any("reh: PASS (rehearsal)" in line for line in lines)


def test_different_models_are_said_first_and_their_numbers_are_not_compared(runs):
    leave, compare = runs
    leave("base", 100.0)
    leave("other", 10.0, 1, model="llama3_1_405b")
    found = compare("base", "other")
    assert found["comparison"] == {}
    apart = found["incomparable"]
    assert (apart["code"], apart["case"]) == ("not_comparable", "models")
    assert apart["values"] == {"models": ["llama3_1_8b", "llama3_1_405b"]}
    assert comparison_lines(found)[1] == apart["message"]


def test_a_run_that_was_only_recorded_and_one_that_is_older_are_said_before_any_number(runs):
    leave, compare = runs
    leave("base", 100.0, 5)
    leave("earlier", 101.0, 1, record_only=True)
    found = compare("base", "earlier")
    assert [(one["code"], one["values"]) for one in found["caveats"]] == [
        ("recorded_only", {"run_ids": ["earlier"]}),
        ("older", {"run_id": "earlier"}),
    ]
    assert comparison_lines(found)[1:3] == [one["message"] for one in found["caveats"]]


def test_two_rehearsals_and_runs_of_other_sizes_say_so(runs):
    leave, compare = runs
    for hour, (name, changes) in enumerate({"toy": {"rehearsal": True}, "toy2": {"rehearsal": True}}.items()):
        leave(name, hour=hour, **changes)
    leave("two", hour=2)
    leave("four", hour=3, nodes=4)
    assert [one["code"] for one in compare("toy", "toy2")["caveats"]] == ["rehearsals"]
    (caveat,) = compare("two", "four")["caveats"]
    assert (caveat["code"], caveat["values"]["sizes"]["nnodes"]) == ("sizes_differ", [2, 4])
