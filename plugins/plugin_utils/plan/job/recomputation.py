# SPDX-License-Identifier: GPL-3.0-or-later
"""What remains of a layer's activations where some of them are computed again in the backward pass.

A part is 1 where all activations are kept, and 0 where only the layer's input is. For policies by name, it is what the
saved products take of a layer with a gated feed-forward part and few key/value heads, such as Llama 3's.
"""

from __future__ import annotations

ALL, INPUT = 1.0, 0.0
# Every second product, as selective activation checkpointing of operators keeps it.
SELECTIVE = 0.5

# Of jax.checkpoint, by the products that get_remat_policy saves (layers/decoders.py of the trainer that names them).
# The policy "none" saves nothing, as "full".
OF_POLICY = {
    "minimal": 0.68,
    **dict.fromkeys(("minimal_flash", "minimal_with_context"), 0.74),
    "save_dot_with_context_except_mlp": 0.25,
    "save_dot_except_mlpwi": 0.25,
    "save_dot_except_mlp": 0.2,
    "save_qkv_proj": 0.1,
    "save_out_proj": 0.1,
}
# XLA fuses a logit's copies: measured are 4.6 to 4.7 bytes.
XLA_LOGIT = 5.0
