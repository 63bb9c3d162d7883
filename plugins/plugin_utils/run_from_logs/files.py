# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the logs of runs in folders: which folder is a run, and which files may be which node's log."""

from __future__ import annotations

import glob
import re
import typing as t
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...module_utils.node.inspection.files import by_numbers
from ..run.board import PLAN_NAME, Board
from .packed import can_be_read, is_packed, unpacked_name

# The first group with a suffix that any file in the folder has: all files with a suffix of that group are logs.
_LOG_SUFFIXES = ((".log",), (".out", ".err", ".stdout", ".stderr", ".txt", ""))
# Words in the names of standard error files by Slurm, torchrun and scripts, and the words for standard output, which do
# not identify the node. PBS and Grid Engine name the files JOB.e12 and JOB.o12.
_ERRORS = {"err", "errs", "error", "errors", "stderr"}
_OUTPUTS = {"out", "output", "stdout", "log", "txt"}
# torchrun writes this file if a worker failed, and writes its logs this many folders below its log folder.
_REPORT_OF_WORKER, _DEEPEST = "error.json", 4
_OF_PBS = re.compile(r"(.+)\.([eo])(\d+)")
# The suffixes that logrotate and Python's handlers append to the older parts of a log: train.log.1, train.log-20261126,
# train.log.2026-11-26_10-00-00.
_ROTATED = re.compile(r"(?P<log>.+)[.-](?P<part>\d{1,3}|\d{8,10}|\d{4}(?:-\d\d){1,2}(?:_\d\d(?:-\d\d){0,2})?)")
_MOST_DIGITS_OF_NUMBER = 3
_ROTATING = {".err", ".log", ".out", ".stderr", ".stdout", ".txt"}
_NODES = "nodes"
_CORE = re.compile(r"(?:gpu)?core(?:\.\d+)?")
_GLOB = re.compile(r"[*?\[]")
_UNFIT = re.compile(r"[^A-Za-z0-9_.:-]+")


@dataclass(frozen=True)
class LoggedRun:
    """A folder with one run's logs: the files that may be each node's log, sorted by node name.

    ``notes`` are sentences about ignored files. ``errors`` are the standard error files, by the file with the
    standard output; ``strays`` are errors without such a file, unreadable compressed files, and core dumps.
    ``parts`` are the older files of each log that was rotated, the oldest first. If a run of this collection left the
    folder, ``files`` is empty and ``known`` true. ``problem`` says why the folder has no log to read.
    """

    name: str
    folder: Path
    files: dict[str, list[Path]]
    notes: list[str]
    known: bool = False
    errors: dict[Path, list[Path]] = field(default_factory=dict)
    strays: list[Path] = field(default_factory=list)
    parts: dict[Path, list[Path]] = field(default_factory=dict)
    problem: str | None = None


def find_runs(named: Sequence[str]) -> list[LoggedRun]:
    """Return the runs with logs in the named folders, each with a unique name.

    A folder is one run, with one log or one sub-folder per node, named after the node. Sub-folders that have
    sub-folders themselves, or that are the folders of this collection's runs, are a run each. So is each of several
    folders, and each match of a pattern (``*``, ``?``, ``[…]``) that has logs. A file is a run of one node. A folder
    that cannot be read, next to others, is a run with a ``problem``. Raises ValueError with every error, a line each,
    if a path does not exist or there is no run.
    """
    problems: list[str] = []
    paths = [path for text in named for path in _expanded(text, problems)]
    if not named:
        problems.append("training_logs is not set; add -e training_logs=DIR")
    runs = [run for path in paths for run in _runs_or_problem(path, _runs_at)]
    unread = [run.problem for run in runs if run.problem]
    if problems or len(unread) == len(runs):
        raise ValueError("\n".join([*problems, *unread]))
    return _named_apart(runs)


def _runs_or_problem(path: Path, find: t.Callable[[Path], list[LoggedRun]]) -> list[LoggedRun]:
    try:
        return find(path)
    except OSError as error:
        why = f"{path} cannot be read: {error.strerror or error}"
    except ValueError as error:
        why = str(error)
    return [LoggedRun(fit_name(path.name), path, {}, [], problem=why)]


def fit_name(text: str) -> str:
    """Return a text as a folder name: letters, digits and . _ : -, but none of these four first."""
    return _UNFIT.sub("-", text).lstrip("._:-") or "logs"


def _expanded(text: str, problems: list[str]) -> list[Path]:
    path = Path(text).expanduser()
    if path.exists():
        return [path.absolute()]
    if not _GLOB.search(text):
        problems.append(f"{path.absolute()} does not exist; set training_logs to a folder with logs")
        return []
    matches = sorted((Path(match).absolute() for match in glob.glob(str(path))), key=str)
    found = [match for match in matches if _may_be_run(match)]
    if not found:
        problems.append(f"nothing matches {path.absolute()}; set training_logs to folders with logs")
    return found


