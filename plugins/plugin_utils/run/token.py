# SPDX-License-Identifier: GPL-3.0-or-later
"""The Hugging Face token that the user gives for a run, in addition to the token file of a training config.

It is a variable, for example from a vault, or a file on the controller, for example from an AWX credential. It goes to
the nodes with the request of the phase *stage* and nowhere else.
"""

from __future__ import annotations

import os

from ..contracts import Finding

VALUE, FILE = "training_hf_token", "training_hf_token_file"


def given_token(value: str, path: str) -> str | None:
    """Return the token in the variable, or else in the file; None if neither is given.

    ValueError, with the remedy, if the file is missing or empty.
    """
    if value.strip() or not path:
        return value.strip() or None
    path = os.path.expanduser(path)
    try:
        with open(path, encoding="utf-8") as stream:
            token = stream.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ValueError(f"{path} cannot be read: {reason}") from None
    if not token:
        raise ValueError(f"{path} is empty")
    return token


def source_of_token(value: str, path: str) -> tuple[str | None, list[Finding]]:
    """Return a token's source (the name of the variable or the path of the file) and its fault.

    A plan has the source, never the token.
    """
    try:
        given = given_token(value, path)
    except ValueError as error:
        remedy = "Set it to the path of a file with the token, on the machine that runs Ansible."
        return None, [{"key": FILE, "value": path, "message": f"{error}.", "remedy": remedy}]
    return (VALUE if value else path) if given else None, []
