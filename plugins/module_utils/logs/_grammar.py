# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The log grammars of the frameworks, behind one face."""

from __future__ import annotations

import typing as t

from ansible_collections.trainops.cluster.plugins.module_utils.logs import _megatron

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Grammar(t.NamedTuple):
    """How one framework's log is read; both functions take any bytes of it that end with a line.

    ``parse`` yields ``{"step": int, "steps_total": int or None, "metrics": {metric: float}}`` for each step line.
    ``summary`` returns what the log itself says of the whole run: canonical metric -> float.
    """

    parse: Callable[[bytes], Iterator[dict[str, t.Any]]]
    summary: Callable[[bytes], dict[str, float]]


GRAMMARS = {
    "megatron": Grammar(_megatron.parse, _megatron.summary),
}


def grammar_of(framework: str) -> Grammar:
    """Return the grammar of a framework; raises ValueError for one that has none."""
    if framework not in GRAMMARS:
        raise ValueError(f"framework is {framework!r}, but must be one of: {', '.join(sorted(GRAMMARS))}")
    return GRAMMARS[framework]
