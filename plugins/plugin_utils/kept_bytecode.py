# SPDX-License-Identifier: GPL-3.0-or-later
"""Python keeps the bytecode of this collection's modules beside them, which it does for all other modules.

Ansible's loader of collections keeps none: a launch would compile some 300 files, in every process that imports them.
Ansible still finds packages and loads plugins. The plugins that a command loads first call `keep_bytecode`.
"""

from __future__ import annotations

import sys
import typing as t
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader

if t.TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

_OURS: t.Final = __name__.partition(".plugin_utils.")[0] + "."


class KeptBytecode:
    """Finds the modules of this collection, before Ansible's finder is asked."""

    def __init__(self) -> None:
        """Begin with no folder known."""
        self._folders: dict[str, FileFinder] = {}

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return how to load a module of ours; None for packages and for whatever is not ours."""
        if not path or not name.startswith(_OURS):
            return None
        folder = path[0]
        if folder not in self._folders:
            self._folders[folder] = FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES))
        spec = self._folders[folder].find_spec(name, target)
        return spec if spec and spec.loader else None


def keep_bytecode() -> None:
    """Let Python keep the bytecode of all modules of ours that are imported after this.

    Our finder comes right before Ansible's: without that one, Python keeps bytecode anyway. Finders before it stay
    first, because the import test of ansible-test demands it.
    """
    for place, finder in enumerate(sys.meta_path):
        if type(finder).__module__.startswith("ansible.utils.collection_loader."):
            sys.meta_path.insert(place, t.cast("t.Any", KeptBytecode()))
            return
