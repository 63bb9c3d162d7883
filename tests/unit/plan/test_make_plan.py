"""Plans as a whole: compared with golden ones, and never broken by any value in a config.

``UPDATE_GOLDEN_PLANS=1 pytest tests/unit/plan/test_make_plan.py`` writes tests/data/plans anew; look at the diff. A
sample of all values is tried in the place of all keys; `make mutations` tries each, as CI does every week.
"""

from __future__ import annotations

import copy
import functools
import itertools
import json
import operator
import os
import typing as t
from random import Random

import gke_configs
import maxtext_configs
import pytest
from training_configs import (
    BRANCH,
    DEEPSEEK,
    DISTRIBUTED,
    ROOT,
    SINGLE,
    SINGLE_MI35X,
    TINY,
    example,
    filled,
    keys,
    nodes,
    only,
    planned,
)

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.megatron.script_options import (
    ScriptOptions,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.options import PlanOptions
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan_text import plan_text
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.words import key_path, shown

T = t.TypeVar("T")
GOLDEN = ROOT / "tests/data/plans"
LOCAL = [Node("node0", "node0", "me", local=True), Node("node1", "node1", "me", local=True)]
CASES: dict[str, tuple[t.Any, list[Node], dict[str, t.Any]]] = {
    "distributed_llama3_1_8b_mi300x_4_nodes": (filled(DISTRIBUTED), nodes(4), {"container_engine": "docker"}),
    "distributed_llama3_1_70b_mi325_2_nodes": (
        filled(DISTRIBUTED, {"config/nnodes": "2"}),
        nodes(2),
        {"training_model": "llama3_1_70b", "training_gpu": "MI325X", "training_run_id": "golden"},
    ),
    "single_llama3_1_8b_mi300x_2_nodes": (filled(SINGLE, {"config/nnodes": "2"}), nodes(2), {}),
    "single_llama3_1_70b_mi355_1_node": (
        filled(SINGLE_MI35X, {"config/nnodes": "1"}),
        nodes(1),
        {"training_model": "llama3_1_70b", "training_gpu": "mi355x", "training_record_only": True},
    ),
    "single_deepseek_v2_lite_mi300x_1_node": (
        filled(DEEPSEEK, {"config/nnodes": "1"}),
        nodes(1),
        {"training_model": "deepseek_v2_lite", "container_engine": "podman"},
    ),
    "distributed_as_it_comes": (example(DISTRIBUTED), nodes(4), {}),
    "tiny_llama": (
        json.loads(TINY.read_text("utf-8")),
        LOCAL,
        {
            "training_model": "",
            "training_gpu": "",
            "training_gpus_per_node": 1,
            "training_megatron_root": "/collection/trainer",
            "container_engine": "none",
        },
    ),
}
MAXTEXT: dict[str, tuple[t.Any, list[Node], dict[str, t.Any]]] = {
    "maxtext_llama3_1_70b_mi300x_2_nodes": (maxtext_configs.filled(), nodes(2), {"container_engine": "docker"}),
    "maxtext_llama3_1_405b_mi300x_4_nodes": (maxtext_configs.filled(maxtext_configs.FOUR_NODES), nodes(4), {}),
    "maxtext_llama3_1_70b_mi300x_single_node": (maxtext_configs.filled(), nodes(2), {"training_mode": "single_node"}),
    "maxtext_later_shape": (maxtext_configs.later_shape(), nodes(2), {}),
    "maxtext_llama2_70b_tpu_v5p_4_nodes": (maxtext_configs.tpu(), nodes(4), maxtext_configs.ON_TPU),
    "maxtext_llama2_7b_h100_2_nodes": (maxtext_configs.script(), nodes(2), {"container_engine": "docker"}),
    "maxtext_llama2_70b_gke_v5p": (gke_configs.on_gke(), [], gke_configs.ON_GKE),
    "maxtext_as_it_comes": (maxtext_configs.filled(changes={"config/coordinator_ip": "X.X.X.X"}), nodes(2), {}),
}
CASES |= {
    name: (config, hosts, {"training_model": "", "training_gpu": "", **options})
    for name, (config, hosts, options) in MAXTEXT.items()
}

# Anything that may replace a value.
ANYTHING: list[t.Any] = [
    *(None, [], {}, "", "abc", "-1", "0", 1.5, True, "<changeme>", "a;b", "$(x)", "x" * 100_000, [[["a"]]]),
    *("9" * 5000, 10**400, 0, -1, "1e999", 1e300, [None], {"": ""}, {"a": {"b": 1}}, "{user-id}", "{home}", "\u0000"),
]
FEW = 120


def tried(every: list[T], seed: str | int = 14, few: int = FEW) -> list[T]:
    return every if os.environ.get("TRAINOPS_ALL_MUTATIONS") else Random(seed).sample(every, few)


@pytest.mark.parametrize("name", CASES)
def test_golden_plans(name: str) -> None:
    config, hosts, options = CASES[name]
    plan = planned(config, hosts, **options)
    path = GOLDEN / f"{name}.json"
    # test_choice.py covers this key.
    assert {*plan.pop("chosen")} == {"format", "trainer", "log_grammar"}
    if os.environ.get("UPDATE_GOLDEN_PLANS"):
        path.write_text(json.dumps(plan, indent=2, ensure_ascii=False) + "\n", "utf-8")
    assert plan == json.loads(path.read_text("utf-8"))


def test_every_golden_plan_has_its_case() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.json")) == sorted(CASES)


def test_every_example_has_its_golden_plan() -> None:
    """A case is made of an example if the two have the same models and GPUs in the same modes, and GKE or not."""

    def shape(config: dict[str, t.Any]) -> str:
        offered = config["model_params"].items()
        branches = {mode: {name: [*gpus] for name, gpus in models.items()} for mode, models in offered}
        return f"{'gke' in config['config']} {branches}"

    cases = {shape(config) for config, _hosts, _options in CASES.values()}
    examples = [*(ROOT / "examples/megatron").iterdir(), *(ROOT / "examples/maxtext").iterdir()]
    assert {path.name for path in examples if shape(json.loads(path.read_text("utf-8"))) not in cases} == set()


def paths_of(value: t.Any, *path: t.Any) -> t.Iterator[tuple[t.Any, ...]]:
    """Yield the path of everything in a config: of sections, of lists, and of every leaf."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in parts:
        yield (*path, key)
        yield from paths_of(inner, *path, key)


def value_at(config: t.Any, path: tuple[t.Any, ...]) -> t.Any:
    return functools.reduce(operator.getitem, path, config)


def with_values(config: t.Any, paths: t.Iterable[tuple[t.Any, ...]], value: t.Any) -> t.Any:
    changed = copy.deepcopy(config)
    for path in paths:
        value_at(changed, path[:-1])[path[-1]] = value
    return changed


def with_value(config: t.Any, path: tuple[t.Any, ...], value: t.Any) -> t.Any:
    return with_values(config, [path], value)


def without(config: t.Any, path: tuple[t.Any, ...]) -> t.Any:
    changed = copy.deepcopy(config)
    del value_at(changed, path[:-1])[path[-1]]
    return changed


def check_promises(plan: dict[str, t.Any]) -> None:
    json.dumps(plan, allow_nan=False)
    assert (plan["nodes"] == []) is bool(plan["faults"])
    for finding in plan["faults"] + plan["warnings"]:
        assert set(finding) == {"key", "value", "message", "remedy"}
        for sentence in (finding["message"], finding["remedy"]):
            assert sentence.endswith((".", "?")), sentence
            assert len(sentence) < 1000, sentence
        assert finding["key"]
    assert all(note.endswith(".") for note in plan["notes"])
    assert len({json.dumps(fault) for fault in plan["faults"]}) == len(plan["faults"])
    assert plan_text(plan)


def check_every_value(config: t.Any, branch: tuple[str, ...], plan_of: t.Callable[[t.Any], dict[str, t.Any]]) -> None:
    """Leave every key out, put every value in the place of all keys, and in the place of each if the rest is right.

    Keys that a run does not read, notes and other branches, are planned once for each value, all of them at once. A
    value that a key refuses means nothing to all code that follows, so one of them stands for the others of that key
    there; a plan with the value in the place of every key shows the message for each of them. In the place of an object
    stands any other object, and one value that is not an object.
    """
    paths = list(paths_of(config))
    leaves = [path for path in paths if path not in {other[:-1] for other in paths}]
    unread = {
        path for path in leaves if str(path[-1]).startswith("_") or (len(path) > 4 and path[: len(branch)] != branch)
    }
    read = [path for path in paths if path not in unread]
    for path in read:
        check_promises(plan_of(without(config, path)))
    refused: set[tuple[t.Any, ...]] = set()
    alone: list[tuple[tuple[t.Any, ...], t.Any]] = []
    for value in ANYTHING:
        check_promises(plan_of(with_values(config, unread, value)))
        everywhere = plan_of(with_values(config, leaves, value))
        check_promises(everywhere)
        untyped = {fault["key"] for fault in everywhere["faults"] if f" is {shown(value)}, which " in fault["message"]}
        for path in read:
            is_refused = (
                key_path("", *path) in untyped
                if path in leaves
                else value is not None and isinstance(value_at(config, path), dict) and not isinstance(value, dict)
            )
            if not (is_refused and path in refused):
                alone.append((path, value))
            if is_refused:
                refused.add(path)
    for path, value in tried(alone):
        check_promises(plan_of(with_value(config, path, value)))


@pytest.mark.slow
def test_no_value_whatever_breaks_a_plan_for_maxtext() -> None:
    branch = ("model_params", "multi_node", "llama3.1-70b", "mi300x")
    check_every_value(
        maxtext_configs.later_shape(),
        branch,
        lambda config: maxtext_configs.planned(config, training_framework="maxtext"),
    )


@pytest.mark.parametrize(
    ("name", "mode", "model", "gpu"),
    [
        (DISTRIBUTED, "multi_node", "llama3_1_8b", "mi300x"),
        pytest.param(SINGLE, "single_node", "llama3_1_8b", "mi325", marks=pytest.mark.slow),
        pytest.param(SINGLE_MI35X, "single_node", "llama3_1_8b", "mi355", marks=pytest.mark.slow),
        pytest.param(DEEPSEEK, "single_node", "deepseek_v2_lite", "mi325", marks=pytest.mark.slow),
    ],
    ids=["multi", "single", "mi35x", "deepseek"],
)
def test_no_value_whatever_breaks_a_plan(name: str, mode: str, model: str, gpu: str) -> None:
    options = {"training_gpu": gpu, **({"training_model": ""} if name == DEEPSEEK else {})}
    assert planned(filled(name), **options)["faults"] == []
    check_every_value(filled(name), ("model_params", mode, model, gpu), lambda config: planned(config, **options))


def test_no_value_of_a_script_option_breaks_a_plan() -> None:
    for key, value in tried(list(itertools.product(ScriptOptions.model_fields, ANYTHING))):
        check_promises(planned(filled(DISTRIBUTED, {f"{BRANCH}/{key}": value})))


@pytest.mark.parametrize("other", ["config/nnodes", "config/log_dir", "config/nccl_ib_gid_index"])
def test_one_wrong_value_hides_no_other(other: str) -> None:
    """Every fault of a config with two wrong values is one of a config with one of them, and the other way round."""
    wrong = filled(DISTRIBUTED, {other: "wrong;"})
    own = {json.dumps(fault) for fault in planned(wrong)["faults"]}
    branch = ("model_params", "multi_node", "llama3_1_8b", "mi300x")
    read = [
        path for path in paths_of(wrong) if len(path) > 1 and (path[0] == "config" or path[: len(branch)] == branch)
    ]
    values: list[t.Any] = ["a;b", "7", [], "<changeme>"]
    pairs = itertools.product((path for path in read if "/".join(map(str, path)) != other), values)
    for path, value in tried(list(pairs)):
        alone = {json.dumps(fault) for fault in planned(with_value(filled(DISTRIBUTED), path, value))["faults"]}
        both = {json.dumps(fault) for fault in planned(with_value(wrong, path, value))["faults"]}
        assert both == alone | own, (path, value)


@pytest.mark.parametrize("name", PlanOptions.model_fields)
def test_no_option_whatever_breaks_a_plan(name: str) -> None:
    text = json.dumps(filled(DISTRIBUTED))
    for value in tried(ANYTHING, name, 9):
        check_promises(planned(text, **{name: value}))


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", "5", '"x"', "{", "\x00", "[" * 100_000, '{"config": {}}', "\ufeff{}"],
    ids=lambda text: text[:20],
)
@pytest.mark.parametrize("hosts", [0, 1, 4])
def test_no_text_whatever_breaks_a_plan(text: str, hosts: int) -> None:
    plan = planned(text, hosts)
    check_promises(plan)
    assert plan["faults"]


def test_a_file_that_cannot_be_read_is_a_fault_beside_those_of_the_options() -> None:
    plan = make_plan("", "gone.json", {"training_mode": "both"}, nodes(1), unreadable="No such file or directory")
    assert keys(plan["faults"]) == ["training_mode", "training_config"]
    assert plan["faults"][1]["message"] == "gone.json cannot be read: No such file or directory."
    assert plan["nodes"] == []


def test_no_file_at_all_is_a_fault_with_what_to_say() -> None:
    fault = only(make_plan("", "", {}, nodes(1), unreadable="No such file or directory")["faults"])
    assert (fault["key"], fault["value"], fault["message"]) == ("training_config", None, "No training config is set.")
    assert "-e training_config=FILE" in fault["remedy"]


def test_without_hosts_everything_else_is_checked_all_the_same() -> None:
    config = filled(DISTRIBUTED, {"config/nccl_ib_hca_list": "a,a", "config/shm_size": "lots"})
    assert keys(planned(config, 0)["faults"]) == ["training_hosts", "config.shm_size", "config.nccl_ib_hca_list"]


def test_the_run_id_is_made_of_time_model_and_gpu_or_given() -> None:
    assert planned(filled(DISTRIBUTED))["run_id"] == "now-llama3_1_8b-mi300x"
    assert planned(filled(DISTRIBUTED), training_run_id="night-7")["run_id"] == "night-7"


def test_a_plan_with_faults_says_what_was_asked_for() -> None:
    plan = planned(example(DISTRIBUTED), training_gpu="mi300")
    assert (plan["schema_version"], plan["framework"], plan["config_file"]) == (1, "megatron", "config.json")
    assert (plan["parameters"], plan["expected"], plan["nodes"], plan["run_id"]) == ({}, [], [], "")
