# SPDX-License-Identifier: GPL-3.0-or-later
"""The hard-coded settings of examples/deepseek_v2/train_deepseekv2.sh, which no training config can change.

Source: that script in ROCm/Megatron-LM at 02b8aa76 and 32d5d428, and in ROCmSoftwarePlatform/Megatron-LM at 0504d29e.
"""

from __future__ import annotations

from .....module_utils.node.contracts import Dataset
from ...formats.cvs1.megatron.config import PRECISIONS
from ...formats.cvs1.megatron.dataset import DEEPSEEK_RESULT
from .environment import deepseek_data_dir
from .generations import DEEPSEEK, V24_12, V25_3, V25_5
from .reading import ScriptReading

TOKENIZER = "deepseek-ai/DeepSeek-V2-Lite"
_GPUS = EXPERT_PARALLELISM = 8
_PARALLELISM = ("tensor_parallelism", "pipeline_parallelism", "context_parallelism")
# --exit-interval; and a decay of two steps less has to be longer than a warm-up of two steps.
_FEWEST_STEPS, _MOST_STEPS = 5, 50
_FIXED_FOLDERS = {V25_3: "/root/deepseek-datasets", V25_5: "/workspace/dev/data/deepseek-datasets"}
_FIXED_LENGTH = {V25_3: 4096}


def check_deepseek(reading: ScriptReading, dataset: Dataset | None) -> None:
    """Report settings that train_deepseekv2.sh does not support; nothing for another script."""
    if reading.known_script == DEEPSEEK:
        _check_generation(reading)
        _check_nodes(reading)
        _check_parallelism(reading)
        _check_precision(reading)
        _check_steps(reading)
        _check_lengths(reading)
        _check_tokenizer(reading)
        _check_recompute(reading)
        if reading.config.mock_data is False:
            _check_folder(reading, dataset)


def _check_generation(reading: ScriptReading) -> None:
    if reading.generation == V24_12:
        reading.findings.fault(
            reading.branch.path,
            None,
            f"Generation {V24_12} has no {reading.script}.",
            "Use an image of v25.3 or later.",
        )


def _check_nodes(reading: ScriptReading) -> None:
    findings, gpus = reading.findings, reading.options.training_gpus_per_node
    if reading.multi_node:
        findings.fault(
            reading.branch.path,
            None,
            f"{reading.script} trains on a single node only: it sets MASTER_ADDR=localhost, NNODES=1 and "
            "NODE_RANK=0 itself, so every node would train on its own.",
            f"Move the branch to model_params.single_node.{reading.branch.model}, which runs an independent job on "
            "each node.",
        )
    if gpus is not None and gpus != _GPUS:
        findings.fault(
            "training_gpus_per_node",
            gpus,
            f"{reading.script} uses GPUs 0 to 7 and distributes the experts over eight GPUs.",
            f"Use nodes with {_GPUS} GPUs.",
        )
    if reading.generation == V25_5:
        findings.warn(
            reading.branch.path,
            None,
            f"{reading.script} of generation {V25_5} exits at once with a Python traceback on a node with fewer "
            "than eight RDMA devices.",
            "Check with rdma link on a node, or use an image of v26.1 or later.",
        )


def _check_parallelism(reading: ScriptReading) -> None:
    for key in _PARALLELISM:
        value = getattr(reading.parameters, key)
        if value and value > 1:
            reading.fault(
                key,
                f"{reading.script} does not support it: its tensor, pipeline and context parallelism are 1, and "
                f"its expert parallelism is {EXPERT_PARALLELISM}.",
                f"Set {key} to 1.",
            )


def _check_precision(reading: ScriptReading) -> None:
    asked = reading.parameters.precision
    if asked and PRECISIONS[asked] == "fp16":
        reading.fault(
            "precision",
            "Megatron-LM rejects FP16 with expert parallelism, which the script uses.",
            "Set TE_BF16 or TE_FP8.",
        )


def _check_steps(reading: ScriptReading) -> None:
    steps = reading.config.training_iterations
    if steps and not _FEWEST_STEPS <= steps <= _MOST_STEPS:
        reading.fault(
            "config.training_iterations",
            f"{reading.script} always ends after step {_MOST_STEPS}, and cannot schedule its learning rate for "
            f"fewer than {_FEWEST_STEPS} steps.",
            f"Choose {_FEWEST_STEPS} to {_MOST_STEPS}.",
        )


def _check_lengths(reading: ScriptReading) -> None:
    fixed = _FIXED_LENGTH.get(reading.generation)
    for key in ("sequence_length", "padding_length"):
        value = getattr(reading.parameters, key)
        if fixed and value and value != fixed:
            reading.fault(
                key,
                f"{reading.script} of generation {reading.generation} always trains with {fixed} tokens.",
                f"Set {key} to {fixed}, or use an image of v25.4 or later.",
            )
    sequence, padding = reading.parameters.sequence_length, reading.parameters.padding_length
    if not fixed and sequence and padding and padding > sequence:
        reading.fault(
            "padding_length", f"It is more than the sequence length, {sequence}.", f"Leave it out for {sequence}."
        )


def _check_tokenizer(reading: ScriptReading) -> None:
    tokenizer = reading.parameters.tokenizer_model
    if tokenizer and tokenizer != TOKENIZER:
        reading.warn(
            "tokenizer_model",
            f"tokenizer_model has no effect: {reading.script} uses {TOKENIZER}.",
            f"Set {TOKENIZER}.",
        )


def _check_recompute(reading: ScriptReading) -> None:
    asked, recompute = reading.parameters.activation_checkpointing, reading.parameters.recompute
    if asked and recompute is not None and reading.gives("recompute") and recompute != (asked == "full"):
        reason = f"activation_checkpointing is {asked}, and takes precedence"
        reading.warn_of_no_effect("recompute", reason, "Leave one of the two out.")


def _check_folder(reading: ScriptReading, dataset: Dataset | None) -> None:
    config, folder = reading.config, deepseek_data_dir(reading, dataset)
    key = "config.dataset_source.data_dir" if dataset else "config.data_path"
    if dataset and dataset["name"] != "deepseek":
        reading.fault(
            "config.dataset_source.dataset",
            f"{reading.script} finds only DeepSeek's dataset.",
            "Set deepseek.",
        )
    elif folder is None and config.data_path:
        reading.fault(
            "config.data_path",
            f"{reading.script} looks only for {DEEPSEEK_RESULT} in a folder.",
            f"Give <folder>/{DEEPSEEK_RESULT}.",
        )
    fixed = _FIXED_FOLDERS.get(reading.generation)
    if folder and fixed and folder.rstrip("/") != fixed:
        reading.findings.warn(
            key,
            folder,
            f"{reading.script} of generation {reading.generation} uses the hard-coded folder {fixed}.",
            f"Mount the dataset there, and set {fixed} here.",
        )
