# SPDX-License-Identifier: GPL-3.0-or-later
"""A data-parallel training of the tiny model, one process on each node.

Every node prints its own line for every iteration, unlike Megatron, where only the last rank does. So each node's own
memory and pace show; the pace includes the wait for the slowest node in the all-reduce, which rank 0 names if it stands
out. Loss and gradient norm are for the global batch and the same on all nodes.

Exit status: 0 trained to the end; 1 failed, with one line on stderr that says why; 2 settings refused, before anything
was started; 143 stopped by SIGTERM.
"""

from __future__ import annotations

import math
import os
import platform
import signal
import socket
import sys
import time
import typing as t
from operator import add, mul

from .adam import Adam
from .check import checked_settings
from .checkpoint import Checkpoint, load, save
from .corpus import file_corpus, sample_indices, synthetic_corpus
from .log import Iteration, iteration_line, marker, memory_share, slowest_line
from .model import FLOPS_PER_TOKEN, PARAMETERS, initial_parameters, loss_and_gradient
from .rendezvous import form_world
from .world import parameter_checksum

if t.TYPE_CHECKING:
    from .corpus import Corpus
    from .settings import Settings
    from .world import World

_FEWEST_NODES = 3


def main() -> int:
    """Train as the environment says; give the exit status."""
    settings = checked_settings()
    if not settings:
        return 2
    try:
        signal.signal(signal.SIGTERM, stop_on_sigterm)
        _run(settings)
    except (OSError, RuntimeError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return 1
    except Stopped:
        print("exiting program after receiving SIGTERM.", file=sys.stderr, flush=True)
        return 128 + signal.SIGTERM
    return 0


def nonfinite_loss(rank: int, host: str, iteration: int, local_loss: float, loss: float) -> str:
    """Say that an iteration's loss is NaN or infinite, and on whose samples.

    The wording for a node's own samples comes from Megatron >= 0.11 (its rerun state machine).
    """
    if math.isfinite(local_loss):
        return f"Rank {rank}, node {host}, iteration {iteration}: the mean loss of all nodes is {loss}, not this node's"
    name = "NaN" if math.isnan(local_loss) else "Inf"
    return (
        f"Rank {rank}, node {host}, device 0, iteration {iteration}: Unexpected result {local_loss} "
        f"(message='found {name} in local forward loss calculation')"
    )


class Stopped(BaseException):
    """SIGTERM came; like KeyboardInterrupt it passes every handler of errors."""


def stop_on_sigterm(_signal: int, _frame: object) -> t.NoReturn:
    """Raise Stopped once; a handler for ``signal.signal``."""
    # A launcher may signal the process group and the script, which passes it on: the second finds this one stopping.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stopped


def _say(line: str) -> None:
    print(line, flush=True)


def _run(settings: Settings) -> None:
    _say(
        f"tiny byte-level language model of {PARAMETERS} parameters on the CPU; node rank {settings.node_rank} of "
        f"{settings.nnodes} on {socket.gethostname()}, process {os.getpid()}, Python {platform.python_version()}"
    )
    if settings.tokenizer_model not in ("", "bytes"):
        _say(f"TOKENIZER_MODEL={settings.tokenizer_model} is ignored: the tokens are bytes")
    if settings.nnodes > 1:
        _say(f"rendezvous of {settings.nnodes} nodes at {settings.master_addr}:{settings.master_port}")
    world, joined = form_world(settings)
    _say(joined)
    _say(f"using world size: {settings.nnodes}, data-parallel size: {settings.nnodes}")
    _say(marker("after megatron is initialized"))
    try:
        parameters = _train(settings, world)
        if not world.agree(parameters):
            raise RuntimeError(
                f"rank {world.rank}: the nodes' parameters differ after training; "
                f"their checksum here is {parameter_checksum(parameters)[:16]}"
            )
    finally:
        world.close()
    _say(f"parameter checksum, the same on all nodes: {parameter_checksum(parameters)[:16]}")
    _say(marker("after training is done"))


def _train(settings: Settings, world: World) -> list[float]:
    """Train and give the final parameters; RuntimeError once the loss is not a number."""
    if settings.data_path:
        corpus = file_corpus(settings.data_path, settings.seed, settings.seq_length)
    else:
        corpus = synthetic_corpus(settings.seed, settings.seq_length)
    begun, parameters, adam = _begun(settings, world)
    tokens_per_node = settings.global_batch_size // settings.nnodes * settings.seq_length
    _say(marker("before the start of training step"))
    for iteration in range(begun + 1, settings.train_iters + 1):
        start = time.perf_counter()
        local_loss, local_gradient = _local_mean(settings, world, corpus, parameters, iteration)
        computed = time.perf_counter() - start
        loss, *gradient = (value / world.size for value in world.all_reduce([local_loss, *local_gradient]))
        if math.isfinite(loss):
            parameters = adam.step(parameters, gradient, settings.learning_rate)
        measured = Iteration(
            iteration=iteration,
            train_iters=settings.train_iters,
            consumed_samples=iteration * settings.global_batch_size,
            seconds=time.perf_counter() - start,
            memory_share=memory_share(),
            flops=FLOPS_PER_TOKEN * tokens_per_node,
            learning_rate=settings.learning_rate,
            global_batch_size=settings.global_batch_size,
            loss=loss,
            grad_norm=math.sqrt(sum(map(mul, gradient, gradient))),
        )
        _say(iteration_line(measured))
        say_slowest(world, computed)
        if not math.isfinite(loss):
            raise RuntimeError(nonfinite_loss(world.rank, socket.gethostname(), iteration, local_loss, loss))
        if settings.save_path and world.rank == 0 and iteration % settings.save_interval == 0:
            save(settings.save_path, Checkpoint(iteration, parameters, adam))
            _say(f"  successfully saved checkpoint from iteration {iteration:7d} to {settings.save_path}")
    return parameters


def say_slowest(world: World, computed: float) -> None:
    """Let rank 0 print which rank the others waited for, given the seconds that this one computed.

    Of two nodes, one is always the slower.
    """
    if world.size < _FEWEST_NODES:
        return
    of_ranks = world.all_reduce([computed if rank == world.rank else 0.0 for rank in range(world.size)])
    if world.rank == 0 and (line := slowest_line(of_ranks)):
        _say(line)


def _begun(settings: Settings, world: World) -> Checkpoint:
    """Return where the training resumes, the same on all nodes: the last checkpoint, or the very beginning."""
    begun = Checkpoint(0, initial_parameters(settings.seed), Adam(PARAMETERS))
    if settings.load_path:
        begun = load(settings.load_path) or begun
        if not world.agree(begun.parameters):
            raise RuntimeError(f"rank {world.rank}: the nodes found different checkpoints in {settings.load_path}")
    if begun.iteration:
        _say(f"  successfully loaded checkpoint from {settings.load_path} at iteration {begun.iteration}")
    return begun


def _local_mean(
    settings: Settings, world: World, corpus: Corpus, parameters: list[float], iteration: int
) -> tuple[float, list[float]]:
    """Mean loss of a token and its gradient over this node's share of the global batch, one micro batch at a time."""
    loss = 0.0
    gradient = [0.0] * PARAMETERS
    for indices in sample_indices(iteration, world.rank, world.size, settings.micro_batch_size, settings.micro_batches):
        micro_loss, micro_gradient = loss_and_gradient(parameters, [corpus(index) for index in indices])
        loss += micro_loss
        gradient = list(map(add, gradient, micro_gradient))
        world.raise_if_peer_closed()
    tokens = settings.micro_batches * settings.micro_batch_size * settings.seq_length
    return loss / tokens, [value / tokens for value in gradient]


if __name__ == "__main__":
    sys.exit(main())
