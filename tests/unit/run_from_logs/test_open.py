from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from logged_runs import OUT_OF_MEMORY, SILENT, WORKER, laid_out, maxtext, megatron, nxdt

from ansible_collections.trainops.cluster.plugins.module_utils.logs.rows import rows_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.threshold_files import ThresholdsFile
from ansible_collections.trainops.cluster.plugins.plugin_utils.report import write
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.text import verdict_lines
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.files import find_runs
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.open import (
    ConfigFaultsError,
    read_runs,
    write_run,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.plan import Known

ROOT = Path(__file__).resolve().parents[3]
DISTRIBUTED = ROOT / "examples/megatron/mi3xx_megatron_llama_distributed.json"
WHOLE = megatron(range(1, 11))
NOTHING = Known("", "", {}, None, None)
DIFFERENT_TIMES = maxtext((), total=9) + "".join(maxtext([step]).replace("2.5", f"2.5{step}") for step in range(9))
ALL_TOLD = Known("", "", {"training_record_only": True}, 2, 0)


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """Judge logs as they are, in a folder of their own, and return the summary; its page is not drawn."""
    monkeypatch.setattr(write, "_write_files", lambda *_run: True)

    def judge(files: dict[str, str], known: Known = NOTHING, framework=None, mode=None):
        (run,) = find_runs([str(laid_out(tmp_path / "logs", files))])
        (read,) = read_runs(run, tmp_path / "out", framework, mode, known)
        write_run(read, known.exit_status)
        return write.write_report(read.run_dir, 2)[0]

    return judge


def codes(summary) -> list[str]:
    return [reason["code"] for reason in summary["reasons"]]


def test_logs_alone_are_never_a_pass_and_each_lack_is_told(judged):
    summary = judged({"node0.log": SILENT, "node1.log": WHOLE})
    assert summary["verdict"] == "INCONCLUSIVE"
    assert codes(summary) == ["exit_status_unknown", "nodes_unknown", "no_thresholds"]
    assert [(node["node"], node["state"], node["exit_code"]) for node in summary["nodes"]] == [
        ("node0", "log_only", None),
        ("node1", "log_only", None),
    ]
    assert summary["metrics"]["tflops_per_gpu"]["samples"] == 8


@pytest.mark.parametrize(
    ("name", "told"),
    [(b"a\x1b[31m\xff.bin", "Not read, because there are logs next to them: a.bin."), (b"node\xff.log", None)],
)
def test_files_may_have_any_names(name: bytes, told: str | None, tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "logs", {"node0.log": SILENT, "node1.log": WHOLE})
    Path(os.fsdecode(bytes(folder) + b"/" + name)).write_text(WHOLE)
    (run,) = find_runs([str(folder)])
    (read,) = read_runs(run, tmp_path / "out", None, None, ALL_TOLD)
    write_run(read, 0)
    write.write_report(read.run_dir, 2)
    assert read.plan
    assert [warning["message"] for warning in read.plan["warnings"]] == ([told] if told else [])
    page = (read.run_dir / "report.html").read_text("utf-8")
    assert told or "node%FF.log" in page


def test_a_log_interval_that_does_not_divide_the_steps_is_no_failure(judged):
    said = "  log_interval .................................... 3\n"
    logs = {"node0.log": said + SILENT, "node1.log": megatron(range(3, 19, 3), 20)}
    summary = judged(logs, ALL_TOLD)
    assert (summary["verdict"], summary["first_failure"]) == ("PASS", None)


def test_who_knows_the_rest_gets_a_pass(judged):
    summary = judged({"node0.log": SILENT, "node1.log": WHOLE}, ALL_TOLD)
    assert summary["verdict"] == "PASS"
    assert summary["mode"] == "multi_node"


@pytest.mark.parametrize("exit_status", [1, 137])
def test_an_exit_status_that_was_told_is_judged(judged, exit_status):
    known = Known("", "", {"training_record_only": True}, 2, exit_status)
    assert judged({"node0.log": SILENT, "node1.log": WHOLE}, known)["verdict"] == "FAIL"


@pytest.mark.parametrize(("nodes", "code"), [(1, "logs_left_over"), (3, "logs_missing"), (None, "nodes_unknown")])
def test_another_number_of_nodes_than_were_meant_is_never_a_pass(judged, nodes, code):
    summary = judged({"node0.log": SILENT, "node1.log": WHOLE}, Known("", "", {"training_record_only": True}, nodes, 0))
    assert (summary["verdict"], codes(summary)) == ("INCONCLUSIVE", [code])


def test_a_standard_error_of_no_log_leaves_the_run_open(judged):
    files = {"node0.log": SILENT, "node1.log": WHOLE, "stderr.txt": "Killed\n"}
    summary = judged(files, Known("", "", {"training_record_only": True}, 2, 0))
    assert (summary["verdict"], codes(summary)) == ("INCONCLUSIVE", ["logs_left_over"])
    assert summary["reasons"][0]["message"] == (
        "stderr.txt is named like a standard error, but no log has a matching name, so its node is unknown. Name it "
        "NODE.err."
    )


def test_a_log_that_ends_too_early_without_a_failure_is_inconclusive(judged):
    summary = judged({"node0.log": megatron(range(1, 7))})
    assert summary["verdict"] == "INCONCLUSIVE"
    assert codes(summary)[:2] == ["exit_status_unknown", "last_step_missing"]
    assert summary["first_failure"] is None


LONGER = WHOLE.replace("/      10 |", "/     100 |") + "[after training is done] datetime: 2026-01-02 03:04:05\n"
ENDED = Known("", "", {"training_record_only": True}, 1, 0)


@pytest.mark.parametrize(
    ("text", "known", "framework", "verdict", "said"),
    [
        pytest.param("nothing\n", NOTHING, None, "INCONCLUSIVE", {"no_steps"}, id="no step"),
        pytest.param(':::MLLOG {"key": "seed", "value": 1}\n', ENDED, None, "INCONCLUSIVE", {"no_steps"}, id="MLLOG"),
        pytest.param("nothing\n", replace(ENDED, exit_status=1), None, "FAIL", {"node_failed"}, id="status, no step"),
        pytest.param(WHOLE, replace(ENDED, exit_status=1), None, "FAIL", {"node_failed"}, id="status"),
        pytest.param(WHOLE, ENDED, "maxtext", "INCONCLUSIVE", {"other_workload"}, id="another framework"),
        pytest.param(WHOLE, replace(ENDED, steps=20), None, "FAIL", {"last_step_missing"}, id="more steps"),
        pytest.param(LONGER, replace(ENDED, steps=10), None, "PASS", set(), id="fewer steps"),
    ],
)
def test_a_log_of_which_little_is_known_is_judged(judged, text, known, framework, verdict, said):
    summary = judged({"node0.log": text}, known, framework)
    assert (summary["verdict"], said - {*codes(summary)}) == (verdict, set()), codes(summary)


def test_of_16_logs_the_odd_one_comes_first_and_the_others_are_one_line(judged, tmp_path):
    logs = {f"node{number}.log": megatron(range(1, 4 if number == 7 else 8)) for number in range(1, 17)}
    summary = judged(logs, replace(ENDED, nodes=None))
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    first, second, *others = [line.text for line in verdict_lines(str(tmp_path / "report.html"))]
    assert first.startswith("FAIL  ")
    assert first.endswith("node7 reached only step 3 of 10")
    assert second == "  node[1-6,8-16] reached only step 7 of 10."
    assert not any("node16" in line for line in others)


def test_a_log_of_all_nodes_is_judged_as_their_logs_are(judged, tmp_path):
    labelled = [f"{task}: {text}" for task, log in enumerate((SILENT, WHOLE)) for text in log.splitlines(keepends=True)]
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/slurm-77.out.gz").write_bytes(gzip.compress("".join(labelled).encode()))
    summary = judged({}, ALL_TOLD)
    assert (summary["verdict"], len(summary["nodes"])) == ("PASS", 2)


def test_a_log_that_ends_with_a_failure_fails_and_names_it(judged):
    summary = judged({"node0.log": SILENT, "node1.log": megatron(range(1, 7)) + OUT_OF_MEMORY})
    assert summary["verdict"] == "FAIL"
    assert codes(summary)[0] == "failure_in_log"
    assert (summary["first_failure"]["node"], summary["first_failure"]["class"]) == ("node1", "out_of_memory")


@pytest.mark.parametrize(
    ("log", "exit_status", "verdict", "code"),
    [
        (OUT_OF_MEMORY + SILENT, 0, "PASS", "nodes"),
        (SILENT + OUT_OF_MEMORY, 0, "INCONCLUSIVE", "failure_at_end"),
        (SILENT + OUT_OF_MEMORY, None, "FAIL", "failure_in_log"),
        (OUT_OF_MEMORY, 0, "INCONCLUSIVE", "failure_at_end"),
        ("", 0, "INCONCLUSIVE", "no_sign_of_life"),
        ("Starting on node0\n", 0, "INCONCLUSIVE", "no_sign_of_life"),
        (WORKER, 0, "INCONCLUSIVE", "no_sign_of_life"),
    ],
)
def test_a_node_without_steps_has_to_show_that_it_trained_and_to_survive_its_failures(
    judged, log, exit_status, verdict, code
):
    summary = judged({"node0.log": log, "node1.log": WHOLE}, replace(ALL_TOLD, exit_status=exit_status))
    assert summary["verdict"] == verdict
    assert code in codes(summary)


@pytest.mark.parametrize("name", ["node1.err", "node1.stderr", "node1.err.log", "node1_err.txt"])
def test_the_standard_error_beside_a_log_is_read_with_it(judged, name):
    files = {"node0.log": SILENT, "node1.log": WHOLE}
    assert judged(files | {name: "a warning\n"}, ALL_TOLD)["verdict"] == "PASS"
    summary = judged(files | {name: OUT_OF_MEMORY}, ALL_TOLD)
    assert (summary["verdict"], codes(summary)) == ("INCONCLUSIVE", ["failure_at_end"])


def test_what_a_good_run_writes_to_its_standard_error_is_no_failure(judged):
    written = (
        "+ srun --kill-on-bad-exit=1 train.sh\n"
        "[rank3]:[W203 04:05:06.7 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=4): Failed to recv\n"
    )
    files = {"node0.log": SILENT, "node1.log": WHOLE, "node1.err": written}
    assert judged(files, ALL_TOLD)["verdict"] == "PASS"


def test_steps_on_the_standard_error_are_those_of_the_node(judged):
    summary = judged({"node0.out": "done\n", "node0.err": maxtext(range(9), total=9)}, replace(ALL_TOLD, nodes=1))
    assert (summary["verdict"], summary["nodes"][0]["last_step"]) == ("PASS", 8)


def test_the_ledger_has_evidence_in_each_row_of_each_node(judged):
    ledger = judged({"node0.log": SILENT, "node1.log": WHOLE}, ALL_TOLD)["ledger"]
    assert [node["node"] for node in ledger] == ["node0", "node1"]
    assert {entry["verdict"] for node in ledger for entry in node["rows"].values()} == {"PASS"}
    silent, telling = (node["rows"] for node in ledger)
    assert silent["steps"]["evidence"] == "printed by the last rank, on node1"
    assert telling["steps"]["evidence"] == "1 to 10 of 10"


@pytest.mark.parametrize(
    ("files", "code"),
    [
        (dict.fromkeys(("node0.log", "node1.log"), DIFFERENT_TIMES), "same_log"),
        ({"node0.log": SILENT, "node1.log": WHOLE + WHOLE}, "two_runs"),
        (
            {
                "node0.log": SILENT,
                "node1.log": WHOLE + megatron((10,)).replace("(ms): 110", "(ms): 109"),
            },
            "steps_conflict",
        ),
        ({"node0.log": SILENT + "[rank-3/2]: x\n", "node1.log": "[rank-3/2]: x\n" + WHOLE}, "same_log"),
    ],
)
def test_logs_of_two_runs_or_of_one_node_twice_are_no_pass(judged, files, code):
    summary = judged(files, ALL_TOLD)
    assert (summary["verdict"], codes(summary)) == ("INCONCLUSIVE", [code])


def test_a_warning_that_names_a_rank_in_two_logs_is_no_sign_of_one_log(judged):
    """With torchrun's --role, and for Python's own tracebacks, the number is the local rank: each node has it."""
    warning = "[rank3]:[W1126 20:08:32.397 ProcessGroupNCCL.cpp:5188] Guessing device ID based on global rank.\n"
    summary = judged({"node0.log": SILENT + warning, "node1.log": warning + WHOLE}, ALL_TOLD)
    assert summary["verdict"] == "PASS", summary["reasons"]


def sized(**sizes: int) -> str:
    return "".join(f"  {name} ............................... {value}\n" for name, value in sizes.items())


@pytest.mark.parametrize(
    ("sizes", "verdict"),
    [
        (
            {"global_batch_size": 128, "micro_batch_size": 2, "seq_length": 256, "train_iters": 10, "world_size": 32},
            "PASS",
        ),
        ({"global_batch_size": 64}, "FAIL"),
        ({"micro_batch_size": 4}, "FAIL"),
        ({"seq_length": 512}, "FAIL"),
        ({"train_iters": 11}, "FAIL"),
        ({"world_size": 16}, "FAIL"),
    ],
)
def test_the_log_of_another_workload_fails_with_both_numbers(judged, sizes, verdict):
    head = sized(**sizes) + SILENT_LOGS["node0.log"]
    summary = judged(
        {**SILENT_LOGS, "node0.log": head, "node3.log": over_rdma("node3") + WHOLE}, with_config(config_text())
    )
    assert summary["verdict"] == verdict, summary["reasons"]
    if verdict == "FAIL":
        (reason,) = summary["reasons"]
        assert (reason["code"], reason["node"], reason["row"]) == ("other_workload", "node0", "workload")
        assert reason["values"]["found"] in sizes.values()


@pytest.mark.parametrize(
    "change",
    [
        ("global batch size:   128", "global batch size:    64"),
        ("consumed samples:          640", "consumed samples:          650"),
        ("consumed samples:          640", "consumed samples:          NaN"),
    ],
)
def test_a_step_of_another_workload_fails(judged, change):
    logs = SILENT_LOGS
    assert change[0] in WHOLE
    summary = judged({**logs, "node3.log": over_rdma("node3") + WHOLE.replace(*change)}, with_config(config_text()))
    assert (summary["verdict"], "other_workload" in codes(summary)) == ("FAIL", True)


def test_a_network_that_the_config_does_not_mean_fails_here_too(judged):
    over_tcp = SILENT_LOGS["node2.log"] + "node2:77:99 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] via NET/Socket/0\n"
    summary = judged(
        {**SILENT_LOGS, "node2.log": over_tcp, "node3.log": over_rdma("node3") + WHOLE}, with_config(config_text())
    )
    assert (summary["verdict"], codes(summary)) == ("FAIL", ["tcp_transport"])


def test_a_failure_behind_the_last_step_is_no_pass(judged):
    known = Known("", "", {"training_record_only": True}, 1, 0)
    summary = judged({"node0.log": SILENT, "node1.log": WHOLE + OUT_OF_MEMORY}, known)
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
        ({"node0.log": SILENT, "node1.log": WHOLE}, "multi_node"),
        ({"node0.log": WHOLE, "node1.log": WHOLE}, "single_node"),
        ({"node0.log": maxtext(range(9)), "node1.log": maxtext(range(9))}, "multi_node"),
    ],
)
def test_the_mode_is_told_from_who_prints_steps(judged, files, mode):
    assert judged(files)["mode"] == mode


