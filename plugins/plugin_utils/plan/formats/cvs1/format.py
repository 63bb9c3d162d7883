# SPDX-License-Identifier: GPL-3.0-or-later
"""The first format of AMD's CVS: JSON with the sections ``config`` and ``model_params.<mode>.<model>.<gpu>``."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping, Sequence

from ...config.findings import Findings
from ...config.json_config import read_json
from ...config.model import typed
from ...job.options import ConfigOptions
from ...job.sizes import scales_batch
from ...job.sweep_cell import Cell
from ..face import Asked, Choice, Format, Sections
from .branch import mode_of
from .dialect import CvsFile
from .maxtext.dialect import DIALECT as MAXTEXT
from .megatron.dialect import DIALECT as MEGATRON
from .megatron.dialect import PRIMUS, trainers_for
from .overrides import with_overrides
from .sweep_blocks import BLOCKS, cells_of, without_blocks
from .torchtitan.dialect import DIALECT as TORCHTITAN

# Megatron's last: its files have little that is unique, and one that says nothing is for it.
DIALECTS = (TORCHTITAN, MAXTEXT, MEGATRON)
_OF_LATER = re.compile(r'"(schema_version|train_params)"\s*:')
DIALECT_OF = {dialect.trainer: dialect for dialect in (*DIALECTS, PRIMUS)}


class Cvs1(Format[CvsFile]):
    """CVS's first format."""

    name = "cvs1"
    title = "CVS's first format"
    trainers = (MEGATRON.trainer, MAXTEXT.trainer, TORCHTITAN.trainer, PRIMUS.trainer)
    sweep_blocks = BLOCKS

    def recognizes(self, text: str, _source: str) -> bool:
        """Return whether a file has a key that only such files have, and none of the later formats."""
        return not _OF_LATER.search(text) and any(dialect.telling.search(text) for dialect in DIALECTS)

    def trainers_in(self, text: str) -> Sequence[Choice]:
        """Return the trainers whose keys the file has."""
        found = ((dialect, dialect.telling.search(text)) for dialect in DIALECTS)
        matches = [(dialect, match) for dialect, match in found if match]
        chosen = [pair for pair in matches if pair[0].certain] or matches
        choices = [Choice(dialect.trainer, f"It has the key {match[1]}.") for dialect, match in chosen]
        others, of_scripts = (
            [choice for choice in choices if (choice.name == MEGATRON.trainer) is wanted] for wanted in (False, True)
        )
        return [*others, *(trainers_for(text, of_scripts[0].why) if of_scripts else [])]

    def read(self, text: str, source: str, trainer: str, findings: Findings) -> CvsFile | None:
        """Return the sections without their documentation keys, or None after reporting the file's faults."""
        data = read_json(text, source, findings)
        return None if data is None else CvsFile(data, DIALECT_OF[trainer])

    def overridden(self, config: CvsFile, options: ConfigOptions, node_count: int, findings: Findings) -> CvsFile:
        """Return a config with the values of ``training_overrides``; a key of the branch needs no path."""
        known = config.dialect.sections().config.model_fields
        return config._replace(data=with_overrides(config.data, options, node_count, known, findings))

    def sweep_cells(self, config: CvsFile, findings: Findings) -> list[Cell] | None:
        """Return the cells of the config's sweep blocks; None if it has no sweep block."""
        return cells_of(config.data, config.dialect.of_cell, findings)

    def without_sweep(self, config: CvsFile, findings: Findings) -> CvsFile:
        """Return a config without its sweep blocks, and warn of each."""
        return config._replace(data=without_blocks(config.data, findings))

    def handed(
        self, config: CvsFile, options: ConfigOptions, node_count: int, findings: Findings
    ) -> tuple[t.Any, Findings]:
        """Return a config as its trainer takes it: as it is, or in a format of the trainer's own."""
        return config.dialect.handed(config, options, node_count, findings)

    def asked(self, config: CvsFile, options: ConfigOptions, node_count: int) -> Asked:
        """Return ``config.nnodes``, unless the batch is scaled from it, and the address of rank 0 of a single job."""
        given = config.data.get("config")
        if not isinstance(given, dict):
            return Asked(None, None)
        read = typed(config.dialect.sections().config, given, "config", Findings())
        mode = mode_of(config.data, options.training_mode, node_count)
        nodes = None if scales_batch(options.training_scale_batch, mode) else getattr(read, "nnodes", None)
        return Asked(nodes, getattr(read, config.dialect.master_key, None) if mode == "multi_node" else None)

    def models(self) -> Mapping[str, Sections]:
        """Return the models of its files, by the trainer that they are for."""
        return {dialect.name: dialect.sections() for dialect in reversed(DIALECTS)}


FORMAT = Cvs1()
