# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the logs of runs in folders: which folder is a run, and which files may be the log of which node."""

from __future__ import annotations

import contextlib
import glob
import re
import typing as t
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...module_utils.node.inspection.files import by_numbers
from ..run.board import PLAN_NAME

# The first of these that any file of a folder has says which of its files are logs.
_LOG_SUFFIXES = ((".log",), (".out", ".err", ".stdout", ".stderr", ".txt", ""))
# The words by which Slurm, torchrun and scripts name the file of the standard error beside that of the standard output,
# and those that say nothing of whose it is. PBS and Grid Engine name them JOB.e12 and JOB.o12.
_ERRORS = {"err", "errs", "error", "errors", "stderr"}
_OUTPUTS = {"out", "output", "stdout", "log", "txt"}
# torchrun writes this where a worker failed, and its logs so many folders below the one that it is given.
_REPORT_OF_WORKER, _DEEPEST = "error.json", 4
_OF_PBS = re.compile(r"(.+)\.([eo])(\d+)")
PACKED = (".bz2", ".gz", ".xz", ".zip", ".zst")
_CORE = re.compile(r"(?:gpu)?core(?:\.\d+)?")
_GLOB = re.compile(r"[*?\[]")
_UNFIT = re.compile(r"[^A-Za-z0-9_.:-]+")


@dataclass(frozen=True)
class LoggedRun:
    """A folder with the logs of one run: the files that may be the log of each node, nodes in the order of their names.

    ``notes`` are sentences about what was ignored. ``errors`` are the standard error files, by the file with the
    standard output; ``strays`` are those without such a file, compressed ones, and core dumps. If a run of this
    collection left the folder, ``files`` is empty and ``known`` true.
    """

    name: str
    folder: Path
    files: dict[str, list[Path]]
    notes: list[str]
    known: bool = False
    errors: dict[Path, list[Path]] = field(default_factory=dict)
    strays: list[Path] = field(default_factory=list)


def find_runs(named: Sequence[str]) -> list[LoggedRun]:
    """Return the runs whose logs are in the named folders, each with a name of its own.

    A folder is one run: each log in it is of the node that its name names, or each of its sub-folders is a node. Where
    the sub-folders have sub-folders themselves, or are the folders of runs of this collection, each is a run; so is
    each of several folders, and each match of a pattern (``*``, ``?``, ``[…]``). A file is a run of one node. Raises
    ValueError with every error, a line each.
    """
    problems: list[str] = []
    paths = [path for text in named for path in _expanded(text, problems)]
    if not named:
        problems.append("no log folder is given; set -e training_logs=DIR")
    runs: list[LoggedRun] = []
    for path in paths:
        try:
            runs += _runs_at(path)
        except OSError as error:
            problems.append(f"{path} cannot be read: {error.strerror or error}")
        except ValueError as error:
            problems.append(str(error))
    if problems:
        raise ValueError("\n".join(problems))
    return _named_apart(runs)


def fit_name(text: str) -> str:
    """Return a text as a folder name: letters, digits and . _ : -, but none of these four first."""
    return _UNFIT.sub("-", text).lstrip("._:-") or "logs"


def _expanded(text: str, problems: list[str]) -> list[Path]:
    path = Path(text).expanduser()
    if path.exists():
        return [path.absolute()]
    if not _GLOB.search(text):
        problems.append(f"{path.absolute()} does not exist; training_logs must name a folder with logs")
        return []
    found = sorted((Path(match).absolute() for match in glob.glob(str(path))), key=str)
    if not found:
        problems.append(f"nothing matches {path.absolute()}; training_logs must name folders with logs")
    return found


def _runs_at(path: Path) -> list[LoggedRun]:
    if path.is_file():
        return [_run(path, {_node_of(path): [_unpacked(path)]}, [])]
    if (path / PLAN_NAME).is_file():
        return [LoggedRun(path.name, path, {}, [], known=True)]
    folders = _inside(path, Path.is_dir)
    logs, aside = _logs_among(_inside(path, Path.is_file))
    if logs:
        run = _run(path, logs, [])
        read = {file for files in run.errors.values() for file in files}
        above = {parent for file in read for parent in file.parents}
        left = [entry for entry in aside + folders if entry not in read | above]
        notes = [f"Not read, because there are logs next to them: {_few(left)}."] if left else []
        return [replace(run, notes=notes, strays=[*run.strays, *(file for file in left if is_core(file))])]
    if any((folder / PLAN_NAME).is_file() or _inside(folder, Path.is_dir) for folder in folders):
        runs = []
        for folder in folders:
            # Beside the runs there may be anything.
            with contextlib.suppress(ValueError):
                runs += _runs_at(folder)
        if runs:
            return runs
    return [_run(path, *_nodes_in(path, folders))]


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
        raise ValueError(f"{path} holds no log: neither a file (NODE.log), nor a sub-folder with one (NODE/train.log)")
    return nodes, [f"Without a log: {_few(empty)}."] if empty else []


def _run(path: Path, files: dict[str, list[Path]], notes: list[str]) -> LoggedRun:
    """Return a run in which each standard error file belongs to a standard output file."""
    node_of = {file: node for node, of_node in files.items() for file in of_node}
    errors: dict[Path, list[Path]] = {}
    strays: list[Path] = []
    for folder in {file.parent for file in node_of}:
        of_errors = [file for file in _inside(folder, Path.is_file) if _role_of(file)[0]]
        outputs = [file for file in sorted(node_of) if file.parent == folder and file not in of_errors]
        if folder != path.parent:
            of_errors += _errors_below(folder, {_role_of(output)[1] for output in outputs})
        of_one_node = folder.parent == path and len(outputs) == 1
        for file in of_errors:
            if file.suffix in PACKED:
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
    name = fit_name(path.stem if path.is_file() else path.name)
    return LoggedRun(name, path, kept, notes, errors=errors, strays=strays)


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
    """Return whether a file is named like a standard error, and the rest of its name, which says whose it is."""
    if file.suffix in PACKED:
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
    for suffixes in _LOG_SUFFIXES:
        chosen = [
            file for file in files if file.suffix in suffixes or ("" in suffixes and _OF_PBS.fullmatch(file.name))
        ]
        if chosen:
            logs: dict[str, list[Path]] = {}
            for file in chosen:
                logs.setdefault(_node_of(file), []).append(file)
            return logs, [file for file in files if file not in chosen]
    for file in files:
        _unpacked(file)
    return {}, files


def _unpacked(file: Path) -> Path:
    if file.suffix in PACKED:
        raise ValueError(f"{file} is compressed; unpack it first")
    return file


def _node_of(file: Path) -> str:
    of_pbs = _OF_PBS.fullmatch(file.name)
    if of_pbs:
        return fit_name(of_pbs.group(1))
    return fit_name(file.stem if file.suffix in (suffix for some in _LOG_SUFFIXES for suffix in some) else file.name)


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
