# SPDX-License-Identifier: GPL-3.0-or-later
"""Datasets that a Megatron-LM run fetches before training, and where it puts them.

Sources: examples/llama/prepare_dataset.sh as stored for ROCmSoftwarePlatform/Megatron-LM at 5310851c (2025) reads
DATASET, DATA_DIR and TOKENIZER_MODEL, and hands ``--output-prefix $DATA_DIR/data`` to tools/preprocess_data.py, which
(ROCm/Megatron-LM at 2c665460) adds ``_text_document`` for the key ``text`` of whole documents. At f5fbfc72 (2024) the
script reads DATASET alone and writes below its own ``tmp``; the launch then finds no result and says so. DeepSeek's
files come from AMD's guide "Training a model with Megatron-LM for ROCm" (v25.4), the prefix from
examples/deepseek_v2/train_deepseekv2.sh (ROCm/Megatron-LM at 02b8aa76).
"""

from __future__ import annotations

import typing as t

from ......module_utils.node import contracts
from ....config.field_types import Path
from ....config.kinds import OneOf
from ....config.model import ConfigSection, optional

_SCRIPT = "examples/llama/prepare_dataset.sh"
_SCRIPT_RESULT = "data_text_document"
_DEEPSEEK = "deepseek"
DEEPSEEK_RESULT = "mmap_deepseekv2_datasets_text_document"
_DEEPSEEK_URL = (
    "https://atp-modelzoo-wlcb-pai.oss-cn-wulanchabu.aliyuncs.com/release/models/pai-megatron-patch/deepseek-datasets"
)
_DEEPSEEK_FILES = (
    "SlimPajama.json",
    "alpaca_zh-train.json",
    "alpaca_zh-valid.json",
    f"{DEEPSEEK_RESULT}.bin",
    f"{DEEPSEEK_RESULT}.idx",
)

Dataset = t.Annotated[str, OneOf(("wiki", "bookcorpus", _DEEPSEEK))]


class DatasetSource(ConfigSection):
    """A dataset to fetch before the training; it needs mock_data False and no data_path."""

    dataset: Dataset | None = optional(
        "What to fetch: wiki or bookcorpus, prepared by prepare_dataset.sh with tokenizer_model, or DeepSeek's "
        "ready-made files.",
        example="bookcorpus",
    )
    data_dir: Path | None = optional(
        "Folder for it, by its path in the container. If the nodes share it, one of them fetches and the others wait. "
        "Existing files are not fetched again.",
        example="/data/bookcorpus",
        variable="DATA_DIR",
    )


def fetched_dataset(source: DatasetSource, tokenizer: str | None) -> contracts.Dataset | None:
    """Return the dataset that the launch script fetches, or None.

    ``name``; ``folder``; ``prefix``, the path of the result without .bin and .idx; ``script``, relative to
    megatron_root, with its ``tokenizer``; or ``urls`` instead.
    """
    if source.dataset is None or source.data_dir is None:
        return None
    of_script = source.dataset != _DEEPSEEK
    return {
        "name": source.dataset,
        "folder": source.data_dir,
        "prefix": f"{source.data_dir.rstrip('/')}/{_SCRIPT_RESULT if of_script else DEEPSEEK_RESULT}",
        "script": _SCRIPT if of_script else "",
        "tokenizer": (tokenizer or "") if of_script else "",
        "urls": [] if of_script else [f"{_DEEPSEEK_URL}/{name}" for name in _DEEPSEEK_FILES],
    }
