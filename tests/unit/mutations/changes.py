"""Mutations change the logs of a good run: they are pure functions of the logs, by kind.

None of ``MUTATIONS`` may pass. Mutations in ``MISSED`` do: they are definite as well, and docs/judging.md lists each.
Mutations in ``NO_TRACE`` are not definite: a good run can leave the same logs, and each says why.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from good_runs import PRINTS_STEPS, Logs


class Mutation(t.NamedTuple):
    """A change of the logs of a good run of a framework; ``why`` it passes, if it does."""

    kind: str
    name: str
    framework: str
    apply: Callable[[Logs], Logs]
    why: str = ""

    def __str__(self) -> str:
        return f"{self.kind}-{self.framework}-{self.name}"


MUTATIONS: list[Mutation] = []
MISSED: list[Mutation] = []
NO_TRACE: list[Mutation] = []
Text = Callable[[str], "str | bytes"]
Change = Callable[[int, str], "str | None"]

FIELDS = {
    "megatron": {
        "ms": r"(elapsed time per iteration \(ms\): )([^|]*?)( \|)",
        "tflops": r"(throughput per GPU \(TFLOP/s/GPU\): )([^|]*?)( \|)",
        "lr": r"(learning rate: )([^|]*?)( \|)",
        "loss": r"(lm loss: )([^|]*?)( \|)",
        "grad_norm": r"(grad norm: )([^|]*?)( \|)",
        "skipped": r"(number of skipped iterations: )([^|]*?)( \|)",
        "nan": r"(number of nan iterations: )([^|]*?)( \|)",
        "samples": r"(consumed samples: )([^|]*?)( \|)",
        "batch": r"(global batch size: )([^|]*?)( \|)",
    },
    "maxtext": {
        "seconds": r"(seconds: )([^,\n]*)(,)",
        "tflops": r"(TFLOP/s/device: )([^,\n]*)(,)",
        "tokens": r"(Tokens/s/device: )([^,\n]*)(,)",
        "loss": r"( loss: )([^,\n]*)([,\n])",
    },
    "nxdt": {
        "loss": r"(reduced_train_loss=)([^,\]]*)([,\]])",
        "grad_norm": r"(gradient_norm=)([^,\]]*)([,\]])",
        "lr": r"( lr=)([^,\]]*)([,\]])",
        "throughput": r"(throughput=)([^,\]]*)([,\]])",
        "samples": r"(consumed_samples=)([^,\]]*)([,\]])",
    },
}
STEP = {"megatron": r" iteration +(\d+)/", "maxtext": r"completed step: (\d+),", "nxdt": r"\| (\d+)/\d+ \["}
END = {"megatron": "\n", "maxtext": "\n", "nxdt": "\r"}
LOSS = {"megatron": "{:.6E}", "maxtext": "{:.3f}", "nxdt": "{:.2f}"}
LOSS_FIELD = {
    "megatron": r" lm loss: [^|]*\|",
    "maxtext": r", loss: [^,\n]*",
    "nxdt": r"reduced_train_loss=[^,]*, ",
}


def add(
    kind: str, name: str, framework: str, apply: Callable[[Logs], Logs], *, no_trace: str = "", missed: str = ""
) -> None:
    """Add a change; ``no_trace`` says which good run leaves the same logs, ``missed`` why the verdict misses it."""
    chosen = NO_TRACE if no_trace else MISSED if missed else MUTATIONS
    chosen.append(Mutation(kind, name, framework, apply, no_trace or missed))


def on(node: str, change: Text) -> Callable[[Logs], Logs]:
    return lambda logs: {**logs, node: change(str(logs[node]))}


def at_the_end(texts: Iterable[str]) -> Iterator[tuple[str, str, str, Callable[[Logs], Logs]]]:
    """Yield a node, a text, a framework, and the change that appends the text to that node's log.

    The frameworks take turns with the texts; the node is the one that prints steps, and then node1 if that is another.
    """
    for place, text in enumerate(texts):
        framework = list(PRINTS_STEPS)[place % len(PRINTS_STEPS)]
        for node in dict.fromkeys((PRINTS_STEPS[framework], "node1")):
            yield node, text, framework, on(node, lambda log, text=text: f"{log}{text}\n")


def everywhere(change: Text) -> Callable[[Logs], Logs]:
    return lambda logs: {node: change(str(text)) for node, text in logs.items()}


def steps_of(framework: str, change: Change, nodes: Iterable[str] = ()) -> Callable[[Logs], Logs]:
    """Change the lines of steps, with their ends; None leaves one out."""
    end, chosen = END[framework], set(nodes)

    def of_text(text: str) -> str:
        lines = []
        for line in re.split(f"(?<={end})", text):
            step = re.search(STEP[framework], line)
            lines.append((change(int(step.group(1)), line) or "") if step else line)
        return "".join(lines)

    return lambda logs: {
        node: text if chosen and node not in chosen else of_text(str(text)) for node, text in logs.items()
    }


def put(
    framework: str, field: str, value: str | Callable[[int, str], str], steps: Iterable[int] | None = None
) -> Callable[[Logs], Logs]:
    chosen = None if steps is None else set(steps)

    def change(step: int, line: str) -> str:
        if chosen is not None and step not in chosen:
            return line

        def put(found: re.Match[str]) -> str:
            new = value if isinstance(value, str) else value(step, found.group(2))
            return found.group(1) + new + found.group(3)

        return re.sub(FIELDS[framework][field], put, line)

    return steps_of(framework, change)


def clock(change: Callable[[int, datetime], datetime]) -> Text:
    """Change the timestamps of Megatron-LM's steps; the first has number 1."""

    def of_text(text: str) -> str:
        count = 0

        def put(found: re.Match[str]) -> str:
            nonlocal count
            count += 1
            stamp = datetime.strptime(found.group(1), "%Y-%m-%d %H:%M:%S")
            return f"[{change(count, stamp):%Y-%m-%d %H:%M:%S}] iter"

        return re.sub(r"\[([\d-]+ [\d:]+)\] iter", put, text)

    return of_text


def scaled(factor: float, digits: int = 3) -> Callable[[int, str], str]:
    return lambda step, old: f"{float(old) * factor:.{digits}f}"


def chained(*changes: Callable[[Logs], Logs]) -> Callable[[Logs], Logs]:
    def apply(logs: Logs) -> Logs:
        for change in changes:
            logs = change(logs)
        return logs

    return apply
