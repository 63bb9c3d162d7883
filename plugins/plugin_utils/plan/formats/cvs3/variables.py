# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of the section ``container.env`` that are keys of their own in CVS's first format."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ....text.words import key_path
from ..cvs2.file import FirstFormat
from ..cvs2.places import value_at

PLACE = "container.env"


def take_variables(
    first: FirstFormat, data: Mapping[str, t.Any], of_keys: Mapping[str, str], others: str, left_out: tuple[str, ...]
) -> dict[str, t.Any]:
    """Take the variables of a file: those in ``of_keys`` into their keys, the others into the key ``others``.

    Keys are paths such as ``config.nccl_debug``. Return the file without them.
    """
    given = value_at(data, PLACE)
    container = data.get("container")
    if not isinstance(given, dict) or not isinstance(container, dict):
        return dict(data)
    rest = {}
    for name, value in given.items():
        if name in of_keys:
            section, key = of_keys[name].split(".")
            first.take(section, key, value, key_path(PLACE, name))
        elif name not in left_out:
            rest[name] = value
    if rest:
        section, key = others.split(".")
        first.take(section, key, rest, PLACE)
    return {**data, "container": {name: value for name, value in container.items() if name != "env"}}
