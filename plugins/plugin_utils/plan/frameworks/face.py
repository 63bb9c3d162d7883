# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface of a framework to the rest of the collection. Each framework is a folder here with such a class."""

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
    """What a config says about its nodes: their number and the address of rank 0, each None if not set."""

    nodes: int | None
    master: str | None


ConfigT = t.TypeVar("ConfigT")
OptionsT = t.TypeVar("OptionsT", bound=RunOptions)


class Framework(abc.ABC, t.Generic[ConfigT, OptionsT]):
    """A framework: how its training configs are read, and which jobs they become.

    ``ConfigT`` is a config as `read` returns it, before its values are typed; ``OptionsT`` are the variables of a plan,
    including the framework's own. `plan_job` reports every fault at once and then returns None.
    """

    name: t.ClassVar[str]
    """Its name in ``training_framework``."""
    title: t.ClassVar[str]
    """Its name in messages."""
    options: type[OptionsT]
    """The variables of a plan that it reads; its own begin with ``training_<name>_``."""
    launcher: t.ClassVar[str]
    """What starts its ranks, as named in CVS's performance tables."""
    uses_nccl: t.ClassVar[bool] = True
    """Whether its configs have keys for NCCL and Gloo."""
    platforms: t.ClassVar[tuple[str, ...]] = ()
    """Values of ``training_platform`` that it supports in addition to inventory hosts."""

    @property
    @abc.abstractmethod
    def model(self) -> type[BaseModel]:
        """The model of its file; in CVS format, of the section ``config``."""

    @abc.abstractmethod
    def recognizes(self, text: str, source: str) -> bool:
        """Return whether a training config is certainly meant for it, by text and file name."""

    @abc.abstractmethod
    def read(self, text: str, source: str, findings: Findings) -> ConfigT | None:
        """Return the config in a file, or None after reporting its faults."""

    @abc.abstractmethod
    def overridden(self, config: ConfigT, options: OptionsT, node_count: int, findings: Findings) -> ConfigT:
        """Return a config with the values of ``training_overrides``, and report those that do not fit."""

    def engine_for(self, _config: ConfigT, options: OptionsT, _findings: Findings) -> str:
        """Return the container engine: one of the values of ``container_engine``."""
        return options.container_engine

    def sweep_cells(self, _config: ConfigT, _findings: Findings) -> list[Cell] | None:
        """Return the cells of the sweep that the config itself describes; None if it describes none."""
        return None

    def without_sweep(self, config: ConfigT, _findings: Findings) -> ConfigT:
        """Return a config without the sweep that it describes, and warn if there was one."""
        return config

    @abc.abstractmethod
    def asked(self, config: ConfigT, options: OptionsT, node_count: int) -> Asked:
        """Return which nodes the config itself asks for; ``node_count`` are available."""

    @abc.abstractmethod
    def plan_job(self, config: ConfigT, options: OptionsT, nodes: Sequence[Node], findings: Findings) -> Job | None:
        """Return the job to run on nodes in rank order, or None if there is any fault."""