def _may_be_run(path: Path) -> bool:
    """Return whether a match of a pattern may be a run, unlike the index, plots and configs next to runs."""
    if path.is_file():
        return any(_is_log(path, suffixes) for suffixes in _LOG_SUFFIXES)
    if _collected(path):
        # In a run that was made from logs, these files are not logs.
        return "logs" not in Board(path.parent).plan()
    return bool(_runs_beside(path))


def _runs_beside(folder: Path) -> list[LoggedRun]:
    """Return the runs in a folder; a folder with files but without a log has none."""
    found = _runs_or_problem(folder, _runs_at)
    return [run for run in found if not run.problem or not _holds_files(folder)]


def _holds_files(folder: Path) -> bool:
    try:
        return any(_inside(folder, Path.is_file)) or any(map(_holds_files, _inside(folder, Path.is_dir)))
    except OSError:
        return False


def _runs_at(path: Path) -> list[LoggedRun]:
    if path.is_file():
        return [_run(path, {_node_of(path): [_readable(path)]}, [])]
    if (path / PLAN_NAME).is_file():
        return [LoggedRun(path.name, path, {}, [], known=True)]
    folders = _inside(path, Path.is_dir)
    logs, aside = _logs_among(_inside(path, Path.is_file))
    if logs:
        run = _run(path, logs, [])
        read = {file for files in (*run.errors.values(), *run.parts.values()) for file in files}
        above = {parent for file in read for parent in file.parents}
        left = [entry for entry in aside + folders if entry not in read | above]
        notes = [f"Not read, because there are logs next to them: {_few(left)}."] if left else []
        return [replace(run, notes=notes, strays=[*run.strays, *(file for file in left if is_core(file))])]
    if any(map(_is_run, folders)):
        runs = [run for folder in folders for run in _runs_beside(folder)]
        if not all(run.problem for run in runs):
            return runs
    return [_run(path, *_nodes_in(path, folders))]


def _is_run(folder: Path) -> bool:
    try:
        return (folder / PLAN_NAME).is_file() or bool(_inside(folder, Path.is_dir))
    except OSError:
        return False


def is_core(file: Path) -> bool:
    """Return whether a file is the core dump of a process that crashed."""
    return bool(_CORE.fullmatch(file.name)) and file.is_file()


def _nodes_in(path: Path, folders: Sequence[Path]) -> tuple[dict[str, list[Path]], list[str]]:
    nodes: dict[str, list[Path]] = {}
    empty = []
    for folder in folders:
        logs, _others = _logs_among(_inside(folder, Path.is_file))
        files = [file for candidates in logs.values() for file in candidates]
        if files:
            nodes.setdefault(fit_name(folder.name), []).extend(files)
        else:
            empty.append(folder)
    if not nodes:
        raise ValueError(
            f"{path} contains no log, neither a file (NODE.log) nor a sub-folder with one (NODE/train.log)"
        )
    return nodes, [f"Without a log: {_few(empty)}."] if empty else []


def _run(path: Path, files: dict[str, list[Path]], notes: list[str]) -> LoggedRun:
    """Return a run with each standard error file assigned to a standard output file."""
    node_of = {file: node for node, of_node in files.items() for file in of_node}
    errors: dict[Path, list[Path]] = {}
    strays: list[Path] = []
    parts: dict[Path, list[Path]] = {}
    for folder in {file.parent for file in node_of}:
        whole, older = _with_older_parts(_inside(folder, Path.is_file))
        parts.update(older)
        of_errors = [file for file in whole if _role_of(file)[0]]
        outputs = [file for file in sorted(node_of) if file.parent == folder and file not in of_errors]
        if folder != path.parent:
            of_errors += _errors_below(folder, {_role_of(output)[1] for output in outputs})
        of_one_node = folder.parent == path and len(outputs) == 1
        for file in of_errors:
            if not can_be_read(file):
                strays.append(file)
                continue
            named = [output for output in outputs if _role_of(output)[1] == _role_of(file)[1]]
            if named or of_one_node:
                errors.setdefault((named or outputs)[0], []).append(file)
            elif file not in node_of and folder != path.parent and file.stat().st_size:
                strays.append(file)
    of_others = {file for files in errors.values() for file in files}
    nodes = {node: [file for file in files[node] if file not in of_others] for node in sorted(files, key=by_numbers)}
    kept = {node: of_node for node, of_node in nodes.items() if of_node}
    read = {*(file for of_node in kept.values() for file in of_node), *of_others}
    parts = {file: older for file, older in parts.items() if file in read}
    return LoggedRun(_name_of(path), path, kept, notes, errors=errors, strays=strays, parts=parts)


def _name_of(path: Path) -> str:
    if path.is_file():
        return fit_name(Path(unpacked_name(path)).stem)
    # The collected logs of this collection's runs are all in a folder of the same name, so the run's name is added.
    return fit_name(f"{path.parent.name}-{_NODES}" if _collected(path) else path.name)


def _collected(path: Path) -> bool:
    return path.name == _NODES and (path.parent / PLAN_NAME).is_file()


