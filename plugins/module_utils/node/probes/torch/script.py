# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures GPUs with PyTorch, in the image of a training; printed is a line of JSON for each GPU.

Run by itself, it starts a process for each GPU, all at the same time, like a training. Each line has ``device``, its
``name``, ``seconds`` (a list for each kind of work) and ``problem``. Without a GPU one process measures the CPU with
less work, in processor time: the rehearsal.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import typing as t
from collections.abc import Callable, Mapping

_SAMPLES = 5
# A product of square matrices, copies within the GPU's memory, and copies between it and the host; the sizes are of a
# GPU and of a CPU.
EDGE = (8192, 256)
COPIED = (1 << 30, 8 << 20)
_MOVED = (256 << 20, 8 << 20)
# GPUs of several nodes exchange much, or so little that latency counts.
_MUCH, _LITTLE = (256 << 20, 1 << 20), (1 << 20, 64 << 10)
_SENT = (64 << 20, 1 << 20)
_TIMES = 10
_LONGEST_WORDS = 200
# Heat, power limits and clocks settle in that time; the last quarter counts.
_SETTLED = 4
# The load ends this long before the limit, however long PyTorch took to load.
_LEFT_SECONDS = 5


def main() -> int:
    """Measure as the arguments say, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", type=int, help="measure this GPU alone")
    parser.add_argument("--count", action="store_true", help="only print how many GPUs there are")
    parser.add_argument("--nodes", type=int, default=1, help="nodes that work together")
    parser.add_argument("--works", nargs="*", default=[], help="joint operations of all GPUs")
    parser.add_argument("--node", type=int, default=0, help="the number of this node among them")
    parser.add_argument("--slowdown", type=float, default=1.0, help="how many times as much work the CPU does")
    parser.add_argument("--patience", type=float, default=25.0, help="seconds to wait for the other nodes")
    parser.add_argument("--load", type=float, default=0.0, help="seconds that all GPUs multiply at the same time")
    parser.add_argument("--product", type=int, nargs=3, help="rows, inner size and columns of a training's product")
    parser.add_argument("--limit", type=float, default=35.0, help="seconds to wait for a GPU")
    asked = parser.parse_args()
    asked.deadline = time.monotonic() + asked.limit
    import torch  # noqa: PLC0415 - nodes read this file without it

    gpus = torch.cuda.device_count()
    if asked.count:
        sys.stdout.write(f"{gpus}\n")
        return 0
    if gpus and asked.device is None:
        return _on_all(gpus, asked)
    line: dict[str, t.Any] = {"device": asked.device if gpus else None, "name": "CPU", "seconds": {}, "problem": ""}
    try:
        if gpus:
            torch.cuda.set_device(asked.device)
            _stay_near(torch.cuda.get_device_properties(asked.device))
            line["name"] = torch.cuda.get_device_name(asked.device)
        else:
            torch.set_num_threads(1)
        line["seconds"] = (_together if asked.works else _alone)(torch, asked, gpus > 0)
    except Exception as error:
        line["problem"] = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else 'no reason'}"
    sys.stdout.write(json.dumps(line) + "\n")
    return 0


def _on_all(gpus: int, asked: t.Any) -> int:
    """Start a process for each GPU, and print its line, or one that says how it ended without one."""
    with contextlib.ExitStack() as files:
        started = []
        for device in range(gpus):
            rank = {"RANK": asked.node * gpus + device, "WORLD_SIZE": asked.nodes * gpus, "LOCAL_RANK": device}
            environment = {**os.environ, **{name: str(value) for name, value in rank.items()}}
            limit = max(0.0, asked.deadline - time.monotonic())
            argv = [sys.executable, *sys.argv, "--device", str(device), "--limit", str(limit)]
            # Not a pipe: a process that not even SIGKILL ends would keep it open.
            output = files.enter_context(tempfile.TemporaryFile("w+", errors="replace"))
            # Runs in an image without AnsibleModule.
            process = subprocess.Popen(  # pylint: disable=ansible-bad-function
                argv, env=environment, stdout=output, stderr=subprocess.STDOUT
            )
            started.append((process, output))
        ends = [_end_of(process, asked.deadline, asked.limit) for process, _output in started]
        for device, (end, (_process, output)) in enumerate(zip(ends, started)):
            output.seek(0)
            sys.stdout.write(_line_of(device, output.read().splitlines(), end) + "\n")
    return 0


def _end_of(process: subprocess.Popen[bytes], deadline: float, limit: float) -> str:
    """Return how a process ended, in words; one that has not by the deadline is killed, and not waited for."""
    try:
        status = process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        return f"it did not finish within {limit:.0f} s"
    return f"it was ended by signal {-status}" if status < 0 else f"it ended with exit status {status}"


def _line_of(device: int, said: list[str], end: str) -> str:
    """Return the line of results in a process's output, or else a line with its end and its last words."""
    last = f": {said[-1].strip()[:_LONGEST_WORDS]}" if said else ""
    missing = json.dumps({"device": device, "name": "", "seconds": {}, "problem": end + last})
    return next((line for line in said if line.startswith('{"device"')), missing)


