# SPDX-License-Identifier: GPL-3.0-or-later
"""What the later formats of CVS have in common: their configs become one in the first, which the trainers take."""

from __future__ import annotations

import copy
import typing as t
from abc import abstractmethod
from collections.abc import Iterable, Mapping

from ...text.words import counted, key_path
from ..config.findings import Findings, PlacedFindings
from ..config.json_config import read_json
from ..config.kinds import Real
from ..config.model import flag_in
from ..config.overrides import fault_no_place, within_depth
from ..job.options import ConfigOptions
from ..job.sweep_cell import Cell
from .cvs1.format import FORMAT as FIRST
from .cvs1.sweep_blocks import cells_of
from .cvs_translation import LaterFile, Shape, first_format, put, value_at
from .face import Asked, Format, OwnThresholds


class LaterFormat(Format[LaterFile]):
    """A format whose configs become one of CVS's first format."""

    sections: t.ClassVar[str]
    """What messages say that such a file consists of."""

    @abstractmethod
    def shapes(self) -> Iterable[Shape]:
        """Return the shapes of the files, one for each trainer."""

    def _shape_of(self, config: LaterFile) -> Shape:
        return next(shape for shape in self.shapes() if shape.dialect.trainer == config.trainer)

    def read(self, text: str, source: str, trainer: str, findings: Findings) -> LaterFile | None:
        """Return the sections without their documentation keys, or None after reporting the file's faults."""
        data = read_json(text, source, findings, sections=self.sections)
        return None if data is None else LaterFile(data, trainer)

    def overridden(self, config: LaterFile, options: ConfigOptions, _node_count: int, findings: Findings) -> LaterFile:
        """Return a config with the values of ``training_overrides``; a key that moves needs no path."""
        shape, data, moved = self._shape_of(config), copy.deepcopy(config.data), dict(config.moved)
        for path, value in within_depth(options.training_overrides, findings):
            full = path if "." in path or path in data else shape.path_of(path)
            if put(data, full.split("."), value):
                moved.pop(full, None)
            else:
                fault_no_place(path, value, f"{full.rpartition('.')[0]} is not an object", findings)
        return config._replace(data=data, moved=moved)

    def sweep_cells(self, config: LaterFile, findings: Findings) -> list[Cell] | None:
        """Return the runs that the file describes; None if it describes none."""
        return _cells_in(self._shape_of(config), config.data, findings)

    def without_sweep(self, config: LaterFile, findings: Findings) -> LaterFile:
        """Return a config with the values of the first run of its sweep, and warn if there are more."""
        shape = self._shape_of(config)
        cells = _cells_in(shape, config.data, findings)
        if cells is None:
            return config
        data, into = copy.deepcopy(config.data), value_at(config.data, shape.parameters)
        name, values, moved = _first_run(shape, data)
        if len(cells) > 1:
            message = f"Only {name} is planned, the first of {counted(len(cells), 'run')}."
            findings.warn(shape.cells, None, message, "Use playbooks/sweep.yml to run each of them.")
        if isinstance(into, dict):
            put(data, shape.parameters.split("."), {**into, **values})
        return config._replace(data=data, moved={f"{shape.parameters}.{key}": path for key, path in moved.items()})

    def thresholds(self, config: LaterFile) -> OwnThresholds:
        """Return the config's settings for thresholds."""
        file = config.data.get("threshold_json")
        enforced = flag_in(config.data, "enforce_thresholds", default=True) is not False
        tops = (config.data, config.data.get("training"))
        baselines, losses = ([value_at(top, name) for top in tops] for name in ("scaling_baseline", "convergence"))
        baseline, target = next(filter(None, baselines), None), next(filter(None, map(_target_loss, losses)), None)
        cell, _values, _moved = _first_run(self._shape_of(config), config.data)
        return OwnThresholds(file if isinstance(file, str) else "", enforced, baseline, target, cell)

    def handed(
        self, config: LaterFile, options: ConfigOptions, node_count: int, findings: Findings
    ) -> tuple[t.Any, Findings]:
        """Return the config as if given in CVS's first format, and findings that use the keys of the file."""
        found = first_format(self._shape_of(config), config, options, node_count, findings)
        if found is None:
            return None, findings
        first, places = found
        return FIRST.handed(first, options, node_count, PlacedFindings(PlacedFindings(findings, config.moved), places))

    def asked(self, config: LaterFile, options: ConfigOptions, node_count: int) -> Asked:
        """Return the parameters of the same config in the first format."""
        # A config that does not say on how many nodes it runs takes those there are.
        single = self.without_sweep(config, Findings())
        found = first_format(self._shape_of(single), single, options, 0, Findings())
        return FIRST.asked(found[0], options, node_count) if found else Asked(None, None)


def _cells_in(shape: Shape, data: t.Any, findings: Findings) -> list[Cell] | None:
    """Return the cells that a file says to run; None if it has no sweep."""
    # An empty list means all of them.
    offered, runs = value_at(data, shape.cells), value_at(data, shape.runs) or None
    if offered is None and runs is None:
        return None
    if isinstance(offered, dict):
        offered = {
            name: {**shape.of_name(name, data), **cell} if isinstance(cell, dict) else cell
            for name, cell in offered.items()
        }
    blocks = {"sweeps": offered, **({} if runs is None else {"runs": runs})}
    placed = PlacedFindings(findings, {"sweeps": shape.cells, "runs": shape.runs})
    return cells_of(blocks, lambda cell: _values_of(shape, cell), placed)


def _first_run(shape: Shape, data: t.Any) -> tuple[str, dict[str, t.Any], Mapping[str, str]]:
    """Return name, values and their paths of the first cell that runs, or of the first one; or nothing."""
    offered, runs = value_at(data, shape.cells), value_at(data, shape.runs)
    parts: Iterable[tuple[str | int, t.Any]] = (
        enumerate(offered) if isinstance(offered, list) else _object(offered).items()
    )
    # A cell in a list says its name.
    cells = {
        str(cell.get("name", place) if isinstance(offered, list) else place): (place, cell)
        for place, cell in parts
        if isinstance(cell, dict)
    }
    wanted = [name for name in runs if isinstance(name, str)] if isinstance(runs, list) else []
    name = next((name for name in [*wanted, *cells] if name in cells), None)
    if name is None:
        return "", {}, {}
    place, cell = cells[name]
    path = key_path(shape.cells, place, *filter(None, [shape.nested]))
    of_name, own = shape.of_name(name, data), _values_of(shape, {key: cell[key] for key in cell if key != "name"})
    return name, {**of_name, **own}, {**dict.fromkeys(of_name, path), **{key: key_path(path, key) for key in own}}


def _values_of(shape: Shape, cell: dict[str, t.Any]) -> dict[str, t.Any]:
    return _object(cell.get(shape.nested)) if shape.nested else cell


def _object(value: t.Any) -> dict[str, t.Any]:
    return value if isinstance(value, dict) else {}


def _target_loss(convergence: t.Any) -> float | None:
    """Return the training loss to reach; None if there is none, or for an evaluation's loss, which is not read."""
    if not isinstance(convergence, dict) or convergence.get("target_metric") == "eval_loss":
        return None
    try:
        return Real(0, above=True).read(convergence.get("target_value"))
    except ValueError:
        return None
