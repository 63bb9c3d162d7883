# SPDX-License-Identifier: GPL-3.0-or-later
"""The backends of Primus that can be planned, and the grammar of each one's log."""

from __future__ import annotations

import typing as t

from ....text.words import listed, shown
from ...config.findings import Findings
from ..face import Choice

BACKENDS = {
    "megatron": "megatron",
    "torchtitan": "torchtitan",
    "maxtext": "maxtext",
    "megatron_bridge": "megatron_bridge",
}


def grammar_of_backend(backend: str) -> Choice:
    """Return the grammar of a backend's log."""
    return Choice(BACKENDS[backend], f"Primus' backend {backend} writes such lines.")


def fault_backend(path: str, backend: t.Any, findings: Findings) -> None:
    """Report a backend that is not planned."""
    message = f"The training is for Primus' backend {shown(backend)}, which is not planned."
    remedy = f"Start it with Primus' own runner/primus-cli, or give an experiment for {listed(BACKENDS)}."
    findings.fault(path, backend, message, remedy)