def test_a_mode_that_was_told_is_taken(judged):
    summary = judged({"node0.log": SILENT, "node1.log": WHOLE}, ALL_TOLD, mode="single_node")
    assert summary["mode"] == "single_node"
    assert summary["verdict"] == "INCONCLUSIVE"


def over_rdma(node: str) -> str:
    return f"{node}:77:99 [0] NCCL INFO Using network IB\n"


# From the nodes of a job of four whose ranks print no steps.
SILENT_LOGS = {"node0.log": over_rdma("node0") + SILENT} | {
    f"{node}.log": over_rdma(node) + WORKER.replace("node1", node) for node in ("node1", "node2")
}


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
    branch["sequence_length"] = "256"
    branch["result_dict"] = {"throughput_per_gpu": "380", "elapsed_time_per_iteration": "200"}
    return json.dumps(data)


def with_config(text: str, nodes: int | None = None, exit_status: int | None = 0) -> Known:
    options = {"training_model": "llama3_1_8b", "training_gpu": "mi300x"}
    return Known(text, "distributed.json", options, nodes, exit_status)


def test_a_config_tells_thresholds_number_of_nodes_and_sizes_whatever_hosts_it_names(judged):
    logs = SILENT_LOGS
    summary = judged({**logs, "node3.log": over_rdma("node3") + WHOLE}, with_config(config_text()))
    assert summary["verdict"] == "PASS"
    assert summary["metrics"]["step_time_ms"]["threshold"] == 200
    assert summary["metrics"]["tokens_per_sec_per_gpu"]["samples"] == 8


