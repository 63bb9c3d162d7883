from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from test_essence import SUMMARY

from ansible_collections.trainops.cluster.plugins.filter.summary_essence import FilterModule

essence_of = FilterModule().filters()["summary_essence"]


def test_the_filter_returns_the_essence_of_a_summary() -> None:
    assert essence_of(SUMMARY, report="page")["verdict"] == "FAIL"


@pytest.mark.parametrize(("summary", "told"), [(["x"], "not list"), ({"verdict": "PASS"}, "not the summary of a run")])
def test_what_is_no_summary_is_refused(summary: object, told: str) -> None:
    with pytest.raises(AnsibleFilterError, match=told):
        essence_of(summary, report="page")
