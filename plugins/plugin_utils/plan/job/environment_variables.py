# SPDX-License-Identifier: GPL-3.0-or-later
"""Environment variables of a training, and of PyTorch's flight recorder.

The environment variables of libraries that a training uses: which there are, and which values they accept.

``environment_variables.json`` lists them by the library that reads them. The sources are NCCL's ``NCCL_PARAM`` and
``ncclGetEnv`` (src of NCCL, June 2026) and the pages on its environment variables, the same files and the documentation
of RCCL (October 2024), "ProcessGroupNCCL environment variables" and "Distributed communication" of PyTorch, "GPU memory
allocation" of JAX, the pages on environment variables of ROCm, HIP and Transformer Engine, and the variables in configs
of CVS and Primus. Kinds are:

- ``whole``, a whole number as C's strtoll with base 0 reads it, and ``between``, one within bounds,
- ``fraction``, a number greater than 0 and at most 1,
- ``switch``, a boolean,
- ``words``, names in any case, several of them with commas, colons or semicolons between them, after ``^`` the names to
  leave out,
- ``text``, anything.

A library ignores a value that it cannot read, or takes it for 0, and at best says so in a log that nobody reads.

PyTorch's flight recorder: the variables that switch it on, so that a hang shows the rank that others wait for.

It keeps the last collectives of each rank in memory, and a rank writes them to a file when NCCL's watchdog gives up or
somebody writes to its pipe. Recording takes no part in a collective, and PyTorch 2.13 does so by itself. Source:
ProcessGroupNCCL.hpp and FlightRecorder.hpp in torch/csrc/distributed/c10d; the variables are documented since PyTorch
2.4, and listed in pytorch#128204.
"""

from __future__ import annotations

import functools
import json
import re
import typing as t
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...text.words import key_path, listed, misspelled, nearest, shown
from ..config.field_types import LINE
from ..config.findings import Findings
from ..config.kinds import Kind, Real, Switch
from .rdma import number_of_nccl

_WHOLE = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|[0-9]+)")
_SEPARATORS = re.compile(r"[,:;]")


@dataclass(frozen=True)
class WholeOfC(Kind):
    """A whole number as C's strtoll with base 0 reads it: 16, 0x10 and 020 are the same."""

    minimum: int | None = None
    maximum: int | None = None

    def __str__(self) -> str:
        return "a whole number" + ("" if self.minimum is None else f" from {self.minimum} to {self.maximum}")

    def read(self, value: str) -> int:
        """Return the number."""
        if not _WHOLE.fullmatch(value):
            raise ValueError("is not a whole number")
        number = number_of_nccl(value)
        if self.minimum is not None and self.maximum is not None and not self.minimum <= number <= self.maximum:
            raise ValueError("is too small" if number < self.minimum else "is too large")
        return number

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the schema of text: the values of variables are text."""
        return [{"type": "string"}]


class Variable(t.NamedTuple):
    """A variable: which library reads it, and the kind of its values, or the words that it accepts."""

    reader: str
    kind: Kind | tuple[str, ...]


_KINDS: dict[str, t.Callable[..., Kind | tuple[str, ...]]] = {
    "whole": WholeOfC,
    "between": WholeOfC,
    "fraction": lambda: Real(0, 1, above=True),
    "switch": Switch,
    "words": lambda *words: words,
    "text": lambda: LINE,
}


@functools.cache
def known_variables() -> dict[str, Variable]:
    """Return the catalogue by name."""
    found: dict[str, Variable] = {}
    for reader in json.loads(Path(__file__).with_suffix(".json").read_text("utf-8")):
        for kind, make in _KINDS.items():
            names = reader.get(kind, ())
            allowed = names if isinstance(names, dict) else dict.fromkeys(names, ())
            found |= {name: Variable(reader["reader"], make(*allowed[name])) for name in names}
    return found


def check_values(variables: Mapping[str, str], path: str, findings: Findings) -> None:
    """Report values that the library which reads a variable cannot use. ``path`` is the key path of the variables."""
    for name, value in variables.items():
        variable, where = known_variables().get(name), key_path(path, name)
        if variable is None:
            continue
        if isinstance(variable.kind, tuple):
            _check_words(name, value, variable.kind, where, findings)
        elif value.strip():
            _check_value(name, value, variable.kind, where, findings)


def warn_of_typos(variables: Mapping[str, str], path: str, known: Collection[str], findings: Findings) -> None:
    """Warn of unknown variables whose names resemble known ones."""
    for name in variables.keys() - known_variables().keys() - set(known):
        near = misspelled(name, known)
        if near:
            message = f"Nothing is known to read {name}, so that it would have no effect."
            findings.warn(key_path(path, name), variables[name], message, f"Did you mean {near}?")


def _check_value(name: str, value: str, kind: Kind, path: str, findings: Findings) -> None:
    try:
        kind.read(value.strip())
    except ValueError as error:
        findings.fault(path, value, f"{name} is {shown(value)}, which {error}.", f"Give {kind}, or leave it out.")


def _check_words(name: str, value: str, known: tuple[str, ...], path: str, findings: Findings) -> None:
    """Report a word that resembles a known one, and warn of another: newer libraries may know more words."""
    folded = {word.casefold() for word in known}
    for word in _SEPARATORS.split(value):
        bare = word.strip().lstrip("^")
        if not bare or bare.casefold() in folded:
            continue
        near = nearest(bare, known)
        if near:
            message = f"{name} is {shown(value)}, and {shown(bare)} is not a word that it accepts."
            findings.fault(path, value, message, f"Did you mean {near}? It accepts {listed(known)}.")
        else:
            message = f"{shown(bare)} is not among the words that {name} is known to accept."
            findings.warn(path, value, message, f"Give one of {listed(known)}, or check that the image accepts it.")


FILES = "{run-folder}/nccl_trace_rank_"
_DUMPS = "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"
_VARIABLES = {
    "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000",
    # With it the pipe is looked at each second, without it each ten minutes.
    "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
    _DUMPS: FILES,
    "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": FILES,
}
# Later releases use these names, and still know the others.
_LATER = {"TORCH_NCCL_TRACE_BUFFER_SIZE": "TORCH_FR_BUFFER_SIZE", _DUMPS: "TORCH_FR_DUMP_TEMP_FILE"}


def recording(given: Mapping[str, str], dumps: str = FILES) -> dict[str, str]:
    """Return the variables that a training lacks to record its collectives; those that the user gives win.

    ``dumps`` is how the paths of the ranks' files begin, for a trainer that itself decides that.
    """
    wanted = {**_VARIABLES, _DUMPS: dumps}
    return {name: value for name, value in wanted.items() if not {name, _LATER.get(name)} & given.keys()}


def without_recording(environment: Mapping[str, str], run_folder: str) -> dict[str, str]:
    """Return the variables of a node without the ones from `recording`, which are useless in another folder."""
    return {
        name: value
        for name, value in environment.items()
        if name not in _VARIABLES or not (value == _VARIABLES[name] or value.startswith(f"{run_folder}/"))
    }
