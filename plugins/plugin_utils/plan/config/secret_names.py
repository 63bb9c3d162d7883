# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeping secrets out of plans: faults do not repeat a token from a training config."""

from __future__ import annotations

import re
import typing as t

from ....module_utils.logs.tokens import HIDDEN, without_tokens

_WORDS = re.compile(r"[a-z0-9]+")
_SECRET_WORDS = {"apikey", "key", "passphrase", "passwd", "password", "pwd", "secret", "token"}


def is_secret_name(name: str) -> bool:
    """Return whether a key or variable of this name contains a secret itself (``HF_TOKEN``, not ``hf_token_file``)."""
    words = _WORDS.findall(name.casefold())
    return bool(words) and words[-1] in _SECRET_WORDS


def without_secrets(value: t.Any, name: str = "") -> t.Any:
    """Return the value under a name, with everything hidden that is a secret by its name or its form."""
    if is_secret_name(name) and value is not None:
        return HIDDEN
    if isinstance(value, dict):
        return {key: without_secrets(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_secrets(inner) for inner in value]
    return without_tokens(value) if isinstance(value, str) else value


def line_without_secrets(line: str) -> str:
    """Return a line of an unreadable file, or only a note if it may contain a secret."""
    names = re.findall(r"\w+", line)
    return HIDDEN if any(is_secret_name(name) for name in names) else without_tokens(line)
