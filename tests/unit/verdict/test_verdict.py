from __future__ import annotations

import json
import math

import pytest
from training_logs import (
    ALL,
    IMPORT_WARNING,
    LOGS,
    LOST_PEER,
    NCCL_ERROR,
    OUT_OF_MEMORY,
    OVER,
    SILENT,
    Node,
    codes,
    judged,
    line,
    lines,
    two,
)

from ansible_collections.trainops.cluster.plugins.module_utils.node.problems import problem
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.failures import others_in_words


def test_a_run_passes_when_everything_is_there_and_says_what_that_rests_on(tmp_path):
    summary = judged(two(), tmp_path)
    assert summary["verdict"] == "PASS"
    assert codes(summary) == [
        (code, None) for code in ("nodes", "last_step", "finite", "loss_falls", "samples", "logs", "threshold_met")
    ]
    assert [reason["message"] for reason in summary["reasons"]] == [
        "Both nodes took part and ended with exit status 0.",
        "The last step, 10, was reached.",
        "All 10 losses are finite, and so is every other value.",
        "The loss falls over 10 values of gpu01 "
        "(last fifth against the rest: −1.233 %, 95 % interval −1.233 to −1.233 %).",
        "At least 8 steps per node are counted, after a warm-up of 2 steps.",
        "The logs of 2 nodes belong to this run.",
        "gpu01 reached 400 TFLOP/s per GPU, 33.3 % above the required 300.",
    ]
    assert [note["code"] for note in summary["notes"]] == ["warm_up", "stragglers"]
    assert summary["first_failure"] is None


def test_the_summary_says_where_and_when_and_what_every_node_did(tmp_path):
    summary = judged(two(), tmp_path)
    assert (summary["run_id"], summary["framework"], summary["mode"]) == ("the-run", "megatron", "multi_node")
    assert (summary["started_at"], summary["ended_at"]) == ("2025-06-15T15:06:40+00:00", "2025-06-15T15:08:20+00:00")
    silent, telling = summary["nodes"]
    assert (silent["node"], silent["node_rank"], silent["exit_code"], silent["samples"]) == ("gpu00", 0, 0, 0)
    assert (silent["last_step"], silent["attempts"], silent["metrics"]) == (None, None, {})
    assert (telling["last_step"], telling["steps_total"], telling["attempts"], telling["samples"]) == (10, 10, 1, 8)
    assert telling["metrics"]["step_time_ms"]["median"] == 100.0


def test_the_ledger_says_of_failed_and_stopped_nodes_what_the_first_failure_says(tmp_path):
    begun = lines(range(1, 6))
    nodes = [
        Node("gpu00", begun + NCCL_ERROR, exit_status=1, seconds=60.0),
        Node("gpu01", begun + OUT_OF_MEMORY, exit_status=1, seconds=50.0),
        Node("gpu02", begun, status="stopped", exit_status=None),
    ]
    rows = {found["node"]: found["rows"] for found in judged(nodes, tmp_path)["ledger"]}
    assert rows["gpu01"]["failures"]["verdict"] == rows["gpu00"]["failures"]["verdict"] == "FAIL"
    assert rows["gpu01"]["failures"]["evidence"].startswith("out_of_memory: ")
    assert rows["gpu00"]["failures"]["evidence"].startswith("nccl")
    assert rows["gpu02"]["failures"]["verdict"] == "PASS"
    stopped = rows["gpu02"]["exit status"]
    assert (stopped["verdict"], stopped["case"], stopped["values"]) == ("INCONCLUSIVE", "stopped", {"other": "gpu01"})


def test_tokens_per_gpu_are_judged_from_the_step_time(tmp_path):
    bound = {"metric": "tokens_per_sec_per_gpu", "kind": "min", "value": 40961.0}
    summary = judged(two(), tmp_path, expected=[bound])
    assert summary["metrics"]["tokens_per_sec_per_gpu"]["value"] == 4096 * 1000 / 100.0
    assert summary["verdict"] == "FAIL"


TEST_DIRECTIONS = [
    ("tflops_per_gpu", "min", 401.0),
    ("tokens_per_sec_per_gpu", "min", 40961.0),
    ("step_time_ms", "max", 99.9),
    ("memory_fraction", "max", 0.49),
    ("loss", "max", 3.9),
]


