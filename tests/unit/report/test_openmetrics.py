"""openmetrics.prom, read with the parsers of Prometheus' own client: OpenMetrics and the older text format."""

from __future__ import annotations

import pytest
from judged_runs import failed_run, judged_run, log_only_run
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as prometheus_families

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.dialects.openmetrics import openmetrics


def read(text: str, parser=openmetrics_families) -> dict[str, list[tuple[dict[str, str], float]]]:
    return {family.name: [(sample.labels, sample.value) for sample in family.samples] for family in parser(text)}


def test_both_formats_are_read_alike() -> None:
    for run in (judged_run(), failed_run(), log_only_run()):
        text = openmetrics(run)
        assert text.endswith("# EOF\n")
        assert read(text) == read(text, prometheus_families)


def test_the_values_are_those_of_the_nodes_in_base_units() -> None:
    families = read(openmetrics(judged_run()))
    assert families["training_step_time_seconds"] == [
        ({"run_id": "run-7", "node": "gpu0"}, pytest.approx(9.9)),
        ({"run_id": "run-7", "node": "gpu1"}, pytest.approx(10.0)),
    ]
    assert families["training_step_time_threshold_seconds"] == [({"run_id": "run-7", "direction": "max"}, 12.0)]
    assert families["training_mfu_ratio"][0][1] == 0.41
    assert families["training_run_duration_seconds"][0][1] == 341.0


def test_a_threshold_with_two_limits_has_both() -> None:
    limits = read(openmetrics(failed_run()))["training_gpu_tokens_per_second_threshold"]
    sides = [(labels["direction"], round(value)) for labels, value in limits]
    assert sides == [("min", 12_000), ("max", 13_200)]


def test_units_are_told() -> None:
    units = {family.name: family.unit for family in openmetrics_families(openmetrics(judged_run())) if family.unit}
    assert units["training_step_time_seconds"] == "seconds"
    assert units["training_mfu_ratio"] == "ratio"


def test_the_verdict_is_the_one_that_is_1() -> None:
    verdicts = {labels["verdict"]: value for labels, value in read(openmetrics(failed_run()))["training_run_verdict"]}
    assert verdicts == {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 0, "ERROR": 0}
