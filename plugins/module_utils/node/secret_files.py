# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets of a run on a node: files of mode 0600 in memory (/dev/shm), there from stage to stop and no longer.

A node's plan names them: ``name``, ``source`` (the user's file) and ``target`` (what the training reads). The value is
what the user gave for the run, or that of the source on this node, or else that of the source on the controller; the
first and the last come along with the request.
"""

from __future__ import annotations

import os
import shutil
import typing as t


def place(node: dict[str, t.Any], given: dict[str, str], sent: dict[str, str]) -> list[str]:
    """Put the secrets of a node in place, and return a warning for each that is nowhere to be had.

    ``given`` go before the files of this node, ``sent`` after them.

    The folder and an empty file are made in any case, as a mount needs something to point at.
    """
    warnings = []
    for secret in node["secrets"]:
        value = given.get(secret["name"]) or _read(secret["source"]) or sent.get(secret["name"], "")
        if not value:
            warnings.append(f"{secret['source']} is neither on this node nor on the controller, or is empty")
        os.makedirs(os.path.dirname(secret["target"]), mode=0o700, exist_ok=True)
        descriptor = os.open(secret["target"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(value.strip())
    return warnings


def remove(node: dict[str, t.Any]) -> None:
    """Remove the secrets of a node."""
    for secret in node["secrets"]:
        shutil.rmtree(os.path.dirname(secret["target"]), ignore_errors=True)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except OSError:
        return ""