@pytest.mark.parametrize(("metric", "kind", "bound"), TEST_DIRECTIONS)
def test_a_threshold_is_missed_in_its_own_direction_only(metric, kind, bound, tmp_path):
    missed = judged(two(), tmp_path, expected=[{"metric": metric, "kind": kind, "value": bound}])
    assert missed["verdict"] == "FAIL"
    assert codes(missed) == [("threshold_missed", None)]
    assert missed["metrics"][metric]["met"] is False
    assert missed["first_failure"] is None
    far_on_the_good_side = bound / 100 if kind == "min" else bound * 100
    met = judged(two(), tmp_path, expected=[{"metric": metric, "kind": kind, "value": far_on_the_good_side}])
    assert met["verdict"] == "PASS"


def test_what_was_expected_and_never_printed_is_no_pass(tmp_path):
    summary = judged(two(lines(range(1, 11), tflops=None)), tmp_path)
    assert summary["verdict"] == "INCONCLUSIVE"
    assert codes(summary) == [("metric_missing", "gpu01")]
    assert "did not report its TFLOP/s per GPU; the threshold is 300" in summary["reasons"][0]["message"]
    assert summary["metrics"]["tflops_per_gpu"]["met"] is False


def test_what_was_expected_and_hardly_ever_printed_is_no_pass(tmp_path):
    log = lines(range(1, 9), tflops=None) + lines((9, 10))
    summary = judged(two(log), tmp_path)
    assert summary["verdict"] == "INCONCLUSIVE"
    assert codes(summary) == [("too_few_samples", "gpu01")]
    assert "gpu01 reported its TFLOP/s per GPU in only 2 steps" in summary["reasons"][0]["message"]


def test_in_single_node_mode_what_one_node_did_not_print_is_no_pass_though_another_did(tmp_path):
    nodes = [Node("gpu00", ALL + OVER), Node("gpu01", lines(range(1, 11), ms=101.0, tflops=None) + OVER)]
    summary = judged(nodes, tmp_path, mode="single_node")
    assert summary["verdict"] == "INCONCLUSIVE"
    assert codes(summary) == [("metric_missing", "gpu01")]
    assert summary["metrics"]["tflops_per_gpu"]["met"] is False


def test_a_run_that_is_only_recorded_passes_without_thresholds_and_says_so(tmp_path):
    summary = judged(two(), tmp_path, expected=[], record_only=True)
    assert summary["verdict"] == "PASS"
    assert ("thresholds_not_judged", None) in codes(summary)
    assert summary["thresholds_judged"] is False


TEST_LAST_STEP = [
    ("crashed behind exit status 0", lines(range(1, 10)), "FAIL"),
    ("trained for fewer steps than planned", lines(range(1, 8), total=7), "FAIL"),
    ("announced more steps than planned", lines(range(1, 11), total=12), "FAIL"),
]


@pytest.mark.parametrize(("log", "verdict"), [case[1:] for case in TEST_LAST_STEP], ids=[c[0] for c in TEST_LAST_STEP])
def test_exit_status_0_passes_only_with_the_last_step(log, verdict, tmp_path):
    summary = judged(two(log), tmp_path)
    assert summary["verdict"] == verdict
    assert (("last_step_missing", "gpu01") in codes(summary)) is (verdict == "FAIL")


@pytest.mark.parametrize(("last", "verdict"), [(9, "PASS"), (8, "FAIL")])
def test_a_trainer_that_counts_from_0_is_done_at_the_number_before(last, verdict, tmp_path):
    summary = judged(two(lines(range(last + 1))), tmp_path, first_step=0)
    assert summary["verdict"] == verdict


def test_exit_status_0_without_any_step_is_no_pass(tmp_path):
    summary = judged(two(SILENT), tmp_path)
    assert summary["verdict"] == "INCONCLUSIVE"
    assert codes(summary) == [("no_steps", None)]


