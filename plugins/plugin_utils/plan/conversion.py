# SPDX-License-Identifier: GPL-3.0-or-later
"""A training config in another format than its own, by way of its plan: ``training_convert``."""

from __future__ import annotations

import os
import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..contracts import Finding
from ..text.words import listed
from .config.texts import USER_FIELD
from .formats.known import FORMATS
from .job.ranks import Node
from .plan import make_plan
from .threshold_files import ThresholdsFile
from .trainers.face import Converted
from .trainers.known import TRAINERS

_FORMATS = {name: FORMATS[written] for trainer in TRAINERS.values() for name, written in trainer.converts.items()}
# A plan has the name of the user who connects; in the file that is the field again.
_ANY_USER = "any.user.of.training_convert"
_REMEDY = "Leave training_convert out, or give a config that can be converted."
_HEAD = "# Made of {source} by training_convert={name}. "


class Conversion(t.NamedTuple):
    """A file to write: its ``path``, its ``text``, the ``title`` of the format, and what was left out, in sentences."""

    path: str
    text: str
    title: str
    left_out: tuple[str, ...]


def convert(
    name: str,
    path: str,
    text: str,
    source: str,
    options: Mapping[str, t.Any],
    nodes: Sequence[Node],
    thresholds: ThresholdsFile | None,
) -> Conversion | Finding | None:
    """Return what to write for ``training_convert=name``, or why nothing is.

    The other parameters are those of `make_plan`; ``path`` is where to write, by default a name made of the config's
    in the current folder. A config whose plan has faults gives None: they are reported with the plan itself.
    """
    known = _FORMATS.get(name)
    if known is None:
        return _fault(name, f"{name} is not a format to convert to.", f"Choose one of: {listed(_FORMATS)}.")
    of_any_user = [replace(node, user=_ANY_USER) for node in nodes]
    plan = make_plan(text, source, options, of_any_user, "run", thresholds=thresholds)
    if plan["faults"] or not plan["nodes"]:
        return None
    trainer = TRAINERS[plan["chosen"]["trainer"]["name"]]
    made = trainer.converted(plan, name)
    if made is None:
        return _fault(name, f"A plan for {trainer.title} cannot be written as {known.title}.", _REMEDY)
    if not isinstance(made, Converted):
        return _fault(name, made, _REMEDY)
    path = path or f"{os.path.splitext(os.path.basename(source))[0]}.{name}.yaml"
    text, *left_out = (part.replace(_ANY_USER, USER_FIELD) for part in (made.text, *made.left_out))
    made = Converted(text, tuple(left_out))
    return Conversion(path, _with_head(made, source, name), known.title, made.left_out)


def _fault(name: str, message: str, remedy: str) -> Finding:
    return {"key": "training_convert", "value": name, "message": message, "remedy": remedy}


def _with_head(made: Converted, source: str, name: str) -> str:
    head = _HEAD.format(source=os.path.basename(source), name=name)
    head += "Not taken over:" if made.left_out else "Everything was taken over."
    return "\n".join([head, *(f"# - {sentence}" for sentence in made.left_out), made.text])


def was_made_here(text: str) -> bool:
    """Return whether a file is one that a conversion has written, so that another one may replace it."""
    return text.startswith(_HEAD.partition("{")[0]) and "training_convert=" in text.partition("\n")[0]
