# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of node preparation: made all or none, and with a note of the former values, to undo them.

The modules of the role node_prep share one JSON file on the node. Each has a part of it: by the name of a thing that it
changed, the value before the first change. A later change of the same thing does not replace that.
"""

from __future__ import annotations

import contextlib
import os
import typing as t
from collections.abc import Callable, Mapping

from .files import read_json, write_json
from .inspection.files import below

FILE = "/var/lib/trainops/node_prep.json"


def noted(root: str, part: str) -> dict[str, t.Any]:
    """Return the notes of a module; ValueError if the file is not one of ours."""
    parts = (read_json(below(root, FILE)) or {}).get(part, {})
    if not isinstance(parts, dict):
        raise ValueError(f"{below(root, FILE)}: {part} is {parts!r}, but must be an object; repair or remove the file")
    return dict(parts)


def note(root: str, part: str, before: Mapping[str, t.Any]) -> None:
    """Note the values before a change, ahead of the change. Things that are already noted stay as they are."""
    _keep(root, part, {**before, **noted(root, part)})


def forget(root: str, part: str, things: t.Iterable[str]) -> None:
    """Forget things that were taken back; with the last one, the file goes."""
    gone = set(things)
    _keep(root, part, {name: before for name, before in noted(root, part).items() if name not in gone})


def _keep(root: str, part: str, before: dict[str, t.Any]) -> None:
    path = below(root, FILE)
    parts = {**(read_json(path) or {}), part: before}
    filled = {name: one for name, one in parts.items() if one}
    if filled == (read_json(path) or {}):
        return
    if filled:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_json(path, filled, 0o644)
    else:
        os.unlink(path)
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(path))


def apply(
    root: str,
    notes: Mapping[str, Mapping[str, t.Any]],
    changes: Mapping[str, tuple[str, str]],
    write: Callable[[str, str], None],
) -> tuple[str, str] | None:
    """Make changes, by path the present and the wanted content; if one is refused, take back those before it.

    ``notes`` are to be noted beforehand, by part. Returns the path that was refused, and why.
    """
    new = {part: set(before) - set(noted(root, part)) for part, before in notes.items()}
    for part, before in notes.items():
        note(root, part, before)
    done: list[str] = []
    for path, (_before, after) in changes.items():
        try:
            write(path, after)
        except OSError as error:
            for made in reversed(done):
                with contextlib.suppress(OSError):
                    write(made, changes[made][0])
            for part, things in new.items():
                forget(root, part, things)
            return path, error.strerror or str(error)
        done.append(path)
    return None
