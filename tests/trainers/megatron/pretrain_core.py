# SPDX-License-Identifier: GPL-3.0-or-later
"""Trains a small GPT of Megatron Core on CPUs, in data and tensor parallelism over Gloo, and logs as Megatron-LM does.

The model, its layers that are split for tensor parallelism, the process groups and the dataset with its cache are
Megatron Core's own, from PyPI; the loop, the exchange of gradients and the log are written here. torchrun starts it,
and train_llama3.sh beside it gives the arguments.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import time
import typing as t
from collections import OrderedDict
from datetime import datetime

import torch
import torch.distributed
from checkpoints import load, save
from megatron.core import parallel_state, tensor_parallel
from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
from megatron.core.datasets.gpt_dataset import GPTDatasetConfig, MockGPTDataset
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.transformer import TransformerConfig

VOCABULARY = 512
LAYERS, HIDDEN, HEADS, GROUPS, FEED_FORWARD = 2, 64, 4, 2, 192


class NoRngTracker:
    """In place of the tracker of CUDA's random numbers; without dropout nothing is drawn."""

    def fork(self, _name: str = "") -> contextlib.AbstractContextManager[None]:
        """Return a context in which all stays as it is."""
        return contextlib.nullcontext()


class Tokenizer:
    """The methods of a tokenizer that the mock dataset calls."""

    vocab_size = VOCABULARY
    eod = 0
    pad = VOCABULARY - 1
    unique_identifiers: t.ClassVar[OrderedDict[str, str]] = OrderedDict({"class": "numbers"})


def parsed() -> argparse.Namespace:
    """Return the arguments, with the names of Megatron-LM's pretrain_gpt.py."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("tensor-model-parallel-size", "micro-batch-size", "global-batch-size", "seq-length", "train-iters"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--data-cache-path", required=True)
    parser.add_argument("--save", default="", help="folder for checkpoints, which the ranks share")
    parser.add_argument("--save-interval", type=int, default=5)
    parser.add_argument("--load", default="", help="folder of the checkpoint to go on from, where there is one")
    parser.add_argument("--fail-at-step", type=int, default=0, help="raise an error in this step, on the first rank")
    return parser.parse_args()


def use_cpu() -> None:
    """Keep Megatron Core from looking for a GPU."""
    torch.cuda.current_device = lambda: "cpu"  # type: ignore[assignment]
    torch.cuda.synchronize = lambda: None
    tensor_parallel.random._CUDA_RNG_STATE_TRACKER = NoRngTracker()
    tensor_parallel.random._CUDA_RNG_STATE_TRACKER_INITIALIZED = True


def built_model(length: int) -> GPTModel:
    """Return the part of the model that belongs on this rank, with the same weights on all data-parallel ranks."""
    torch.manual_seed(1234)
    config = TransformerConfig(
        num_layers=LAYERS,
        hidden_size=HIDDEN,
        num_attention_heads=HEADS,
        num_query_groups=GROUPS,
        ffn_hidden_size=FEED_FORWARD,
        tensor_model_parallel_size=parallel_state.get_tensor_model_parallel_world_size(),
        use_cpu_initialization=True,
        add_bias_linear=False,
        gated_linear_unit=True,
        activation_func=torch.nn.functional.silu,
        normalization="RMSNorm",
        attention_dropout=0.0,
        hidden_dropout=0.0,
        bias_activation_fusion=False,
        gradient_accumulation_fusion=False,
        masked_softmax_fusion=False,
        apply_rope_fusion=False,
        bias_dropout_fusion=False,
        pipeline_dtype=torch.float32,
    )
    return GPTModel(
        config=config,
        transformer_layer_spec=get_gpt_layer_local_spec(normalization="RMSNorm"),
        vocab_size=VOCABULARY,
        max_sequence_length=length,
        position_embedding_type="rope",
    )


def built_data(arguments: argparse.Namespace) -> MockGPTDataset:
    """Return the dataset of counting documents: rank 0 writes its index to the cache, and the others read it there."""
    config = GPTDatasetConfig(
        random_seed=1234,
        sequence_length=arguments.seq_length,
        split="99,1,0",
        path_to_cache=arguments.data_cache_path,
        reset_position_ids=False,
        reset_attention_mask=False,
        eod_mask_loss=False,
        create_attention_mask=True,
        tokenizer=Tokenizer(),
    )
    sizes = (arguments.train_iters * arguments.global_batch_size, 1, 0)
    train, *_ = BlendedMegatronDatasetBuilder(MockGPTDataset, sizes, lambda: True, config).build()
    return train


def batches(data: MockGPTDataset, arguments: argparse.Namespace, step: int) -> t.Iterator[dict[str, torch.Tensor]]:
    """Yield this rank's micro batches of a step."""
    ranks, rank = parallel_state.get_data_parallel_world_size(), parallel_state.get_data_parallel_rank()
    share = arguments.global_batch_size // ranks
    first = (step - 1) * arguments.global_batch_size + rank * share
    for start in range(first, first + share, arguments.micro_batch_size):
        samples = [data[place] for place in range(start, start + arguments.micro_batch_size)]
        yield {name: torch.stack([torch.as_tensor(sample[name]) for sample in samples]) for name in samples[0]}


