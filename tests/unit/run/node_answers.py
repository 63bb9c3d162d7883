# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's answers while its training is followed."""

from __future__ import annotations

import typing as t


def answer(status: str = "running", **changes: t.Any) -> dict[str, t.Any]:
    """Return a node's answer to the phase follow, with changes: its training has printed nothing so far."""
    return {
        "status": status,
        "has_ended": status != "running",
        "exit_status": None,
        "started_at": 1000.0,
        "ended_at": None,
        "now": 1010.0,
        "log_bytes": 0,
        "blocks": [],
        "failures": [],
        "survived": [],
        "summary": {},
        "transports": [],
        "log_run_id": "run-1",
        "world_size": None,
        "settings": {},
        "signs": [],
        "ranks": [],
        "conflicts": 0,
        "starts": 1,
        "arguments": {},
        "cursor": {"offset": 0, "step": None, "memory": {}},
        **changes,
    }
