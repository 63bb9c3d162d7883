"""No definite change of a good run's logs is a PASS, and every good run passes, judged from logs or followed live.

Mutations that only one rule of the verdict sees are tried, and a sample of all; `make mutations` tries all, as CI does
every week.
"""

from __future__ import annotations

import os
import typing as t
from pathlib import Path
from random import Random
from unittest import mock

import good_ends  # noqa: F401 (these fill the lists)
import good_heads  # noqa: F401
import of_attempts  # noqa: F401
import of_evidence  # noqa: F401
import of_files  # noqa: F401
import of_kinds  # noqa: F401
import of_lines  # noqa: F401
import of_outliers  # noqa: F401
import of_unread  # noqa: F401
import of_values  # noqa: F401
import pytest
import two_ways
from changes import MISSED, MUTATIONS, NO_TRACE, Mutation
from good_runs import GOOD, Logs, megatron, nccl, nxdt
from good_variants import VARIANTS
from of_model import CONFIGURATION
from one_rule import ONE_RULE
from two_ways import WAYS, Known

SUMMARY = Path(__file__).resolve().parents[3] / "docs/judging.md"
FEW = 24
ALL = bool(os.environ.get("TRAINOPS_ALL_MUTATIONS"))
BY_NAME = {str(mutation): mutation for mutation in MUTATIONS}
GOOD_WAYS = [(variant, way) for variant in VARIANTS for way in WAYS]
PASSING = [*MISSED, *NO_TRACE]


def some(every: t.Sequence[tuple[t.Any, ...]], most: int) -> list[t.Any]:
    """Return a sample, whose later half is for the slow tests; return all if that is asked for."""
    drawn = every if ALL else Random(14).sample(every, most)
    return [
        pytest.param(*one, marks=() if ALL or place < most // 2 else pytest.mark.slow)
        for place, one in enumerate(drawn)
    ]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("framework", GOOD)
def test_a_good_run_passes(framework: str, way: str) -> None:
    assert WAYS[way](framework, GOOD[framework](seed=3))["verdict"] == "PASS"


@pytest.mark.parametrize("way", WAYS)
def test_a_good_run_whose_network_was_tested_first_passes(way: str) -> None:
    logs: Logs = {
        node: nccl(place * 8, 32).replace(":77:", ":7:") + str(text)
        for place, (node, text) in enumerate(megatron().items())
    }
    assert WAYS[way]("megatron", logs)["verdict"] == "PASS"


@pytest.mark.parametrize(("batch", "verdict"), [("256", "PASS"), ("1024", "FAIL")])
def test_samples_are_those_of_the_batch_that_a_log_says_where_no_config_is_known(batch: str, verdict: str) -> None:
    logs = nxdt()
    logs["node0"] = CONFIGURATION.replace("256", batch) + str(logs["node0"])
    with mock.patch.object(two_ways, "known", return_value=Known("", "", {"training_record_only": True}, 2, 0)):
        assert two_ways.reported("nxdt", logs)["verdict"] == verdict


@pytest.mark.parametrize(("variant", "way"), some(GOOD_WAYS, FEW), ids=str)
def test_another_log_of_a_good_run_passes(variant: Mutation, way: str) -> None:
    logs = variant.apply(GOOD[variant.framework]())
    assert logs != GOOD[variant.framework](), "the variant changes nothing"
    summary = WAYS[way](variant.framework, logs)
    assert summary["verdict"] == "PASS", summary["reasons"]


def changed(mutation: Mutation) -> dict[str, t.Any]:
    """Return the summary of a good run whose logs were changed, as report.yml judges it.

    The logs of a followed run are not changed, because its facts outrank them; tests/unit/verdict tests that.
    """
    logs = mutation.apply(GOOD[mutation.framework]())
    assert logs != GOOD[mutation.framework](), "the mutation changes nothing"
    return WAYS["report"](mutation.framework, logs)


@pytest.mark.parametrize(("mutation", "code"), ONE_RULE)
def test_each_rule_sees_what_no_other_one_does(mutation: str, code: str) -> None:
    summary = changed(BY_NAME[mutation])
    assert summary["verdict"] != "PASS"
    assert sorted({reason["code"] for reason in summary["reasons"] if reason["verdict"] != "PASS"}) == code.split()


@pytest.mark.parametrize("mutation", some([(one,) for one in MUTATIONS], FEW), ids=str)
def test_a_changed_log_does_not_pass(mutation: Mutation) -> None:
    assert changed(mutation)["verdict"] != "PASS"


@pytest.mark.parametrize("mutation", some([(one,) for one in PASSING], FEW // 2), ids=str)
def test_what_passes_is_known(mutation: Mutation) -> None:
    """If the verdict sees one of these some day, it belongs to the others."""
    logs = mutation.apply(GOOD[mutation.framework]())
    assert WAYS["report"](mutation.framework, logs)["verdict"] == "PASS"


def test_at_most_one_definite_change_in_a_hundred_passes_and_the_documentation_says_how_many() -> None:
    definite = len(MUTATIONS) + len(MISSED)
    assert len(MISSED) <= definite / 100
    assert f"{len(MISSED)} of {definite:,}" in " ".join(SUMMARY.read_text(encoding="utf-8").split())
