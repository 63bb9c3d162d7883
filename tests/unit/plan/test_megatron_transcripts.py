# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that the scripts of each generation start, compared with a plan.

``tests/data/transcripts/megatron.json`` has, for each case, the variables of a plan and the options of torchrun that
the real script made of them. ``TRAINOPS_MEGATRON_SCRIPTS`` is a folder with a checkout of ROCm's Megatron-LM for each
generation (``v25.3/examples/llama/train_llama3.sh``, from the commits in `generations`): then the scripts run, and
``UPDATE_TRANSCRIPTS=1`` writes the file anew.
"""

from __future__ import annotations

import json
import os
import re
import typing as t
from pathlib import Path

import pytest
from script_runs import Ran, options_of, run_script
from training_configs import BRANCH, DEEPSEEK, DEEPSEEK_BRANCH, DISTRIBUTED, ROOT, filled, keys, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.model import variable_of, words_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.megatron.script_options import (
    ScriptOptions,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.architecture import KNOWN_MODELS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.environment_variables import recording
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.trainers.rocm_scripts import generations as facts

SCRIPTS = os.environ.get("TRAINOPS_MEGATRON_SCRIPTS", "")
UPSTREAM = pytest.mark.skipif(
    not SCRIPTS, reason="TRAINOPS_MEGATRON_SCRIPTS names no folder with a checkout of ROCm's Megatron-LM per generation"
)
FILE = ROOT / "tests/data/transcripts/megatron.json"
RELEASES = {facts.V24_12: "24.12", facts.V25_3: "25.3", facts.V25_5: "25.5", facts.V26_1: "26.1"}
LLAMA3_8B, LLAMA2_7B, LLAMA2_70B, LITE = "llama3-8b", "llama2-7b", "llama2-70b", "deepseek2-16b"
FLAGS = {variable_of(field) for field in ScriptOptions.model_fields.values() if words_of(field) == "True or False"}
LEGACY, WORDS = "MOE_USE_LEGACY_GROUPED_GEMM", {"1": "true", "0": "false"}
REAL = {"config/mock_data": "False", "config/data_path": "/data/text"}
REAL_DEEPSEEK = {"config/mock_data": "False"}


class Case(t.NamedTuple):
    """A run: its training, the changes to its config, and its options."""

    model: str
    changes: dict[str, t.Any]
    options: dict[str, t.Any]


CASES = {
    "llama3": Case(LLAMA3_8B, {}, {}),
    "llama3, bf16, 4 GPUs, TP 2, PP 2": Case(
        LLAMA3_8B,
        {"tensor_parallelism": "2", "pipeline_parallelism": "2", "precision": "TE_BF16", "micro_batch_size": "1"},
        {"training_gpus_per_node": 4},
    ),
    "llama3, CP 2, dataset": Case(LLAMA3_8B, {"context_parallelism": "2", **REAL}, {}),
    "llama3, fsdp, recompute": Case(LLAMA3_8B, {"fsdp": "1", "recompute": "1", "sequence_length": "4096"}, {}),
    "llama2": Case(LLAMA2_7B, {"model_size": "7", "sequence_length": "4096"}, {}),
    "llama2, 70, TP 8": Case(
        LLAMA2_70B, {"model_size": "70", "sequence_length": "4096", "tensor_parallelism": "8"}, {}
    ),
    "deepseek": Case(LITE, {"sequence_length": "4096"}, {}),
    "deepseek, fp8, recompute": Case(
        LITE, {"sequence_length": "4096", "precision": "TE_FP8", "activation_checkpointing": "full"}, {}
    ),
}
# Settings that each generation cannot do, and refuses in the plan.
UNABLE = {
    ("llama3, CP 2, dataset", facts.V24_12),
    ("llama3, fsdp, recompute", facts.V24_12),
    ("llama3, fsdp, recompute", facts.V25_3),
    ("deepseek", facts.V24_12),
    ("deepseek, fp8, recompute", facts.V24_12),
}
# If two commits of a generation are known, a variable may be read by only one of them.
UNREAD = {(facts.LLAMA3, facts.V25_5): {"TOKENIZER_TYPE"}}
ABLE = [(name, generation) for generation in RELEASES for name in CASES if (name, generation) not in UNABLE]


ONE_OF_EACH = [case for case in ABLE if case[0] in ("llama3", "llama2", "deepseek")]


def plan_of(name: str, generation: str, folder: str = "/logs", **variables: str) -> dict[str, t.Any]:
    """Return the plan of a case for two nodes, with variables of the user's own."""
    case = CASES[name]
    branch = DEEPSEEK_BRANCH if case.model == LITE else BRANCH
    paths = {path if "/" in path else f"{branch}/{path}": value for path, value in case.changes.items()}
    image = {"config/container_image": f"rocm/megatron-lm:v{RELEASES[generation]}", "config/nnodes": "2"}
    common = {**image, "config/log_dir": folder, "config/container_config/env_dict": variables}
    config = filled(DEEPSEEK if case.model == LITE else DISTRIBUTED, common | paths)
    named = "deepseek_v2_lite" if case.model == LITE else "llama3_1_8b"
    models = config["model_params"]["single_node" if case.model == LITE else "multi_node"]
    if case.model.startswith("llama2"):
        models[named := case.model] = models.pop("llama3_1_8b")
    return planned(config, 2, training_model=named, **case.options)


