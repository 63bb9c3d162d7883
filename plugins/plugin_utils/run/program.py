# SPDX-License-Identifier: GPL-3.0-or-later
"""The self-contained program that a phase runs on a node: our node-side sources, sent once, and the request."""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
import threading
import typing as t
import zlib
from functools import cache
from pathlib import Path

from ...module_utils.node.agent import ANSWER_MARK
from ...module_utils.node.contracts import Request
from ..bounded_output import MOST_BYTES, TooLongError
from .answers import BadAnswerError

_FOLDER = Path(__file__).parents[2] / "module_utils"
MODULE_UTILS = "ansible_collections.trainops.cluster.plugins.module_utils"

# The call of python3 -c: with -I and -S, because neither its start folder nor the node's packages are ours. The rest
# comes over standard input, out of sight of `ps` and of its length limits.
STARTER = (
    "import base64,json,sys,zlib;"
    "sent=json.loads(zlib.decompress(base64.b64decode(sys.stdin.buffer.readline())));"
    "exec(compile(sent.pop('bootstrap'),'<trainops>','exec'),sent)"
)


_MOST_VALUES = 4_000_000

_ONE_AT_A_TIME = threading.Lock()


class _Program(t.NamedTuple):
    """The program on each node: our node-side ``sources`` as one line, its SHA-256, and the ``bootstrap`` code."""

    sources: bytes
    digest: str
    bootstrap: str


def node_sources(*rooms: str) -> dict[str, Path]:
    """Return the files of our node-side sources in some rooms, by the full names of their modules."""
    return {
        ".".join((MODULE_UTILS, *path.relative_to(_FOLDER).with_suffix("").parts)): path
        for room in rooms
        for path in sorted((_FOLDER / room).rglob("*.py"))
    }


@cache
def _read_program() -> _Program:
    sources = _line({module: path.read_text("utf-8") for module, path in node_sources("node", "logs").items()})
    bootstrap = (Path(__file__).parent / "bootstrap.py").read_text(encoding="utf-8")
    return _Program(sources, hashlib.sha256(sources).hexdigest(), bootstrap)


def _program() -> _Program:
    # The threads of all nodes ask for it at the same moment, and a cache alone lets each of them make it.
    with _ONE_AT_A_TIME:
        return _read_program()


def _line(value: dict[str, t.Any]) -> bytes:
    return base64.b64encode(zlib.compress(json.dumps(value).encode())) + b"\n"


def command(python: str) -> str:
    """Return the command that runs the program with a Python of a node."""
    return f"{shlex.quote(python)} -IS -c {shlex.quote(STARTER)}"


def standard_input(request: Request, kept: tuple[str, str] | None = None) -> bytes:
    """Return the program's standard input: lines of base64, the request and the sources.

    ``kept`` is where an earlier phase kept the program on the node, with its SHA-256: then the sources are not sent,
    and the answer is ``no_program`` if it is gone.
    """
    program = _program()
    sent = {"bootstrap": program.bootstrap, "request": request, "kept": kept, "digest": program.digest}
    first = _line({"__name__": "trainops", **sent})
    return first if kept else first + program.sources


def answer_in(standard_output: str) -> dict[str, t.Any] | None:
    """Return the answer in a program's output, None if there is none; BadAnswerError for one too large.

    Most connections end it before it is as long; see `bounded_output`.
    """
    if len(standard_output) > MOST_BYTES:
        raise BadAnswerError(str(TooLongError(MOST_BYTES)))
    for line in reversed(standard_output.split("\n")):
        if line.startswith(ANSWER_MARK):
            if sum(map(line.count, "[{,")) > _MOST_VALUES:
                raise BadAnswerError(f"its answer contains more than {_MOST_VALUES} values")
            try:
                answer = json.loads(line.removeprefix(ANSWER_MARK))
            except RecursionError:
                raise BadAnswerError("its answer is nested too deeply") from None
            except ValueError:
                continue
            if not isinstance(answer, dict):
                raise BadAnswerError("its answer is not a JSON object")
            return answer
    return None