def test_logs_of_fewer_nodes_than_the_config_asks_for_are_no_pass(judged):
    logs = {"node0.log": SILENT_LOGS["node0.log"], "node1.log": over_rdma("node1") + WHOLE}
    summary = judged(logs, with_config(config_text()))
    assert (summary["verdict"], codes(summary)) == ("INCONCLUSIVE", ["logs_missing"])


def test_a_number_of_nodes_that_contradicts_the_config_is_refused(judged):
    logs = {"node0.log": SILENT, "node1.log": WHOLE}
    with pytest.raises(ValueError, match="training_nodes is 2, but the training config asks for 4 nodes"):
        judged(logs, with_config(config_text(), nodes=2))


def test_a_number_of_nodes_that_is_none_is_a_fault(judged):
    with pytest.raises(ConfigFaultsError) as refused:
        judged({"node0.log": WHOLE}, with_config(config_text(nnodes="few")))
    assert [fault["key"] for fault in refused.value.plan["faults"]] == ["config.nnodes"]


def test_the_total_of_the_config_counts_where_the_log_tells_a_smaller_one(judged):
    logs = SILENT_LOGS
    known = with_config(config_text(training_iterations="20"), exit_status=None)
    summary = judged({**logs, "node3.log": over_rdma("node3") + WHOLE}, known)
    assert codes(summary) == ["other_workload", "exit_status_unknown", "last_step_missing"]


