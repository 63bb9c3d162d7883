#!/usr/bin/env bash
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Starts pretrain_core.py with the contract of ROCm Megatron-LM's script of this name. GENERATION says of which release:
# v25.3 overwrites the environment of the network, so that only KEY=VALUE arguments reach it; v25.3 and v25.5 end with
# exit status 0 whatever became of the training; v26.1 trains on a dataset exactly where there is a DATA_PATH, and ends
# with the training's exit status. FAIL_AT_STEP and UNSHARED_CACHE break a training on purpose.
GENERATION="${GENERATION:-v25.5}"
if [[ $GENERATION == v25.3 ]]; then
  export NCCL_SOCKET_IFNAME=ens50f0np0
  export GLOO_SOCKET_IFNAME=ens50f0np0
fi
for ARGUMENT in "$@"; do
  export "${ARGUMENT?}"
done
if [[ $GENERATION != v25.3 && ${NNODES:-1} -gt 1 ]]; then
  export NCCL_SOCKET_IFNAME="${NCCL_SOCKET_IFNAME:-ens51np0}"
  export GLOO_SOCKET_IFNAME="${GLOO_SOCKET_IFNAME:-ens51np0}"
fi

MBS="${MBS:-2}"
BS="${BS:-8}"
TP="${TP:-1}"
SEQ_LENGTH="${SEQ_LENGTH:-64}"
TOTAL_ITERS="${TOTAL_ITERS:-10}"
NNODES="${NNODES:-1}"
LOG_DIR="${LOG_DIR:-experiment/rank${NODE_RANK:-0}}"
TRAIN_LOG="$LOG_DIR/output_${EXP_NAME:-perf}.log"
PYTHON="${PYTHON:-python3}"
DATA_CACHE_PATH="${DATA_CACHE_PATH:-$LOG_DIR/cache}"
# That of v25.3 has a folder of the container written in it; FIXED_CACHE stands for that.
[[ $GENERATION != v25.3 ]] || DATA_CACHE_PATH="${FIXED_CACHE:-$LOG_DIR/cache}"
[[ -z ${UNSHARED_CACHE:-} ]] || DATA_CACHE_PATH="$DATA_CACHE_PATH/${NODE_RANK:-0}"
mkdir -p "$LOG_DIR"
echo "$TRAIN_LOG"

if [[ ${MODEL_SIZE:-tiny} != tiny || ${PP:-1} != 1 || ${CP:-1} != 1 || ${TE_FP8:-0} != 0 || ${FSDP:-0} != 0 ]]; then
  echo "Model size not supported: this trainer has MODEL_SIZE=tiny, PP=1, CP=1, TE_FP8=0 and FSDP=0 only."
  exit 1
fi
case $GENERATION in
v25.3) MOCK=1 ;;
v25.5) MOCK="${MOCK_DATA:-1}" ;;
*) [[ -z ${DATA_PATH+set} ]] && MOCK=1 || MOCK=0 ;;
esac
if [[ $MOCK != 1 ]]; then
  echo "Using ${DATA_PATH:-} data: this trainer has none but synthetic data."
  exit 1
fi
echo "Using Mock data"

train() {
  "$PYTHON" -m torch.distributed.run --nproc_per_node 1 --nnodes "$NNODES" --node_rank "${NODE_RANK:-0}" \
    --master_addr "${MASTER_ADDR:-localhost}" --master_port "${MASTER_PORT:-6000}" pretrain_core.py \
    --tensor-model-parallel-size "$TP" --micro-batch-size "$MBS" --global-batch-size "$BS" --seq-length "$SEQ_LENGTH" \
    --train-iters "$TOTAL_ITERS" --data-cache-path "$DATA_CACHE_PATH" --fail-at-step "${FAIL_AT_STEP:-0}" \
    --save "${SAVE_CKPT_PATH:-}" --save-interval "${SAVE_INTERVAL:-5}" --load "${LOAD_CKPT_PATH:-}"
}
train |& tee "$TRAIN_LOG"
STATUS=${PIPESTATUS[0]}
if [[ $GENERATION == v26.1 && $STATUS != 0 ]]; then
  echo "ERROR: training (torchrun pretrain_core.py) failed with exit code $STATUS" |& tee -a "$TRAIN_LOG"
fi

# The mean of a field of the iteration lines without the first two and the last one; nan where there are none.
mean() {
  grep -Eo "$1: [0-9.]+" "$TRAIN_LOG" | sed 's/.*: //' |
    awk '{value[NR] = $0} END {for (n = 3; n < NR; n++) sum += value[n]; if (NR > 3) print sum / (NR - 3); else print "nan"}'
}
MILLISECONDS=$(mean 'elapsed time per iteration \(ms\)')
{
  echo "throughput per GPU: $(mean 'throughput per GPU \(TFLOP/s/GPU\)')"
  echo "elapsed time per iteration: $MILLISECONDS"
  awk -v batch="$BS" -v length_="$SEQ_LENGTH" -v time="$MILLISECONDS" -v gpus="$NNODES" \
    'BEGIN {if (time == "nan") print "tokens/GPU/s: nan"; else printf "tokens/GPU/s: %.6f\n", batch * length_ * 1000 / (time * gpus)}'
  echo "mem usages: $(mean 'mem usages')"
} |& tee -a "$TRAIN_LOG"
[[ $GENERATION != v26.1 ]] || exit "$STATUS"