def gradients(model: GPTModel, data: MockGPTDataset, arguments: argparse.Namespace, step: int) -> torch.Tensor:
    """Fill the gradients of a step, averaged over all its sequences, and return the mean loss."""
    model.zero_grad()
    total, count = torch.zeros(()), 0
    for batch in batches(data, arguments, step):
        losses = model(
            input_ids=batch["tokens"],
            position_ids=batch["position_ids"],
            attention_mask=batch["attention_mask"],
            labels=batch["labels"],
        )
        loss = (losses * batch["loss_mask"]).sum() / batch["loss_mask"].sum()
        loss.backward()
        total, count = total + loss.detach(), count + 1
    group, ranks = parallel_state.get_data_parallel_group(), parallel_state.get_data_parallel_world_size()
    for parameter in model.parameters():
        torch.distributed.all_reduce(parameter.grad, group=group)
        parameter.grad /= ranks * count
    torch.distributed.all_reduce(total, group=group)
    return total / (ranks * count)


def norm_of_gradients(model: GPTModel) -> float:
    """Return the norm of all gradients; a gradient that is split among tensor-parallel ranks counts on each of them."""
    split, whole = torch.zeros(()), torch.zeros(())
    for parameter in model.parameters():
        square = parameter.grad.square().sum()
        if getattr(parameter, "tensor_model_parallel", False):
            split += square
        else:
            whole += square
    torch.distributed.all_reduce(split, group=parallel_state.get_tensor_model_parallel_group())
    return float((split + whole).sqrt())


def flops_per_step(arguments: argparse.Namespace) -> float:
    """Return the FLOPs of a step: 6 for each weight and token, and 6 × layers × length × size for causal attention."""
    size = HIDDEN // HEADS
    weights = LAYERS * (2 * HIDDEN * size * (HEADS + GROUPS) + 3 * HIDDEN * FEED_FORWARD) + HIDDEN * VOCABULARY
    attention = 6 * LAYERS * arguments.seq_length * HIDDEN
    return float(arguments.global_batch_size * arguments.seq_length * (6 * weights + attention))


def log_step(arguments: argparse.Namespace, step: int, seconds: float, loss: float, norm: float) -> None:
    """Print Megatron-LM's line of a step, on the last rank, with ROCm's share of memory."""
    ranks = torch.distributed.get_world_size()
    if torch.distributed.get_rank() != ranks - 1:
        return
    with open("/proc/meminfo", encoding="ascii") as stream:
        memory = int(stream.readline().split()[1])
    share = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / memory
    teraflops = flops_per_step(arguments) / seconds / ranks / 1e12
    stamp = datetime.now().strftime("%Y-%m-%d %H:%M:%S")
    fields = (
        f"iteration {step:8d}/{arguments.train_iters:8d}",
        f"consumed samples: {step * arguments.global_batch_size:12d}",
        f"elapsed time per iteration (ms): {seconds * 1000:.1f}",
        f"mem usages: {share:.4f}",
        # With one digit, as on a GPU, a CPU would show nothing.
        f"throughput per GPU (TFLOP/s/GPU): {teraflops:.6f}",
        "learning rate: 1.000000E-02",
        f"global batch size: {arguments.global_batch_size:5d}",
        f"lm loss: {loss:.6E}",
        "loss scale: 1.0",
        f"grad norm: {norm:.3f}",
        "number of skipped iterations:   0",
        "number of nan iterations:   0",
    )
    print(f" [{stamp}] {' | '.join(fields)} |", flush=True)


def mark(text: str) -> None:
    """Print a line with a time on the first rank, as Megatron-LM does at its milestones."""
    if torch.distributed.get_rank() == 0:
        print(f"[{text}] datetime: {datetime.now():%Y-%m-%d %H:%M:%S} ", flush=True)


def main() -> None:
    """Train."""
    arguments = parsed()
    use_cpu()
    torch.distributed.init_process_group("gloo")
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=arguments.tensor_model_parallel_size)
    mark("after megatron is initialized")
    model = built_model(arguments.seq_length)
    data = built_data(arguments)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    begun = load(arguments.load, model, optimizer) if arguments.load else 0
    mark("before the start of training step")
    for step in range(begun + 1, arguments.train_iters + 1):
        start = time.monotonic()
        if step == arguments.fail_at_step and torch.distributed.get_rank() == 0:
            raise RuntimeError(f"step {step} was told to fail")
        loss = gradients(model, data, arguments, step)
        norm = norm_of_gradients(model)
        torch.nn.utils.clip_grads_with_norm_(model.parameters(), 1.0, torch.tensor(norm))
        optimizer.step()
        log_step(arguments, step, time.monotonic() - start, float(loss), norm)
        if arguments.save and step % arguments.save_interval == 0:
            save(arguments.save, model, optimizer, step)
    mark("after training is done")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