def test_in_single_node_mode_every_node_has_to_get_to_the_last_step(tmp_path):
    nodes = [Node("gpu00", ALL), Node("gpu01", lines(range(1, 10))), Node("gpu02", SILENT)]
    summary = judged(nodes, tmp_path, mode="single_node")
    assert summary["verdict"] == "FAIL"
    assert codes(summary) == [("last_step_missing", "gpu01"), ("no_steps", "gpu02")]


def test_in_single_node_mode_the_worst_node_is_held_against_the_threshold(tmp_path):
    nodes = [
        Node("gpu00", ALL + OVER),
        Node("gpu01", lines(range(1, 11), tflops=299.0, ms=101.0) + OVER),
        Node("gpu02", lines(range(1, 11), ms=99.0) + OVER),
    ]
    summary = judged(nodes, tmp_path, mode="single_node")
    assert summary["verdict"] == "FAIL"
    assert summary["metrics"]["tflops_per_gpu"]["value_node"] == "gpu01"
    assert "gpu01 reached 299 TFLOP/s per GPU" in summary["reasons"][0]["message"]
    assert judged([nodes[0], nodes[2]], tmp_path, mode="single_node")["verdict"] == "PASS"


@pytest.mark.parametrize(("mode", "echoes"), [("multi_node", ["gpu01"]), ("single_node", [])])
def test_failures_of_jobs_of_their_own_do_not_follow_from_each_other(mode, echoes, tmp_path):
    nodes = [Node("gpu00", OUT_OF_MEMORY, exit_status=1), Node("gpu01", NCCL_ERROR, exit_status=1)]
    first = judged(nodes, tmp_path, mode=mode)["first_failure"]
    assert [echo["node"] for echo in first["echoes"]] == echoes


TEST_NOT_FINITE = [
    ("the loss is left out, as Megatron prints none that is NaN", {"loss": math.nan, "grad_norm": math.nan}),
    ("the gradients", {"grad_norm": math.inf}),
    ("the throughput", {"tflops": math.inf}),
]


@pytest.mark.parametrize("values", [case[1] for case in TEST_NOT_FINITE], ids=[case[0] for case in TEST_NOT_FINITE])
@pytest.mark.parametrize("step", [1, 6, 10])
def test_nan_or_infinity_in_any_step_fails(values, step, tmp_path):
    log = "".join(line(number, **(values if number == step else {})) for number in range(1, 11))
    summary = judged(two(log), tmp_path, expected=[], record_only=True)
    assert summary["verdict"] == "FAIL"
    assert {code for code, _ in codes(summary)} == {"not_finite"}
    assert f" in step {step}." in summary["reasons"][0]["message"]


def test_nan_to_the_end_is_told_once_a_metric_with_its_first_step(tmp_path):
    log = lines(range(1, 7)) + lines(range(7, 11), loss=math.nan, grad_norm=math.nan)
    summary = judged(two(log), tmp_path)
    messages = [reason["message"] for reason in summary["reasons"]]
    assert messages == [
        "The loss of gpu01 is NaN or infinite in 4 steps, the first of them 7.",
        "The gradient norm of gpu01 is NaN or infinite in 4 steps, the first of them 7.",
    ]


def test_nan_goes_before_the_bare_exit_status_of_the_node_that_ended_of_it(tmp_path):
    log = lines(range(1, 7)) + lines((7, 8), grad_norm=math.nan)
    first = judged(two(log, exit_status=1), tmp_path)["first_failure"]
    assert (first["node"], first["class"], first["exit_code"]) == ("gpu01", "nan", 1)
    first = judged(two(log + OUT_OF_MEMORY, exit_status=1), tmp_path)["first_failure"]
    assert first["class"] == "out_of_memory", "which says more than a bare exit status"


def test_nan_in_an_iteration_that_was_skipped_is_how_loss_scaling_works(tmp_path):
    log = line(1, loss=0, grad_norm=math.inf, skipped=1) + lines(range(2, 11))
    assert judged(two(log), tmp_path)["verdict"] == "PASS"


@pytest.mark.parametrize(("skipped", "verdict"), [(0, "FAIL"), (1, "PASS")])
def test_nan_in_a_field_that_is_no_metric_fails_but_in_a_skipped_iteration(skipped, verdict, tmp_path):
    strange = line(1, skipped=skipped).replace(" learning rate:", " z_loss: nan | learning rate:")
    summary = judged(two(strange + lines(range(2, 11))), tmp_path)
    assert summary["verdict"] == verdict
    assert (("not_finite", "gpu01") in codes(summary)) is (verdict == "FAIL")


