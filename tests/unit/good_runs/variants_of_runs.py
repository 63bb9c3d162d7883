# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of good runs: recorded runs, each with a benign line more, and in the forms that logs are kept in."""

from __future__ import annotations

import gzip
import random
import re
import typing as t
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache, partial, reduce
from pathlib import Path

from benign_lines import BEFORE, BENIGN, BETWEEN, JAX, NCCL, PYTORCH, Benign
from judging import Logs, recorded

WRITTEN = Path(__file__).resolve().parents[2] / "data/logs"
STEP = re.compile(r"(?m)^.*(?: iteration +\d+/|completed step: \d+,|\bstep: +\d+).*\n")
_STAMPED = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\]|^I(\d{4} \d\d:\d\d:\d\d)", re.MULTILINE)
# The stamps of the benign lines; each is replaced by the stamp of the step beside it.
_BENIGN_STAMP = re.compile(r"2026([-/])02[-/]03([ T])\d\d:\d\d:\d\d|\b([IWEF])(0?)203 \d\d:\d\d:\d\d|\b1769000702\b")


class Base(t.NamedTuple):
    """A good run; ``steps`` is the file of a node that prints steps, ``expected`` their number if no log has it."""

    name: str
    framework: str
    steps: str
    nodes: int = 2
    expected: int | None = None

    @property
    def logs(self) -> dict[str, str]:
        """The text of each file."""
        return dict(_logs_of(self.name))


class Variant(t.NamedTuple):
    """Logs of a good run; ``make`` returns the text of each file."""

    name: str
    base: Base
    make: Callable[[], Logs]

    def __str__(self) -> str:
        return f"{self.base.name}-{self.name}"


BASES = (
    Base("megatron_core_torch_2_13", "megatron", "node1.log"),
    Base("maxtext_cpu_2proc_hw_gpu_env_contract", "maxtext", "node1.log", expected=10),
)
OF_FRAMEWORK = {
    framework: [base for base in BASES if base.framework == framework] for framework in ("megatron", "maxtext")
}
AT_ONCE = 10
# Each benign line in a log of its own.
ALONE: list[Variant] = []
VARIANTS: list[Variant] = [Variant("as recorded", base, lambda base=base: base.logs) for base in BASES]


@cache
def _logs_of(name: str) -> tuple[tuple[str, str], ...]:
    if logs := recorded(name):
        return tuple(logs.items())
    return tuple((f"node{node}.log", (WRITTEN / f"{name}_node{node}.log").read_text("utf-8")) for node in (0, 1))


def _moment(text: str) -> datetime:
    """Return the last time that a text has a stamp of."""
    found = [whole or f"2026-{day[:2]}-{day[2:]}" for whole, day in _STAMPED.findall(text)]
    return datetime.fromisoformat(found[-1]) if found else datetime(2026, 2, 3, 4, 5, 6)


def _at(moment: datetime, text: str) -> str:
    """Put a moment in place of each stamp of a benign text."""

    def stamp(found: re.Match[str]) -> str:
        if found[3]:
            day = f"{moment:%m%d}" if found[4] else f"{moment.month}{moment:%d}"
            return f"{found[3]}{day} {moment:%H:%M:%S}"
        return f"{moment:%Y{found[1]}%m{found[1]}%d{found[2]}%H:%M:%S}" if found[1] else f"{int(moment.timestamp())}"

    return _BENIGN_STAMP.sub(stamp, text)


