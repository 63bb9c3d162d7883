# SPDX-License-Identifier: GPL-3.0-or-later
"""Which format a training config is in, which trainer it is for, and which grammar the trainer's log has."""

from __future__ import annotations

import typing as t

from ..contracts import Chosen
from .config.findings import Findings
from .formats.face import Choice, Format
from .formats.foreign import fault_foreign
from .formats.known import FORMATS
from .job.options import ConfigOptions
from .trainers.face import Trainer
from .trainers.known import OF_FRAMEWORK, TRAINERS

AUTO = "auto"


class Way(t.NamedTuple):
    """A format and a trainer, and why it is these."""

    format: Format[t.Any]
    why_format: str
    trainer: Trainer[t.Any, t.Any]
    why_trainer: str

    def grammar(self, config: t.Any, named: str | None) -> Choice:
        """Return the grammar of the log: the user's choice, or else the config's."""
        if named is not None and named != AUTO:
            return Choice(named, "training_log_grammar sets it.")
        return self.trainer.grammar_for(config)

    def chosen(self, grammar: Choice) -> Chosen:
        """Return all of it as a plan has it."""
        return {
            "format": {"name": self.format.name, "why": self.why_format},
            "trainer": {"name": self.trainer.name, "why": self.why_trainer},
            "log_grammar": {"name": grammar.name, "why": grammar.why},
        }


def way_for(options: ConfigOptions, text: str, source: str, findings: Findings) -> Way | None:
    """Return the format and the trainer of a training config; None, and a fault, if there are none.

    ``training_trainer`` and ``training_framework`` may set the trainer. A file that no format recognizes counts as one
    in the first format of that trainer, or in the first one of all.
    """
    named, option, value = _named(options)
    recognized = next((known for known in FORMATS.values() if known.recognizes(text, source)), None)
    known = [known.title for known in FORMATS.values()]
    is_named, is_recognized = named is not None, recognized is not None
    if fault_foreign(text, source, findings, named=is_named, recognized=is_recognized, known=known):
        return None
    offered = recognized.trainers_in(text) if recognized else []
    fitting = [choice for choice in offered if named is None or named.name == choice.name]
    if recognized and offered and not fitting and named:
        title = TRAINERS[offered[0].name].title
        message = f"{source} is a training config for {title}, but the run is for {named.title}."
        remedy = f"Use a playbook for {title}, or give a config for {named.title}."
        findings.fault(option, value, message, remedy)
        return None
    format_ = recognized or _format_of(named)
    why = f"{source} has what only such a file has." if recognized else "No format recognizes the file."
    if named:
        return Way(format_, why, named, f"{option} sets it.")
    first = next(iter(fitting), Choice(format_.trainers[0], "Nothing in the file speaks for another one."))
    return Way(format_, why, TRAINERS[first.name], first.why)


def _format_of(named: Trainer[t.Any, t.Any] | None) -> Format[t.Any]:
    """Return the format that a file for a trainer is most likely in."""
    formats = [known for known in FORMATS.values() if named is None or named.name in known.trainers]
    return min(formats, key=lambda known: known.trainers.index(named.name) if named else 0)


def _named(options: ConfigOptions) -> tuple[Trainer[t.Any, t.Any] | None, str, str]:
    """Return the trainer that an option sets, which option that is, and its value."""
    trainer = TRAINERS.get(options.training_trainer)
    if trainer:
        return trainer, "training_trainer", options.training_trainer
    return OF_FRAMEWORK.get(options.training_framework), "training_framework", options.training_framework