def test_a_file_of_thresholds_goes_before_those_of_the_config(judged):
    logs = SILENT_LOGS
    cell = {"GBS=128": {"training.throughput_per_gpu": {"kind": "min", "value": 500}}}
    known = replace(with_config(config_text()), thresholds=ThresholdsFile("t.json", json.dumps(cell)))
    known = replace(known, options={**known.options, "training_thresholds": "t.json"})
    summary = judged({**logs, "node3.log": over_rdma("node3") + WHOLE}, known)
    assert [(bound["metric"], bound["value"], bound["met"]) for bound in summary["thresholds"]] == [
        ("tflops_per_gpu", 500.0, False)
    ]
    assert summary["verdict"] == "FAIL"


def test_other_faults_of_a_config_are_faults_here_too(judged):
    with pytest.raises(ConfigFaultsError, match="1 error") as refused:
        judged({"node0.log": WHOLE}, with_config(config_text(no_such_key="1")))
    assert refused.value.plan["faults"][0]["key"] == "config.no_such_key"


def test_a_config_of_another_framework_than_the_logs_is_not_applied(judged):
    summary = judged({"node0.log": maxtext(range(9))}, with_config(config_text()))
    assert (summary["verdict"], summary["framework"], summary["nodes"][0]["last_step"]) == (
        "INCONCLUSIVE",
        "maxtext",
        8,
    )
    (reason,) = [reason for reason in summary["reasons"] if reason["code"] == "other_workload"]
    assert re.search("training_framework is megatron, but .*node0.log has steps of maxtext", reason["message"])


