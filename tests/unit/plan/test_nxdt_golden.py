# SPDX-License-Identifier: GPL-3.0-or-later
"""NxDT plans as a whole: compared with golden ones, and never broken by any value in a config.

``UPDATE_GOLDEN_PLANS=1 pytest tests/unit/plan/test_nxdt_golden.py`` writes tests/data/plans/nxdt anew; look at the
diff.
"""

from __future__ import annotations

import itertools
import json
import os
import typing as t

import pytest
from nxdt_configs import DPO, EXAMPLES, MEGATRON, SFT, planned_nxdt, text_of, trn
from omegaconf import OmegaConf
from test_make_plan import ANYTHING, check_promises, paths_of, with_value, with_values, without
from training_configs import ROOT

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.nxdt_yaml.keys import KEYS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan

GOLDEN = ROOT / "tests/data/plans/nxdt"


@pytest.mark.parametrize("name", EXAMPLES)
def test_golden_plans(name: str) -> None:
    plan = planned_nxdt(name)
    path = GOLDEN / f"{name}.json"
    # test_choice.py covers this key.
    assert {*plan.pop("chosen")} == {"format", "trainer", "log_grammar"}
    if os.environ.get("UPDATE_GOLDEN_PLANS"):
        path.write_text(json.dumps(plan, indent=2, ensure_ascii=False) + "\n", "utf-8")
    assert plan == json.loads(path.read_text("utf-8"))


def test_every_example_has_its_golden_plan() -> None:
    examples = {path.stem for path in (ROOT / "examples/nxdt").glob("*.yaml")}
    assert {path.stem for path in GOLDEN.iterdir()} == set(EXAMPLES) == examples


def of_yaml(config: t.Any) -> dict[str, t.Any]:
    """Return the plan of a config given as plain data; JSON is YAML as well."""
    return make_plan(json.dumps(config), "c.yaml", {"training_framework": "nxdt", "container_engine": "none"}, trn(1))


@pytest.mark.parametrize(("name", "other"), [(MEGATRON, None), (DPO, MEGATRON)])
def test_no_value_whatever_breaks_a_plan(name: str, other: str | None) -> None:
    """Every key that the other one lacks is left out once, and gets one of the values; the next key gets the next.

    The keys that a plan does not read get every value, all of them at once.
    """
    config = OmegaConf.to_container(OmegaConf.create(text_of(name)), resolve=False)
    tried = {*paths_of(OmegaConf.to_container(OmegaConf.create(text_of(other)), resolve=False))} if other else set()
    values = [*ANYTHING, "${a", "${none}", "${.}", "???", 3.5e-4]
    unread = [path for path in paths_of(config) if KEYS.get(".".join(map(str, path[:-1])), {}).get(path[-1])]
    for value in values:
        # YAML takes its time to be read.
        shorter = value[:1000] if isinstance(value, str) else value
        check_promises(of_yaml(with_values(config, unread, shorter)))
    read = [path for path in paths_of(config) if path not in unread and path not in tried]
    for path, value in zip(read, itertools.cycle(values), strict=False):
        check_promises(of_yaml(without(config, path)))
        check_promises(of_yaml(with_value(config, path, value)))


@pytest.mark.parametrize("section", ["trainer", "model", "data", "precision", "trainops", "exp_manager"])
@pytest.mark.parametrize("value", [None, [], {}, "x", 1, "${none}", {"a": 1}])
def test_no_section_whatever_breaks_a_plan(section: str, value: t.Any) -> None:
    config = OmegaConf.to_container(OmegaConf.create(text_of(DPO)), resolve=False)
    check_promises(of_yaml(with_value(config, (section,), value)))


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", "5", "x", "{", "\x00", "[" * 2000, "a: b: c", "a: 1\na: 2", "? [a]\n: b", "\ufeff{}"],
)
def test_no_text_whatever_breaks_a_plan(text: str) -> None:
    for hosts in (0, 4) if len(text) < 100 else (1,):
        check_promises(make_plan(text, "c.yaml", {"training_framework": "nxdt"}, trn(hosts)))


@pytest.mark.parametrize("name", [SFT])
@pytest.mark.parametrize("hosts", [0, 1, 2, 3])
def test_no_number_of_hosts_breaks_a_plan(name: str, hosts: int) -> None:
    check_promises(planned_nxdt(name, hosts=hosts))