def _stay_near(gpu: t.Any) -> None:
    """Keep this process on processors near its GPU: copies from the memory of another socket take longer by chance.

    Older releases of PyTorch do not know the address of a GPU.
    """
    with contextlib.suppress(AttributeError, OSError, ValueError):
        address = f"{gpu.pci_domain_id:04x}:{gpu.pci_bus_id:02x}:{gpu.pci_device_id:02x}.0"
        with open(f"/sys/bus/pci/devices/{address}/local_cpulist", encoding="utf-8") as listed:
            os.sched_setaffinity(0, processors_in(listed.read()))


def processors_in(listed: str) -> set[int]:
    """Return the processors of a list as the kernel writes it, such as ``0-3,8``."""
    ends = [part.partition("-")[::2] for part in listed.strip().split(",")]
    return {number for first, last in ends for number in range(int(first), int(last or first) + 1)}


def _alone(torch: t.Any, asked: t.Any, on_gpu: bool) -> dict[str, list[float]]:
    """Return the seconds of each kind of work of one GPU."""
    of, device = (0, torch.device("cuda")) if on_gpu else (1, torch.device("cpu"))
    # Many CPUs do not support BF16.
    kind = torch.bfloat16 if on_gpu else torch.float32
    torch.manual_seed(1)
    one, other = (torch.randn(EDGE[of], EDGE[of], device=device, dtype=kind) for _matrix in range(2))
    product = one @ other
    copied = torch.ones(COPIED[of], device=device, dtype=torch.uint8)
    copy = torch.empty_like(copied)
    there = torch.ones(_MOVED[of], device=device, dtype=torch.uint8)
    here = torch.ones(_MOVED[of], dtype=torch.uint8, pin_memory=on_gpu)
    works: Mapping[str, Callable[[], object]] = {
        "gemm": lambda: torch.matmul(one, other, out=product),
        "memory": lambda: copy.copy_(copied),
        "to_gpu": lambda: there.copy_(here, non_blocking=True),
        "from_gpu": lambda: here.copy_(there, non_blocking=True),
    }
    if asked.product:
        works = {**works, "gemm_of_training": _product(torch, asked.product, of, {"device": device, "dtype": kind})}
    first = product.clone()
    seconds = {name: _timed(torch, work, on_gpu, asked.slowdown) for name, work in works.items()}
    # The same product on the same GPU is the same to the last bit.
    if not torch.equal(first, product):
        raise ArithmeticError("the same product of matrices had different results")
    load = min(asked.load, asked.deadline - time.monotonic() - _LEFT_SECONDS)
    if on_gpu and load > 0:
        seconds["gemm_under_load"] = _under_load(torch, works["gemm"], load)
    return seconds


