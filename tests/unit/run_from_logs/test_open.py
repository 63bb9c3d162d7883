from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from logged_runs import OUT_OF_MEMORY, laid_out, maxtext, megatron, nxdt

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.threshold_files import ThresholdsFile
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.write import write_report
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.files import find_runs
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.open import (
    ConfigFaultsError,
    read_run,
    write_run,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.plan import Known

ROOT = Path(__file__).resolve().parents[3]
DISTRIBUTED = ROOT / "examples/megatron/mi3xx_megatron_llama_distributed.json"
WHOLE = megatron(range(1, 11))
NOTHING = Known("", "", {}, None, None)
ALL_TOLD = Known("", "", {"training_record_only": True}, 2, 0)


@pytest.fixture
def judged(tmp_path):
    """Judge logs as they are, in a folder of their own, and return the summary."""

    def judge(files: dict[str, str], known: Known = NOTHING, framework=None, mode=None):
        (run,) = find_runs([str(laid_out(tmp_path / "logs", files))])
        read = read_run(run, tmp_path / "out", framework, mode, known)
        write_run(read, known.exit_status)
        return write_report(read.run_dir, 2)[0]

    return judge


def codes(summary) -> list[str]:
    return [reason["code"] for reason in summary["reasons"]]


def test_logs_alone_are_never_a_pass_and_each_lack_is_told(judged):
    summary = judged({"node0.log": "silent\n", "node1.log": WHOLE})
    assert summary["verdict"] == "INCONCLUSIVE"
    assert codes(summary) == ["exit_status_unknown", "nodes_unknown", "no_thresholds"]
    assert [(node["node"], node["state"], node["exit_code"]) for node in summary["nodes"]] == [
        ("node0", "log_only", None),
        ("node1", "log_only", None),
    ]
    assert summary["metrics"]["tflops_per_gpu"]["samples"] == 8


def test_who_knows_the_rest_gets_a_pass(judged):
    summary = judged({"node0.log": "silent\n", "node1.log": WHOLE}, ALL_TOLD)
    assert summary["verdict"] == "PASS"
    assert summary["mode"] == "multi_node"


@pytest.mark.parametrize("exit_status", [1, 137])
def test_an_exit_status_that_was_told_is_judged(judged, exit_status):
    known = Known("", "", {"training_record_only": True}, 2, exit_status)
    assert judged({"node0.log": "silent\n", "node1.log": WHOLE}, known)["verdict"] == "FAIL"


@pytest.mark.parametrize(("nodes", "code"), [(1, "logs_left_over"), (3, "logs_missing"), (None, "nodes_unknown")])
def test_another_number_of_nodes_than_were_meant_is_never_a_pass(judged, nodes, code):
    summary = judged(
        {"node0.log": "silent\n", "node1.log": WHOLE}, Known("", "", {"training_record_only": True}, nodes, 0)
    )
    assert (summary["verdict"], codes(summary)) == ("INCONCLUSIVE", [code])


def test_a_log_that_ends_too_early_without_a_failure_is_inconclusive(judged):
    summary = judged({"node0.log": megatron(range(1, 7))})
    assert summary["verdict"] == "INCONCLUSIVE"
    assert codes(summary)[:2] == ["exit_status_unknown", "last_step_missing"]
    assert summary["first_failure"] is None


def test_a_log_that_ends_with_a_failure_fails_and_names_it(judged):
    summary = judged({"node0.log": "silent\n", "node1.log": megatron(range(1, 7)) + OUT_OF_MEMORY})
    assert summary["verdict"] == "FAIL"
    assert codes(summary)[0] == "failure_in_log"
    assert (summary["first_failure"]["node"], summary["first_failure"]["class"]) == ("node1", "out_of_memory")


def test_a_failure_before_the_end_was_survived_also_on_a_node_without_steps(judged):
    summary = judged({"node0.log": OUT_OF_MEMORY, "node1.log": OUT_OF_MEMORY + WHOLE})
    assert summary["verdict"] == "INCONCLUSIVE"
    assert summary["first_failure"] is None


def test_a_failure_behind_the_last_step_is_no_pass(judged):
    known = Known("", "", {"training_record_only": True}, 1, 0)
    summary = judged({"node0.log": "silent\n", "node1.log": WHOLE + OUT_OF_MEMORY}, known)
    assert summary["verdict"] == "INCONCLUSIVE"
    assert codes(summary)[0] == "failure_at_end"


def test_a_log_without_a_total_cannot_show_the_last_step(judged):
    for files in ({"node0.log": maxtext(range(9))}, {"node0.log": nxdt(range(1, 10))}):
        assert "last_step_unknown" in codes(judged(files))


def test_a_total_in_the_log_shows_the_last_step(judged):
    known = Known("", "", {"training_record_only": True}, 1, 0)
    assert judged({"node0.log": maxtext(range(9), total=9)}, known)["verdict"] == "PASS"


def test_an_unknown_total_is_no_failure_of_a_run_that_ended_well(judged):
    summary = judged({"node0.log": maxtext(range(9))}, Known("", "", {"training_record_only": True}, 1, 0))
    assert (summary["verdict"], codes(summary)) == ("INCONCLUSIVE", ["last_step_unknown"])
    assert summary["first_failure"] is None


@pytest.mark.parametrize(
    ("files", "mode"),
    [
        ({"node0.log": WHOLE}, "single_node"),
        ({"node0.log": "silent\n", "node1.log": WHOLE}, "multi_node"),
        ({"node0.log": WHOLE, "node1.log": WHOLE}, "single_node"),
        ({"node0.log": maxtext(range(9)), "node1.log": maxtext(range(9))}, "multi_node"),
    ],
)
def test_the_mode_is_told_from_who_prints_steps(judged, files, mode):
    assert judged(files)["mode"] == mode


def test_a_mode_that_was_told_is_taken(judged):
    summary = judged({"node0.log": "silent\n", "node1.log": WHOLE}, ALL_TOLD, mode="single_node")
    assert summary["mode"] == "single_node"
    assert summary["verdict"] == "INCONCLUSIVE"


def config_text(**changes) -> str:
    data = json.loads(DISTRIBUTED.read_text())
    data["config"] |= {
        "nnodes": "4",
        "master_address": "192.0.2.1",
        "training_iterations": "10",
        "nic_type": "thor2",
        "nccl_ib_hca_list": "bnxt_re0,bnxt_re1",
        "nccl_socket_ifname": "ens51f1np1",
        "gloo_socket_ifname": "ens51f1np1",
        "nccl_ib_gid_index": "3",
        **changes,
    }
    branch = data["model_params"]["multi_node"]["llama3_1_8b"]["mi300x"]
    # Steps of 100 ms are possible with so few tokens only.
    branch["sequence_length"] = "1024"
    branch["result_dict"] = {"throughput_per_gpu": "380", "elapsed_time_per_iteration": "200"}
    return json.dumps(data)


def with_config(text: str, nodes: int | None = None, exit_status: int | None = 0) -> Known:
    options = {"training_model": "llama3_1_8b", "training_gpu": "mi300x"}
    return Known(text, "distributed.json", options, nodes, exit_status)


def test_a_config_tells_thresholds_number_of_nodes_and_sizes_whatever_hosts_it_names(judged):
    logs = {f"node{n}.log": "silent\n" for n in range(3)}
    summary = judged({**logs, "node3.log": WHOLE}, with_config(config_text()))
    assert summary["verdict"] == "PASS"
    assert summary["metrics"]["step_time_ms"]["threshold"] == 200
    assert summary["metrics"]["tokens_per_sec_per_gpu"]["samples"] == 8


def test_logs_of_fewer_nodes_than_the_config_asks_for_are_no_pass(judged):
    summary = judged({"node0.log": "silent\n", "node1.log": WHOLE}, with_config(config_text()))
    assert (summary["verdict"], codes(summary)) == ("INCONCLUSIVE", ["logs_missing"])


def test_a_number_of_nodes_that_contradicts_the_config_is_refused(judged):
    logs = {"node0.log": "silent\n", "node1.log": WHOLE}
    with pytest.raises(ValueError, match="training_nodes is 2, but the training config asks for 4 nodes"):
        judged(logs, with_config(config_text(), nodes=2))


def test_a_number_of_nodes_that_is_none_is_a_fault(judged):
    with pytest.raises(ConfigFaultsError) as refused:
        judged({"node0.log": WHOLE}, with_config(config_text(nnodes="few")))
    assert [fault["key"] for fault in refused.value.plan["faults"]] == ["config.nnodes"]


def test_the_total_of_the_config_counts_where_the_log_tells_a_smaller_one(judged):
    logs = {f"node{n}.log": "silent\n" for n in range(3)}
    known = with_config(config_text(training_iterations="20"), exit_status=None)
    summary = judged({**logs, "node3.log": WHOLE}, known)
    assert codes(summary) == ["exit_status_unknown", "last_step_missing"]


def test_a_file_of_thresholds_goes_before_those_of_the_config(judged):
    logs = {f"node{n}.log": "silent\n" for n in range(3)}
    cell = {"GBS=128": {"training.throughput_per_gpu": {"kind": "min", "value": 500}}}
    known = replace(with_config(config_text()), thresholds=ThresholdsFile("t.json", json.dumps(cell)))
    known = replace(known, options={**known.options, "training_thresholds": "t.json"})
    summary = judged({**logs, "node3.log": WHOLE}, known)
    assert [(bound["metric"], bound["value"], bound["met"]) for bound in summary["thresholds"]] == [
        ("tflops_per_gpu", 500.0, False)
    ]
    assert summary["verdict"] == "FAIL"


def test_other_faults_of_a_config_are_faults_here_too(judged):
    with pytest.raises(ConfigFaultsError, match="1 fault") as refused:
        judged({"node0.log": WHOLE}, with_config(config_text(no_such_key="1")))
    assert refused.value.plan["faults"][0]["key"] == "config.no_such_key"


def test_a_config_of_another_framework_than_the_logs_is_refused(judged):
    with pytest.raises(ValueError, match=r"training_framework is megatron, but the steps in .* are those of maxtext"):
        judged({"node0.log": maxtext(range(9))}, with_config(config_text()))


def test_the_same_logs_change_nothing_and_others_replace_what_was(tmp_path):
    def written(text: str) -> tuple[bool, list[int]]:
        (run,) = find_runs([str(laid_out(tmp_path / "logs", {"node0.log": text}))])
        read = read_run(run, tmp_path / "out", None, None, NOTHING)
        changed = write_run(read, None)
        return changed, [row["step"] for row in Board(read.run_dir).steps("node0")]

    assert list(map(written, (WHOLE, WHOLE, megatron((1, 2))))) == [
        (True, list(range(1, 11))),
        (False, list(range(1, 11))),
        (True, [1, 2]),
    ]


def test_the_folder_of_another_run_is_left_alone(tmp_path):
    (run,) = find_runs([str(laid_out(tmp_path / "a/logs", {"node0.log": WHOLE}))])
    read = read_run(run, tmp_path / "out", None, None, NOTHING)
    write_run(read, None)
    (other,) = find_runs([str(laid_out(tmp_path / "b/logs", {"node0.log": WHOLE}))])
    with pytest.raises(ValueError, match=r"holds a run of the logs in .*a/logs; choose another name"):
        read_run(other, tmp_path / "out", None, None, NOTHING)
    shutil.copy(tmp_path / "out/logs/plan.json", tmp_path / "plan.json")
    (tmp_path / "out/logs/plan.json").write_text('{"run_id": "logs"}')
    with pytest.raises(ValueError, match="holds a run that was started here"):
        read_run(run, tmp_path / "out", None, None, NOTHING)


def test_what_was_chosen_and_left_aside_is_a_warning_of_the_plan(tmp_path):
    laid_out(tmp_path / "logs", {"node0/a.log": WHOLE, "node0/b.log": "x\n", "tmp/x.json": ""})
    (run,) = find_runs([str(tmp_path / "logs")])
    plan = read_run(run, tmp_path / "out", None, None, NOTHING).plan
    assert [warning["message"] for warning in plan["warnings"]] == [
        "Without a log: tmp.",
        "node0: a.log is taken, as it gets furthest, to step 10. Not read: b.log.",
    ]


def test_a_run_of_this_collection_stays_where_it_is(tmp_path):
    (run,) = find_runs([str(laid_out(tmp_path / "run", {"plan.json": "{}"}))])
    read = read_run(run, tmp_path / "out", None, None, NOTHING)
    assert (read.run_dir, write_run(read, None)) == (tmp_path / "run", False)