def variables_of(node: dict[str, t.Any]) -> dict[str, str]:
    """Return a node's settings for its script, without those that vary from run to run or that only PyTorch reads."""
    own = ("TRAINOPS_RUN_ID", "TRAINOPS_NODE", "HF_TOKEN_PATH", "LOG_DIR", *recording({}))
    return {name: value for name, value in node["env"].items() if name not in own}


def wanted(plan: dict[str, t.Any], node: dict[str, t.Any], model: str) -> dict[str, str | None]:
    """Return the options that a plan stands for, None for options that must not be there."""
    sizes, deepseek = plan["parameters"], model == LITE
    # Its script of 2024 has other sizes for Llama 2 7B: Mistral 7B's.
    early = model == LLAMA2_7B and sizes["script_generation"] == facts.V24_12
    shape = KNOWN_MODELS["mistral-7b" if early else model]
    env = node["env"]
    common = {
        "--nproc_per_node": sizes["gpus_per_node"],
        "--nnodes": node["nnodes"],
        "--node_rank": node["node_rank"],
        "--tensor-model-parallel-size": sizes["tensor_parallelism"],
        "--pipeline-model-parallel-size": sizes["pipeline_parallelism"],
        "--micro-batch-size": sizes["micro_batch_size"],
        "--global-batch-size": sizes["global_batch_size"],
        "--seq-length": sizes["sequence_length"],
        "--train-iters": sizes["iterations"],
        "--num-layers": shape.layers,
        "--hidden-size": shape.hidden_size,
        "--ffn-hidden-size": shape.feed_forward_size,
        "--num-attention-heads": shape.attention_heads,
        "--bf16": "",
        "--fp8-format": "hybrid" if sizes["precision"] == "fp8" else None,
        "--recompute-granularity": "full" if sizes["recompute"] else None,
        "--mock-data": "" if sizes["mock_data"] else None,
    }
    of_script = (
        {
            "--expert-model-parallel-size": sizes["expert_parallelism"],
            "--num-experts": shape.experts.count,
            "--moe-router-topk": shape.experts.per_token,
            "--kv-lora-rank": shape.latent.key_value_rank,
            "--num-query-groups": None,
        }
        if deepseek
        else {
            "--master_addr": node["master_address"],
            "--master_port": node["master_port"],
            "--context-parallel-size": sizes.get("context_parallelism", 1),
            "--num-query-groups": shape.query_groups,
            "--use-torch-fsdp2": "" if sizes["fsdp"] else None,
            "--data-path": env.get("DATA_PATH"),
            **({"--tokenizer-model": env["TOKENIZER_MODEL"]} if "TOKENIZER_MODEL" in env else {}),
        }
    )
    return {name: value if value is None else str(value) for name, value in {**common, **of_script}.items()}


def check_options(options: dict[str, str], plan: dict[str, t.Any], node: dict[str, t.Any], model: str) -> None:
    """Hold the options of torchrun against the plan."""
    expected = wanted(plan, node, model)
    assert {name: options.get(name) for name in expected} == expected
    assert int(options["--max-position-embeddings"]) >= int(options["--seq-length"])


def transcripts() -> dict[str, t.Any]:
    loaded: dict[str, t.Any] = json.loads(FILE.read_text("utf-8"))
    return loaded


def test_there_is_a_transcript_of_every_case() -> None:
    assert list(transcripts()) == [f"{generation}, {name}" for name, generation in ABLE]