def _product(torch: t.Any, sizes: t.Sequence[int], of: int, made: Mapping[str, t.Any]) -> Callable[[], object]:
    """Return the product of matrices of these sizes; on a CPU they are smaller."""
    rows, inner, columns = (max(1, size * EDGE[of] // EDGE[0]) for size in sizes)
    one, other = torch.randn(rows, inner, **made), torch.randn(inner, columns, **made)
    result = one @ other
    return lambda: torch.matmul(one, other, out=result)


def _under_load(torch: t.Any, work: Callable[[], object], load: float) -> list[float]:
    """Return how long the same work takes on a GPU at the end of ``load`` seconds of it."""
    took: list[float] = []
    began = time.perf_counter()
    while len(took) < _SETTLED * _SAMPLES or time.perf_counter() - began < load:
        before = time.perf_counter()
        for _time in range(_TIMES):
            work()
        torch.cuda.synchronize()
        took.append((time.perf_counter() - before) / _TIMES)
    last = took[-(len(took) // _SETTLED) :]
    return [sum(last[place::_SAMPLES]) / len(last[place::_SAMPLES]) for place in range(_SAMPLES)]


def _together(torch: t.Any, asked: t.Any, on_gpu: bool) -> dict[str, list[float]]:
    """Return the seconds of each kind of work of all GPUs of the nodes, without kinds that the backend cannot do."""
    import datetime  # noqa: PLC0415

    wait = datetime.timedelta(seconds=asked.patience)
    if not on_gpu:
        os.environ.update(RANK=str(asked.node), WORLD_SIZE=str(asked.nodes))
    torch.distributed.init_process_group("nccl" if on_gpu else "gloo", timeout=wait)
    works = _works_together(torch, 0 if on_gpu else 1, torch.device("cuda" if on_gpu else "cpu"))
    seconds = {}
    try:
        for name in asked.works:
            with _left_out_where_gloo_cannot(on_gpu):
                seconds[name] = _timed(torch, works[name], on_gpu, 1.0)
    finally:
        torch.distributed.destroy_process_group()
    return seconds


def _works_together(torch: t.Any, of: int, device: t.Any) -> Mapping[str, Callable[[], object]]:
    """Return the joint work of GPUs by name; all of them have to do it at the same time."""
    with_all = torch.distributed
    rank, ranks = with_all.get_rank(), with_all.get_world_size()
    peer = (rank + ranks // 2) % ranks
    sizes = (_MUCH, _LITTLE, _SENT, _SENT)
    much, little, sent, arrived = (torch.ones(size[of] // 4, device=device) for size in sizes)

    def between_halves(sends: bool) -> Callable[[], object]:
        # Like stages of a pipeline: one half of the GPUs sends to the other.
        return lambda: with_all.send(sent, peer) if sends else with_all.recv(arrived, peer)

    def all_to_all(values: t.Any) -> Callable[[], object]:
        parts = values[: len(values) // ranks * ranks]
        there = torch.empty_like(parts)
        return lambda: with_all.all_to_all_single(there, parts)

    def reduce_scatter(values: t.Any) -> Callable[[], object]:
        parts = values[: len(values) // ranks * ranks]
        own = torch.empty_like(parts[: len(parts) // ranks])
        return lambda: with_all.reduce_scatter_tensor(own, parts)

    return {
        "all_reduce": lambda: with_all.all_reduce(much),
        "all_reduce_small": lambda: with_all.all_reduce(little),
        "reduce_scatter": reduce_scatter(much),
        "all_to_all": all_to_all(sent),
        "all_to_all_small": all_to_all(little),
        "send_of_first": between_halves(rank < peer),
        "send_of_second": between_halves(rank > peer),
    }


@contextlib.contextmanager
def _left_out_where_gloo_cannot(on_gpu: bool) -> t.Iterator[None]:
    """Ignore that gloo lacks a work: all_to_all_single came with PyTorch 1.7 (pytorch#41424)."""
    try:
        yield
    except RuntimeError as error:
        if on_gpu or "not support" not in str(error):
            raise


def _timed(torch: t.Any, work: Callable[[], object], on_gpu: bool, slowdown: float) -> list[float]:
    """Return how long the same work takes: on a GPU until it has done it, on a CPU in processor time."""
    clock = time.perf_counter if on_gpu else time.process_time
    wait = torch.cuda.synchronize if on_gpu else lambda: None
    times = _TIMES if on_gpu else round(_TIMES * slowdown)
    for _time in range(times):
        work()
    samples = []
    for _sample in range(_SAMPLES):
        tries = []
        # Other processes only add time, so the fastest try counts; a GPU is not shared and needs one.
        for _try in range(1 if on_gpu else 4):
            wait()
            began = clock()
            for _time in range(times):
                work()
            wait()
            tries.append((clock() - began) / _TIMES)
        samples.append(min(tries))
    return samples


if __name__ == "__main__":
    raise SystemExit(main())
