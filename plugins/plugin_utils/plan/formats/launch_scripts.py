# SPDX-License-Identifier: GPL-3.0-or-later
"""Shell scripts given as a training config: the trainer that each one starts, and the config to give instead."""

from __future__ import annotations

import re
import typing as t

from .cvs1.maxtext.scripts import SCRIPTS

_NAME = re.compile(r"\.(sh|bash|sbatch|slurm)$", re.IGNORECASE)
_FIRST_LINE = re.compile(r"\ufeff?#! ?/\S*\b(ba|da|k|z)?sh\b|\ufeff?#! ?/usr/bin/env (ba|z)?sh\b")
_OF_MAXTEXT = re.compile(r"configs/((?:tpu|gpu|experimental)/\S+)\.sh$", re.IGNORECASE)


class _Starts(t.NamedTuple):
    """The trainer that a script with such a text starts, and the file to give instead."""

    text: re.Pattern[str]
    what: str
    remedy: str


# Scripts of a tool that starts other tools come before the scripts of those.
_STARTS = (
    _Starts(
        re.compile(r"primus-cli\b|\bprimus/cli/main\.py|/run_pretrain\.sh|\bPRIMUS_PATH\b"),
        "starts Primus",
        "Give the experiment file that it passes as --config or EXP; examples/primus has one.",
    ),
    _Starts(
        re.compile(
            r"\bscripts/(training|performance)/(run_recipe|setup_experiment|train)\b|\b(run_recipe|setup_experiment)\.py"
        ),
        "starts a recipe of Megatron Bridge",
        "Give a file with the recipe's name and its overrides; examples/megatron_bridge has one.",
    ),
    _Starts(
        re.compile(r"\bmaxtext\.trainers\b|\bMaxText\.(train|\$)|\bmaxtext/(\w+/)*train\.py", re.IGNORECASE),
        "starts MaxText",
        "Put the keys that it passes into a branch of model_params; examples/maxtext has training configs.",
    ),
    _Starts(
        re.compile(r"\btorchtitan\.train\b|\btorchtitan/train\.py|/?\brun_train\.sh"),
        "starts TorchTitan",
        "Give the config that it uses; examples/torchtitan has one.",
    ),
    _Starts(
        re.compile(r"\btraining_orchestrator\.py|\bneuronx_distributed_training\b"),
        "starts NxDT",
        "Give the YAML file of examples/conf whose name is in CONF_FILE; examples/nxdt has such files.",
    ),
    _Starts(
        re.compile(r"\boptimum[.-]neuron\b|\bfinetune_(llama|qwen3)\.py"),
        "fine-tunes with Optimum Neuron, which is not planned",
        "Start it by itself, or train with a training config of examples/.",
    ),
    _Starts(
        re.compile(r"\bpretrain_(gpt|deepseek)\w*\.py|\btrain_(llama[23]|deepseek_?v[23])\.sh|\bMODEL_SIZE="),
        "starts Megatron-LM",
        "Give the sizes that it passes in a training config, which starts ROCm's own script with them; "
        "examples/megatron has some.",
    ),
)


def kind_of_script(text: str, source: str, otherwise: str) -> tuple[str, str] | None:
    """Return the description of a shell script and the file to give instead; None for other files.

    ``otherwise`` is the advice for a script that starts no known trainer.
    """
    if not _NAME.search(source) and not _FIRST_LINE.match(text):
        return None
    of_maxtext = _OF_MAXTEXT.search(source)
    name = of_maxtext[1].lower() if of_maxtext else ""
    if name in SCRIPTS:
        remedy = f'Give a training config with "maxtext_script": "{name}" in its section config, which has the '
        return "is a launch script of MaxText", f"{remedy}script's steps, keys and flags; examples/maxtext has one."
    started = next((starts for starts in _STARTS if starts.text.search(text)), None)
    if started is None:
        return "is a shell script, not a training config", otherwise
    return f"is a shell script, which {started.what}", started.remedy
