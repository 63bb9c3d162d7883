# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of thresholds in AMD CVS's format, and their effect in a plan."""

from __future__ import annotations

import json
import typing as t

import maxtext_configs
import pytest
from training_configs import BRANCH, DISTRIBUTED, filled, nodes, only

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.thresholds import bound_in_words, limits
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan_text import plan_text
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.threshold_files import ThresholdsFile, thresholds_of

FACTS = {
    "micro_batch_size": 1,
    "global_batch_size": 64,
    "precision": "fp8",
    "nnodes": 2,
    "iterations": 30,
    "sequence_length": 8192,
    "gpus": 16,
}
# The shape of the files of CVS for Megatron-LM, and of those for MaxText; the numbers are made up.
MEGATRON = {
    "_comment": "Thresholds.",
    "MBS=1,GBS=64,PRECISION=BF16": {"training.tokens_per_gpu": {"kind": "min", "value": 1}},
    "MBS=1,GBS=64,PRECISION=FP8": {
        "training.throughput_per_gpu": {"kind": "min", "value": 100},
        "training.elapsed_time_per_iteration": {"kind": "max_ms", "value": 500},
        "training.tokens_per_gpu": {"kind": "min_tok_s", "value": 1000},
        "training.mem_usage": {"kind": "max", "value": 0.85, "optional": True},
        "training.scaling_efficiency_pct": {"kind": "info", "value": 85.0, "optional": True},
    },
}
MAXTEXT = {
    "NN2_ST30_FP8_B1_SL8192": {
        "training.tflops_per_sec_per_gpu": {"kind": "within", "value": 400.0, "tolerance_pct": 5},
        "training.tokens_per_sec_total": {"kind": "min", "value": 160000.0},
        "training.tokens_per_sec_per_gpu": {
            "kind": "min_ratio",
            "value": 0.5,
            "reference": "training.tflops_per_sec_per_gpu",
        },
        "training.step_time_seconds": {"kind": "info", "value": 3600.0},
        "training.step_time_p95_ms": {"kind": "max", "value": 900.0},
        "training.final_loss": {"kind": "max", "value": 15.0},
        "training.loss_decreased": {"kind": "min", "value": 1},
        "training.eval_loss": {"kind": "info", "value": 100.0},
    },
}


def read(data: t.Any, **facts: t.Any) -> tuple[list[dict[str, t.Any]], Findings]:
    findings = Findings()
    text = data if isinstance(data, str) else json.dumps(data)
    return thresholds_of(ThresholdsFile("t.json", text), FACTS | facts, findings), findings


def test_the_cell_of_the_run_is_taken_from_a_file_for_megatron() -> None:
    bounds, findings = read(MEGATRON)
    assert findings.faults == findings.warnings == []
    assert bounds == [
        {"metric": "tflops_per_gpu", "kind": "min", "value": 100.0},
        {"metric": "step_time_ms", "kind": "max", "value": 500.0},
        {"metric": "tokens_per_sec_per_gpu", "kind": "min", "value": 1000.0},
        {"metric": "memory_fraction", "kind": "max", "value": 0.85, "optional": True},
    ]


def test_the_cell_of_the_run_is_taken_from_a_file_for_maxtext() -> None:
    bounds, findings = read(MAXTEXT)
    assert findings.faults == findings.warnings == []
    assert bounds == [
        {"metric": "tflops_per_gpu", "kind": "within", "value": 400.0, "tolerance_pct": 5.0},
        {"metric": "tokens_per_sec_per_gpu", "kind": "min", "value": 10000.0},
        {"metric": "tokens_per_sec_per_gpu", "kind": "ratio", "value": 0.5, "reference": "tflops_per_gpu"},
        {"metric": "step_time_ms", "kind": "info", "value": 3600000.0, "statistic": "mean"},
        {"metric": "step_time_ms", "kind": "max", "value": 900.0, "statistic": "p95"},
        {"metric": "loss", "kind": "max", "value": 15.0},
    ]


OF_TARGET = {
    "training.steps_to_target": {"kind": "max", "value": 100},
    "training.time_to_target_seconds": {"kind": "info", "value": 60},
}


