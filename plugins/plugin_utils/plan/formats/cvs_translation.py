# SPDX-License-Identifier: GPL-3.0-or-later
"""A config in a later shape of CVS as one in the first: a table says where each key goes."""

from __future__ import annotations

import posixpath
import re
import typing as t
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel

from ...text.words import key_path, shown
from ..config.findings import Findings, PlacedFindings
from ..config.kinds import PLACEHOLDER, is_placeholder
from ..config.model import flag_in, section, typed
from ..job.options import ConfigOptions
from .cvs1.dialect import CvsFile, Dialect

# A value on its way: its path in the first format, the value, and its path in the file.
Moved = tuple[tuple[str, ...], t.Any, str]
Reader = Callable[[t.Any, str, Findings], Iterator[Moved]]
First = tuple[CvsFile, Mapping[str, str]]

_ALL = ".*"
_WHOLE = ("config.*", "branch.*")
_VOLUMES = "container.runtime.args.volumes"
CONTAINER = {
    "container.image": "config.container_image",
    "container.name": "config.container_name",
    "container.runtime.args.shm-size": "config.shm_size",
    "container.runtime.args.shm_size": "config.shm_size",
    "container.runtime.args.devices": "config.container_config.device_list",
    _VOLUMES: "config.container_config.volume_dict",
    "container.runtime.args.env": "config.container_config.env_dict",
    "container.env": "config.container_config.env_dict",
}
_ENGINES = ("docker", "podman")
_MODES_OF_MOUNTS = {"ro", "rw", "z", "Z"}
_TESTS = ("checkpoint.enforce", "checkpoint_resume.enabled", "training.checkpoint_resume.enabled")
# What belongs to tests that are not made here, and to sweeps, which are read by themselves.
_NOT_READ = {"image_tar", "smoke", "checkpoint_dir", "sweep", "sweeps", "runs", "enabled_sweep_list"}
_FIELD = re.compile(r"\{(?:paths\.)?([a-z_]+)\}")


class LaterFile(t.NamedTuple):
    """A file read without its documentation keys, for a trainer.

    ``moved`` maps paths of values to where the file has them.
    """

    data: dict[str, t.Any]
    trainer: str
    moved: Mapping[str, str] = {}


def _nothing(*_given: t.Any) -> dict[str, t.Any]:
    return {}


@dataclass(frozen=True)
class Shape:
    """The files for one trainer, as a table of their keys.

    ``rows`` maps a path in the file to its path in the first format, where ``config`` is the section and ``branch`` the
    branch of the run. A path with ``.*`` matches all keys of an object that have no row; without a second path, a key
    is known but not read. If several rows lead to one path, the last one with a given key counts. A key in ``unless``
    counts only if the other one is not given. ``readers`` are for values that do not only move.

    ``file`` is the model of the file, ``gpu`` its key for the kind of GPU, ``parameters`` the path of the training's
    parameters, where the values of a run of the sweep go. ``model`` lists the paths of the model's name: the first one
    given counts, and if none is given the last one is asked for. ``of_model`` returns the branch values that this name
    implies, ``mode`` the mode of a run on so many nodes. ``nodes`` is their number if a file does not say, by default
    the run's; ``words`` maps words of sentences to the file's own.

    ``cells`` and ``runs`` are the paths of the sweep's cells and of the list of cells to run; a cell's values are under
    ``nested``, if that is set, and ``of_name`` returns the values in its name, given the file.
    """

    dialect: Dialect
    file: type[BaseModel]
    gpu: str
    parameters: str
    model: tuple[str, ...]
    example: str
    rows: Mapping[str, str]
    mode: Callable[[Mapping[str, t.Any], ConfigOptions, int], str]
    cells: str = "sweep.combinations"
    runs: str = "sweep.runs"
    nested: str = ""
    unless: Mapping[str, str] = field(default_factory=dict)
    readers: Mapping[str, Reader] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    nodes: int | None = None
    of_model: Callable[[str], Mapping[str, t.Any]] = _nothing
    of_name: Callable[[str, t.Any], dict[str, t.Any]] = _nothing

    def path_of(self, key: str) -> str:
        """Return the path in the file of a bare key, by its name in the file or in the first format."""
        moves = list(_moves(self.rows))
        places = {_last(to): origin for to, origin in moves} | {_last(origin): origin for _to, origin in moves}
        if key in places:
            return places[key]
        in_config = "config.*" in self.rows and key in self.dialect.sections().config.model_fields
        return f"{'config' if in_config else self.parameters}.{key}"