def test_iterations_that_megatron_counts_as_nan_fail_even_where_they_were_skipped(tmp_path):
    log = lines(range(1, 10)) + line(10, skipped=1, nan=1)
    summary = judged(two(log), tmp_path)
    assert summary["verdict"] == "FAIL"
    assert ("nan_iterations", "gpu01") in codes(summary)


def test_a_run_whose_log_has_not_a_single_loss_is_no_pass(tmp_path):
    summary = judged(two(lines(range(1, 11), loss=0)), tmp_path)
    assert summary["verdict"] == "INCONCLUSIVE"
    assert codes(summary) == [("no_loss", "gpu01")]


def test_what_was_nan_before_a_restart_is_past(tmp_path):
    log = lines(range(1, 6), loss=math.nan, grad_norm=math.nan, nan=1) + lines(range(4, 11))
    assert judged(two(log), tmp_path)["verdict"] == "PASS"


def test_the_last_attempt_alone_makes_the_statistics(tmp_path):
    log = lines(range(1, 9), ms=1.0) + lines(range(4, 11), ms=50.0)
    summary = judged(two(log), tmp_path)
    found = summary["metrics"]["step_time_ms"]
    assert (found["mean"], found["samples"], found["first_step"], found["last_step"]) == (50.0, 5, 6, 10)
    assert summary["nodes"][1]["attempts"] == 2


def test_the_last_attempt_has_to_get_to_the_last_step_by_itself(tmp_path):
    summary = judged(two(ALL + lines(range(4, 10))), tmp_path)
    assert summary["verdict"] == "FAIL"
    assert codes(summary) == [("last_step_missing", "gpu01"), ("two_runs", "gpu01")]


def test_a_process_that_began_behind_the_last_step_and_came_to_none_is_no_pass(tmp_path):
    summary = judged(two(ALL, told={"began_anew": True}), tmp_path, **LOGS)
    assert summary["verdict"] == "INCONCLUSIVE"
    assert codes(summary) == [("began_anew", "gpu01")]
    assert "The training on gpu01 restarted after step 10" in summary["reasons"][0]["message"]


def test_for_how_long_a_node_did_not_answer_is_a_note(tmp_path):
    once, twice = ([{"since": 1000.0 + 60 * n, "seconds": 30.0} for n in range(count)] for count in (1, 2))
    for outages, told in (
        (once, "gpu01 did not answer for 30 s from 00:16:40 UTC; following resumed afterwards."),
        (
            twice,
            "gpu01 did not answer 2 times from 00:16:40 UTC, 60 s in total; following resumed afterwards.",
        ),
    ):
        summary = judged(two(ALL, told={"outages": outages}), tmp_path)
        assert summary["verdict"] == "PASS"
        assert [note["message"] for note in summary["notes"] if note["code"] == "node_outage"] == [told]


@pytest.mark.parametrize(("warmup_steps", "verdict"), [(7, "PASS"), (8, "INCONCLUSIVE"), (100, "INCONCLUSIVE")])
def test_three_steps_after_the_warm_up_are_needed(warmup_steps, verdict, tmp_path):
    summary = judged(two(), tmp_path, warmup_steps)
    assert summary["verdict"] == verdict
    assert (("too_few_samples", "gpu01") in codes(summary)) is (verdict != "PASS")


HEAD = "  log_interval .................................... 10\n"


@pytest.mark.parametrize(
    ("steps", "total", "head", "verdict"),
    [
        # After a warm-up of two lines, step 30 is left: as the mean of ten steps, or by itself.
        ((1, 10, 20, 30), 31, HEAD, "PASS"),
        ((10, 20, 30), 30, HEAD, "PASS"),
        ((10, 20), 20, HEAD, "INCONCLUSIVE"),
        ((1, 2, 3), 3, "", "INCONCLUSIVE"),
    ],
)
def test_a_line_with_the_mean_of_ten_steps_counts_as_ten(steps, total, head, verdict, tmp_path):
    log = head + lines(steps, total, tflops=400.0)
    summary = judged(two(log), tmp_path, expected=[], parameters={"iterations": total})
    assert (summary["verdict"], ("too_few_samples", "gpu01") in codes(summary)) == (verdict, verdict != "PASS")