def test_how_soon_a_loss_is_reached_is_judged_where_the_config_has_a_loss_to_reach() -> None:
    bounds, findings = read(OF_TARGET, target_loss=10.0)
    assert findings.faults == findings.warnings == []
    assert bounds == [
        {"metric": "steps_to_target_loss", "kind": "max", "value": 100.0},
        {"metric": "time_to_target_loss", "kind": "info", "value": 60.0},
    ]
    bounds, findings = read(OF_TARGET, target_loss=None)
    assert (bounds, findings.faults) == ([], [])
    assert "convergence.target_value" in only(findings.warnings)["remedy"]


def test_bounds_that_stand_in_no_cell_are_for_every_run() -> None:
    bounds, findings = read({"tokens_per_sec_per_gpu": {"kind": "ratio", "value": 0.95, "reference": 12000}})
    assert (len(bounds), findings.faults) == (1, [])
    assert limits(bounds[0]) == (11400.0, None)


@pytest.mark.parametrize(
    ("metric", "value", "reference", "least"),
    [
        ("tokens_per_sec_total", 0.95, 192000, 11400.0),
        ("step_time_seconds", 0.5, 3, 1500.0),
        # 8 of 16 GPUs count like half of a single one.
        ("tokens_per_sec_total", 8, "training.tokens_per_gpu", 0.5),
        ("tokens_per_gpu", 0.05, "tokens_per_sec_total", 0.8),
    ],
)
def test_a_ratio_is_one_of_metrics_in_their_own_units(
    metric: str, value: float, reference: t.Any, least: float
) -> None:
    bounds, findings = read({metric: {"kind": "min_ratio", "value": value, "reference": reference}})
    assert findings.faults == []
    measured = 1.0 if isinstance(reference, str) else None
    assert limits(only(bounds), measured) == (pytest.approx(least), None)


def test_a_run_that_no_cell_is_for_is_told_what_differs() -> None:
    bounds, findings = read(MEGATRON, global_batch_size=128)
    assert bounds == []
    message = only(findings.as_dict()["faults"])["message"]
    assert message == (
        "No cell of t.json matches this run; in the closest one, MBS=1,GBS=64,PRECISION=FP8, global_batch_size is "
        "64 instead of 128."
    )


def test_the_only_cell_of_a_file_is_not_taken_for_another_run() -> None:
    bounds, findings = read(MAXTEXT, nnodes=4, precision="bf16")
    assert bounds == []
    message = only(findings.as_dict()["faults"])["message"]
    assert "NN2_ST30_FP8_B1_SL8192, nnodes is 2 instead of 4 and precision is fp8 instead of 'bf16'" in message


def test_the_only_cell_of_a_file_is_taken_where_its_name_tells_no_size() -> None:
    bounds, findings = read({"usual": MEGATRON["MBS=1,GBS=64,PRECISION=BF16"]})
    assert (len(bounds), findings.faults) == (1, [])
    assert "although its name gives no sizes" in only(findings.as_dict()["warnings"])["message"]
    cell = MEGATRON["MBS=1,GBS=64,PRECISION=BF16"]
    assert read({"usual": cell, "other": {}})[1].faults[0]["message"] == "No cell of t.json matches this run."


def test_a_run_has_the_cell_with_its_name_even_if_that_names_no_size_that_is_known() -> None:
    cells = {name: {"tokens_per_gpu": {"kind": "min", "value": value}} for name, value in (("usual", 1), ("TP=8", 2))}
    for name, value in (("usual", 1), ("TP=8", 2)):
        bounds, findings = read(cells, cell=name)
        assert ([bound["value"] for bound in bounds], findings.faults, findings.warnings) == ([value], [], [])


# Of CVS's 21 cells for MaxText 11 have a GBS that is not the global batch size.
WHOLE = "NNODES=2,STEPS=30,PRECISION=FP8,BATCH=1,GBS=640,SEQLEN=8192"


