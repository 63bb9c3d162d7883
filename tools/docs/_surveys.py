# SPDX-License-Identifier: GPL-3.0-or-later
"""AWX's questions before it runs a playbook, made from the roles' documentation.

A question has the type of its variable, so AWX accepts the same answers as a plan. Rules of AWX:
https://docs.ansible.com/automation-controller, "Surveys".
"""

from __future__ import annotations

import re
import typing as t

from docs._options import as_yaml

_HEADER = "# Written by tools/write_docs.py from the argument_specs of the roles. Change those, then run it.\n"
# AWX keeps answers in a text column; its own form offers this length.
_LONGEST = 1024
_LARGEST = 2**31 - 1
# The least and the most of numbers that have limits of their own.
_BOUNDS = {"isolate_budget": (1, 1440), "isolate_quarantine_days": (0, 36500)}

# Only values that differ from run to run: an answer overrides the inventory, which describes the cluster. AWX passes an
# empty text for an omitted answer, so the GPU is asked only if no inventory sets it.
_PLANNED = ("training_config", "training_model")
_RUN = (
    *_PLANNED,
    "training_rehearsal",
    "training_record_only",
    "training_thresholds",
    "training_warmup_steps",
    "training_stall_timeout",
    "training_dialects",
)

# The questions of each template: its title, the purpose of the answers, and the variables.
SURVEYS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "plan": ("Plan a training", "Shows the command of every node; touches no node.", (*_PLANNED, "training_mode")),
    "preflight": ("Check the nodes", "Checks the nodes and changes nothing.", (*_PLANNED, "training_mode")),
    "megatron": ("Train with Megatron-LM", "One job across all nodes.", _RUN),
    "megatron_each": ("Train with Megatron-LM on each node", "An independent job on each node.", _RUN),
    "maxtext": ("Train with MaxText", "One job across all nodes.", _RUN),
    "gke": ("Train with MaxText on GKE", "Submits the training to GKE as an XPK workload.", _PLANNED),
    "nxdt": (
        "Train with NxDT on Neuron",
        "One job across all nodes.",
        tuple(name for name in _RUN if name != "training_model"),
    ),
    "train": (
        "Train",
        "One job across all nodes, with whatever the training config is for.",
        (*_RUN, "training_image"),
    ),
    "slurm": (
        "Train with Megatron-LM under Slurm",
        "One Slurm job.",
        (
            *_RUN,
            "training_gpu",
            *("training_slurm_partition", "training_slurm_account", "training_slurm_time_limit"),
            *("training_slurm_exclude", "training_retries"),
        ),
    ),
    "srun": (
        "Train with Megatron-LM inside an allocation",
        "A step of a running Slurm job.",
        (
            *_RUN,
            "training_gpu",
            *("training_slurm_job", "training_slurm_nodes", "training_slurm_exclude", "training_retries"),
        ),
    ),
    "sweep": (
        "Try several values",
        "Runs training_matrix from the extra variables, or else the config's own sweep, cell after cell.",
        (
            *_PLANNED,
            "training_sweep_id",
            "training_sweep_stop_on_failure",
            "training_record_only",
            "training_thresholds",
        ),
    ),
    "qualification": ("Qualify a cluster", "Checks the nodes, trains after an approval, and reports.", _RUN),
    "repair": (
        "Train, and find bad nodes",
        "Trains, and if that fails tests the nodes, and trains again without the bad ones or once they are repaired.",
        (*_RUN, "isolate_budget"),
    ),
    "attach": ("Pick up a run", "Reattaches to a run whose controller died.", ("training_run_id",)),
    "stop": ("Stop a run", "Stops a run, and keeps its logs and report.", ("training_run_id",)),
    "isolate": (
        "Find the bad node",
        "Tests nodes and links, all of them or a run's, and reports the slow or broken ones.",
        ("isolate_run_id", "isolate_budget", "isolate_quarantine_days"),
    ),
    "compare": ("Compare runs", "Compares two runs, or the runs of two periods.", ("training_compare",)),
    "report": (
        "Judge logs",
        "Judges existing logs; needs no node.",
        (
            *("training_logs", "training_framework", *_PLANNED),
            *("training_nodes", "training_exit_status", "training_steps_expected", "training_record_only"),
            *("training_thresholds", "training_dialects"),
        ),
    ),
}
# All others cannot do without a config.
_REQUIRED = {
    **dict.fromkeys(("attach", "stop"), ("training_run_id",)),
    "compare": ("training_compare",),
    "report": ("training_logs",),
    "preflight": (),
    "isolate": (),
}
# Ansible's own documentation says C(auto).
_MARKUP = re.compile(r"\b[A-Z]\(([^)]*)\)")
# A config to begin with. It is not a default: its placeholders have to be filled in first.
_CONFIGS = {
    "megatron_each": "examples/megatron/mi3xx_megatron_llama_single.json",
    "maxtext": "examples/maxtext/2_nodes_mi300x_llama_3_1_70b.json",
    "gke": "examples/maxtext/gke_v5p_llama2_70b.json",
    "nxdt": "examples/nxdt/megatron_llama2_7b_pretraining.yaml",
    "train": "examples/primus/llama3.1_8B_2_nodes.yaml",
}
_USUAL_CONFIG = "examples/megatron/mi3xx_megatron_llama_distributed.json"
_IN_CAPITALS = {
    "gpu": "GPU",
    "gpus": "GPUs",
    "nxdt": "NxDT",
    "megatron": "Megatron-LM",
    "maxtext": "MaxText",
    "id": "ID",
}


