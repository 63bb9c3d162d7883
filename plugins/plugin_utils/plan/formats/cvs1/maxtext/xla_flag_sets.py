# SPDX-License-Identifier: GPL-3.0-or-later
"""The flag sets of MaxText's high-performance scripts, each by its script's path below src/maxtext/configs.

Sets are complete except for ``xla_dump_to``, whose value is a folder of the script's. If a script gives a flag twice,
the last value counts, like in XLA. From August 2026 on the scripts for GPUs have ``xla_gpu_pipeline_*=on`` in place of
``xla_gpu_enable_pipelined_*=true``, which no JAX up to 0.10.2 knows; this file keeps the older flags.
"""

from __future__ import annotations

import typing as t

_EXPERIMENTAL = tuple(f"experimental/{size}" for size in ("32b", "64b", "128b", "256b", "512b", "1024b"))
_V4 = ("tpu/v4/22b", "tpu/v4/52b")
_V5E = tuple(
    f"tpu/v5e/{name}" for name in ("16b", "32b", "64b", "128b", "gpt3_175b", "llama2_7b", "llama2_13b", "llama2_70b")
)
_V5P = tuple(f"tpu/v5p/{name}" for name in ("32b", "64b", "128b", "256b", "512b", "1024b", "llama2_7b", "llama2_70b"))
# The scripts for single sizes of slices call the first one.
_V5P_GPT3 = tuple(
    f"tpu/v5p/gpt3_175b/{name}"
    for name in ("gpt3_175b_base", "v5p_1024", "v5p_2048", "v5p_3072", "v5p_4096", "v5p_8192", "v5p_12288")
)
_V6E_GPT3, _V6E_LLAMA2, _V6E_MIXTRAL = "tpu/v6e/gpt3_175b", "tpu/v6e/llama2_7b_4096", "tpu/v6e/mixtral_8x7b"
_V6E_GEMMA = ("tpu/v6e/gemma2_9b", "tpu/v6e/gemma2_27b", "tpu/v6e/gemma3_27b")
_V6E = (*_V6E_GEMMA, _V6E_GPT3, _V6E_LLAMA2, _V6E_MIXTRAL)
_A3 = {number: f"gpu/a3/llama_2_7b/{number}vm" for number in (1, 2, 4, 8, 16)}
_A3_405B = "gpu/a3/llama_3.1_405b/128vm"
_GPU = (*_A3.values(), _A3_405B)
_PARALLEL = (*_EXPERIMENTAL, *_V5E, *_V5P, _V6E_GPT3)
_FUSED = (*_EXPERIMENTAL, *_V5E, *_V5P, *_V6E, *_V5P_GPT3)

