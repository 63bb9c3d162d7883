# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a log of a run that was not followed: framework, steps, and the failures that the training did not survive.

A log does not show how the training ended, so a node with only a log is ``log_only``.
"""

from __future__ import annotations

import typing as t
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from ...module_utils.logs.ending import end_of, end_of_training, only_errors
from ...module_utils.logs.failures import few_of_each_class, find_failures
from ...module_utils.logs.find import Piece
from ...module_utils.logs.grammar import began_anew
from ...module_utils.logs.grammars.known import GRAMMARS, UNKNOWN, grammar_of
from ...module_utils.logs.parts import new_parts
from ...module_utils.logs.reader import read_log, tail
from ...module_utils.logs.rows import rows_of
from ...module_utils.logs.signature import Failure
from ..plain_text import one_line
from ..run.answers import SEEN

if t.TYPE_CHECKING:
    from ...module_utils.logs.rows import StepBlock
    from .forms import LogFile

# The end of a log.
_CLOSING_BYTES = 16 << 10


@dataclass(frozen=True)
class Log:
    """The content of a log: its steps, the failures that they did not survive, and the rest as in `read_log`.

    ``survived`` are failures followed by steps. ``failures_at_end`` and ``unusual_at_end`` come after the last step, or
    after the message that a rank without steps trains, see `end_of_training`. ``began_anew`` means that a process
    began there. ``began`` and ``problem`` come from the `forms.LogFile`.
    """

    path: Path
    blocks: list[StepBlock]
    failures: list[Failure]
    survived: list[Failure]
    failures_at_end: list[Failure]
    unusual_at_end: list[Failure]
    said_end: bool
    steps_total: int | None
    last_lines: list[str]
    transports: list[str]
    world_size: int | None
    settings: dict[str, list[float]]
    signs: list[str]
    ranks: list[str]
    conflicts: int
    starts: int
    arguments: dict[str, list[str]]
    began_anew: bool
    began: float | None = None
    problem: str | None = None

    @property
    def last_step(self) -> int | None:
        """Return the last step, or None without a step line."""
        return self.blocks[-1]["steps"][-1] if self.blocks else None


def frameworks_of(files: Iterable[LogFile], asked: str | None = None) -> dict[LogFile, str | None]:
    """Return the framework whose step lines each log has, None for a log without any; ``asked`` is looked for first.

    Raises ValueError for an unknown ``asked``, and OSError for a log that cannot be read.
    """
    if asked is not None:
        grammar_of(asked)
    return {file: _framework_of(file.path, asked) for file in files}


def _framework_of(path: Path, asked: str | None) -> str | None:
    memories: dict[str, dict[str, t.Any]] = {name: {} for name in GRAMMARS}
    with open(path, "rb") as log:
        for part in new_parts(log, 0, final=True, max_bytes=None, whole_messages=False):
            telling = {
                name for name in GRAMMARS if any(True for _place in part.piece.positions(grammar_of(name).only_here))
            }
            for name in sorted(GRAMMARS, key=lambda name: (name != asked, name not in telling, name)):
                # Other programs print lines that begin alike and have none of the grammar's fields.
                if any(step["metrics"] for step in grammar_of(name).parse(part.piece, memories[name])):
                    return name
    return None


def step_lines(asked: str | None) -> dict[str, str]:
    """Return the beginning of step lines for one framework, or for all."""
    return {name: grammar.step_line for name, grammar in sorted(GRAMMARS.items()) if asked in (None, name)}


def read_file(file: LogFile, framework: str, per_step: float | None, per_sequence: float | None) -> Log:
    """Read a log, with the path of the user's own file; see `read`."""
    log = read(file.path, framework, per_step, per_sequence)
    return replace(log, path=file.named, began=file.began, problem=file.problem)


