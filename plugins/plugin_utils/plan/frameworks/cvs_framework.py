# SPDX-License-Identifier: GPL-3.0-or-later
"""What all frameworks with training configs in CVS format have in common."""

from __future__ import annotations

import abc
import typing as t
from collections.abc import Sequence

from pydantic import BaseModel

from ..config.findings import Findings
from ..config.json_config import read_json
from ..config.model import typed
from ..cvs.branch import mode_of
from ..cvs.form import CvsForm, plan_job
from ..cvs.overrides import with_overrides
from ..cvs.sweep_blocks import cells_of, without_blocks
from ..job.batch_scaling import scales_batch
from ..job.job import Job
from ..job.ranks import Node
from ..job.sweep_cell import Cell
from .face import Asked, Framework, OptionsT

CvsConfig = dict[str, t.Any]


class CvsFramework(Framework[CvsConfig, OptionsT]):
    """A framework whose configs have the sections ``config`` and ``model_params``, read without documentation keys."""

    @property
    @abc.abstractmethod
    def form(self) -> CvsForm[t.Any, t.Any, OptionsT]:
        """The models of its two sections, and how they become a job."""

    @property
    def model(self) -> type[BaseModel]:
        """What the section ``config`` holds."""
        return t.cast("type[BaseModel]", self.form.config)

    def read(self, text: str, source: str, findings: Findings) -> CvsConfig | None:
        """Return the sections without their documentation keys, or None after reporting the file's faults."""
        return read_json(text, source, findings)

    def overridden(self, config: CvsConfig, options: OptionsT, node_count: int, findings: Findings) -> CvsConfig:
        """Return a config with the values of ``training_overrides``; a key of the branch needs no path."""
        return with_overrides(config, options, node_count, self.model.model_fields, findings)

    def sweep_cells(self, config: CvsConfig, findings: Findings) -> list[Cell] | None:
        """Return the cells of the config's sweep blocks; None if it has no sweep block."""
        return cells_of(config, self.cell_values, findings)

    def cell_values(self, values: dict[str, t.Any]) -> dict[str, t.Any]:
        """Return the values of a sweep block's cell by training config key."""
        return values

    def without_sweep(self, config: CvsConfig, findings: Findings) -> CvsConfig:
        """Return a config without its sweep blocks, and warn of each."""
        return without_blocks(config, findings)

    def asked(self, config: CvsConfig, options: OptionsT, node_count: int) -> Asked:
        """Return ``config.nnodes``, unless the batch is scaled from it, and the address of rank 0 of a single job."""
        given = config.get("config")
        if not isinstance(given, dict):
            return Asked(None, None)
        read, mode = typed(self.model, given, "config", Findings()), mode_of(config, options, node_count)
        nodes = None if scales_batch(options, mode) else getattr(read, "nnodes", None)
        return Asked(nodes, getattr(read, self.form.master_key, None) if mode == "multi_node" else None)

    def plan_job(self, config: CvsConfig, options: OptionsT, nodes: Sequence[Node], findings: Findings) -> Job | None:
        """Return the job to run, or None if there is any fault."""
        return plan_job(self.form, config, options, nodes, findings)
