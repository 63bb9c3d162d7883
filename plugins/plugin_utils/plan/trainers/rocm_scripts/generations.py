# SPDX-License-Identifier: GPL-3.0-or-later
"""Generations of ROCm's Megatron-LM scripts: which one an image has, and the inputs of each one's scripts.

A generation is named after a representative image release. Sources, examples/*/train_*.sh of:

- ``v24.12`` (images up to 25.2): ROCmSoftwarePlatform/Megatron-LM at 20292f59, of rocm_dev in December 2024. The Llama
  scripts know synthetic data only, and DeepSeek has none.
- ``v25.3``: the same repository at 68a47d46, the head of its branch megatron_release_v25.3. Up to here the system
  variables are plain exports, which only a KEY=VALUE argument overrides.
- ``v25.5`` (25.4 to 25.12): ROCm/Megatron-LM at 02b8aa76, and copies of its successor at be381b14 and d4626b48. The
  former reads MOCK_DATA, the latter trains on synthetic data exactly if there is no DATA_PATH. No document says which
  image was built from which, so both variables count as read, and a plan sets both to the same effect.
- ``v26.1`` (26.1 and later): ROCm/Megatron-LM at 32d5d428. Only these Llama scripts end with the training's exit
  status. Older ones, and train_deepseekv2.sh of every generation, end with 0 when the training has failed.
"""

from __future__ import annotations

import posixpath
import re

LLAMA3 = "examples/llama/train_llama3.sh"
LLAMA2 = "examples/llama/train_llama2.sh"
DEEPSEEK = "examples/deepseek_v2/train_deepseekv2.sh"

V24_12, V25_3, V25_5, V26_1 = GENERATIONS = ("v24.12", "v25.3", "v25.5", "v26.1")
# The last release of each generation, as year and month.
_LAST_RELEASES = {V24_12: (25, 2), V25_3: (25, 3), V25_5: (25, 12)}
_RELEASE = re.compile(r"v?([0-9]{2})\.([0-9]{1,2})(?![0-9.])")
_IMAGE = re.compile(r"(?:^|/)[^/]*(?:megatron|primus)[^/:]*:(?:[^/:]*[-_])?" + _RELEASE.pattern, re.IGNORECASE)
# AMD's guide uses one image for both until the end of 2025. CVS (cvs/lib/training/megatron/primus_lib.py) starts Primus
# in later ones, because they have no /workspace/Megatron-LM.
_PRIMUS = re.compile(r"(?:^|/)[^/]*primus[^/:]*:(?:[^/:]*[-_])?v?([0-9]{2})\.[0-9]", re.IGNORECASE)
_FIRST_PRIMUS_ALONE = 26


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LLAMA_V24_12 = _names(
    "MODEL_SIZE TP PP CP MBS BS SEQ_LENGTH TOTAL_ITERS SEQ_PARALLEL CONTI_PARAMS TE_FP8 GEMM_TUNING MCORE TEE_OUTPUT "
    "USE_FLASH_ATTN ENABLE_PROFILING"
)
_LLAMA_V25_3 = _LLAMA_V24_12 | _names("MOCK_DATA DATA_PATH")
_LLAMA2_V25_5 = _LLAMA_V25_3 | _names("FSDP RECOMPUTE OPTIMIZER ROPE_FUSION TOKENIZER_TYPE DATA_DIR DATA_CACHE_PATH")
_LLAMA2_V26_1 = (_LLAMA2_V25_5 - _names("MOCK_DATA DATA_DIR")) | _names(
    "TOKENIZER_MODEL TE_FP8_RECIPE FP8_PARAM_GATHER FP8_TRANSPOSE_CACHE MEGATRON_FSDP ENABLE_HSDP HSDP_NUM_REPLICAS "
    "GRADIENT_ACCUMULATION_FUSION DDP_AVERAGE_IN_COLLECTIVE CROSS_ENTROPY_LOSS_FUSION CROSS_ENTROPY_FUSION_IMPL "
    "FUSED_SINGLE_QKV_ROPE GRAD_REDUCE_IN_BF16 SAVE_CKPT_PATH SAVE_INTERVAL CKPT_FORMAT"
)
_FP4 = _names("TE_FP4 TE_FP4_RECIPE FP4_PARAM_GATHER FP4_SELECTIVE_BF16 FP4_BF16_START FP4_BF16_END")
_DEEPSEEK_V25_3 = _names("MBS GBS PR AC TRAIN_ITERS GEMM_TUNING MOCK_DATA")
# Only the v26.1 script is known to read DATA_DIR, though AMD's guide to v25.5 says to set it.
_DEEPSEEK_V25_5 = _DEEPSEEK_V25_3 | _names("SEQ_LEN PAD_LEN DATA_CACHE_PATH DATA_DIR")

