# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the page on facts of the machine that come from the tables."""

from __future__ import annotations

import typing as t

from docs._tables import code

from ansible_collections.trainops.cluster.plugins.module_utils.node.machine_facts import ROW_OF, ROWS
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.machine import fact_in_words
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.judge_machine import MEASURED

_EFFECTS = {"fail": "FAIL", "note": "note"}


def values() -> dict[str, str]:
    """Return the tables."""
    said = (
        (
            _EFFECTS[row.effect],
            row.means,
            ", ".join(ROW_OF[end].means for end in row.ended_by),
            row.source,
            code(row.sample),
        )
        for row in sorted(ROWS, key=lambda row: row.effect)
    )
    measured = (
        (_EFFECTS[row.effect], fact_in_words(name), row.source)
        for name, row in sorted(MEASURED.items(), key=lambda item: item[1].effect)
    )
    return {"said": _rows(said), "measured": _rows(measured)}


def _rows(rows: t.Iterable[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in rows)