def test_the_same_logs_change_nothing_and_others_replace_what_was(tmp_path):
    def written(text: str) -> tuple[bool, list[int]]:
        (run,) = find_runs([str(laid_out(tmp_path / "logs", {"node0.log": text}))])
        (read,) = read_runs(run, tmp_path / "out", None, None, NOTHING)
        changed = write_run(read, None)
        return changed, [row["step"] for row in rows_of(Board(read.run_dir).blocks("node0"))]

    assert list(map(written, (WHOLE, WHOLE, megatron((1, 2))))) == [
        (True, list(range(1, 11))),
        (False, list(range(1, 11))),
        (True, [1, 2]),
    ]


def test_the_folder_of_another_run_is_left_alone(tmp_path):
    (run,) = find_runs([str(laid_out(tmp_path / "a/logs", {"node0.log": WHOLE}))])
    (read,) = read_runs(run, tmp_path / "out", None, None, NOTHING)
    write_run(read, None)
    (other,) = find_runs([str(laid_out(tmp_path / "b/logs", {"node0.log": WHOLE}))])
    with pytest.raises(ValueError, match=r"run of the logs in .*a/logs; .*-e training_run_id"):
        read_runs(other, tmp_path / "out", None, None, NOTHING)
    shutil.copy(tmp_path / "out/logs/plan.json", tmp_path / "plan.json")
    (tmp_path / "out/logs/plan.json").write_text('{"run_id": "logs"}')
    with pytest.raises(ValueError, match="run that was started here"):
        read_runs(run, tmp_path / "out", None, None, NOTHING)