@pytest.mark.parametrize(
    ("steps", "total", "verdict"),
    [(3, 3, "PASS"), (2, 2, "INCONCLUSIVE"), (3, 4, "FAIL")],
    ids=["one counts", "none counts", "not to the last step"],
)
def test_few_steps_are_enough_for_a_run_that_is_only_recorded(steps, total, verdict, tmp_path):
    log = lines(range(1, steps + 1), total)
    summary = judged(two(log), tmp_path, record_only=True, expected=[], parameters={"iterations": total})
    assert summary["verdict"] == verdict
    few = [note["values"]["samples"] for note in summary["notes"] if note["code"] == "too_few_samples"]
    assert few == ([1] if verdict == "PASS" else [])


TEST_ENDS = [
    (Node("gpu01", ALL, exit_status=1), "FAIL", "node_failed", "gpu01 ended with exit status 1."),
    (Node("gpu01", ALL, status="killed"), "FAIL", "node_killed", "The training on gpu01 was killed."),
    (
        Node("gpu01", ALL, status="stalled", told={"message": "no log of the run has grown for 1800 s"}),
        "FAIL",
        "node_stalled",
        "The training on gpu01 hung: no log of the run has grown for 1800 s.",
    ),
    (
        Node("gpu01", ALL, status="unreachable", told={"problems": [problem("timeout", said="Connection timed out")]}),
        "ERROR",
        "node_unreachable",
        "gpu01 could not be reached: nothing answers at the node's address (Connection timed out).",
    ),
    (
        Node("gpu01", ALL, status="bad_answer", told={"message": "its answer is not a JSON object"}),
        "ERROR",
        "node_bad_answer",
        "gpu01 gave an unusable answer: its answer is not a JSON object.",
    ),
    (
        Node("gpu01", ALL, status="gone", told={"message": "the run's folder is gone"}),
        "ERROR",
        "node_gone",
        "It is unknown how the training on gpu01 ended: the run's folder is gone.",
    ),
    (
        Node("gpu01", ALL, told={"log_problem": "train.log was cut"}),
        "INCONCLUSIVE",
        "log_cut",
        "The log of gpu01 may be incomplete: train.log was cut.",
    ),
    (
        Node("gpu01", ALL, status="stopped"),
        "ERROR",
        "node_stopped",
        "gpu01 was stopped before the training finished.",
    ),
    (
        Node("gpu01", ALL, status="running", seconds=None),
        "ERROR",
        "node_running",
        "gpu01 was still training when it last answered.",
    ),
]


@pytest.mark.parametrize(("node", "verdict", "code", "message"), TEST_ENDS, ids=[case[2] for case in TEST_ENDS])
def test_every_node_has_to_end_with_exit_status_0_even_where_all_steps_were_seen(
    node, verdict, code, message, tmp_path
):
    summary = judged([Node("gpu00", SILENT), node], tmp_path)
    assert summary["verdict"] == verdict
    assert [(one["verdict"], one["code"], one["message"], one["node"]) for one in summary["reasons"]] == [
        (verdict, code, message, "gpu01")
    ]


def test_the_nodes_that_we_stopped_as_another_failed_are_no_reasons(tmp_path):
    log = lines(range(1, 6))
    summary = judged([Node("gpu00", SILENT, exit_status=1), Node("gpu01", log, status="stopped")], tmp_path)
    assert summary["verdict"] == "FAIL"
    assert codes(summary) == [("node_failed", "gpu00"), ("last_step_missing", "gpu01")]


def test_a_node_whose_exit_status_is_unknown_as_another_failed_is_no_reason(tmp_path):
    log = lines(range(1, 4))
    nodes = [Node("gpu00", log, exit_status=None), Node("gpu01", log + OUT_OF_MEMORY, exit_status=1)]
    assert [node for code, node in codes(judged(nodes, tmp_path)) if code.startswith("node_")] == ["gpu01"]