@pytest.mark.parametrize(
    ("facts", "differing"),
    [
        ({}, ""),
        ({"micro_batch_size": 1.0}, ""),
        ({"global_batch_size": 640}, ""),
        ({"nnodes": 16}, "nnodes is 2 instead of 16"),
        ({"iterations": 10}, "iterations is 30 instead of 10"),
        ({"precision": "bf16"}, "precision is fp8 instead of 'bf16'"),
        ({"micro_batch_size": 2}, "micro_batch_size is 1 instead of 2"),
        ({"sequence_length": 4096}, "sequence_length is 8192 instead of 4096"),
    ],
)
def test_a_cell_is_taken_by_its_whole_name_in_which_gbs_beside_batch_is_a_label(
    facts: dict[str, t.Any], differing: str
) -> None:
    bounds, findings = read({WHOLE: MAXTEXT["NN2_ST30_FP8_B1_SL8192"]}, **facts)
    assert bool(bounds) is (not differing)
    assert [differing in fault["message"] for fault in findings.faults] == [True] * bool(differing)


def test_a_part_of_a_name_that_nothing_is_known_of_is_no_match_and_the_longer_name_goes_first() -> None:
    bound = {"tokens_per_gpu": {"kind": "min", "value": 1}}
    _, findings = read({"MBS=1,TP=8": bound})
    assert "TP is not a known size" in only(findings.as_dict()["faults"])["message"]
    bounds, _ = read({"MBS=1": bound, "MBS=1,GBS=64": {"tokens_per_gpu": {"kind": "min", "value": 2}}})
    assert [bound["value"] for bound in bounds] == [2]


def test_a_scaling_efficiency_is_a_part_of_the_throughput_where_the_baseline_was_measured() -> None:
    cell = {"training.scaling_efficiency_pct": {"kind": "min", "value": 85.0}}
    bounds, findings = read({"scaling_baseline": {"tokens_per_sec_total": 96000, "num_nodes": 1}, "MBS=1": cell})
    assert findings.faults == findings.warnings == []
    assert bounds == [{"metric": "tokens_per_sec_per_gpu", "kind": "ratio", "value": 0.85, "reference": 12000.0}]
    zero = {"scaling_baseline": {"tokens_per_sec_total": 0.0, "num_nodes": 1}}
    for none, why in ((zero, "its baseline is 0 tokens/s"), ({}, "there is no baseline")):
        bounds, findings = read({**none, "MBS=1": cell})
        assert (bounds, findings.faults) == ([], [])
        assert why in only(findings.as_dict()["warnings"])["message"]
    for wrong in (5, {"tokens_per_sec_total": "5"}):
        bounds, findings = read({"scaling_baseline": wrong, "MBS=1": cell})
        assert bounds == []
        assert "has no throughput" in only(findings.as_dict()["faults"])["message"]
    _, findings = read({"MBS=1": {"scaling_efficiency_pct": {"kind": "max", "value": 85.0}}})
    assert "needs kind min" in only(findings.as_dict()["faults"])["message"]


FAULTS: list[tuple[str, t.Any, str]] = [
    ("no json", "{", "not valid JSON"),
    (
        "not a number",
        '{"MBS=1": {"training.tokens_per_gpu": {"kind": "min", "value": NaN}}}',
        "The value is not a number",
    ),
    ("a list", [], "t.json contains a list, not an object"),
    ("a cell twice", '{"MBS=1": {}, "MBS=1": {}}', "MBS=1 is given more than once"),
    ("no cell", {"_comment": "x"}, "t.json contains no thresholds"),
    ("DeepSpeed's", {"fp16": {"enabled": True}, "zero_optimization": {"stage": 1}}, "t.json contains no thresholds"),
    ("no kind", {"MBS=1": {"tokens_per_gpu": {"value": 5}}}, "The kind of the threshold is not known"),
    ("a number", {"MBS=1": {"tokens_per_gpu": 5}}, "A threshold must be an object"),
    ("no value", {"MBS=1": {"tokens_per_gpu": {"kind": "min", "value": "5"}}}, "The value is not a number"),
    ("too great", '{"MBS=1": {"tokens_per_gpu": {"kind": "min", "value": 1e999}}}', "The value is not a number"),
    ("not measured", {"MBS=1": {"eval_loss": {"kind": "max", "value": 5}}}, "eval_loss is not measured"),
    ("no tolerance", {"MBS=1": {"tokens_per_gpu": {"kind": "within", "value": 5}}}, "within needs a tolerance_pct"),
    (
        "a reference by another statistic",
        {"MBS=1": {"tokens_per_gpu": {"kind": "ratio", "value": 1, "reference": "step_time_p95_ms"}}},
        "by its own statistic",
    ),
    ("no reference", {"MBS=1": {"tokens_per_gpu": {"kind": "ratio", "value": 1}}}, "ratio needs a reference"),
]


