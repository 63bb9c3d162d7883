#!/usr/bin/env bash
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Trains the tiny model of this folder with the contract of ROCm Megatron-LM's script of this name: variables come from
# the environment or as KEY=VALUE arguments, which win. The README says which, and what is different.
set -o pipefail

STATUS=0
for ARGUMENT in "$@"; do
  if [[ $ARGUMENT =~ ^[A-Za-z_][A-Za-z_0-9]*= ]]; then
    export "${ARGUMENT?}"
  else
    echo "train_llama3.sh: the argument '$ARGUMENT' is refused: KEY=VALUE is expected" >&2
    STATUS=2
  fi
done

export EXP_NAME="${EXP_NAME:-perf}"
export TEE_OUTPUT="${TEE_OUTPUT:-1}"
export MASTER_ADDR="${MASTER_ADDR:-localhost}"
export MASTER_PORT="${MASTER_PORT:-6000}"
export NNODES="${NNODES:-1}"
export NODE_RANK="${NODE_RANK:-0}"
export GLOO_SOCKET_IFNAME="${GLOO_SOCKET_IFNAME:-}"
export NCCL_SOCKET_IFNAME="${NCCL_SOCKET_IFNAME:-}"
export RENDEZVOUS_TIMEOUT="${RENDEZVOUS_TIMEOUT:-120}"
export MODEL_SIZE="${MODEL_SIZE:-tiny}"
export TP="${TP:-1}"
export PP="${PP:-1}"
export CP="${CP:-1}"
export MBS="${MBS:-2}"
export BS="${BS:-8}"
export SEQ_LENGTH="${SEQ_LENGTH:-64}"
export TOTAL_ITERS="${TOTAL_ITERS:-10}"
export LR="${LR:-1e-2}"
export SEED="${SEED:-1234}"
export SEQ_PARALLEL="${SEQ_PARALLEL:-1}"
export TE_FP8="${TE_FP8:-0}"
export FSDP="${FSDP:-0}"
export RECOMPUTE="${RECOMPUTE:-0}"
export MOCK_DATA="${MOCK_DATA:-1}"
export DATA_PATH="${DATA_PATH:-}"
export TOKENIZER_MODEL="${TOKENIZER_MODEL:-bytes}"
export SAVE_CKPT_PATH="${SAVE_CKPT_PATH:-}"
export SAVE_INTERVAL="${SAVE_INTERVAL:-10}"
export LOAD_CKPT_PATH="${LOAD_CKPT_PATH:-}"
PYTHON="${PYTHON:-python3}"
TRAINER="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"

if ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 8))'; then
  echo "train_llama3.sh: PYTHON=$PYTHON is refused: Python 3.8 or newer is expected" >&2
  exit 2
fi
"$PYTHON" "$TRAINER/pretrain_tiny.py" --check || STATUS=$?
[[ $STATUS == 0 ]] || exit "$STATUS"

SIZES="${MODEL_SIZE}_mbs${MBS}_bs${BS}_tp${TP}_pp${PP}_cp${CP}_iter${TOTAL_ITERS}"
LOG_DIR="${LOG_DIR:-experiment/${NNODES}nodes_rank${NODE_RANK}_train_$SIZES/TE_FP8_$TE_FP8/$(date +%Y-%m-%d_%H-%M-%S)}"
TRAIN_LOG="$LOG_DIR/output_$EXP_NAME.log"
mkdir -p "$LOG_DIR" || exit 1
echo "$TRAIN_LOG"

if [[ $TEE_OUTPUT == 1 ]]; then exec 3>&1; else exec 3>/dev/null; fi
# The trainer runs beside the shell, which else would not pass on a signal before it has ended.
trap '[[ -n $(jobs -p) ]] || exit 143; kill -TERM $(jobs -p) 2>/dev/null' TERM INT
"$PYTHON" "$TRAINER/pretrain_tiny.py" 2>&1 | (trap '' TERM INT && exec tee "$TRAIN_LOG" >&3) &
wait %1
STATUS=$?
# A signal ends the wait before the trainer has ended.
while [[ -n $(jobs -pr) ]]; do
  wait %1
  STATUS=$?
done

if [[ $STATUS != 0 ]]; then
  echo "ERROR: training (pretrain_tiny.py) failed with exit code $STATUS" | tee -a "$TRAIN_LOG" >&2
  exit "$STATUS"
fi
"$PYTHON" "$TRAINER/summarize_log.py" "$TRAIN_LOG" "$BS" "$SEQ_LENGTH" "$NNODES" | tee -a "$TRAIN_LOG"
