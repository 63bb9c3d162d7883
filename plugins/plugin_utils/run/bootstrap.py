# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs on a node: makes the sources that were sent along importable, and hands the request to the agent.

Only its text is used, as the program of ``python3 -c`` cannot read files that the node does not have. It expects the
names ``sources`` (module name to source text) and ``request``.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
import typing as t

if t.TYPE_CHECKING:
    sources: dict[str, str] = {}
    request: dict[str, t.Any] = {}


class SentSources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and loads modules in ``sources``; every prefix of their names is a package."""

    def find_spec(self, name: str, path: t.Any = None, target: t.Any = None) -> t.Any:  # noqa: ARG002
        """Return how to load a module that was sent along, or None for any other."""
        is_package = any(source.startswith(name + ".") for source in sources)
        if name not in sources and not is_package:
            return None
        return importlib.util.spec_from_loader(name, self, is_package=is_package)

    def exec_module(self, module: t.Any) -> None:
        """Run a module's source in the module."""
        code = compile(sources.get(module.__name__, ""), f"<{module.__name__}>", "exec", dont_inherit=True)
        exec(code, module.__dict__)


if __name__ == "trainops":  # as the starter calls it; a mere import changes nothing
    sys.meta_path.insert(0, SentSources())
    importlib.import_module("ansible_collections.trainops.cluster.plugins.module_utils.node.agent").main(request)