@pytest.mark.parametrize(("data", "message"), [case[1:] for case in FAULTS], ids=[case[0] for case in FAULTS])
def test_what_is_wrong_with_a_file_is_told(data: t.Any, message: str) -> None:
    bounds, findings = read(data)
    assert bounds == []
    assert message in only(findings.as_dict()["faults"])["message"]


def test_all_faults_of_a_cell_are_told_at_once_with_their_place() -> None:
    _, findings = read({"MBS=1": {"tokens_per_gpu": 5, "training.mem_usage": {"kind": "most", "value": 1}}})
    assert [fault["key"] for fault in findings.as_dict()["faults"]] == [
        "t.json: MBS=1.tokens_per_gpu",
        't.json: MBS=1["training.mem_usage"]',
    ]


def planned(thresholds: ThresholdsFile, changes: t.Any = None, **options: t.Any) -> dict[str, t.Any]:
    named = {"training_model": "llama3_1_8b", "training_gpu": "mi300x", "training_thresholds": thresholds.source}
    config = json.dumps(filled(DISTRIBUTED, changes))
    return make_plan(config, "config.json", named | options, nodes(4), "now", thresholds=thresholds)


def file_for_the_plan(**bounds: t.Any) -> ThresholdsFile:
    return ThresholdsFile("t.json", json.dumps({"PRECISION=FP8": bounds}))


def test_a_file_stands_in_place_of_the_thresholds_of_the_config() -> None:
    file = file_for_the_plan(tokens_per_gpu={"kind": "within", "value": 12000, "tolerance_pct": 5})
    plan = planned(file, {f"{BRANCH}/result_dict/tokens_per_gpu": "<changeme>"})
    assert plan["faults"] == []
    assert plan["expected"] == [
        {"metric": "tokens_per_sec_per_gpu", "kind": "within", "value": 12000.0, "tolerance_pct": 5.0}
    ]
    assert "judged by  tokens/s per GPU 12,000 ± 5 %" in plan_text(plan)


@pytest.mark.parametrize(
    ("source", "warned"),
    [
        ("mi300x_megatron_llama-3.1-8b_distributed_threshold.json", []),
        ("/x/mi355x/MI300_megatron_llama3-8b.json", []),
        ("mi325x_jaxmaxtext_llama-3.3-70b_distributed_threshold.json", ["maxtext", "llama3.3-70b", "mi325x"]),
        ("thresholds_of_llama2_7b.json", ["llama2-7b"]),
    ],
)
def test_a_file_that_is_named_after_another_framework_model_or_gpu_is_a_warning(source: str, warned: list[str]) -> None:
    file = file_for_the_plan(tokens_per_gpu={"kind": "min", "value": 1})._replace(source=source)
    plan = planned(file)
    assert plan["faults"] == []
    assert [warning["message"].partition(" says ")[2].partition(",")[0] for warning in plan["warnings"]] == warned


@pytest.mark.parametrize(
    ("changes", "cell"),
    [
        ({"precision": "TE_FP8"}, "FP8"),
        ({"precision": "TE_FP8", "fp8_recipe": "delayed"}, "FP8"),
        ({"precision": "TE_FP8", "fp8_recipe": "mxfp8"}, "MXFP8"),
        ({"precision": "TE_FP4", "fp4_recipe": "mxfp4"}, "MXFP4"),
        ({"precision": "TE_FP4"}, "NVFP4"),
        ({"precision": "TE_BF16"}, "BF16"),
    ],
)
def test_the_precision_of_a_cell_is_that_of_the_recipe(changes: dict[str, str], cell: str) -> None:
    cells = {f"PRECISION={name}": {"tokens_per_gpu": {"kind": "min", "value": 1}} for name in ("FP8", "FP4", "BF16")}
    cells |= {f"PRECISION={name}": {"loss": {"kind": "max", "value": 1}} for name in ("MXFP8", "MXFP4", "NVFP4")}
    paths = {f"{BRANCH}/{key}": value for key, value in changes.items()}
    image = {"config/container_image": "rocm/megatron-lm:v26.1"}
    plan = planned(ThresholdsFile("t.json", json.dumps(cells)), paths | image)
    assert plan["faults"] == []
    assert plan["expected"][0]["metric"] == ("loss" if len(cell) == 5 else "tokens_per_sec_per_gpu")
    others = {name: bounds for name, bounds in cells.items() if name != f"PRECISION={cell}"}
    assert planned(ThresholdsFile("t.json", json.dumps(others)), paths | image)["faults"]