@pytest.mark.parametrize(("name", "generation"), ABLE)
def test_a_plan_is_what_the_script_of_its_generation_starts(name: str, generation: str) -> None:
    plan, transcript = plan_of(name, generation), transcripts()[f"{generation}, {name}"]
    assert plan["faults"] == []
    node = plan["nodes"][1]
    # Other variables may lead to other options: then the scripts have to run again.
    assert variables_of(node) == transcript["variables"]
    check_options(transcript["options"], plan, node, CASES[name].model)


@pytest.mark.parametrize(("name", "generation"), sorted(UNABLE))
def test_what_a_generation_cannot_do_is_refused(name: str, generation: str) -> None:
    assert plan_of(name, generation)["faults"]


def ran(plan: dict[str, t.Any], generation: str, folder: Path, place: int = 1) -> Ran:
    """Run a plan's command for a node."""
    node = plan["nodes"][place]
    return run_script(Path(SCRIPTS) / generation, folder, node["argv"], node["env"])


@UPSTREAM
def test_the_scripts_start_what_the_plans_say(tmp_path: Path) -> None:
    found = {}
    for name, generation in ABLE:
        folder = tmp_path / generation
        folder.mkdir(exist_ok=True)
        plan = plan_of(name, generation, str(folder / "logs"))
        done = ran(plan, generation, folder)
        assert (done.status, done.argv is None) == (0, False), done.output
        options = options_of(done.argv or [])
        node = plan["nodes"][1]
        check_options(options, plan, node, CASES[name].model)
        kept = {*wanted(plan, node, CASES[name].model), "--max-position-embeddings", "--tokenizer-model"}
        found[f"{generation}, {name}"] = {
            "variables": variables_of(node),
            "options": {option: options[option] for option in sorted(kept & set(options))},
        }
    if os.environ.get("UPDATE_TRANSCRIPTS"):
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(transcript)}" for name, transcript in found.items())
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(f"{{\n{lines}\n}}\n", "utf-8")
    assert found == transcripts()


@UPSTREAM
@pytest.mark.parametrize("generation", RELEASES)
def test_the_facts_of_a_generation_are_those_of_its_scripts(generation: str, tmp_path: Path) -> None:
    for script, sizes in ((facts.LLAMA3, ("8", "13", "70", "405")), (facts.LLAMA2, ("7", "8", "13", "34", "70"))):
        found = []
        for size in sizes:
            done = run_script(Path(SCRIPTS) / generation, tmp_path, ["bash", script, f"MODEL_SIZE={size}"], {})
            if done.argv:
                found.append(size)
                positions = options_of(done.argv)["--max-position-embeddings"]
                assert int(positions) == facts.LONGEST_SEQUENCES[script][generation]
            else:
                assert "Model size not supported." in done.output
        assert tuple(found) == facts.SIZES[script][generation]


@UPSTREAM
@pytest.mark.parametrize(("name", "generation"), ONE_OF_EACH)
def test_the_variables_that_a_script_reads_are_the_ones_that_are_known(name: str, generation: str) -> None:
    node = plan_of(name, generation)["nodes"][0]
    script = node["script"]
    text = (Path(SCRIPTS) / generation / script).read_text()
    told = facts.READ[script][generation]
    assert {name for name in told if not re.search(rf"\$\{{?{name}\b", text)} == UNREAD.get((script, generation), set())


@UPSTREAM
@pytest.mark.parametrize(("name_of_case", "generation"), ONE_OF_EACH)
def test_no_variable_of_the_users_own_runs_as_a_command(name_of_case: str, generation: str, tmp_path: Path) -> None:
    script = plan_of(name_of_case, generation)["nodes"][0]["script"]
    text = (Path(SCRIPTS) / generation / script).read_text()
    proof = tmp_path / "proof"
    names = sorted(set(re.findall(r"\$\{?([A-Za-z]\w+)", text)) - {"PYTHONPATH", "PATH", "NO_TRAINING"})
    for value in (f"$(touch {proof})", f"`touch {proof}`", f"x;touch {proof}", f"x|touch {proof}", f"'x'>{proof}"):
        accepted = [name for name in names if not plan_of(name_of_case, generation, **{name: value})["faults"]]
        assert "EXP_NAME" not in accepted
        done = ran(
            plan_of(name_of_case, generation, str(tmp_path / "logs"), **dict.fromkeys(accepted, value)),
            generation,
            tmp_path,
        )
        assert done.argv, done.output
        assert not proof.exists(), (value, accepted)