def question_name(variable: str) -> str:
    """Return the words of a variable as a question: ``GPUs per node`` of ``training_gpus_per_node``."""
    words = variable.removeprefix("training_").removeprefix("isolate_").split("_")
    words[0] = words[0].capitalize()
    return " ".join(_IN_CAPITALS.get(word.casefold(), word) for word in words)


def question(variable: str, required: bool, option: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return the question for a variable, with the type and the default that its documentation says."""
    description = option["description"]
    return {
        "question_name": question_name(variable),
        "question_description": _MARKUP.sub(
            r"\1", " ".join(description) if isinstance(description, list) else str(description)
        ),
        "variable": variable,
        **_answer(option, required, *_BOUNDS.get(variable, (0, _LARGEST))),
    }


def _of_template(template: str, variable: str, specs: dict[str, dict[str, t.Any]]) -> dict[str, t.Any]:
    required = variable in _REQUIRED.get(template, ("training_config",))
    asked = question(variable, required, specs[variable])
    if required:
        # The rest says what applies without an answer.
        asked["question_description"] = asked["question_description"].split(". ")[0].rstrip(".") + "."
    if variable == "training_config" and required:
        example = _CONFIGS.get(template, _USUAL_CONFIG)
        asked["question_description"] += f" To begin with, copy an example and adapt it: {example}"
    return asked


def _answer(option: dict[str, t.Any], required: bool, least: int, most: int) -> dict[str, t.Any]:
    default = option["default"]
    if option["type"] == "bool":
        return _choice(["true", "false"], str(default).lower())
    if option["type"] == "str" and "choices" in option:
        return _choice(option["choices"], default)
    if option["type"] == "list" and "choices" in option:
        # AWX leaves out a list without a choice.
        return {"type": "multiselect", "required": False, "choices": option["choices"], "default": ""}
    if option["type"] in ("int", "float"):
        kind_of_number = "float" if option["type"] == "float" else "integer"
        # A number is always answered: an answer that is left out would come as an empty text.
        return {"type": kind_of_number, "required": True, "min": least, "max": most, "default": default}
    text = default if isinstance(default, str) else ""
    # A default that is not empty may be no empty text either.
    required = required or text != ""
    return {"type": "text", "required": required, "min": 1 if required else 0, "max": _LONGEST, "default": text}


def _choice(names: list[str], default: str) -> dict[str, t.Any]:
    return {"type": "multiplechoice", "required": True, "choices": names, "default": default}


def surveys(options: dict[str, dict[str, t.Any]]) -> str:
    """Return the survey of each template, in the format of infra.aap_configuration for ``survey_spec``.

    ``options`` are the documented options of all roles, by their names.
    """
    found = {
        name: {
            "name": title,
            "description": description,
            "spec": [_of_template(name, variable, options) for variable in variables],
        }
        for name, (title, description, variables) in SURVEYS.items()
    }
    return f"---\n{_HEADER}{as_yaml({'trainops_surveys': found})}"