# Their defaults if the network is not configured.
OWN_RDMA_DEVICES = {
    V24_12: "rdma0 to rdma7",
    V25_3: "rdma0 to rdma7",
    V25_5: "the first eight of 'rdma link', in whatever state, and none where there are fewer",
    V26_1: "the first eight of 'rdma link', or as many as there are, in whatever state",
}
OWN_INTERFACE = {V24_12: "ens5, and ens50f0 for Gloo", V25_3: "ens51np0", V25_5: "ens51np0", V26_1: "ens51np0"}
# Where Llama scripts that do not read DATA_CACHE_PATH keep the dataset index.
FIXED_CACHES = {V25_3: "/root/cache"}

# The variables of train_*.sh that a training config sets, as far as each script reads them.
READ: dict[str, dict[str, frozenset[str]]] = {
    LLAMA3: {
        V24_12: _LLAMA_V24_12,
        V25_3: _LLAMA_V25_3,
        V25_5: _LLAMA2_V25_5 | {"TOKENIZER_MODEL"},
        V26_1: _LLAMA2_V26_1 | _FP4,
    },
    LLAMA2: {V24_12: _LLAMA_V24_12, V25_3: _LLAMA_V25_3, V25_5: _LLAMA2_V25_5, V26_1: _LLAMA2_V26_1},
    DEEPSEEK: {
        V24_12: frozenset(),
        V25_3: _DEEPSEEK_V25_3,
        V25_5: _DEEPSEEK_V25_5,
        V26_1: _DEEPSEEK_V25_5 | {"MOE_USE_LEGACY_GROUPED_GEMM"},
    },
}
# --max-position-embeddings of the Llama scripts, in tokens: Megatron-LM rejects longer sequences.
LONGEST_SEQUENCES = {
    LLAMA3: {V24_12: 128000, V25_3: 131072, V25_5: 131072, V26_1: 131072},
    LLAMA2: {V24_12: 128000, V25_3: 4096, V25_5: 32000, V26_1: 32000},
}
# Supported sizes (others end with "Model size not supported."), in billions of parameters. DeepSeek's is hard-coded,
# whatever MODEL_SIZE says.
SIZES: dict[str, dict[str, tuple[str, ...]]] = {
    LLAMA3: dict.fromkeys(GENERATIONS, ("8", "70")),
    LLAMA2: {V24_12: ("7", "70"), V25_3: ("7", "70"), V25_5: ("7", "13", "70"), V26_1: ("7", "13", "70")},
    DEEPSEEK: dict.fromkeys(GENERATIONS, ("16",)),
}
_BY_NAME = {posixpath.basename(script): script for script in READ}


def known_script(script: str | None) -> str | None:
    """Return the script of `READ` that a path names, in whatever folder, or None."""
    return _BY_NAME.get(posixpath.basename(script or ""))


def generation_of(release: str) -> str | None:
    """Return the generation of a release such as ``v25.4``, or None if it is not a release."""
    found = _RELEASE.fullmatch(release)
    if not found:
        return None
    number = (int(found.group(1)), int(found.group(2)))
    return next((name for name, last in _LAST_RELEASES.items() if number <= last), V26_1)


def generation_of_image(image: str | None) -> str | None:
    """Return the generation in the tag of a Megatron-LM or Primus image, or None."""
    found = _IMAGE.search(image or "")
    return generation_of(f"{found.group(1)}.{found.group(2)}") if found else None


def lacks_scripts(image: str | None) -> bool:
    """Return whether an image is one of Primus that has no Megatron-LM with these scripts: those since v26."""
    found = _PRIMUS.search(image or "")
    return found is not None and int(found.group(1)) >= _FIRST_PRIMUS_ALONE


def reads(script: str | None, generation: str, variable: str) -> bool:
    """Return whether a script may read a variable; an unknown script may read any."""
    known = known_script(script)
    return known is None or variable in READ[known][generation]


def returns_exit_status(script: str | None, generation: str) -> bool | None:
    """Return whether a script returns the training's exit status, or None for an unknown script."""
    known = known_script(script)
    return None if known is None else known != DEEPSEEK and generation == V26_1
