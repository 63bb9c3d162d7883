from __future__ import annotations

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings


def test_findings_are_plain_data_in_their_order() -> None:
    findings = Findings()
    findings.fault("config.nnodes", "x", "It is wrong.", "Mend it.")
    findings.fault("config.log_dir", None, "It is missing.", "Give it.")
    findings.warn("config.rocm_dir", "/opt", "It has no effect.", "Leave it out.")
    findings.note("It is taken for 3.")
    assert findings.as_dict() == {
        "faults": [
            {"key": "config.nnodes", "value": "x", "message": "It is wrong.", "remedy": "Mend it."},
            {"key": "config.log_dir", "value": None, "message": "It is missing.", "remedy": "Give it."},
        ],
        "warnings": [
            {"key": "config.rocm_dir", "value": "/opt", "message": "It has no effect.", "remedy": "Leave it out."}
        ],
        "notes": ["It is taken for 3."],
    }


def test_the_same_is_not_said_twice() -> None:
    findings = Findings()
    for _ in range(2):
        findings.fault("a", [1], "It is wrong.", "Mend it.")
    assert len(findings.faults) == 1


def test_a_word_that_nobody_reads_is_cut_in_the_sentences_only() -> None:
    findings = Findings()
    findings.fault("a", "x" * 5000, f"{'x' * 5000} is wrong.", "Mend it.")
    assert findings.faults[0]["message"] == f"{'x' * 50}…{'x' * 50} is wrong."
    assert findings.faults[0]["value"] == "x" * 5000


def test_a_secret_is_kept_out_of_value_and_message() -> None:
    findings = Findings()
    findings.fault("config.env_dict.HF_TOKEN", "abc", "hf_0123456789abcdef is wrong.", "Leave it out.")
    assert (findings.faults[0]["value"], findings.faults[0]["message"]) == ("(hidden)", "hf_(hidden) is wrong.")


def test_a_value_that_is_no_number_of_json_is_told_as_text() -> None:
    findings = Findings()
    findings.fault("k", [float("nan"), {"a": float("inf")}, 1.5], "It is wrong.", "Give one.")
    assert findings.as_dict()["faults"][0]["value"] == ["nan", {"a": "inf"}, 1.5]