def value_at(data: t.Any, path: str) -> t.Any:
    """Return the value at a path with dots, or None if it, or a section on the way, is not there."""
    for name in path.split("."):
        data = data.get(name) if isinstance(data, dict) else None
    return data


def put(data: dict[str, t.Any], path: Sequence[str], value: t.Any) -> bool:
    """Set a value, and return whether all on its way are objects; missing ones are created."""
    *above, name = path
    holder: t.Any = data
    for key in above:
        holder = holder.setdefault(key, {}) if isinstance(holder, dict) else None
    if isinstance(holder, dict):
        holder[name] = value
    return isinstance(holder, dict)


def first_format(
    shape: Shape, file: LaterFile, options: ConfigOptions, node_count: int, findings: Findings
) -> First | None:
    """Return the config and the places of its keys in the file, or None if a whole section is missing."""
    findings = PlacedFindings(findings, file.moved)
    data = _with_paths(file.data)
    moving = (_last(origin.removesuffix(_ALL)) for origin in (*shape.rows, *shape.model))
    unused = {*_NOT_READ, *moving}
    read = typed(shape.file, data, "", findings, unused=unused, lower_unknown=options.lower_unknown)
    there = [_is_there(data, path, findings) for path in _whole_sections(shape)]
    if not all(there):
        return None
    model, named = _model_of(shape, data, findings)
    count = shape.nodes or node_count
    values = {"config": {"nnodes": count} if count else {}, "branch": {**shape.of_model(model)}}
    places = dict.fromkeys((key_path("branch", name) for name in values["branch"]), named)
    places |= _move(shape, data, values, findings)
    _check(data, options, findings)
    mode, gpu = shape.mode(data, options, node_count), getattr(read, shape.gpu) or "gpu"
    first = {"config": values["config"], "model_params": {mode: {model: {gpu: values["branch"]}}}}
    return CvsFile(first, shape.dialect), _words(shape, places, key_path("model_params", mode, model, gpu))


def _whole_sections(shape: Shape) -> list[str]:
    """Return the paths of the objects whose keys all go into a section of the first format."""
    return [origin.removesuffix(_ALL) for origin, to in shape.rows.items() if to in _WHOLE]


def _is_there(data: Mapping[str, t.Any], path: str, findings: Findings) -> bool:
    """Return whether there is an object at a path, and report one that is missing, unless that is reported already."""
    above, _dot, name = path.rpartition(".")
    holder = value_at(data, above) if above else data
    return isinstance(holder, dict) and section(holder, name, path, findings) is not None


def _model_of(shape: Shape, data: Mapping[str, t.Any], findings: Findings) -> tuple[str, str]:
    """Return the name of the model, or a substitute that lets other faults be found, and its path."""
    given = ((value_at(data, path), path) for path in shape.model)
    model, path = next(filter(lambda pair: pair[0] not in (None, ""), given), (None, shape.model[-1]))
    if isinstance(model, str) and not is_placeholder(model):
        return model, path
    name = _last(path)
    message = f"{name} is missing." if model is None else f"{name} is {shown(model)}, which is not a name."
    findings.fault(path, model, message, f"Give a name, for example {shape.example}.")
    tokenizer = value_at(data, f"{shape.parameters}.tokenizer_model")
    return posixpath.basename(tokenizer if isinstance(tokenizer, str) else "") or shape.example, path


def _move(shape: Shape, data: t.Any, values: dict[str, t.Any], findings: Findings) -> dict[str, str]:
    """Move the values of a file by its rows, and return their places; warn of a value that another one replaces."""
    given: dict[str, tuple[t.Any, str]] = {}
    for path, value, place in _moved(shape, data, findings):
        target = key_path("", *path)
        other, its_place = given.get(target, (value, place))
        if other != value:
            message = f"{_last(its_place)} has no effect: {_last(place)} takes precedence, and differs."
            findings.warn(its_place, other, message, "Keep one of the two.")
        if put(values, path, value):
            given[target] = value, place
    return {target: place for target, (_value, place) in given.items()}


def _moved(shape: Shape, data: t.Any, findings: Findings) -> Iterator[Moved]:
    """Yield the values of a file that have a row, in the order of the rows."""
    readers = {_VOLUMES: _mounts, **shape.readers}
    for origin, target in shape.rows.items():
        start, to = origin.removesuffix(_ALL), tuple(target.removesuffix(_ALL).split("."))
        value = value_at(data, start)
        if origin.endswith(_ALL) and isinstance(value, dict):
            for name, inner in value.items():
                if f"{start}.{name}" not in shape.rows and _is_known((*to, name), inner, findings):
                    yield (*to, name), inner, key_path(start, name)
        elif origin in readers and value is not None:
            yield from readers[origin](value, origin, findings)
        elif target and value is not None and value_at(data, shape.unless.get(origin, "")) is None:
            yield to, value, start


