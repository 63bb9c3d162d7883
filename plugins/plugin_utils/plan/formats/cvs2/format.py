# SPDX-License-Identifier: GPL-3.0-or-later
"""The format of AMD's CVS with ``schema_version`` 1: JSON with the sections ``container`` and ``sweep``."""

from __future__ import annotations

import copy
import re
import typing as t
from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from ...config.findings import Findings
from ...config.json_config import read_json
from ...config.model import flag_in
from ...config.overrides import fault_no_place, within_depth
from ...config.words import counted, key_path
from ...job.options import RunOptions
from ...job.sweep_cell import Cell
from ..cvs1.dialect import CvsFile
from ..cvs1.format import FORMAT as FIRST
from ..cvs1.megatron.dialect import DIALECT as MEGATRON
from ..cvs1.sweep_blocks import cells_of
from ..face import Asked, Choice, Format, OwnThresholds
from .file import LaterFile
from .frameworks import FRAMEWORKS, TELLING

_VERSION = re.compile(r'"schema_version"\s*:')
_SECTIONS = 'sections "config", "model_params", "container" and "sweep"'


class Cvs2(Format[LaterFile]):
    """CVS's format with schema_version."""

    name = "cvs2"
    title = "CVS's format with schema_version"
    trainers = (MEGATRON.trainer,)
    sweep_blocks = ("sweep",)

    def recognizes(self, text: str, _source: str) -> bool:
        """Return whether a file has a version, and one of the frameworks of CVS."""
        return bool(_VERSION.search(text) and TELLING.search(text))

    def trainers_in(self, text: str) -> Sequence[Choice]:
        """Return the trainer of the framework that the file names."""
        found = TELLING.search(text)
        return [Choice(FRAMEWORKS[found[1]], f"Its framework is {found[1]}.")] if found else []

    def read(self, text: str, source: str, _trainer: str, findings: Findings) -> LaterFile | None:
        """Return the sections without their documentation keys, or None after reporting the file's faults."""
        data = read_json(text, source, findings, sections=_SECTIONS)
        return None if data is None else LaterFile(data)

    def overridden(self, config: LaterFile, options: RunOptions, _node_count: int, findings: Findings) -> LaterFile:
        """Return a config with the values of ``training_overrides``; a key of model_params needs no path."""
        data, moved = copy.deepcopy(config.data), dict(config.moved)
        for path, value in within_depth(options.training_overrides, findings):
            keys = path.split(".")
            of_config = data.get("config")
            if len(keys) == 1 and keys[0] not in data:
                in_config = isinstance(of_config, dict) and keys[0] in MEGATRON.sections().config.model_fields
                keys = ["config" if in_config else "model_params", *keys]
            section: t.Any = data
            for name in keys[:-1]:
                section = section.setdefault(name, {}) if isinstance(section, dict) else None
            if isinstance(section, dict):
                section[keys[-1]] = value
                moved.pop(".".join(keys), None)
            else:
                fault_no_place(path, value, f"{'.'.join(keys[:-1])} is not an object", findings)
        return LaterFile(data, moved)

    def sweep_cells(self, config: LaterFile, findings: Findings) -> list[Cell] | None:
        """Return the runs of the section ``sweep``; None if there is none."""
        return cells_of({name: config.data[name] for name in self.sweep_blocks if name in config.data}, dict, findings)

    def without_sweep(self, config: LaterFile, findings: Findings) -> LaterFile:
        """Return a config with the values of the first run of its sweep, and warn if there are more."""
        if "sweep" not in config.data:
            return config
        # Reported by `sweep_cells`, but only where a sweep is planned.
        cells = self.sweep_cells(config, findings) or []
        data = {name: value for name, value in config.data.items() if name != "sweep"}
        name, values = _first_run(config.data["sweep"])
        if len(cells) > 1:
            message = f"Only {name} is planned, the first of {counted(len(cells), 'run')}."
            findings.warn("sweep", None, message, "Use playbooks/sweep.yml to run each of them.")
        parameters = data.get("model_params")
        if isinstance(parameters, dict):
            data["model_params"] = {**parameters, **values}
        where = key_path("sweep.combinations", name)
        return LaterFile(data, {f"model_params.{key}": key_path(where, key) for key in values})

    def thresholds(self, config: LaterFile) -> OwnThresholds:
        """Return the file that the config names, whether it counts, and what scaling is compared with."""
        file, baseline = config.data.get("threshold_json"), config.data.get("scaling_baseline")
        enforced = flag_in(config.data, "enforce_thresholds", default=True) is not False
        return OwnThresholds(file if isinstance(file, str) else "", enforced, baseline)

    def handed(self, config: LaterFile, options: RunOptions, findings: Findings) -> tuple[CvsFile | None, Findings]:
        """Return the config in CVS's first format, and findings that name the keys of the file."""
        from .megatron import first_format  # noqa: PLC0415
        from .places import PlacedFindings  # noqa: PLC0415

        found = first_format(config, options.training_unknown_keys == "warn", findings)
        return (found[0], PlacedFindings(findings, found[1])) if found else (None, findings)

    def asked(self, config: LaterFile, options: RunOptions, node_count: int) -> Asked:
        """Return ``config.nnodes``, unless the batch is scaled from it, and the address of rank 0 of a single job."""
        first, _findings = self.handed(self.without_sweep(config, Findings()), options, Findings())
        return FIRST.asked(first, options, node_count) if first else Asked(None, None)

    def models(self) -> Mapping[str, type[BaseModel]]:
        """Return the models of its files, by the trainer that they are for."""
        from .config import MegatronFile  # noqa: PLC0415

        return {"cvs2_megatron": MegatronFile}


def _first_run(sweep: t.Any) -> tuple[str, dict[str, t.Any]]:
    """Return the name and the values of the first run that a sweep offers, or of its first combination."""
    offered, runs = (sweep.get(key) if isinstance(sweep, dict) else None for key in ("combinations", "runs"))
    combinations = offered if isinstance(offered, dict) else {}
    wanted = [name for name in runs if isinstance(name, str)] if isinstance(runs, list) else []
    for name in [*wanted, *combinations]:
        values = combinations.get(name)
        if isinstance(values, dict):
            return name, {key: value for key, value in values.items() if key != "name"}
    return "", {}


FORMAT = Cvs2()
