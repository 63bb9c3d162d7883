# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast a Megatron-LM log is read, beside ``grep -c``.

Writes a log of 200 MB to a temporary folder, with 20 lines of noise for each iteration line, and lets each way of
reading it run in turn, in a process of its own. A followed node and report.yml take the steps as blocks, and look for
failures that the last steps did not survive; the module training_metrics makes a dict of each step, and looks for
failures in all of the log. What counts is the processor time of the process (user and system), as the machine may have
other work; the start of Python is not taken off. The peak of memory is never less than that of this program. Everything
runs on one core.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_COLLECTIONS = Path(__file__).resolve().parents[1] / "collections"
_NOISE_LINES = 20

# Each prints the number of steps that it read.
_READ_LOG = """
import sys
from ansible_collections.trainops.cluster.plugins.module_utils.logs.reader import read_log
log, max_bytes = sys.argv[1], int(sys.argv[2]) or None
cursor, steps = None, 0
while True:
    answer = read_log(log, "megatron", cursor, final=True, max_bytes=max_bytes, failures="open")
    if answer["cursor"] == cursor:
        break
    cursor = answer["cursor"]
    steps += sum(len(block["steps"]) for block in answer["rows"].blocks())
print(steps)
"""
_READ_FOR_REPORT = """
import sys
from pathlib import Path
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.log import read
print(sum(len(block["steps"]) for block in read(Path(sys.argv[1]), "megatron", None, None).blocks))
"""
_READ_ALL = """
import sys
from ansible_collections.trainops.cluster.plugins.module_utils.logs.reader import read_log
print(len(list(read_log(sys.argv[1], "megatron", final=True)["rows"])))
"""


class Way(t.NamedTuple):
    """A way of reading the log: a command that prints the number of steps."""

    name: str
    command: list[str]


class Run(t.NamedTuple):
    """What one run of a command took."""

    seconds: float
    peak_mib: float


