# SPDX-License-Identifier: GPL-3.0-or-later
"""What an isolation wrote about its nodes, read again."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ..answer_values import first_wrong
from ..isolate.isolation import Isolation
from .isolation_write import JSON


class Written(Isolation):
    """What an isolation found, and whether it was a ``rehearsal``, which says nothing about its nodes."""

    rehearsal: bool


def isolation_in(isolations: Path, name: str) -> Written:
    """Return what the isolation of a name in a folder found; ValueError if it found nothing, or is not there."""
    path = isolations / name / JSON
    there = sorted(one.parent.name for one in isolations.glob(f"*/{JSON}"))
    if name not in there:
        latest = f"the latest ones are {', '.join(there[-5:])}" if there else "there are none"
        raise ValueError(f"{isolations} has no isolation {name!r} that found anything: {latest}")
    try:
        return TypeAdapter(Written).validate_json(path.read_bytes())
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        raise ValueError(f"{path} is not what an isolation wrote ({first_wrong(error)})") from None