def test_a_run_that_somebody_stopped_is_no_failure_of_the_training(tmp_path):
    nodes = [Node("gpu00", SILENT, status="stopped"), Node("gpu01", lines(range(1, 8)), status="stopped")]
    bounds = [{"metric": "loss", "kind": "max", "value": 1.0}, {"metric": "step_time_ms", "kind": "max", "value": 1e9}]
    summary = judged(nodes, tmp_path, expected=bounds)
    assert summary["verdict"] == "ERROR"
    assert codes(summary) == [
        ("node_stopped", "gpu00"),
        ("node_stopped", "gpu01"),
        ("last_step_missing", "gpu01"),
        ("threshold_open", None),
    ]
    assert summary["first_failure"] is None


@pytest.mark.parametrize(
    ("log", "status", "verdict"),
    [
        (LOST_PEER, {}, "ERROR"),
        (NCCL_ERROR, {}, "ERROR"),
        ("", {"exit_status": 0}, "ERROR"),
        ("", {"status": "stalled"}, "ERROR"),
        (OUT_OF_MEMORY, {}, "FAIL"),
        ("", {"status": "killed"}, "FAIL"),
    ],
    ids=["lost its peer", "network error", "hidden", "hung", "out of memory", "killed"],
)
def test_what_follows_from_a_stop_by_somebody_is_no_failure_but_a_cause_of_its_own_is(log, status, verdict, tmp_path):
    nodes = [
        Node("gpu00", SILENT, status="stopped", told={"interrupted": True}),
        Node("gpu01", lines(range(1, 6)) + log, **{"exit_status": 1, **status}),
    ]
    summary = judged(nodes, tmp_path)
    assert summary["verdict"] == verdict
    assert (summary["first_failure"] is None) is (verdict == "ERROR")
    assert (("node_stopped", "gpu00") in codes(summary)) is (verdict == "ERROR")


ECC = "HIP error: uncorrectable ECC error encountered\n"
# Two ends of processes that a stop ends.
AFTER_A_STOP = "Terminated\nrank 1 (local_rank: 1) exitcode: -9 (pid: 4711) of binary: /usr/bin/python3\n"


@pytest.mark.parametrize(
    ("log", "first"),
    [(AFTER_A_STOP, None), (ECC, ("gpu01", "gpu_ecc")), (ECC + AFTER_A_STOP, ("gpu01", "gpu_ecc"))],
    ids=["only the stop", "a fault before it", "both"],
)
def test_a_run_that_somebody_stopped_names_the_fault_in_its_logs_and_blames_nobody_for_the_stop(log, first, tmp_path):
    interrupted = {"status": "stopped", "told": {"interrupted": True}}
    nodes = [Node("gpu00", SILENT, **interrupted), Node("gpu01", lines(range(1, 6)) + log, **interrupted)]
    summary = judged(nodes, tmp_path)
    assert (summary["verdict"], summary["interrupted"]) == ("ERROR", True)
    assert {code for code, node in codes(summary) if code.startswith("f")} == ({"fault_at_end"} if first else set())
    failure = summary["first_failure"]
    assert (failure and (failure["node"], failure["class"])) == first
    assert others_in_words(summary) == ""


def test_a_stop_of_one_of_several_jobs_excuses_no_other(tmp_path):
    nodes = [
        Node("gpu00", lines(range(1, 6)), status="stopped", told={"interrupted": True}),
        Node("gpu01", lines(range(1, 6)), exit_status=1),
    ]
    summary = judged(nodes, tmp_path, mode="single_node")
    assert (summary["verdict"], summary["first_failure"]["node"]) == ("FAIL", "gpu01")


def test_a_node_that_is_lost_while_it_trains_makes_the_verdict_an_error(tmp_path):
    lost = Node("gpu00", SILENT, status="unreachable", told={"message": "Connection timed out"})
    summary = judged([lost, Node("gpu01", lines(range(1, 6)), status="stopped")], tmp_path)
    assert summary["verdict"] == "ERROR"
    assert codes(summary)[0] == ("node_unreachable", "gpu00")
    assert (summary["first_failure"]["node"], summary["first_failure"]["class"]) == ("gpu00", "unreachable")


