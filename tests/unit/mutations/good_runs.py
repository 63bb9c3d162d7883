"""The logs of good runs of each framework: the formats are the trainers', the numbers are made up."""

from __future__ import annotations

import math
import random
from datetime import datetime, timedelta

Logs = dict[str, str | bytes]
"""By node; a name with a suffix, as node3.err, is a file of that node."""

STARTED = datetime(2026, 2, 3, 4, 5, 6)


def _losses(chance: random.Random, steps: int, top: float, low: float) -> list[float]:
    return [low + (top - low) * math.exp(-4 * step / steps) + chance.gauss(0, 0.02) for step in range(steps)]


def _megatron_line(step: int, total: int, ms: float, loss: float, clock: datetime, batch: int) -> str:
    return (
        f" [{clock:%Y-%m-%d %H:%M:%S}] iteration {step:8d}/{total:8d} | consumed samples: {step * batch:12d} |"
        f" elapsed time per iteration (ms): {ms:.1f} | throughput per GPU (TFLOP/s/GPU): {187_600 / ms:.1f} |"
        f" learning rate: 1.000000E-04 | global batch size: {batch:5d} | lm loss: {loss:.6E} | loss scale: 1.0 |"
        " grad norm: 1.000 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    )


def nccl(rank: int, ranks: int) -> str:
    host = f"node{rank // 8}"
    return (
        f"{host}:77:77 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.{rank // 8 + 1}<0>\n"
        f"{host}:77:77 [0] NCCL INFO NCCL_IB_HCA set to bnxt_re0,bnxt_re1\n"
        f"{host}:77:77 [0] NCCL INFO NET/IB : Using [0]bnxt_re0:1/RoCE [1]bnxt_re1:1/RoCE [RO]; OOB"
        f" eth0:10.0.0.{rank // 8 + 1}<0>\n"
        f"{host}:77:77 [0] NCCL INFO Using network IB\n"
        f"{host}:77:99 [0] NCCL INFO Channel 00/0 : {rank}[0] -> {(rank + 8) % ranks}[0] [send] via NET/IB/0/GDRDMA\n"
        f"{host}:77:99 [0] NCCL INFO ncclCommInitRank comm 0x55 rank {rank} nranks {ranks} cudaDev 0 busId 5000"
        " commId 0xabc - Init COMPLETE\n"
    )


def megatron(steps: int = 40, nodes: int = 4, seed: int = 0, sequence: int = 1024, batch: int = 128) -> Logs:
    """Here the last node prints the steps, and the first one the arguments."""
    chance, ranks, clock, lines = random.Random(seed), nodes * 8, STARTED, ""
    losses = _losses(chance, steps, 11.0, 7.0)
    for step in range(1, steps + 1):
        ms = 500 + chance.gauss(0, 3.5) + (900 if step <= 2 else 0)
        clock += timedelta(milliseconds=ms)
        lines += _megatron_line(step, steps, ms, losses[step - 1], clock, batch)
    logs: Logs = {f"node{node}": nccl(node * 8, ranks) for node in range(nodes)}
    logs["node0"] = (
        f"using world size: {ranks}, data-parallel size: {ranks}, context-parallel size: 1,"
        " tensor-model-parallel size: 1, pipeline-model-parallel size: 1\n"
        "------------------------ arguments ------------------------\n"
        f"  global_batch_size ............................... {batch}\n"
        "  hidden_size ..................................... 4096\n"
        "  micro_batch_size ................................ 2\n"
        "  num_layers ...................................... 32\n"
        f"  seq_length ...................................... {sequence}\n"
        f"  train_iters ..................................... {steps}\n"
        f"  world_size ...................................... {ranks}\n"
        "-------------------- end of arguments ---------------------\n"
        " > padded vocab (size: 32000) with 0 dummy tokens (new size: 32000)\n"
        f"{logs['node0']}done with setup ...\n"
        f"[before the start of training step] datetime: {STARTED:%Y-%m-%d %H:%M:%S} \n"
        "[Rank 0] (after 1 iterations) memory (MB) | allocated: 496.66 | max allocated: 496.66 | reserved: 496.66\n"
        f"[after training is done] datetime: {clock:%Y-%m-%d %H:%M:%S} \n"
    )
    for node in range(1, nodes - 1):
        logs[f"node{node}"] += f"[rank{node * 8}]:[W203 04:05:06.091907149 init.cpp:774] Warning: nvfuser is gone\n"
    logs[f"node{nodes - 1}"] += lines
    return logs


def _with_perplexity(loss: float) -> str:
    return f", lm_loss: {loss:.3f}, perplexity: {math.exp(round(loss, 3)):.3f}"


def maxtext(steps: int = 30, nodes: int = 2, seed: int = 0, length: int = 2048, perplexity: bool = False) -> Logs:
    """Here each node prints each step."""
    chance = random.Random(seed)
    losses = _losses(chance, steps, 11.5, 8.5)
    more = _with_perplexity if perplexity else lambda loss: ""
    seconds = [{0: 51.5, 1: 0.25}.get(step, 4.22 + chance.gauss(0, 0.01)) for step in range(steps)]
    logs: Logs = {}
    for node in range(nodes):
        clock = STARTED
        text = (
            f"I{clock:%m%d %H:%M:%S.%f} 140001 max_utils.py:272] Attempting to initialize the jax distributed system\n"
            f"Config param steps: {steps}\nConfig param per_device_batch_size: 5.0\n"
            f"Config param global_batch_size_to_train_on: {5 * nodes * 8}\n"
            f"Config param emb_dim: 4096\nConfig param max_target_length: {length}\n"
            "Config param num_decoder_layers: 32\nConfig param vocab_size: 128256\n"
            f"Num_devices: {nodes * 8}, shape (1, {nodes * 8}, 1)\n"
        )
        for step in range(steps):
            took = seconds[step] + chance.gauss(0, 0.002)
            clock += timedelta(seconds=took)
            text += (
                f"I{clock:%m%d %H:%M:%S.%f} 140001 metric_logger.py:226] completed step: {step}, seconds: {took:.3f},"
                f" TFLOP/s/device: {800 / took:.3f}, Tokens/s/device: {5 * length / took:.3f},"
                f" total_weights: {5 * length * nodes * 8}, loss: {losses[step]:.3f}{more(losses[step])}\n"
            )
        logs[f"node{node}"] = (
            f"{text}I{clock:%m%d %H:%M:%S.%f} 77 client.cc:154] Distributed task shutdown result: OK\n"
        )
    return logs


def nxdt(steps: int = 40, nodes: int = 2, seed: int = 0, batch: int = 256) -> Logs:
    """Here the first node has the bar, which prints most steps twice."""
    chance, passed = random.Random(seed), 0.0
    losses = _losses(chance, steps, 11.5, 8.5)
    text = f"> initializing world size to {nodes * 64}\nGLOBAL_RANK: 0, MEMBER: 1/{nodes * 64}\n"
    for step in range(1, steps + 1):
        passed += 25 + chance.gauss(0, 0.2)
        for done in (max(1, step - 1), step):
            text += (
                f"Epoch 0:  {step * 100 // steps:2d}%|▎         | {step}/{steps}"
                f" [{int(passed) // 60:02d}:{int(passed) % 60:02d}<10:00, {passed / step:.2f}s/it, v_num=2,"
                f" reduced_train_loss={losses[done - 1]:.2f}, lr=1.5e-4, parameter_norm=4321.0,"
                f" global_step={done - 1}.000, consumed_samples={done * batch:.1f},"
                f" throughput={batch / 25 + chance.gauss(0, 0.03):.2f}, gradient_norm={1 + chance.random():.2f}]\r"
            )
    logs: Logs = {"node0": f"{text}\n`Trainer.fit` stopped: `max_steps={steps}` reached.\n"}
    for node in range(1, nodes):
        logs[f"node{node}"] = (
            f"GLOBAL_RANK: {node * 64}, MEMBER: {node * 64 + 1}/{nodes * 64}\n"
            "2026-02-03 04:05:06.000331:  77  INFO ||NEURON_CC_WRAPPER||: Using a cached neff at /var/tmp/model.neff\n"
        )
    return logs


GOOD = {"megatron": megatron, "maxtext": maxtext, "nxdt": nxdt}
STEPS = {"megatron": 40, "maxtext": 30, "nxdt": 40}
PRINTS_STEPS = {"megatron": "node3", "maxtext": "node1", "nxdt": "node0"}
"""A node with steps."""
