# SPDX-License-Identifier: GPL-3.0-or-later
"""What a framework is to the rest of the collection. Each one is a folder here, with a class of this shape."""

from __future__ import annotations

import abc
import typing as t
from collections.abc import Sequence

from pydantic import BaseModel

from ..config.findings import Findings
from ..job.job import Job
from ..job.options import RunOptions
from ..job.ranks import Node
from ..job.sweep_cell import Cell


class Asked(t.NamedTuple):
    """What a config says of its nodes: their number and the address of rank 0, each None where it is left open."""

    nodes: int | None
    master: str | None


ConfigT = t.TypeVar("ConfigT")
OptionsT = t.TypeVar("OptionsT", bound=RunOptions)


class Framework(abc.ABC, t.Generic[ConfigT, OptionsT]):
    """A framework: how its training configs are read, and which jobs they become.

    ``ConfigT`` is a config as `read` returns it, before any of its values has a type; ``OptionsT`` are the variables
    of a plan, with those that the framework alone has. `plan_job` notes every fault at once and then returns None.
    """

    name: t.ClassVar[str]
    """What ``training_framework`` calls it."""
    title: t.ClassVar[str]
    """Its name in messages."""
    options: type[OptionsT]
    """The variables of a plan that it reads; its own ones begin with ``training_<name>_``."""
    launcher: t.ClassVar[str]
    """What starts its ranks, as CVS's performance tables name it."""
    uses_nccl: t.ClassVar[bool] = True
    """Whether its configs have keys for NCCL and Gloo."""
    platforms: t.ClassVar[tuple[str, ...]] = ()
    """Values of ``training_platform`` that it can train on in addition to hosts of the inventory."""

    @property
    @abc.abstractmethod
    def model(self) -> type[BaseModel]:
        """What its file holds; in the format of CVS, the section ``config``."""

    @abc.abstractmethod
    def recognizes(self, text: str, source: str) -> bool:
        """Report by text and file name whether a training config is certainly meant for it."""

    @abc.abstractmethod
    def read(self, text: str, source: str, findings: Findings) -> ConfigT | None:
        """Return the config in a file, or None, and its faults."""

    @abc.abstractmethod
    def overridden(self, config: ConfigT, options: OptionsT, node_count: int, findings: Findings) -> ConfigT:
        """Return a config with the values of ``training_overrides``, and a fault for each that has no place there."""

    def engine_for(self, _config: ConfigT, options: OptionsT, _findings: Findings) -> str:
        """Return what holds the training: one of the values of ``container_engine``."""
        return options.container_engine

    def sweep_cells(self, _config: ConfigT, _findings: Findings) -> list[Cell] | None:
        """Return the cells of the sweep that the config itself describes; None where it describes none."""
        return None

    def without_sweep(self, config: ConfigT, _findings: Findings) -> ConfigT:
        """Return a config without the sweep that it describes, and a warning where there was one."""
        return config

    @abc.abstractmethod
    def asked(self, config: ConfigT, options: OptionsT, node_count: int) -> Asked:
        """Return which nodes the config itself asks for; ``node_count`` are at hand."""

    @abc.abstractmethod
    def plan_job(self, config: ConfigT, options: OptionsT, nodes: Sequence[Node], findings: Findings) -> Job | None:
        """Return what is to be run on nodes in rank order, or None where there is any fault."""