@pytest.mark.parametrize("ready", ["staged", "stopped"])
def test_of_a_run_that_never_began_only_what_kept_it_from_starting_is_a_reason(ready, tmp_path):
    lost, missing = "ssh: connect to host gpu01 port 22", "gpu02: the folder /x is not there."
    nodes = [
        Node("gpu00", status=ready, seconds=None, told={"started_at": None}),
        Node("gpu01", status="unreachable", seconds=None, told={"started_at": None, "message": lost}),
        Node("gpu02", status="not_started", seconds=None, told={"started_at": None, "message": missing}),
    ]
    summary = judged(nodes, tmp_path)
    assert summary["verdict"] == "ERROR"
    assert [reason["message"] for reason in summary["reasons"]] == [
        "gpu01 could not be reached: ssh: connect to host gpu01 port 22.",
        "gpu02 did not start training: gpu02: the folder /x is not there.",
    ]
    assert summary["first_failure"]["node"] == "gpu01"
    assert summary["metrics"]["tflops_per_gpu"] == {
        "unit": "TFLOP/s",
        "value": None,
        "samples": 0,
        "threshold": 300.0,
        "direction": "min",
        "met": False,
    }


def test_a_run_that_was_stopped_before_it_began_says_so(tmp_path):
    summary = judged([Node("gpu00", status="stopped", seconds=None, told={"started_at": None})], tmp_path)
    assert summary["verdict"] == "ERROR"
    assert codes(summary)[0] == ("node_stopped", "gpu00")


def test_a_run_of_which_nothing_is_known_is_an_error(tmp_path):
    summary = judged([Node("gpu00", status="not_started", seconds=None)], tmp_path)
    assert summary["verdict"] == "ERROR"
    assert summary["first_failure"] is None
    assert summary["ended_at"] is None


def test_what_reads_like_a_failure_and_was_survived_does_not_touch_a_pass(tmp_path):
    harmless = IMPORT_WARNING + NCCL_ERROR + OUT_OF_MEMORY
    summary = judged(
        [Node("gpu00", harmless.replace("[rank1]", "[rank0]") + SILENT), Node("gpu01", harmless + ALL)], tmp_path
    )
    assert summary["verdict"] == "PASS"
    assert summary["first_failure"] is None


def test_text_that_reads_like_a_failure_is_not_the_cause_of_a_missed_threshold(tmp_path):
    summary = judged(two(IMPORT_WARNING + lines(range(1, 11), tflops=1.0)), tmp_path)
    assert summary["verdict"] == "FAIL"
    assert summary["first_failure"] is None


def test_the_summary_is_strict_json_whatever_was_printed(tmp_path):
    log = lines(range(1, 11), loss=math.nan, grad_norm=math.inf, tflops=math.nan)
    summary = judged(two(log, exit_status=1), tmp_path)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


@pytest.mark.parametrize(
    ("names", "iterations", "verdict"),
    [
        (
            ["megatron_cpu_rocm_pretrain_gpt_2nodes_node0.log", "megatron_cpu_rocm_pretrain_gpt_2nodes_node1.log"],
            20,
            "PASS",
        ),
        (["10_megatron_primus_mi355x_10of10_done.log"], 10, "PASS"),
        (["13_megatron_primus_child_failed.log"], 10, "FAIL"),
    ],
)
def test_whole_logs_with_exit_status_0(names, iterations, verdict, log_named, tmp_path):
    logs = [log_named(name).read_text(encoding="utf-8", errors="replace") for name in names]
    # Token rates come from the bench, so the sizes in the logs are left out.
    told = {"started_at": None, "settings": {}}
    nodes = [Node(f"gpu{rank:02}", log, told=told) for rank, log in enumerate(logs)]
    bound = {"metric": "step_time_ms", "kind": "max", "value": 1e6}
    summary = judged(nodes, tmp_path, parameters={"iterations": iterations}, expected=[bound], workload=None)
    assert summary["verdict"] == verdict, summary["reasons"]
    if verdict == "PASS":
        assert summary["metrics"]["step_time_ms"]["samples"] == iterations - 2
