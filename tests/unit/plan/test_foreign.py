# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are given for a training config but are not one: each gets one fault that says what it is."""

from __future__ import annotations

import json
import tomllib
import typing as t

import pytest
from maxtext_configs import filled as maxtext
from nxdt_configs import HF, text_of
from training_configs import DISTRIBUTED, ROOT, filled, nodes, only, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.yaml_config import YamlConfig, read_yaml
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.known import FORMATS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.nxdt_yaml.format import NxdtYaml
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import asked_by, make_plan
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.sweep_plan import plan_sweep
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.trainers.known import TRAINERS

BOUND = {"training.tokens_per_gpu": {"kind": "min", "value": 1}}
OTHER_TOML = '[job]\nname = "x"\n\n[mine]\nsteps = 10\n'
LATER = {"schema_version": 1, "framework": "nemo_single", "training": {"steps": 30}, "model": {}}
FILES: dict[str, tuple[str, t.Any, str]] = {
    "an empty file": ("c.json", "\ufeff \n", "is empty"),
    "an empty object": ("c.json", {}, "it contains nothing"),
    "later form": ("c.json", LATER, "is in a later format of CVS (schema_version 1, framework 'nemo_single')"),
    "later form with sections": ("c.json", {**LATER, "config": {}, "model_params": {}}, "is in a later format of CVS"),
    "thresholds": ("t.json", {"_comment": "x", "MBS=1,GBS=64": BOUND}, "is a thresholds file"),
    "TOML": ("c.toml", "a = 1\n", "is TOML"),
    "MaxText's own": (
        "c.yml",
        "base_config: base.yml\nper_device_batch_size: 4\n",
        "is MaxText's own config",
    ),
    "MaxText's preset": (
        "llama9-8b.yml",
        "base_emb_dim: 4096\nbase_num_query_heads: 32\nvocab_size: 9\n",
        "is MaxText's preset of a model",
    ),
    "other YAML": ("c.yaml", "trainer:\n  devices: 8\n", "is not a known kind of training config"),
    "a shell script": ("c.sh", "#!/bin/bash\ntorchrun train.py\n", "is a shell script, not a training config"),
    "a model": ("config.json", {"architectures": ["LlamaForCausalLM"], "hidden_size": 4096}, "describes a model"),
    "a tokenizer": ("tokenizer_config.json", {"tokenizer_class": "LlamaTokenizer"}, "describes a tokenizer"),
    "DeepSpeed's": ("c.json", {"train_batch_size": 8, "zero_optimization": {"stage": 1}}, "is a config of DeepSpeed"),
    "Accelerate's": (
        "c.yaml",
        "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\n",
        "is a config of Hugging Face's Accelerate",
    ),
    "a cluster file": ("cluster.json", {"username": "me", "node_dict": {}}, "is a cluster file"),
    "a plan": ("plan.json", planned(filled(DISTRIBUTED)), "is the plan of a run"),
    "something else": (
        "c.json",
        {"env": {}, "job": {}},
        "has neither a config nor a model_params section: it contains env, job",
    ),
}


# If a framework is given, these are left to it.
UNCERTAIN = ("an empty object", "other YAML", "something else")


@pytest.mark.parametrize("asked", ["auto", "megatron", "nxdt"])
@pytest.mark.parametrize("name", FILES)
def test_what_a_file_is_is_told_in_one_fault(name: str, asked: str) -> None:
    source, data, told = FILES[name]
    text, options = data if isinstance(data, str) else json.dumps(data), {"training_framework": asked}
    plan = make_plan(text, source, options, nodes(2), "now")
    assert plan["faults"]
    assert plan["nodes"] == []
    if name in UNCERTAIN and asked != "auto":
        return
    fault = only(plan["faults"])
    assert fault["key"] == "training_config"
    assert fault["message"].startswith(f"{source} ")
    assert told in fault["message"]
    assert "megatron" not in fault["message"]
    assert not any(known.title in fault["remedy"].partition("Known are ")[0] for known in TRAINERS.values())
    assert asked_by(text, source, options, 2) == (None, None)
    assert told in only(plan_sweep(text, source, options, {"a": [1]}, nodes(2), str)["faults"])["message"]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(maxtext()).replace("}", "", 1),
        json.dumps({"model_params": maxtext()["model_params"]}),
        json.dumps({"config": maxtext()["config"]}),
        json.dumps(maxtext())[:-1],
    ],
)
def test_a_broken_file_for_maxtext_is_never_taken_for_another_framework(text: str) -> None:
    plan = make_plan(text, "c.json", {}, nodes(2), "now")
    assert (plan["framework"], bool(plan["faults"])) == ("maxtext", True)


def test_the_examples_are_none_of_these() -> None:
    configs = [path for path in (ROOT / "examples").glob("*/*.json") if not path.stem.endswith("_threshold")]
    for path in [*configs, ROOT / "inventories/local/tiny_llama.json"]:
        plan = make_plan(path.read_text("utf-8"), path.name, {}, nodes(1), "now")
        of_other = (name for name in ("maxtext", "torchtitan", "primus") if name in f"{path.parent.name} {path.name}")
        assert plan["framework"] == next(of_other, "megatron")
    assert make_plan(text_of(HF), "c.yaml", {}, nodes(2), "now")["framework"] == "nxdt"


class OfToml(NxdtYaml):
    """A format whose files are TOML, and must contain a job."""

    def recognizes(self, _text: str, source: str) -> bool:
        return source.endswith(".toml")

    def read(self, text: str, source: str, _trainer: str, findings: Findings) -> YamlConfig | None:
        if "job" in tomllib.loads(text):
            return read_yaml("trainer: {}", source, findings)
        findings.fault("job", None, "job is missing.", "Give it.")
        return None


@pytest.mark.parametrize("asked", ["auto", "nxdt"])
def test_toml_is_left_to_a_format_that_reads_it(monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    monkeypatch.setitem(FORMATS, "of_toml", OfToml())
    plan = make_plan(OTHER_TOML, "c.toml", {"training_framework": asked}, nodes(2), "now")
    assert plan["chosen"]["format"]["name"] == "nxdt_yaml"
    assert "training_config" not in [fault["key"] for fault in plan["faults"]]


def test_what_is_wrong_in_toml_is_told_by_the_framework_that_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, "of_toml", OfToml())
    plan = make_plan("[mine]\n", "c.toml", {}, nodes(2), "now")
    assert only(plan["faults"])["message"] == "job is missing."


def test_a_config_for_another_framework_than_the_playbooks_is_called_that_once() -> None:
    megatron = (ROOT / "inventories/local/tiny_llama.json").read_text()
    plan = make_plan(megatron, "my.json", {"training_framework": "maxtext"}, [])
    (fault,) = [fault for fault in plan["faults"] if fault["key"] != "training_hosts"]
    assert fault["message"] == "my.json is a training config for Megatron-LM, but the run is for MaxText."
    assert fault["remedy"] == "Use a playbook for Megatron-LM, or give a config for MaxText."


def test_the_kinds_of_training_configs_are_named() -> None:
    plan = make_plan("trainer:\n  devices: 8\n", "c.yaml", {}, nodes(2), "now")
    remedy = only(plan["faults"])["remedy"]
    assert remedy.startswith("Known are CVS's first format, CVS's format with")
    assert all(
        part in remedy for part in ("NxDT's YAML", "Primus' experiment file", "TorchTitan's TOML", "Megatron Bridge")
    )
