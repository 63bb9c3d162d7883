# SPDX-License-Identifier: GPL-3.0-or-later
"""The supported frameworks: a folder here for each one that the logs room lists."""

from __future__ import annotations

import typing as t
from importlib import import_module

from ....module_utils.logs.frameworks.known import GRAMMARS
from ..config.findings import Findings
from .face import Framework
from .foreign import fault_foreign

FRAMEWORKS: dict[str, Framework[t.Any, t.Any]] = {
    name: import_module(f".{name}.framework", __package__).FRAMEWORK for name in GRAMMARS
}


def framework_for(asked: str, text: str, source: str, findings: Findings) -> Framework[t.Any, t.Any] | None:
    """Return the framework that a training config is for, or that is asked for by name; None, and a fault, if unknown.

    A config in CVS format that no framework recognizes counts as the first framework's.
    """
    known = FRAMEWORKS.get(asked)
    # The first one last: its configs have little that is unique.
    of_text = next((one for one in reversed(FRAMEWORKS.values()) if one.recognizes(text, source)), None)
    named = known or of_text
    if fault_foreign(text, source, findings, named=known is not None, recognized=of_text is not None):
        return None
    if known and of_text and not known.recognizes(text, source):
        findings.fault(
            "training_framework",
            asked,
            f"{source} is a training config for {of_text.title}, but the run is for {known.title}.",
            f"Use a playbook for {of_text.title}, or give a config for {known.title}.",
        )
        return None
    return named or next(iter(FRAMEWORKS.values()))
