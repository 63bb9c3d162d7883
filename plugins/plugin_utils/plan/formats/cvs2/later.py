# SPDX-License-Identifier: GPL-3.0-or-later
"""What the later formats of CVS have in common."""

from __future__ import annotations

import copy
import typing as t
from abc import abstractmethod

from ....text.words import counted
from ...config.findings import Findings, PlacedFindings
from ...config.json_config import read_json
from ...config.kinds import Real
from ...config.model import flag_in
from ...config.overrides import fault_no_place, within_depth
from ...job.options import ConfigOptions
from ...job.sweep_cell import Cell
from ..cvs1.format import FORMAT as FIRST
from ..face import Asked, Format, OwnThresholds
from .file import LaterFile
from .places import put, value_at
from .shape import Shape


class LaterFormat(Format[LaterFile]):
    """A format whose configs become one of CVS's first format, which the trainers take."""

    sections: t.ClassVar[str]
    """What messages say that such a file consists of."""
    baseline: t.ClassVar[tuple[str, ...]] = ("scaling_baseline",)
    """The paths of what scaling is compared with."""
    convergence: t.ClassVar[tuple[str, ...]] = ("convergence",)
    """The paths of the loss to reach."""

    @abstractmethod
    def shape_of(self, config: LaterFile) -> Shape:
        """Return where a file has what it has."""

    def read(self, text: str, source: str, trainer: str, findings: Findings) -> LaterFile | None:
        """Return the sections without their documentation keys, or None after reporting the file's faults."""
        data = read_json(text, source, findings, sections=self.sections)
        return None if data is None else LaterFile(data, trainer)

    def overridden(self, config: LaterFile, options: ConfigOptions, _node_count: int, findings: Findings) -> LaterFile:
        """Return a config with the values of ``training_overrides``; a key of what is trained needs no path."""
        shape, data, moved = self.shape_of(config), copy.deepcopy(config.data), dict(config.moved)
        for path, value in within_depth(options.training_overrides, findings):
            keys = path.split(".")
            if len(keys) == 1 and keys[0] not in data:
                keys = [*(shape.section_of(keys[0]) or shape.cells_into).split("."), *keys]
            section: t.Any = data
            for name in keys[:-1]:
                section = section.setdefault(name, {}) if isinstance(section, dict) else None
            if isinstance(section, dict):
                section[keys[-1]] = value
                moved.pop(".".join(keys), None)
            else:
                fault_no_place(path, value, f"{'.'.join(keys[:-1])} is not an object", findings)
        return config._replace(data=data, moved=moved)

    def sweep_cells(self, config: LaterFile, findings: Findings) -> list[Cell] | None:
        """Return the runs that the file describes; None if it describes none."""
        return self.shape_of(config).cells_in(config.data, findings)

    def without_sweep(self, config: LaterFile, findings: Findings) -> LaterFile:
        """Return a config with the values of the first run of its sweep, and warn if there are more."""
        shape = self.shape_of(config)
        cells = shape.cells_in(config.data, findings)
        if cells is None:
            return config
        data, into = copy.deepcopy(config.data), value_at(config.data, shape.cells_into)
        name, values, moved = shape.first_run(data)
        if len(cells) > 1:
            message = f"Only {name} is planned, the first of {counted(len(cells), 'run')}."
            findings.warn(shape.cells, None, message, "Use playbooks/sweep.yml to run each of them.")
        if isinstance(into, dict):
            put(data, shape.cells_into, {**into, **values})
        return config._replace(data=data, moved={f"{shape.cells_into}.{key}": path for key, path in moved.items()})

    def thresholds(self, config: LaterFile) -> OwnThresholds:
        """Return the file that the config names, whether it counts, and what scaling is compared with."""
        file = config.data.get("threshold_json")
        enforced = flag_in(config.data, "enforce_thresholds", default=True) is not False
        baseline = next(filter(None, (value_at(config.data, path) for path in self.baseline)), None)
        targets = filter(None, (_target_loss(value_at(config.data, path)) for path in self.convergence))
        return OwnThresholds(file if isinstance(file, str) else "", enforced, baseline, next(targets, None))

    def handed(
        self, config: LaterFile, options: ConfigOptions, node_count: int, findings: Findings
    ) -> tuple[t.Any, Findings]:
        """Return the config as one in CVS's first format is handed, and findings that name the keys of the file."""
        shape = self.shape_of(config)
        found = shape.first_format(config, options, node_count, findings)
        if found is None:
            return None, findings
        first = found[0]._replace(dialect=shape.dialect)
        return FIRST.handed(first, options, node_count, PlacedFindings(findings, found[1]))

    def asked(self, config: LaterFile, options: ConfigOptions, node_count: int) -> Asked:
        """Return what the same config in the first format asks for."""
        # A config that does not say on how many nodes it runs takes those there are.
        single = self.without_sweep(config, Findings())
        found = self.shape_of(single).first_format(single, options, 0, Findings())
        return FIRST.asked(found[0], options, node_count) if found else Asked(None, None)


def _target_loss(convergence: t.Any) -> float | None:
    """Return the loss to reach in the training; None without one, and for that of an evaluation, which is not read."""
    if not isinstance(convergence, dict) or convergence.get("target_metric") == "eval_loss":
        return None
    try:
        return Real(0, above=True).read(convergence.get("target_value"))
    except ValueError:
        return None
