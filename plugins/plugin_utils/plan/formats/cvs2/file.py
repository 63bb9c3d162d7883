# SPDX-License-Identifier: GPL-3.0-or-later
"""A file of a later format of CVS, and the same as a config in its first one."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field

from ....text.words import key_path, shown
from ...config.findings import Findings
from ..cvs1.dialect import CvsFile, Dialect
from .places import words_of


class LaterFile(t.NamedTuple):
    """A file read without its documentation keys, for a trainer.

    ``moved`` maps paths of values to where the file has them.
    """

    data: dict[str, t.Any]
    trainer: str
    moved: Mapping[str, str] = {}


@dataclass
class FirstFormat:
    """A config in the first format as it is made from a later one.

    ``config`` and ``branch`` are its sections; ``places`` maps key paths in them, which start with ``config`` or
    ``branch``, to those in the file.
    """

    mode: str
    model: str
    gpu: str
    values: dict[str, t.Any] = field(default_factory=lambda: {"config": {}, "branch": {}})
    places: dict[str, str] = field(default_factory=dict)

    def take(self, section: str, key: str, value: t.Any, place: str) -> None:
        """Set a value of the section ``config`` or ``branch`` that stands at a place in the file."""
        self.values[section][key] = value
        self.places[f"{section}.{key}"] = place

    def as_file(self, dialect: Dialect) -> CvsFile:
        """Return the config."""
        branch = {self.mode: {self.model: {self.gpu: self.values["branch"]}}}
        return CvsFile({"config": self.values["config"], "model_params": branch}, dialect)

    def words(self, of_branch: str, moves: Mapping[str, str], moved: Mapping[str, str]) -> dict[str, str]:
        """Return the places of all keys, where the branch stands at ``of_branch``, by what faults call them."""
        path = key_path("model_params", self.mode, self.model, self.gpu)
        at = {**dict(moves), **self.places}
        found = {key: moved.get(place, place) for key, place in at.items()}
        absolute = {key.replace("branch.", f"{path}.", 1): place for key, place in found.items()}
        return {path: of_branch, "model_params": of_branch, **words_of(moves), **absolute}


def warn_of_checkpoint_test(path: str, findings: Findings) -> None:
    """Warn of CVS's test of saving and resuming, which is switched on at a path, and not made here."""
    message = "The test of saving a checkpoint and resuming from it is not made."
    findings.warn(path, True, message, "Set it to false, or make it with CVS.")


def check_gpus(given: t.Any, path: str, of_run: int | None, findings: Findings) -> None:
    """Report a number of GPUs of a node that is not that of the run."""
    if given is not None and of_run and str(given) != str(of_run):
        remedy = f"Set it to {of_run}, or -e training_gpus_per_node={shown(given)}."
        findings.fault(path, given, f"It is {shown(given)}, but the run uses {of_run} GPUs of a node.", remedy)