@pytest.mark.parametrize("value", ["$(touch /tmp/x)", "`id`", "${HOME}", "a$b"])
@pytest.mark.parametrize("variable", ["EXP_NAME", "MIOPEN_USER_DB_PATH"])
def test_what_a_shell_would_replace_is_a_fault_in_any_variable(variable: str, value: str) -> None:
    faults = plan_of("llama3", facts.V26_1, **{variable: value})["faults"]
    assert keys(faults) == [f"config.container_config.env_dict.{variable}"]


def test_a_variable_that_is_in_no_command_may_hold_anything_else() -> None:
    assert plan_of("llama3", facts.V26_1, MIOPEN_X="a b; (c) 'd' & *")["faults"] == []
    fault = plan_of("llama3", facts.V26_1, EXP_NAME="my run")["faults"][0]
    assert (
        fault["message"]
        == "'my run' contains whitespace, and the training script passes it to a shell that may execute it."
    )


@pytest.mark.parametrize(
    ("variable", "key"),
    [
        ("TP", "tensor_parallelism"),
        ("PP", "pipeline_parallelism"),
        ("MP_VP", "pipeline_parallelism"),
        ("CP", "context_parallelism"),
        ("TE_FP4", "precision"),
        ("TE_FP8_RECIPE", "fp8_recipe"),
        ("TE_FP4_RECIPE", "fp4_recipe"),
        ("FP4_BF16_END", "fp4_bf16_end"),
        ("TOKENIZER_TYPE", "tokenizer_type"),
    ],
)
def test_what_the_plan_counts_is_no_variable_of_the_users_own(variable: str, key: str) -> None:
    [fault] = plan_of("llama3", facts.V25_5, **{variable: "2"})["faults"]
    assert fault["message"] == f"The plan uses {key}, not {variable}."
    assert fault["remedy"] == f"Set {key} in model_params.multi_node.llama3_1_8b.mi300x."


@UPSTREAM
@pytest.mark.parametrize(("name", "generation"), ONE_OF_EACH)
def test_a_flag_that_is_accepted_does_what_it_says(name: str, generation: str, tmp_path: Path) -> None:
    def started(variables: dict[str, str]) -> tuple[list[str], set[str]]:
        done = ran(plan_of(name, generation, str(tmp_path / "logs"), **variables), generation, tmp_path)
        assert done.argv, done.output
        # The time of the run and the port that DeepSeek's script draws differ each time.
        plain = [re.sub(r"[0-9_.-]{15,}|[0-9]{5,}", "", word) for word in done.argv]
        return plain, {variable for variable in done.environment if variable.startswith("TE_HIPBLASLT")}

    script = plan_of(name, generation)["nodes"][0]["script"]
    flags = sorted(flag for flag in FLAGS - {"TEE_OUTPUT"} if facts.reads(script, generation, flag))
    for value, canonical in {"true": "1", "yes": "1", "01": "1", "false": "0", "no": "0", "00": "0"}.items():
        accepted = [flag for flag in flags if not plan_of(name, generation, **{flag: value})["faults"]]
        said = {flag: WORDS[canonical] if flag == LEGACY else canonical for flag in accepted}
        assert started(dict.fromkeys(accepted, value)) == started(said), (value, accepted)


@pytest.mark.parametrize(
    ("variable", "value", "found"),
    [
        ("GEMM_TUNING", "true", "reads it as off"),
        ("SEQ_PARALLEL", "yes", "reads it as off"),
        ("ROPE_FUSION", "no", "reads it as on"),
        ("GEMM_TUNING", "2", "does not know it"),
        ("OPTIMIZER", "Adam", "does not know it"),
        ("SAVE_INTERVAL", "1e3", "does not know it"),
        ("GEMM_TUNING", "0", None),
        ("GEMM_TUNING", "false", None),
        ("ROPE_FUSION", "true", None),
        ("OPTIMIZER", "sgd", None),
    ],
)
def test_an_option_among_the_variables_means_to_the_script_what_it_says(
    variable: str, value: str, found: str | None
) -> None:
    script = "examples/llama/train_llama3.sh"
    plan = plan_of("llama3", facts.V26_1, **{variable: value})
    expected = [f"{variable} is {value!r}, but {script} {found}."] if found else []
    assert [fault["message"] for fault in plan["faults"]] == expected


