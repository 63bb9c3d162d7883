"""mllog.log, read with the parser of MLPerf's own mlperf_logging and held against its keys."""

from __future__ import annotations

import json
from pathlib import Path

from judged_runs import failed_run, judged_run, log_only_run
from mlperf_logging.compliance_checker.mlp_compliance import ComplianceChecker
from mlperf_logging.compliance_checker.mlp_parser import parse_file
from mlperf_logging.compliance_checker.mlp_parser.ruleset_510 import LogLine
from mlperf_logging.mllog import constants

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.dialects.mllog import mllog

RULESET = "5.1.0"


def read(text: str, folder: Path) -> list[LogLine]:
    path = folder / "mllog.log"
    path.write_text(text, encoding="utf-8")
    lines, errors = parse_file(str(path), RULESET)
    assert errors == []
    return lines


def test_every_line_is_read_by_mlperfs_own_parser(tmp_path: Path) -> None:
    text = mllog(judged_run())
    assert len(read(text, tmp_path)) == len(text.splitlines())


def test_every_key_and_type_of_event_is_mlperfs() -> None:
    known = {value for name, value in vars(constants).items() if name.isupper()}
    events = [json.loads(line.removeprefix(":::MLLOG ")) for line in mllog(judged_run()).splitlines()]
    # mllog has no constant for the statistics that submitters track.
    assert {event["key"] for event in events} - {"tracked_stats"} <= known
    assert {event["event_type"] for event in events} == {
        constants.INTERVAL_START,
        constants.INTERVAL_END,
        constants.POINT_IN_TIME,
    }


def test_the_run_begins_and_ends_when_it_did(tmp_path: Path) -> None:
    lines = {line.key: line for line in read(mllog(judged_run()), tmp_path)}
    assert lines["run_start"].timestamp == 1_783_761_123_000
    assert lines["run_stop"].timestamp - lines["run_start"].timestamp == 341_000
    assert lines["run_stop"].value["metadata"]["status"] == constants.SUCCESS
    assert lines["global_batch_size"].value["value"] == 128
    assert lines["max_sequence_length"].value["value"] == 8192


def test_the_throughput_is_that_of_the_whole_job_in_samples(tmp_path: Path) -> None:
    stats = next(line for line in read(mllog(judged_run()), tmp_path) if line.key == "tracked_stats")
    assert stats.value["value"] == {"throughput": 12.8, "step_time_ms": 10_000.0, "tokens_per_sec_per_gpu": 12_100.0}
    assert stats.value["metadata"]["step"] == 10


def test_what_did_not_pass_is_aborted(tmp_path: Path) -> None:
    stop = next(line for line in read(mllog(failed_run()), tmp_path) if line.key == "run_stop")
    assert stop.value["metadata"]["status"] == constants.ABORTED
    assert stop.value["metadata"]["verdict"] == "FAIL"


def test_without_a_clock_nothing_is_written() -> None:
    assert mllog(log_only_run()) is None


def test_mlperfs_checker_misses_only_what_a_submission_has_besides(tmp_path: Path) -> None:
    path = tmp_path / "mllog.log"
    path.write_text(mllog(judged_run()), encoding="utf-8")
    checker = ComplianceChecker("training", RULESET, quiet=True, werror=False)
    checker.check_file(str(path), f"training_{RULESET}/common.yaml")
    told = [str(message) for message in (*checker.overwritable.values(), *checker.not_overwritable)]
    assert told
    # How long the initialization may take comes with the division of a submission.
    allowed = ("Required ", "CHECK for 'init_stop' failed")
    assert [message for message in told if not message.startswith(allowed)] == []
    missed = " ".join(message for message in told if message.startswith("Required "))
    assert "'run_start'" not in missed
    assert "'run_stop'" not in missed