def test_a_faulty_file_stops_the_plan() -> None:
    for file in (ThresholdsFile("t.json", "{"), ThresholdsFile("gone.json", "", "No such file or directory")):
        plan = planned(file)
        assert (only(plan["faults"])["key"], plan["nodes"], plan["workload"]) == ("training_thresholds", [], None)


def test_a_file_whose_cell_judges_nothing_makes_a_run_that_is_only_recorded() -> None:
    plan = planned(file_for_the_plan(tokens_per_gpu={"kind": "info", "value": 1}))
    assert (plan["faults"], plan["record_only"]) == ([], True)
    assert [found["key"] for found in plan["warnings"] if "NO THRESHOLD" in found["message"]] == ["training_thresholds"]


def test_a_run_that_is_only_recorded_or_rehearsed_needs_no_thresholds() -> None:
    broken = ThresholdsFile("t.json", "{")
    assert planned(broken, training_record_only=True)["expected"] == []
    assert planned(broken, training_rehearsal=True)["expected"] == []


def test_a_threshold_beyond_the_peak_is_told_as_impossible() -> None:
    """CVS ships a config for MaxText that asks 1,800 TFLOP/s of an MI300X in BF16."""
    config = maxtext_configs.filled(
        changes={f"{maxtext_configs.BRANCH}/result_dict": {"tflops_per_sec_per_gpu": "1800"}}
    )
    plan = maxtext_configs.planned(config)
    warning = only([one for one in plan["warnings"] if "impossible" in one["message"]])
    assert warning["message"] == (
        "TFLOP/s per GPU ≥ 1,800 is impossible: the peak of mi300x in bf16 is 1,307.4 TFLOP/s."
    )
    assert plan["faults"] == []


@pytest.mark.parametrize(
    ("bound", "impossible"),
    [
        ({"tokens_per_gpu": {"kind": "min", "value": 60_000}}, True),
        ({"tokens_per_gpu": {"kind": "min", "value": 40_000}}, False),
        ({"tokens_per_gpu": {"kind": "max", "value": 60_000}}, False),
        ({"elapsed_time_per_iteration": {"kind": "max", "value": 100}}, True),
        ({"elapsed_time_per_iteration": {"kind": "max", "value": 20_000}}, False),
        ({"tflops_per_gpu": {"kind": "within", "value": 2700, "tolerance_pct": 1}}, True),
        ({"tflops_per_gpu": {"kind": "info", "value": 9000}}, False),
        ({"loss": {"kind": "max", "value": 9000}}, False),
    ],
)
def test_tokens_and_step_times_are_impossible_by_the_model_flops(bound: t.Any, impossible: bool) -> None:
    warnings = planned(file_for_the_plan(**bound))["warnings"]
    assert any("impossible" in warning["message"] for warning in warnings) is impossible


def test_bounds_are_told_in_words() -> None:
    told = [
        bound_in_words({"metric": "tflops_per_gpu", **bound})
        for bound in (
            {"kind": "min", "value": 300.0},
            {"kind": "max", "value": 300.0},
            {"kind": "within", "value": 300.0, "tolerance_pct": 2.5},
            {"kind": "ratio", "value": 0.95, "reference": 320.0},
            {"kind": "ratio", "value": 0.95, "reference": "tokens_per_sec_per_gpu"},
            {"kind": "info", "value": 300.0},
        )
    ]
    assert told == [
        "TFLOP/s per GPU ≥ 300",
        "TFLOP/s per GPU ≤ 300",
        "TFLOP/s per GPU 300 ± 2.5 %",
        "TFLOP/s per GPU ≥ 95 % of 320",
        "TFLOP/s per GPU ≥ 95 % of the tokens/s per GPU",
        "TFLOP/s per GPU 300",
    ]
