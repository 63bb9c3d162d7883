"""junit.xml, read with junitparser as CI servers' tools read it."""

from __future__ import annotations

import json

import pytest
from judged_runs import failed_run, judged_run, log_only_run
from junitparser import Error, Failure, JUnitXml, Skipped

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.dialects.junit import junit


def read(text: str):
    (suite,) = JUnitXml.fromstring(text.encode())
    return suite, {f"{case.classname}.{case.name}": case for case in suite}


def test_a_pass_has_neither_failure_nor_error() -> None:
    suite, cases = read(junit(judged_run()))
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (4, 0, 0, 0)
    assert list(cases) == ["run-7.verdict", "run-7.nodes.gpu0", "run-7.nodes.gpu1", "run-7.thresholds.step_time_ms max"]
    assert (suite.time, cases["run-7.verdict"].time) == (341.0, 341.0)
    assert {p.name: p.value for p in suite.properties()}["image_digest"] == "sha256:abc"


def test_a_failure_names_its_nodes_thresholds_and_first_cause() -> None:
    suite, cases = read(junit(failed_run()))
    found = {name: [(type(result), result.type) for result in case.result] for name, case in cases.items()}
    assert found == {
        "run-7.verdict": [(Failure, "FAIL")],
        "run-7.nodes.gpu0": [],
        "run-7.nodes.gpu1": [(Failure, "FAIL")],
        "run-7.thresholds.step_time_ms max": [(Failure, "FAIL")],
        "run-7.thresholds.loss max": [(Error, "INCONCLUSIVE")],
        "run-7.thresholds.tflops_per_gpu info": [(Skipped, None)],
        "run-7.thresholds.tokens_per_sec_per_gpu within": [],
    }
    assert (suite.failures, suite.errors, suite.skipped) == (3, 1, 1)
    text = cases["run-7.verdict"].result[0].text
    assert "First failure: gpu1, out_of_memory: HIP out of memory" in text
    assert "What to do: Halve the micro batch size." in text


def test_a_failure_has_the_codes_nodes_and_values_behind_its_sentences() -> None:
    _suite, cases = read(junit(failed_run()))

    def found(case: str, name: str) -> list[dict]:
        properties = cases[case]._elem.iterfind(f"properties/property[@name='{name}']")
        return [json.loads(one.get("value")) for one in properties]

    (failure,) = found("run-7.verdict", "first_failure")
    assert (failure["node"], failure["class"], failure["line"]) == ("gpu1", "out_of_memory", "HIP out of memory")
    assert "node_failed" in [one["code"] for one in found("run-7.verdict", "finding")]
    (of_node,) = found("run-7.nodes.gpu1", "finding")
    assert (of_node["code"], of_node["nodes"], of_node["verdict"]) == ("node_failed", ["gpu1"], "FAIL")
    (missed,) = found("run-7.thresholds.step_time_ms max", "finding")
    assert missed["values"]["bound"]["metric"] == "step_time_ms"
    assert found("run-7.nodes.gpu0", "finding") == []


def test_what_a_log_holds_is_text_without_the_characters_that_xml_cannot_hold() -> None:
    text = junit(failed_run())
    assert "\x1b" not in text
    assert "<tag> & 'more'" in read(text)[1]["run-7.verdict"].result[0].text


@pytest.mark.parametrize("verdict", ["INCONCLUSIVE", "ERROR"])
def test_what_is_not_known_is_an_error(verdict: str) -> None:
    suite, cases = read(junit(judged_run(verdict)))
    assert (suite.failures, suite.errors) == (0, 1)
    assert cases["run-7.verdict"].result[0].type == verdict


def test_a_run_without_a_clock_and_without_reasons_is_readable() -> None:
    run = log_only_run()
    run.summary["reasons"] = []
    suite, _ = read(junit(run))
    assert (suite.timestamp, suite.errors) == (None, 1)
