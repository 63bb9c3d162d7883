# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans of Primus as a whole: compared with golden ones, and never broken by any value in a config.

``UPDATE_GOLDEN_PLANS=1 pytest tests/unit/plan/test_primus_golden.py`` writes tests/data/plans/primus anew; look at the
diff.
"""

from __future__ import annotations

import itertools
import json
import os
import typing as t

import pytest
from primus_configs import EXAMPLES, IMAGE, LLAMA, mi300, planned_primus, values_of
from test_make_plan import ANYTHING, check_promises, paths_of, with_value, without
from training_configs import ROOT

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan

GOLDEN = ROOT / "tests/data/plans/primus"


@pytest.mark.parametrize("name", EXAMPLES)
def test_golden_plans(name: str) -> None:
    plan = planned_primus(name, EXAMPLES[name])
    path = GOLDEN / f"{name}.json"
    if os.environ.get("UPDATE_GOLDEN_PLANS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(plan, indent=2, ensure_ascii=False) + "\n", "utf-8")
    assert plan == json.loads(path.read_text("utf-8"))


def test_every_example_has_its_golden_plan() -> None:
    examples = {path.stem for path in (ROOT / "examples/primus").glob("*.yaml")}
    assert {path.stem for path in GOLDEN.iterdir()} == set(EXAMPLES) == examples


def of_yaml(config: t.Any) -> dict[str, t.Any]:
    """Return the plan of a config given as plain data; JSON is YAML as well."""
    options = {"training_framework": "primus", "training_image": IMAGE}
    return make_plan(json.dumps(config), "c.yaml", options, mi300(2))


def test_no_value_whatever_breaks_a_plan() -> None:
    """Every key is left out once, and gets one of the values; the next key gets the next."""
    config = values_of(LLAMA)
    values = [*ANYTHING, "${a", "${none}", "${a:${b}}", 3.5e-4]
    for path, value in zip(paths_of(config), itertools.cycle(values), strict=False):
        check_promises(of_yaml(without(config, path)))
        check_promises(of_yaml(with_value(config, path, value)))


@pytest.mark.parametrize("value", [None, [], {}, "x", 1, "${none}", {"a": 1}, {"pre_trainer": 1}])
@pytest.mark.parametrize(
    "section", [("modules",), ("modules", "pre_trainer", "overrides"), ("trainops",), ("extends",)]
)
def test_no_section_whatever_breaks_a_plan(section: tuple[str, ...], value: t.Any) -> None:
    check_promises(of_yaml(with_value(values_of(LLAMA), section, value)))


@pytest.mark.parametrize("hosts", [0, 1, 2, 3])
def test_no_number_of_hosts_breaks_a_plan(hosts: int) -> None:
    check_promises(planned_primus(LLAMA, hosts))
