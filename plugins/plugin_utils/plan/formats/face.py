# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface of a file format to the rest of the collection. Each format is a folder here with such a class."""

from __future__ import annotations

import abc
import typing as t
from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from ..config.findings import Findings
from ..job.options import ConfigOptions
from ..job.sweep_cell import Cell


class Asked(t.NamedTuple):
    """What a config says about its nodes: their number and the address of rank 0, each None if not set."""

    nodes: int | None
    master: str | None


class Choice(t.NamedTuple):
    """The name of a format, a trainer or a grammar, and why it is that one, as a sentence."""

    name: str
    why: str


class OwnThresholds(t.NamedTuple):
    """A config's own settings for thresholds.

    ``file`` is the path of the thresholds file, relative to the config's, or empty; ``enforced`` tells whether they are
    judged, ``baseline`` is the basis of scaling, as in a thresholds file, ``target_loss`` the loss to reach, and
    ``cell`` the name of the run that is planned of the config's sweep, or nothing.
    """

    file: str = ""
    enforced: bool = True
    baseline: t.Any = None
    target_loss: float | None = None
    cell: str = ""


class Sections(t.NamedTuple):
    """The models of the sections ``config`` and of a branch of ``model_params``, of a file that has these two."""

    config: type[BaseModel]
    branch: type[BaseModel]


ConfigT = t.TypeVar("ConfigT")


class Format(abc.ABC, t.Generic[ConfigT]):
    """What a training config is written in: how such a file is recognized and read, and which trainers it is for.

    ``ConfigT`` is a config as `read` returns it, before its values are typed; a trainer of `trainers` takes it as
    `handed` returns it.
    """

    name: t.ClassVar[str]
    """The name of its folder, as a plan gives it."""
    title: t.ClassVar[str]
    """What messages call such a file."""
    trainers: t.ClassVar[tuple[str, ...]]
    """The trainers that such a file can be for; the first one where the file does not say."""
    sweep_blocks: t.ClassVar[tuple[str, ...]] = ()
    """The keys under which such a file describes a sweep."""

    @abc.abstractmethod
    def recognizes(self, text: str, source: str) -> bool:
        """Return whether a training config is certainly in this format, by text and file name."""

    def trainers_in(self, _text: str) -> Sequence[Choice]:
        """Return the trainers that a file in this format is certainly for, the most likely one first."""
        return [Choice(self.trainers[0], f"{self.title} is for no other trainer.")]

    @abc.abstractmethod
    def read(self, text: str, source: str, trainer: str, findings: Findings) -> ConfigT | None:
        """Return the config in a file for a trainer, or None after reporting its faults."""

    @abc.abstractmethod
    def overridden(self, config: ConfigT, options: ConfigOptions, node_count: int, findings: Findings) -> ConfigT:
        """Return a config with the values of ``training_overrides``, and report those that do not fit."""

    def sweep_cells(self, _config: ConfigT, _findings: Findings) -> list[Cell] | None:
        """Return the cells of the sweep that the config itself describes; None if it describes none."""
        return None

    def without_sweep(self, config: ConfigT, _findings: Findings) -> ConfigT:
        """Return a config without the sweep that it describes, and warn if there was one."""
        return config

    def thresholds(self, _config: ConfigT) -> OwnThresholds:
        """Return the config's settings for thresholds in other files."""
        return OwnThresholds()

    def handed(
        self, config: ConfigT, _options: ConfigOptions, _node_count: int, findings: Findings
    ) -> tuple[t.Any, Findings]:
        """Return a config in its trainers' form, or None if there is none, and the findings that take its faults."""
        return config, findings

    @abc.abstractmethod
    def asked(self, config: ConfigT, options: ConfigOptions, node_count: int) -> Asked:
        """Return which nodes the config itself asks for; ``node_count`` are available."""

    @abc.abstractmethod
    def models(self) -> Mapping[str, type[BaseModel] | Sections]:
        """Return the models of its files by the name under which editors get their schema."""
