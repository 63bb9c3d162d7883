# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets in a training config that is staged as it is."""

from __future__ import annotations

import typing as t

from ...text.words import key_path
from .findings import Findings
from .secret_names import is_secret_name, without_secrets


def check_secrets(values: t.Any, path: str, findings: Findings) -> None:
    """Report secrets in the file: it is staged unchanged, and is part of the plan."""
    if isinstance(values, dict | list):
        for key, inner in values.items() if isinstance(values, dict) else enumerate(values):
            check_secrets(inner, key_path(path, key), findings)
    elif isinstance(values, str):
        name = path.rpartition(".")[2]
        if is_secret_name(name) or without_secrets(values) != values:
            findings.fault(
                path,
                None,
                "This looks like a secret: it would appear in the plan and on the nodes.",
                "Leave it out, and log in on the nodes.",
            )