def with_line(base: Base, node: str, benign: Benign, logs: Logs | None = None) -> Logs:
    """Return the logs of a run, by default as recorded, with a benign line in one node's log."""
    logs = logs or base.logs
    log = str(logs[node])
    steps = list(STEP.finditer(log)) or list(re.finditer(r"\n", log))
    place = {BEFORE: steps[0].start(), BETWEEN: steps[len(steps) // 2].end()}.get(benign.at, len(log))
    moment = _moment(log[:place]) if benign.at != BEFORE else _moment(log[: steps[0].end()]) - timedelta(seconds=3)
    text = _at(moment, benign.text).replace("node0:", f"{node.partition('.')[0]}:")
    end = "" if not log[:place] or log[:place].endswith("\n") else "\n"
    return {**logs, node: f"{log[:place]}{end}{text}\n{log[place:]}"}


def with_lines(base: Base, node: str, lines: t.Sequence[Benign]) -> Logs:
    """Return the logs of a run with several benign lines in one node's log."""
    return reduce(lambda logs, benign: with_line(base, node, benign, logs), lines, t.cast("Logs", base.logs))


def _benign() -> None:
    together: dict[tuple[Base, str], list[Benign]] = {}
    for place, benign in enumerate(BENIGN):
        framework = "maxtext" if benign in JAX else "megatron" if benign in (*PYTORCH, *NCCL) else None
        bases = OF_FRAMEWORK[framework] if framework else BASES
        base = bases[place % len(bases)]
        nodes = sorted(base.logs) if benign.at == "end" else [base.steps]
        for node in nodes:
            make = partial(with_line, base, node, benign)
            ALONE.append(Variant(f"{benign.name}, {benign.at}, {node}", base, make))
            together.setdefault((base, node), []).append(benign)
    for (base, node), lines in together.items():
        # Each line of a list goes into another log, far from those that were collected with it.
        logs = -(-len(lines) // AT_ONCE)
        for first in range(logs):
            make = partial(with_lines, base, node, lines[first::logs])
            VARIANTS.append(Variant(f"benign lines {first + 1} of {logs}, {node}", base, make))


def _each(change: Callable[[str, str], str]) -> Callable[[Base], Logs]:
    return lambda base: {name: change(name, text) for name, text in base.logs.items()}


def _prefixed(prefix: str) -> Callable[[Base], Logs]:
    def change(name: str, text: str) -> str:
        node = name.removesuffix(".log")
        return re.sub("(?m)^", prefix.format(node, node[-1:]), text.rstrip("\n")) + "\n"

    return _each(change)


def _one_file(prefix: str) -> Callable[[Base], Logs]:
    """Return a function that puts all nodes into one file, line by line in turn, like srun -l and kubectl logs."""

    def make(base: Base) -> Logs:
        lines: list[tuple[float, str]] = []
        for name, text in base.logs.items():
            node = name.removesuffix(".log")
            own = text.splitlines()
            lines += [(k / len(own), prefix.format(node, node[-1:]) + line) for k, line in enumerate(own)]
        return {"train.log": "".join(f"{line}\n" for _, line in sorted(lines, key=lambda pair: pair[0]))}

    return make


def _rotated(base: Base) -> Logs:
    log = base.logs[base.steps]
    steps = list(STEP.finditer(log))
    cut = steps[len(steps) // 2].end()
    return {**base.logs, f"{base.steps}.1": log[:cut], base.steps: log[cut:]}


def _warned_of_rank_3(base: Base) -> Logs:
    text = "UserWarning: rank 3 has no tokens of document 7; its loss mask is empty\n"
    return {name: STEP.sub(lambda step: step[0], log) + text for name, log in base.logs.items()}


def _plateau(base: Base) -> Logs:
    """Return the logs of a run that starts from weights: its loss is 1.91 ± 0.01 from the first step on."""
    chance = random.Random(base.name)
    losses: dict[str, float] = {}

    def loss(found: re.Match[str]) -> str:
        new = losses.setdefault(found[2], 1.91 + chance.gauss(0, 0.004))
        return found[1] + (f"{new:.6E}" if "E" in found[2] else f"{new:.3f}")

    field = re.compile(r"(lm loss: |(?:, |\b)(?:lm_)?loss: )(\d[\d.E+-]*)")
    bare = {name: re.sub(r", perplexity: [\d.]+", "", text) for name, text in base.logs.items()}
    return {name: field.sub(loss, text) for name, text in bare.items()}


FORMS: dict[str, Callable[[Base], Logs]] = {
    "compressed": lambda base: {
        f"{name}.gz": gzip.compress(text.encode(), mtime=0) for name, text in base.logs.items()
    },
    "one compressed": lambda base: {
        **{name: text for name, text in base.logs.items() if name == base.steps},
        **{
            f"{name}.gz": gzip.compress(text.encode(), mtime=0)
            for name, text in base.logs.items()
            if name != base.steps
        },
    },
    "rotated": _rotated,
    "srun -l": _one_file("{1}: "),
    "kubectl --prefix": _one_file("[pod/train-{1}/train] "),
    "docker compose": _one_file("train-{1}  | "),
    "mpirun --tag-output": _one_file("[1,{1}]<stdout>:"),
    "CRLF": _each(lambda _name, text: text.replace("\n", "\r\n")),
    "journald": _prefixed("Feb 03 04:05:06 {0} train[77]: "),
    "container runtime": _prefixed("2026-02-03T04:05:06.123456789Z stdout F "),
    "torchrun --tee": _prefixed("[default0]:"),
    "srun -l by node": _prefixed("{1}: "),
    "colours": _each(lambda _name, text: re.sub(r"(?m)^(.+)$", "\x1b[32m\\1\x1b[0m", text)),
    "no line end": _each(lambda _name, text: text.rstrip("\n")),
    "UTF-8 mark": _each(lambda _name, text: "\ufeff" + text),
    "files of Slurm": lambda base: {
        name.replace("node", "slurm-4711_").replace(".log", ".out"): text for name, text in base.logs.items()
    },
    "a folder each": lambda base: {name.replace(".log", "/train.log"): text for name, text in base.logs.items()},
    "full host names": lambda base: {
        name.replace(".log", ".cluster.example.org.log"): text for name, text in base.logs.items()
    },
    "a bar of tqdm": _each(lambda _name, text: text + "100%|██████████| 12/12 [00:20<00:00,  1.70s/it]\r\n"),
    "rank 3 in both": _warned_of_rank_3,
    "a plateau": _plateau,
}


def _forms() -> None:
    for name, change in FORMS.items():
        VARIANTS.extend(Variant(name, base, partial(change, base)) for base in BASES)


_benign()
_forms()