@pytest.mark.parametrize(("value", "faults"), [("0", []), ("1", ["sequence_length"])])
def test_a_variable_that_switches_sequence_parallelism_off_lets_the_sequence_be_of_any_length(
    value: str, faults: list[str]
) -> None:
    config = filled(DISTRIBUTED, {"config/nnodes": "2", "config/container_config/env_dict": {"SEQ_PARALLEL": value}})
    branch = config["model_params"]["multi_node"]["llama3_1_8b"]["mi300x"]
    branch.update(tensor_parallelism="8", sequence_length="8180")
    plan = planned(config, 2, training_model="llama3_1_8b", training_gpu="mi300x")
    assert [fault["key"].rpartition(".")[2] for fault in plan["faults"]] == faults


def test_flags_of_deepseek_are_words_and_numbers() -> None:
    for value, faults in (("true", 0), ("1", 1), ("0", 0)):
        assert len(plan_of("deepseek", facts.V26_1, MOE_USE_LEGACY_GROUPED_GEMM=value)["faults"]) == faults
    # The plan sets these itself, and says that they have no effect.
    assert plan_of("deepseek", facts.V26_1, AC="x", PAD_LEN="x")["faults"] == []


@pytest.mark.parametrize(
    ("variable", "value"), [("NO_TRAINING", "1"), ("LOG_INTERVAL", "10"), ("EXP_NAME", "a/b"), ("sp_options", "x;id")]
)
def test_a_variable_that_keeps_the_run_from_being_what_was_planned_is_a_fault(variable: str, value: str) -> None:
    faults = plan_of("llama3", facts.V25_5, **{variable: value})["faults"]
    assert keys(faults) == [f"config.container_config.env_dict.{variable}"]


@pytest.mark.parametrize(
    ("generation", "model", "longest"),
    [(facts.V25_3, "llama2", 4096), (facts.V25_5, "llama2", 32000), (facts.V26_1, "llama3", 131072)],
)
def test_a_sequence_that_is_longer_than_the_positions_of_the_script_is_a_fault(
    generation: str, model: str, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[model]
    for length in (longest, longest + 32):
        changes = {**case.changes, "sequence_length": str(length)}
        monkeypatch.setitem(CASES, model, case._replace(changes=changes))
        messages = [fault["message"] for fault in plan_of(model, generation)["faults"]]
        assert any(f"supports {longest} positions" in message for message in messages) is (length > longest)


@pytest.mark.parametrize(
    ("given", "visible", "fault"),
    [
        ({}, "0,1,2,3", None),
        ({"HIP_VISIBLE_DEVICES": "4,5,6,7"}, "4,5,6,7", None),
        ({"ROCR_VISIBLE_DEVICES": "0,1,2,3"}, None, None),
        ({"CUDA_VISIBLE_DEVICES": "0,1"}, None, "It exposes 2 GPUs to the training, but training_gpus_per_node is 4."),
        (
            {"HIP_VISIBLE_DEVICES": "0,1,1,2"},
            None,
            "It exposes 2 GPUs to the training, but training_gpus_per_node is 4.",
        ),
        (
            {"HIP_VISIBLE_DEVICES": "0,-1,2,3"},
            None,
            "It exposes 1 GPU to the training, but training_gpus_per_node is 4.",
        ),
        ({"ROCR_VISIBLE_DEVICES": "4,5,6,7", "HIP_VISIBLE_DEVICES": "3,2,1,0"}, "3,2,1,0", None),
        (
            {"ROCR_VISIBLE_DEVICES": "4,5,6,7", "HIP_VISIBLE_DEVICES": "4,5,6,7"},
            None,
            "It exposes 0 GPUs to the training, but training_gpus_per_node is 4.",
        ),
        ({"HIP_VISIBLE_DEVICES": ""}, None, "It exposes 0 GPUs to the training, but training_gpus_per_node is 4."),
    ],
)
def test_the_script_sees_as_many_gpus_as_the_plan_counts(
    given: dict[str, str], visible: str | None, fault: str | None
) -> None:
    plan = plan_of("llama3, bf16, 4 GPUs, TP 2, PP 2", facts.V26_1, **given)
    assert [found["message"] for found in plan["faults"]] == ([fault] if fault else [])
    for node in plan["nodes"]:
        assert node["env"].get("HIP_VISIBLE_DEVICES") == visible
