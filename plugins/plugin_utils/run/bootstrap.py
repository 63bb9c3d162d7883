# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs on a node: makes the node's program importable, and hands the request to the agent.

Only its text is used, because the program of ``python3 -c`` cannot read files that the node does not have. It expects
the names ``request`` and ``kept``: ``kept`` is where an earlier phase kept the program on the node, with the SHA-256
that it reported, or None if the sources follow in a second line with the SHA-256 ``digest``. The kept program is
compiled code, and the text of modules that no launch loads. Its SHA-256 proves that nobody has changed it since, and
its first line gives the Python that compiled it.
"""

from __future__ import annotations

import base64
import gc
import importlib.machinery
import json
import marshal
import os
import sys
import typing as t
import zlib

if t.TYPE_CHECKING:
    request: dict[str, t.Any] = {}
    kept: tuple[str, str] | None = None
    digest = ""

_PYTHON = sys.version.encode().replace(b"\n", b" ") + b"\n"
_MOST_BYTES = 16 << 20
_NODE = "ansible_collections.trainops.cluster.plugins.module_utils.node"


def _sha256(content: bytes) -> str:
    # OpenSSL's, which hashlib loads, takes a tenth of a phase to load.
    for module in ("_sha2", "_sha256", "hashlib"):
        try:
            return str(importlib.import_module(module).sha256(content).hexdigest())
        except ImportError:
            continue
    raise ImportError("this Python has no SHA-256")


class Code:
    """Finds and loads modules from their texts or marshalled code; every prefix of their names is a package.

    It does without the base classes in importlib.abc, because loading them takes a third of a phase.
    """

    def __init__(self, code: t.Mapping[str, str | bytes]) -> None:
        self.code = code
        self._packages = {
            ".".join(parts[:length]) for parts in (name.split(".") for name in code) for length in range(1, len(parts))
        }

    def find_spec(self, name: str, path: t.Any = None, target: t.Any = None) -> t.Any:  # noqa: ARG002
        """Return how to load a module that was sent, or None for any other."""
        if name not in self.code and name not in self._packages:
            return None
        return importlib.machinery.ModuleSpec(name, t.cast("t.Any", self), is_package=name in self._packages)

    def create_module(self, spec: t.Any) -> None:
        """Let a module be made as usual."""

    def exec_module(self, module: t.Any) -> None:
        """Run a module's code in the module."""
        if module.__name__ in self.code:
            code = self.code[module.__name__]
            if isinstance(code, str):
                exec(compile(code, f"<{module.__name__}>", "exec", dont_inherit=True), module.__dict__)
            else:
                exec(marshal.loads(code), module.__dict__)


def kept_code(path: str, digest: str) -> dict[str, str | bytes] | None:
    """Return the code that is kept in a file, or None where it is not the one that was kept, by this Python."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
            content = stream.read(_MOST_BYTES)
    except OSError:
        return None
    if _sha256(content) != digest or not content.startswith(_PYTHON):
        return None
    return t.cast("dict[str, str | bytes]", marshal.loads(content[len(_PYTHON) :]))


if __name__ == "trainops":  # as the starter calls it; a mere import changes nothing
    # A phase is over before there is garbage worth looking for: that, and to end without tidying up, saves a tenth.
    gc.disable()
    code = kept_code(*kept) if kept else json.loads(zlib.decompress(base64.b64decode(sys.stdin.buffer.readline())))
    if code is None:
        sys.stdout.write('\ntrainops-answer:{"failed": true, "no_program": true}\n')
    else:
        sys.meta_path.insert(0, loader := Code(code))
        program, program_digest = None, None
        if not kept:
            compiled = importlib.import_module(f"{_NODE}.compiled").compiled
            program, loader.code = compiled(code, digest, _PYTHON, keep=not request["check_mode"])
            program_digest = _sha256(program)
        importlib.import_module(f"{_NODE}.agent").main(request, program, program_digest)
        os._exit(0)
