from __future__ import annotations

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.open_failures import OpenFailures


def failure(failure_class: str, line: str = "") -> dict:
    return {"class": failure_class, "line": line, "blame": 40, "echo": False}


def test_failures_stay_open_in_their_order_while_no_step_goes_by():
    failures = OpenFailures()
    failures.add([failure("import_error")])
    assert failures.add([failure("nccl")]) == [failure("import_error"), failure("nccl")]
    assert failures.add([]) == [failure("import_error"), failure("nccl")]


def test_a_failure_is_survived_after_three_advances_and_one_is_not_enough():
    failures = OpenFailures()
    failures.add([failure("import_error")])
    for _ in range(2):
        failures.advance()
        assert failures.add([]) == [failure("import_error")]
    failures.add([failure("nccl")])
    failures.advance()
    assert failures.add([]) == [failure("nccl")]


def test_a_failure_that_is_repeated_for_ever_hides_no_other():
    failures = OpenFailures()
    for number in range(100):
        failures.add([failure("nccl", str(number))])
    found = failures.add([failure("out_of_memory")])
    assert [one["class"] for one in found] == ["nccl", "nccl", "nccl", "out_of_memory"]
    assert [one["line"] for one in found[:3]] == ["0", "1", "2"]