def _is_known(path: tuple[str, ...], value: t.Any, findings: Findings) -> bool:
    """Return whether a key is allowed there, and report one that belongs in the section ``container``."""
    key = ".".join(path)
    if key == "config.container_config" or key in CONTAINER.values():
        remedy = f"It belongs in {dict(_moves(CONTAINER)).get(key, 'container')}."
        findings.fault(key, value, f"{path[-1]} is not a known key.", remedy)
        return False
    return True


def _moves(rows: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the paths, in the first format and in the file, of keys that move alone."""
    for origin, to in rows.items():
        if to and to not in _WHOLE:
            yield to.removesuffix(_ALL), origin.removesuffix(_ALL)


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _words(shape: Shape, places: Mapping[str, str], branch: str) -> dict[str, str]:
    """Return the places of all keys by their names in faults of the first format, and the words that differ."""
    moves = dict(_moves(shape.rows))
    moves |= {to: places[to] for to in moves if shape.rows.get(places.get(to, ""))}
    names = {_last(to): _last(origin) for to, origin in moves.items()}
    return {
        branch: shape.parameters,
        "model_params": shape.parameters,
        **{old: new for old, new in names.items() if old != new},
        **{re.sub(r"^branch\b", lambda _found: branch, to): origin for to, origin in {**moves, **places}.items()},
        **shape.words,
    }


def _check(data: Mapping[str, t.Any], options: ConfigOptions, findings: Findings) -> None:
    """Report another container engine or number of GPUs than the run can have, and a test that is not made here."""
    engine = value_at(data, "container.runtime.name")
    if engine is not None and engine not in _ENGINES:
        remedy = f"Give {' or '.join(_ENGINES)}; see container_engine."
        findings.fault("container.runtime.name", engine, f"{shown(engine)} is not supported.", remedy)
    for path in ("gpus_per_node", "training.gpus_per_node"):
        given, of_run = value_at(data, path), options.training_gpus_per_node
        if given is not None and of_run and str(given) != str(of_run):
            remedy = f"Set it to {of_run}, or -e training_gpus_per_node={shown(given)}."
            findings.fault(path, given, f"It is {shown(given)}, but the run uses {of_run} GPUs of a node.", remedy)
    for path in _TESTS:
        above, _dot, name = path.rpartition(".")
        if flag_in(value_at(data, above), name):
            message = "The test of saving a checkpoint and resuming from it is not made."
            findings.warn(path, True, message, "Set it to false, or make it with CVS.")


def _mounts(volumes: t.Any, path: str, findings: Findings) -> Iterator[Moved]:
    if not isinstance(volumes, list):
        findings.fault(path, volumes, f"volumes is {shown(volumes)}, which is not a list.", "Give a list of mounts.")
        return
    to = tuple(CONTAINER[path].split("."))
    for number, volume in enumerate(volumes):
        parts = volume.split(":") if isinstance(volume, str) else []
        if len(parts) == 3 and set(parts[2].split(",")) <= _MODES_OF_MOUNTS:
            parts.pop()
        if len(parts) == 2 and all(part.startswith("/") for part in parts):
            yield (*to, parts[0]), parts[1], key_path(path, number)
        else:
            found = f"still contains {PLACEHOLDER}" if is_placeholder(volume) else "is not a mount"
            message = f"volumes[{number}] is {shown(volume)}, which {found}."
            findings.fault(key_path(path, number), volume, message, "Write /path/on/the/node:/path/in/the/container.")


def _with_paths(data: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return a file with ``{shared_fs}`` and ``{paths.log_dir}`` replaced by its paths, which may contain others."""
    given = data.get("paths")
    paths = {name: value for name, value in given.items() if isinstance(value, str)} if isinstance(given, dict) else {}
    # A path that refers to itself is left alone.
    resolved = {name: _filled(value, {**paths, name: f"{{{name}}}"}) for name, value in paths.items()}
    return t.cast("dict[str, t.Any]", _filled(data, resolved))


def _filled(value: t.Any, paths: Mapping[str, str]) -> t.Any:
    if isinstance(value, str):
        return _FIELD.sub(lambda found: paths.get(found[1], found[0]), value)
    if isinstance(value, list):
        return [_filled(inner, paths) for inner in value]
    if isinstance(value, dict):
        return {_filled(key, paths): _filled(inner, paths) for key, inner in value.items()}
    return value
