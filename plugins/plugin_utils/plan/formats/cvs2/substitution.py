# SPDX-License-Identifier: GPL-3.0-or-later
"""``{shared_fs}`` and ``{paths.log_dir}`` in a file stand for values of its section ``paths``."""

from __future__ import annotations

import re
import typing as t

_FIELD = re.compile(r"\{(?:paths\.)?([a-z_]+)\}")


def substituted(data: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return a file with the values of its paths, which may themselves hold others, in the place of their names."""
    given = data.get("paths")
    paths = {name: value for name, value in given.items() if isinstance(value, str)} if isinstance(given, dict) else {}
    # A path that names itself stays as it is.
    resolved = {name: _in_text(value, {**paths, name: f"{{{name}}}"}) for name, value in paths.items()}
    return t.cast("dict[str, t.Any]", _in(data, resolved))


def _in(value: t.Any, paths: dict[str, str]) -> t.Any:
    if isinstance(value, str):
        return _in_text(value, paths)
    if isinstance(value, list):
        return [_in(inner, paths) for inner in value]
    if isinstance(value, dict):
        return {_in_text(key, paths): _in(inner, paths) for key, inner in value.items()}
    return value


def _in_text(text: str, paths: dict[str, str]) -> str:
    return _FIELD.sub(lambda found: paths.get(found[1], found[0]), text)
