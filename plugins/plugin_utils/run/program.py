# SPDX-License-Identifier: GPL-3.0-or-later
"""The one self-contained program that a phase sends to a node: our node-side sources, and the request."""

from __future__ import annotations

import base64
import json
import typing as t
import zlib
from functools import cache
from pathlib import Path

from ...module_utils.node.agent import ANSWER_MARK
from .answers import BadAnswerError

_MODULE_UTILS = Path(__file__).parents[2] / "module_utils"
_PACKAGE = "ansible_collections.trainops.cluster.plugins.module_utils"

# What python3 -c is given. The rest comes over standard input, out of sight of `ps` and of its length limits.
STARTER = (
    "import base64,json,sys,zlib;"
    "sent=json.loads(zlib.decompress(base64.b64decode(sys.stdin.buffer.read())));"
    "exec(compile(sent.pop('bootstrap'),'<trainops>','exec'),sent)"
)


# What a node of ours never says: an answer holds at most 8 MiB of a log, or what 32 MiB of one tell.
_MOST_CHARACTERS = 64 << 20
_MOST_VALUES = 4_000_000


class NoAnswerError(ValueError):
    """What came back from a node holds no answer of the program."""


@cache
def _sources() -> dict[str, str]:
    return {
        ".".join((_PACKAGE, *path.relative_to(_MODULE_UTILS).with_suffix("").parts)): path.read_text(encoding="utf-8")
        for folder in ("node", "logs")
        for path in sorted((_MODULE_UTILS / folder).rglob("*.py"))
    }


@cache
def _bootstrap() -> str:
    return (Path(__file__).parent / "bootstrap.py").read_text(encoding="utf-8")


def standard_input(request: dict[str, t.Any]) -> bytes:
    """Return what the program reads from its standard input: sources and request, in one line of base64."""
    sent = {"__name__": "trainops", "bootstrap": _bootstrap(), "sources": _sources(), "request": request}
    return base64.b64encode(zlib.compress(json.dumps(sent).encode())) + b"\n"


def answer_in(standard_output: str) -> dict[str, t.Any]:
    """Return the answer in a program's output; NoAnswerError where there is none, BadAnswerError for one too large."""
    if len(standard_output) > _MOST_CHARACTERS:
        raise BadAnswerError(f"what it answers is longer than {_MOST_CHARACTERS} characters")
    for line in reversed(standard_output.split("\n")):
        if line.startswith(ANSWER_MARK):
            if sum(map(line.count, "[{,")) > _MOST_VALUES:
                raise BadAnswerError(f"its answer holds more than {_MOST_VALUES} values")
            try:
                answer = json.loads(line.removeprefix(ANSWER_MARK))
            except RecursionError:
                raise BadAnswerError("its answer is nested too deeply") from None
            except ValueError:
                continue
            if not isinstance(answer, dict):
                raise BadAnswerError("its answer is no JSON object")
            return answer
    raise NoAnswerError("no answer")
