# SPDX-License-Identifier: GPL-3.0-or-later
"""The contents of the page on checks: all of them, by their row of the ledger."""

from __future__ import annotations

import typing as t

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.checks import CHECKS, Check


def values() -> dict[str, t.Any]:
    """Return the checks by their row, with the checks of the whole run last."""
    rows: dict[str, list[Check]] = {}
    for check in CHECKS:
        rows.setdefault((check.row or "the run as a whole").capitalize(), []).append(check)
    return {"rows": rows}