# Flag, value, and the scripts that give it this value.
_USES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("xla_tpu_enable_data_parallel_all_reduce_opt", "true", _PARALLEL),
    ("xla_tpu_data_parallel_opt_different_sized_ops", "true", _PARALLEL),
    ("xla_tpu_enable_async_collective_fusion", "true", (*_PARALLEL, _V6E_LLAMA2, _V6E_MIXTRAL, *_V5P_GPT3)),
    ("xla_tpu_enable_async_collective_fusion_fuse_all_gather", "true", (*_V5E, *_V5P[1:], *_V6E, *_V5P_GPT3)),
    ("xla_tpu_enable_async_collective_fusion_fuse_all_gather", "false", _V5P[:1]),
    ("xla_tpu_enable_async_collective_fusion_multiple_steps", "true", _FUSED),
    ("xla_tpu_overlap_compute_collective_tc", "true", _FUSED),
    ("xla_enable_async_all_gather", "true", (*_V4, *_FUSED)),
    ("xla_tpu_spmd_rng_bit_generator_unsafe", "true", ("tpu/v5e/gpt3_175b", *_V5P_GPT3)),
    ("xla_tpu_megacore_fusion_allow_ags", "false", (*_EXPERIMENTAL, *_V5P)),
    ("xla_tpu_enable_ag_backward_pipelining", "true", (*_EXPERIMENTAL, *_V5P)),
    ("xla_enable_async_collective_permute", "true", (*_EXPERIMENTAL, *_V5P, *_V5P_GPT3)),
    ("TPU_MEGACORE", "MEGACORE_DENSE", _V4),
    ("xla_sc_disable_megacore_partitioning", "true", _V5P[:1]),
    ("xla_tpu_use_tc_device_shape_on_sc", "true", _V5P[:1]),
    ("xla_tpu_enable_sparse_core_collective_offload_all_gather", "true", _V5P[:1]),
    ("xla_tpu_scoped_vmem_limit_kib", "114688", _V6E_GEMMA[:1]),
    ("xla_tpu_scoped_vmem_limit_kib", "122880", _V6E_GEMMA[1:]),
    ("xla_tpu_scoped_vmem_limit_kib", "98304", (_V6E_GPT3, _V6E_LLAMA2)),
    ("xla_tpu_scoped_vmem_limit_kib", "81920", (_V6E_MIXTRAL,)),
    ("xla_tpu_use_minor_sharding_for_major_trivial_input", "true", (*_V6E_GEMMA, _V6E_GPT3)),
    ("xla_tpu_relayout_group_size_threshold_for_reduce_scatter", "1", (*_V6E_GEMMA, _V6E_GPT3)),
    ("xla_tpu_assign_all_reduce_scatter_layout", "true", _V6E_GEMMA),
    ("xla_tpu_enable_experimental_fusion_cost_model", "false", _V5P_GPT3),
    ("xla_tpu_dot_dot_fusion_duplicated", "false", _V5P_GPT3),
    ("xla_tpu_dot_dot_fusion", "false", _V5P_GPT3),
    ("xla_jf_conv_output_fusion", "false", _V5P_GPT3),
    ("xla_tpu_rwb_fusion", "false", _V5P_GPT3),
    ("xla_tpu_enable_aggressive_loop_fusion_layout_opt", "false", _V5P_GPT3),
    ("xla_tpu_enable_copy_fusion", "false", _V5P_GPT3),
    ("xla_tpu_reduce_loop_fusion_dup_with_unfusable_user", "false", _V5P_GPT3),
    ("xla_tpu_scavenge_vmem_for_fusions", "false", _V5P_GPT3),
    ("xla_jf_conv_input_fusion", "true", _V5P_GPT3),
    ("xla_tpu_decompose_all_gather_einsum", "true", _V5P_GPT3),
    ("xla_tpu_enable_megacore_fusion", "true", _V5P_GPT3),
    ("xla_always_enable_all_gather_2d_asymmetric", "true", _V5P_GPT3),
    ("xla_tpu_copy_fusion_pad_unpad_ratio", "300", _V5P_GPT3),
    ("xla_tpu_vector_load_fusion_window", "256", _V5P_GPT3),
    ("xla_tpu_vector_store_fusion_window", "64", _V5P_GPT3),
    ("xla_tpu_dcn_max_overlap_estimation", "32", _V5P_GPT3),
    ("xla_gpu_enable_latency_hiding_scheduler", "true", _GPU),
    ("xla_gpu_enable_triton_gemm", "false", _GPU),
    ("xla_gpu_enable_command_buffer", "", _GPU),
    ("xla_gpu_enable_highest_priority_async_stream", "true", _GPU),
    ("xla_gpu_all_reduce_combine_threshold_bytes", "1073741824", (_A3[8], _A3[16], _A3_405B)),
    ("xla_gpu_all_reduce_combine_threshold_bytes", "536870912", (_A3[4],)),
    ("xla_gpu_all_reduce_combine_threshold_bytes", "134217728", (_A3[1],)),
    ("xla_gpu_all_reduce_combine_threshold_bytes", "67108864", (_A3[2],)),
    ("xla_gpu_all_gather_combine_threshold_bytes", "134217728", _GPU),
    ("xla_gpu_reduce_scatter_combine_threshold_bytes", "134217728", (_A3[16], _A3_405B)),
    ("xla_gpu_reduce_scatter_combine_threshold_bytes", "67108864", (_A3[1], _A3[2], _A3[4], _A3[8])),
    ("xla_gpu_enable_pipelined_all_gather", "true", _GPU),
    ("xla_gpu_enable_pipelined_reduce_scatter", "true", _GPU),
    ("xla_gpu_enable_pipelined_all_reduce", "true", _GPU),
    ("xla_gpu_enable_while_loop_double_buffering", "true", _GPU),
    ("xla_gpu_enable_all_gather_combine_by_dim", "false", _GPU),
    ("xla_gpu_enable_reduce_scatter_combine_by_dim", "false", _GPU),
    ("xla_disable_hlo_passes", "rematerialization", _GPU),
)
FLAG_SETS: t.Final[dict[str, dict[str, str]]] = {
    script: {flag: value for flag, value, scripts in _USES if script in scripts}
    for script in (*_EXPERIMENTAL, *_V4, *_V5E, *_V5P, *_V5P_GPT3, *_V6E, *_GPU)
}