def _errors_below(
    folder: Path, logs: set[tuple[str, ...]], of_errors: bool = False, deepest: int = _DEEPEST
) -> Iterator[Path]:
    """Yield the standard error files in folders below a folder with logs, whose names are ``logs``.

    They are in a folder named like a standard error, or are named so themselves and like a log or only by numbers.
    """
    try:
        for entry in _inside(folder, Path.is_dir):
            named = of_errors or not _ERRORS.isdisjoint(_words(entry.name))
            for file in _inside(entry, Path.is_file):
                is_error, rest = _role_of(file)
                if named or (is_error and (rest in logs or all(word.isdigit() for word in rest))):
                    yield file
            if deepest > 1:
                yield from _errors_below(entry, logs, named, deepest - 1)
    except PermissionError:
        return


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[._-]+", name.lower()) if word]


def _role_of(file: Path) -> tuple[bool, tuple[str, ...]]:
    """Return whether a file is named like a standard error, and the rest of its name, which identifies the node."""
    if is_packed(file):
        return _role_of(file.with_suffix(""))
    of_pbs = _OF_PBS.fullmatch(file.name)
    if of_pbs:
        return of_pbs.group(2) == "e", (of_pbs.group(1), of_pbs.group(3))
    words, suffix = _words(file.name), file.suffix[1:].lower()
    if file.name == _REPORT_OF_WORKER:
        return True, ()
    is_text = not suffix or suffix.isdigit() or suffix in _ERRORS | _OUTPUTS
    return is_text and not _ERRORS.isdisjoint(words), tuple(word for word in words if word not in _ERRORS | _OUTPUTS)


def _inside(folder: Path, kind: t.Callable[[Path], bool]) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith(".") and kind(entry))


def _logs_among(files: Iterable[Path]) -> tuple[dict[str, list[Path]], list[Path]]:
    """Return the files that may be logs, by the node in their name, and the other files."""
    files = list(files)
    whole, _older = _with_older_parts(files)
    for suffixes in _LOG_SUFFIXES:
        chosen = [file for file in whole if can_be_read(file) and _is_log(file, suffixes)]
        if chosen:
            logs: dict[str, list[Path]] = {}
            for file in chosen:
                logs.setdefault(_node_of(file), []).append(file)
            return logs, [file for file in files if file not in chosen]
    for file in files:
        _readable(file)
    return {}, files


def _with_older_parts(files: Iterable[Path]) -> tuple[list[Path], dict[Path, list[Path]]]:
    """Return the files without compressed copies and older parts of rotated logs, and these parts, the oldest first."""
    named: dict[str, Path] = {}
    for file in sorted(files, key=is_packed):
        named.setdefault(unpacked_name(file), file)
    older: dict[Path, dict[tuple[int, str | int], Path]] = {}
    for name, file in named.items():
        rotated = _ROTATED.fullmatch(name)
        if rotated and rotated["log"] in named and Path(rotated["log"]).suffix in _ROTATING and can_be_read(file):
            part = rotated["part"]
            age = (1, -int(part)) if len(part) <= _MOST_DIGITS_OF_NUMBER else (0, part)
            older.setdefault(named[rotated["log"]], {})[age] = file
    parts = {file: [by_age[age] for age in sorted(by_age)] for file, by_age in older.items()}
    aside = {file for of_log in parts.values() for file in of_log}
    return sorted(file for file in named.values() if file not in aside), parts


def _is_log(file: Path, suffixes: Sequence[str]) -> bool:
    name = Path(unpacked_name(file))
    return name.suffix in suffixes or ("" in suffixes and bool(_OF_PBS.fullmatch(name.name)))


def _readable(file: Path) -> Path:
    if not can_be_read(file):
        raise ValueError(f"{file} is compressed in a way that Python cannot read; unpack it first")
    return file


def _node_of(file: Path) -> str:
    name = Path(unpacked_name(file))
    of_pbs = _OF_PBS.fullmatch(name.name)
    if of_pbs:
        return fit_name(of_pbs.group(1))
    return fit_name(name.stem if name.suffix in (suffix for some in _LOG_SUFFIXES for suffix in some) else name.name)


def _few(paths: Sequence[Path]) -> str:
    names = [path.name for path in paths]
    return ", ".join(names) if len(names) <= 5 else f"{', '.join(names[:5])} and {len(names) - 5} more"


def _named_apart(runs: Sequence[LoggedRun]) -> list[LoggedRun]:
    """Return the runs under unique names, prefixed with as many parent folders as that takes."""
    depth = 1
    names = [run.name for run in runs]
    while len(set(names)) < len(names) and depth < max(len(run.folder.parts) for run in runs):
        depth += 1
        names = [
            run.name
            if run.known or [other.name for other in runs].count(run.name) == 1
            else fit_name("-".join([*run.folder.parts[-depth:-1], run.name]))
            for run in runs
        ]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"named more than once: {', '.join(twice)}")
    return [replace(run, name=name) for run, name in zip(runs, names, strict=True)]
