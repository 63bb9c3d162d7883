# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of Megatron-LM, its launch scripts and Transformer Engine when they fail.

The checks for NaN come from megatron/core (param_and_grad_buffer.py, rerun_state_machine.py) and training.py.
"""

from __future__ import annotations

from ..signature import Signature

# The launch scripts average at the end in Python.
HELPER_FILES = rb"mean_log_value\.py$"

SIGNATURES = (
    Signature(
        "nan",
        None,
        rb"(?:Rank (?P<rank>\d{1,9})[:,][^\r\n]{0,300})?"
        rb"(?:found (?:NaN|Inf|unexpected large grads) in|Unexpected result (?:nan|[-+]?inf)\b)",
        more_specific_than=("any NaN",),
        sample="ERROR:megatron.core.rerun_state_machine:Unexpected result nan on rank 0",
    ),
    Signature(
        "checkpoint",
        "The checkpoint was written with other parallel sizes or another layout of the optimizer. Resume with those, "
        "or without the optimizer's state (--no-load-optim).",
        rb"Cannot merge two lists with different lengths",
        sample="Cannot merge two lists with different lengths",
    ),
    Signature(
        "sizes",
        "FP8 needs dimensions that are divisible by 8 and 16. Change sequence length, micro batch size or vocabulary "
        "padding (make_vocab_size_divisible_by).",
        rb"Tensor dimensions are not compatible for FP8|FP8 execution requires ",
        sample="SomeError: FP8 execution requires ",
    ),
    Signature(
        "settings_refused",
        "Transformer Engine does not support these sizes, this precision or this GPU. The text after Assertion failed "
        "says which; change it, choose another attention backend (NVTE_FUSED_ATTN, NVTE_FLASH_ATTN), or use another "
        "image.",
        rb"in function \w{1,80}(?:\(\))?: Assertion failed: "
        rb"|transformer_engine/\S{1,200}:\d{1,6} in function \w{1,80}(?:\(\))?: (?!NVRTC)"
        rb"|No dot product attention backend is available"
        rb"|Error: Device compute capability [\d.]{1,5} or higher required for ",
        sample="RuntimeError: /x/transformer_engine/common/odd.cu:7 in function odd: Odd mode",
    ),
    Signature(
        "settings_refused",
        "The trainer rejects a setting. Correct the one that the message names; another image may support other "
        "settings.",
        rb"Model size not supported|(?<!\S)[\w.-]{1,60}: error: (?:argument |unrecognized arguments|ambiguous option"
        rb"|the following arguments are required|Parser key|Validation failed|Unrecognized arguments|Key \")",
        sample='train.py: error: Parser key "odd" is odd',
    ),
    Signature(
        "gpu_error",
        "A GPU computed another result when the step was run again. Drain its node, and test the GPU (dcgmi diag -r "
        "3); replace it if the test fails or the error returns.",
        rb"ERROR[^\r\n]{0,99}Rank (?P<rank>\d{1,9}), node [^\r\n]{1,300}: Possible (?:transient|persistent) error!",
        sample=(
            "ERROR:megatron.core.rerun_state_machine:Rank 7, node n, device 3, step 9: Possible persistent error!!"
        ),
    ),
    Signature(
        "checkpoint",
        "The checkpoint cannot be loaded. Check that it is complete and at the requested path and step on every node, "
        "and that its format and the model's sizes match this run.",
        rb"'--exit-on-missing-checkpoint' set|[Uu]nable to load (?:optimizer|rng state|iteration) from checkpoint "
        rb"|ERROR: [Ii]nvalid metadata file ",
        more_specific_than=("any checkpoint error",),
        sample="ERROR: Invalid metadata file /x. Exiting",
    ),
    Signature(
        "no_gpu",
        "The trainer sees no GPU. Check the driver on the node, the devices passed in, and that no variable hides "
        "them.",
        rb"Megatron requires CUDA",
        more_specific_than=("any refused setting",),
        sample="AssertionError: Megatron requires CUDA.",
    ),
    Signature(
        "data_cache",
        "This node cannot see the first rank's data index. Put the data cache path on storage that all nodes share.",
        rb"FileNotFoundError: [^\r\n]{0,300}_(?:index|idx)\.npy",
        more_specific_than=("any missing file",),
        sample=(
            "FileNotFoundError: [Errno 2] No such file or directory: '/c/abc-MockGPTDataset-train-document_index.npy'"
        ),
    ),
    Signature(
        "data",
        "There is no dataset at the path. Set data_path to the prefix of a .bin and an .idx file that every node sees.",
        rb"\.idx and \.bin files|files cannot be found at the path prefix|could not find data-path",
        sample=("AssertionError: One or both of the .idx and .bin files cannot be found at the path prefix /odd"),
    ),
    # scripts/training of Bridge: run_recipe.py, recipe_runner.py and recipe_metadata.py.
    Signature(
        "settings_refused",
        "Megatron Bridge does not have this recipe, or does not train it like this. Correct the name, the mode or the "
        "override that the message names; another image may have other recipes.",
        rb"Recipe '[^'\r\n]{1,200}' (?:not found in megatron\.bridge|is indexed but not callable)"
        rb"|Mode '\w{1,20}' is incompatible with (?:benchmark task|recipe|dataset) "
        rb"|Benchmark recipes own their canonical dataset|Unknown step type: "
        rb"|run_recipe\.py: error: (?:Unknown option|Expected override)",
        sample="AttributeError: Recipe 'odd' not found in megatron.bridge.recipes or megatron.bridge.perf_recipes.",
    ),
)
