# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface of a trainer to the rest of the collection. Each trainer is a folder here with such a class."""

from __future__ import annotations

import abc
import typing as t
from collections.abc import Sequence

from ...contracts import Plan
from ..config.findings import Findings
from ..formats.face import Choice
from ..job.job import Job
from ..job.options import RunOptions
from ..job.ranks import Node

ConfigT = t.TypeVar("ConfigT")
OptionsT = t.TypeVar("OptionsT", bound=RunOptions)


class Trainer(abc.ABC, t.Generic[ConfigT, OptionsT]):
    """What trains, and how it is started: which job a config becomes on nodes.

    ``ConfigT`` is a config as the formats that name this trainer read it, before its values are typed; ``OptionsT`` are
    the variables of a plan, including the trainer's own. `plan_job` reports every fault at once and then returns None.
    """

    name: t.ClassVar[str]
    """The name of its folder, and in ``training_trainer``."""
    title: t.ClassVar[str]
    """What messages call it."""
    framework: t.ClassVar[str]
    """What users call it together with its usual format and log: its name in ``training_framework`` and reports."""
    grammar: t.ClassVar[str]
    """The grammar of its log, unless the config decides it."""
    options: type[OptionsT]
    """The variables of a plan that it reads; its own begin with ``training_<framework>_``."""
    uses_nccl: t.ClassVar[bool] = True
    """Whether its configs have keys for NCCL and Gloo."""
    exit_line: t.ClassVar[str] = ""
    """How its launcher's last line ends if the node's processes ended with exit status 0; empty without such a line."""
    platforms: t.ClassVar[tuple[str, ...]] = ()
    """Values of ``training_platform`` that it supports in addition to inventory hosts."""

    def asks_for_image(self, _config: ConfigT) -> bool:
        """Return whether a config asks for a container image; a trainer that is also started on the hosts looks."""
        return True

    def engine_for(self, config: ConfigT, options: OptionsT, findings: Findings) -> str:
        """Return the container engine: one of the values of ``container_engine``."""
        if options.container_engine != "auto" or options.training_image or self.asks_for_image(config):
            return options.container_engine
        findings.note("No image is set (training_image), so the training runs directly on the hosts.")
        return "none"

    def grammar_for(self, _config: ConfigT) -> Choice:
        """Return the grammar of the log that a config's training writes."""
        return Choice(self.grammar, f"{self.title} writes such lines.")

    @abc.abstractmethod
    def plan_job(self, config: ConfigT, options: OptionsT, nodes: Sequence[Node], findings: Findings) -> Job | None:
        """Return the job to run on nodes in rank order, or None if there is any fault."""

    def dry_run(self, _plan: Plan) -> str:
        """Return the command that previews the start on the first node; empty if there is none.

        It trains nothing. The plan is without faults.
        """
        return ""