@pytest.mark.parametrize(("logs", "name"), [("monday/nodes", "monday"), ("monday", "monday")])
def test_logs_where_the_run_would_put_its_own_nodes_are_kept(tmp_path, logs, name):
    laid_out(tmp_path / "monday/nodes", {"node0.log": WHOLE})
    (run,) = find_runs([str(tmp_path / logs)])
    with pytest.raises(ValueError, match="monday is not a run"):
        read_runs(replace(run, name=name), tmp_path, None, None, NOTHING)


def test_what_was_chosen_and_left_aside_is_a_warning_of_the_plan(tmp_path):
    laid_out(tmp_path / "logs", {"node0/a.log": WHOLE, "node0/b.log": "x\n", "tmp/x.json": ""})
    (run,) = find_runs([str(tmp_path / "logs")])
    (read,) = read_runs(run, tmp_path / "out", None, None, NOTHING)
    assert [warning["message"] for warning in read.plan["warnings"]] == [
        "Without a log: tmp.",
        "node0: a.log is used because it has the highest step, 10. Not read: b.log.",
    ]


def test_a_run_of_this_collection_stays_where_it_is(tmp_path):
    (run,) = find_runs([str(laid_out(tmp_path / "run", {"plan.json": "{}"}))])
    (read,) = read_runs(run, tmp_path / "out", None, None, NOTHING)
    assert (read.run_dir, write_run(read, None)) == (tmp_path / "run", False)
