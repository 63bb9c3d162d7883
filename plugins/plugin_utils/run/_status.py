# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node's status on the board means.

``not_started``, ``staged`` and ``running`` lead to one of ``exited`` (with ``exit_status``), ``killed`` (gone without
one), ``stopped`` (by us), ``stalled`` (its log stopped growing) and ``unreachable`` (it does not answer).
"""

from __future__ import annotations

import typing as t


def has_failed(status: dict[str, t.Any]) -> bool:
    """Tell whether a node is known to have failed by itself, as opposed to being stopped."""
    if status["status"] == "exited":
        return bool(status["exit_status"] != 0)
    return status["status"] in ("killed", "stalled", "unreachable")