def main(arguments: Sequence[str]) -> int:
    """Measure, print a table, and fail where the ways do not count the same steps."""
    parser = argparse.ArgumentParser("parser.py", description="Measures how fast a Megatron-LM log is read.")
    parser.add_argument("--megabytes", type=int, default=200, help="size of the log (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each way that count (default: %(default)s)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="trainops-bench-") as folder:
        log = Path(folder) / "training.log"
        # As installed: compiled once, which the first runs do here.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "bytecode")
        steps = write_log(log, options.megabytes * 1_000_000)
        size = log.stat().st_size
        print(f"{size / 1e6:.0f} MB, {steps} iteration lines, {size / steps:.0f} bytes for each and its noise")
        ways = [
            Way("grep -c 'lm loss'", ["grep", "-c", "lm loss", str(log)]),
            Way("a followed node, one call", [sys.executable, "-c", _READ_LOG, str(log), "0"]),
            Way("the same, calls of 16 MiB", [sys.executable, "-c", _READ_LOG, str(log), str(16 << 20)]),
            Way("report.yml", [sys.executable, "-c", _READ_FOR_REPORT, str(log)]),
            Way("training_metrics", [sys.executable, "-c", _READ_ALL, str(log)]),
        ]
        results: dict[str, list[Run]] = {way.name: [] for way in ways}
        try:
            for number in range(options.runs + 1):
                for way in ways:
                    run = measured(way.command, steps)
                    if number > 0:  # the first one warms up the page cache
                        results[way.name].append(run)
        except ValueError as error:
            print(f"parser.py: {error}", file=sys.stderr)
            return 1
    for line in table(size, results):
        print(line)
    return 0


def write_log(path: Path, size: int) -> int:
    """Write a log of about that many bytes; return the number of its iteration lines."""
    chance = random.Random(1)
    noise = list(noise_lines(chance, 2000))
    step, written = 0, 0
    with path.open("wb") as log:
        while written < size:
            step += 1
            lines = [*chance.choices(noise, k=_NOISE_LINES), iteration_line(chance, step)]
            written += log.write(("\n".join(lines) + "\n").encode())
    return step


def noise_lines(chance: random.Random, count: int) -> Iterator[str]:
    """Yield lines like those that stand between iteration lines: timers, memory, NCCL, warnings, data, experts."""
    kinds = (
        "(min, max) time across ranks (ms):",
        "    forward-backward ...............................: ({a:.2f}, {b:.2f})",
        "    optimizer-clip-main-grad .......................: ({a:.2f}, {b:.2f})",
        "[Rank {n}] (after {n} iterations) memory (MB) | allocated: {a:.2f} | max allocated: {b:.2f} | reserved: 9.0",
        "node-03:21{n}:22{n} [3] NCCL INFO Channel 0{n}/0 : 3[3] -> 4[4] [send] via NET/IB/3/GDRDMA comm 0x5581c0d{n}",
        "/workspace/Megatron-LM/megatron/core/tensor_parallel/layers.py:{n}: FutureWarning: `custom_fwd(args...)` is "
        "deprecated. Please use `torch.amp.custom_fwd(args..., device_type='cuda')` instead.",
        "INFO:megatron.core.datasets.gpt_dataset:> loading document index from /cache/{n}-GPTDataset-train-index.npy",
        "[rank{n}]:[W515 14:46:28.408271257 ProcessGroupNCCL.cpp:4115] using GPU 3 to perform barrier as devices used "
        "by this process are currently unknown.",
        "[20260515 14:46:2{n}][rank-7/8][INFO ] [---------moe_module.py:{n}] : layer {n} router z-loss {a:.4f} tokens "
        "per expert max {b:.0f} min {n}",
        "wandb: syncing run llama-3.1-70b step {n} history {a:.4f}",
    )
    for number in range(count):
        yield kinds[number % len(kinds)].format(n=number % 9, a=chance.uniform(1, 9999), b=chance.uniform(1, 9999))


def iteration_line(chance: random.Random, step: int) -> str:
    """Return a line of ROCm Megatron-LM."""
    milliseconds, tflops = chance.gauss(10000, 50), chance.gauss(590, 5)
    return (
        f" [2026-01-02 03:04:05] iteration {step:8d}/{9999999:8d} | consumed samples: {step * 256:12d} |"
        f" elapsed time per iteration (ms): {milliseconds:.1f} | mem usages: {chance.uniform(0.7, 0.8):.4f} |"
        f" throughput per GPU (TFLOP/s/GPU): {tflops:.1f} | learning rate: {chance.random() * 1e-4:.6E} |"
        f" global batch size: {256:5d} | lm loss: {chance.uniform(2, 9):.6E} | loss scale: {1.0:.1f} |"
        f" grad norm: {chance.uniform(0.1, 3):.3f} | number of skipped iterations: {0:3d} |"
        f" number of nan iterations: {0:3d} |"
    )


def measured(command: Sequence[str], steps: int) -> Run:
    """Run a command, which has to print the number of steps; ValueError where it does not."""
    environment = {**os.environ, "LC_ALL": "C", "PYTHONPATH": str(_COLLECTIONS)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        printed = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or printed.strip() != str(steps):
        raise ValueError(f"{command[0]} ended with {process.returncode} and printed {printed!r}, but {steps} is right")
    return Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def table(size: int, results: dict[str, list[Run]]) -> list[str]:
    """Return the lines of the table: medians over the runs, and the time as a multiple of that of the first way."""
    lines = [f"{'':28}{'CPU s':>8}{'(min-max)':>14}{'MB/s':>8}{'x grep':>8}{'peak MiB':>10}"]
    base = [run.seconds for run in next(iter(results.values()))]
    for name, runs in results.items():
        seconds = [run.seconds for run in runs]
        median = statistics.median(seconds)
        ratio = statistics.median(own / other for own, other in zip(seconds, base, strict=True))
        peak = max(run.peak_mib for run in runs)
        spread = f"{min(seconds):.2f}-{max(seconds):.2f}"
        lines.append(f"{name:28}{median:8.3f}{spread:>14}{size / 1e6 / median:8.0f}{ratio:8.1f}{peak:10.0f}")
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