def read(path: Path, framework: str, per_step: float | None, per_sequence: float | None) -> Log:
    """Read a log; raises OSError if it cannot be read.

    For an unknown framework, only a failure at the very end counts, because nothing shows whether the training survived
    the others.

    ``per_step`` and ``per_sequence`` are the tokens per GPU of a step and of a sequence; `read_log` uses them to
    compute a token rate that the log lacks.
    """
    news = read_log(
        str(path),
        framework,
        final=True,
        tokens_per_step_per_gpu=per_step,
        tokens_per_sequence_per_gpu=per_sequence,
        failures="open",
    )
    seen, end = t.cast("dict[str, t.Any]", news), end_of_training(str(path), framework)
    at_end = find_failures(Piece(end_of(str(path), _CLOSING_BYTES))) if framework == UNKNOWN else None
    return Log(
        path=path,
        blocks=news["rows"].blocks(),
        failures=_plain(news["failures"] if at_end is None else few_of_each_class(at_end)),
        survived=_plain(news["survived"]),
        failures_at_end=_plain(end["failures_at_end"]),
        unusual_at_end=_plain(end["unusual_at_end"]),
        said_end=end["said_end"],
        steps_total=news["cursor"]["steps_total"],
        last_lines=[one_line(line) for line in tail(str(path))],
        began_anew=began_anew(news["cursor"]),
        **{name: seen[name] for name in ("starts", *SEEN)},
    )


def _plain(failures: list[Failure]) -> list[Failure]:
    """Return failures whose lines have no control characters, like those in a node's answers."""
    return [{**failure, "line": one_line(failure["line"])} for failure in failures]


def with_errors(log: Log, errors: Iterable[Log]) -> Log:
    """Merge a log with the standard error of its processes; the steps come from the file that has them."""
    for other in errors:
        first, second = (other, log) if other.blocks and not log.blocks else (log, other)
        settings = {**second.settings, **first.settings}
        arguments = {**second.arguments, **first.arguments}
        log = replace(
            first,
            path=log.path,
            failures=few_of_each_class([*log.failures, *other.failures]),
            survived=few_of_each_class([*log.survived, *other.survived]),
            failures_at_end=few_of_each_class([*log.failures_at_end, *_unsurvived(second, first)]),
            unusual_at_end=few_of_each_class([*log.unusual_at_end, *other.unusual_at_end]),
            said_end=log.said_end or other.said_end,
            last_lines=log.last_lines or other.last_lines,
            transports=sorted({*log.transports, *other.transports}),
            world_size=first.world_size or second.world_size,
            settings=settings,
            arguments=arguments,
            signs=sorted({*log.signs, *other.signs}),
            ranks=sorted({*log.ranks, *other.ranks}),
            conflicts=log.conflicts + other.conflicts + _contradictions(first, second),
            starts=max(log.starts, other.starts),
            began=log.began,
            problem=log.problem or other.problem,
        )
    return log


def _contradictions(first: Log, second: Log) -> int:
    """Return how many steps have different losses in the two logs."""
    if not (first.blocks and second.blocks):
        return 0
    ones, others = map(_losses, (first, second))
    return sum(ones[step] != others[step] for step in ones.keys() & others.keys())


def _losses(log: Log) -> dict[tuple[int, int], float]:
    rows = rows_of(log.blocks)
    return {(row["attempt"], row["step"]): row["metrics"]["loss"] for row in rows if "loss" in row["metrics"]}


def _unsurvived(second: Log, first: Log) -> list[Failure]:
    """Return the failures in a stream without steps, which cannot show whether steps in the other stream followed."""
    return [
        *(only_errors(second.failures) or second.failures_at_end),
        *(first.failures_at_end if first.blocks and second.blocks else ()),
    ]


def chosen(logs: list[Log]) -> tuple[Log, str | None]:
    """Return a node's log among several files, and a sentence that explains the choice, None for a single file.

    It is the file with the highest step, and among equal ones the newest.
    """
    best = max(logs, key=lambda log: (-1 if log.last_step is None else log.last_step, log.path.stat().st_mtime))
    if len(logs) == 1:
        return best, None
    others = ", ".join(sorted(log.path.name for log in logs if log is not best))
    ranked = Counter(log.last_step for log in logs)
    if best.last_step is None:
        why = "no file has a step, and it is the newest"
    elif ranked[best.last_step] > 1:
        why = f"it is the newest file with step {best.last_step}, the highest"
    else:
        why = f"it has the highest step, {best.last_step}"
    return best, f"{best.path.parent.name}: {best.path.name} is used because {why}. Not read: {others}."
