# SPDX-License-Identifier: GPL-3.0-or-later
"""Thresholds in a separate file: the ``*_threshold.json`` files of AMD CVS, unchanged.

Such a file has cells, each for one variant of a training, with bounds by metric::

    {"MBS=1,GBS=64,PRECISION=FP8": {"training.tokens_per_gpu": {"kind": "min", "value": 1000}}}

The name of a cell is of one of four shapes: ``MBS=1,GBS=64,PRECISION=FP8`` of Megatron-LM and TorchTitan;
``NNODES=2,STEPS=30,PRECISION=BF16,BATCH=3,GBS=48,SEQLEN=8192`` of MaxText, where BATCH are the sequences of a GPU and
GBS is only a label (in 11 of the 21 cells it is not the global batch size); ``NN2_ST30_BF16_B2_SL8192``, the same
in short; and ``BS=3,PRECISION=BF16,SL=8192`` of MaxText in CVS's format of today. Source: cvs/lib/utils/verdict.py,
cvs/lib/training and cvs/input/config_file/training of ROCm/cvs.
"""

from __future__ import annotations

import math
import posixpath
import re
import typing as t
from collections.abc import Mapping

from ..contracts import Bound
from ..metrics import ROWS, canonical_metric
from ..text.words import key_path, listed, nearest, shown
from .config.findings import Findings
from .config.json_config import read_json
from .job.architecture import KNOWN_MODELS, known_model
from .job.job import Branch
from .job.peaks import accelerator_of
from .job.thresholds import KINDS
from .trainers.known import OF_FRAMEWORK

OPTION = "training_thresholds"

_PREFIX = "training."
_KINDS = {kind: kind for kind in KINDS} | {"max_ms": "max", "min_tok_s": "min", "min_ratio": "ratio"}
# CVS metrics that are a canonical metric, maybe in another unit or with another statistic: metric, factor, statistic.
_OTHERS = {name: (metric, key.factor, key.statistic) for metric, row in ROWS.items() for name, key in row.keys.items()}
_OF_ALL_GPUS = "tokens_per_sec_total"
# Every run is judged by this, with or without a threshold.
_JUDGED_ANYWAY = "loss_decreased"
_EFFICIENCY, BASELINE = "scaling_efficiency_pct", "scaling_baseline"
TARGET, CELL = "target_loss", "cell"
# CVS takes the cell with the run's name, where these two sizes are only labels.
_LABELS = {"nnodes", "iterations"}
_EXAMPLE = f'"{BASELINE}": {{"tokens_per_sec_total": 96000, "num_nodes": 1}}'
_PARTS = {"NN": "nnodes", "ST": "iterations", "B": "micro_batch_size", "SL": "sequence_length"}
_PART = re.compile(r"(NN|ST|SL|B)(\d+)")
_PRECISION = re.compile(r"(?i)(bf|fp|mxfp|nvfp)\d+")
_OF_PAIRS = {
    "NNODES": "nnodes",
    "STEPS": "iterations",
    "PRECISION": "precision",
    "BATCH": "micro_batch_size",
    "BS": "micro_batch_size",
    "MBS": "micro_batch_size",
    "GBS": "global_batch_size",
    "SEQLEN": "sequence_length",
    "SL": "sequence_length",
}


class ThresholdsFile(t.NamedTuple):
    """A thresholds file: its name and text, or why it could not be read, and the name of the run in its sweep."""

    source: str
    text: str = ""
    unreadable: str | None = None
    cell: str = ""


def thresholds_of(file: ThresholdsFile, facts: Mapping[str, t.Any], findings: Findings) -> list[Bound]:
    """Return the bounds of the cell that matches the run; report every fault with the file's name.

    ``facts`` are the sizes of the run that cells are named by: ``micro_batch_size``, ``global_batch_size``,
    ``precision`` (lower case), ``nnodes``, ``iterations``, ``sequence_length``, and ``gpus``; and ``scaling_baseline``,
    the config's baseline, for a file without one, ``target_loss``, the loss to reach, and ``cell``, the name of the run
    in the config's sweep. It is a fault if no cell matches; but if a file has only one cell, and its name has no sizes,
    that is used with a warning.
    """
    source = file.source
    if file.unreadable:
        findings.fault(OPTION, source, f"{source} cannot be read: {file.unreadable}.", "Give the path of a JSON file.")
        return []
    data = read_json(file.text, source, findings, OPTION, "cells, each an object of thresholds")
    if data is None:
        return []
    cells = _cells(data)
    if not cells:
        example = '{"MBS=1,GBS=64,PRECISION=FP8": {"training.tokens_per_gpu": {"kind": "min", "value": 1000}}}'
        findings.fault(OPTION, source, f"{source} contains no thresholds.", f"A thresholds file looks like {example}.")
        return []
    name = _cell_for(cells, source, facts, findings)
    if name is None:
        return []
    facts = {**facts, BASELINE: data.get(BASELINE, facts.get(BASELINE))}
    bounds: list[Bound | None] = []
    for metric, spec in cells[name].items():
        try:
            bounds.append(_bound_of(metric, spec, facts))
        except _WrongError as error:
            note = findings.warn if isinstance(error, _NotJudgedError) else findings.fault
            note(f"{source}: {key_path(*filter(None, (name, metric)))}", *error.args)
    return list(filter(None, bounds))


def warn_of_other_names(source: str, framework: str, branch: Branch, findings: Findings) -> None:
    """Warn if the file's name says that it is for another framework, model or accelerator than the run's.

    CVS names its files like ``mi325x_megatron_llama-3.1-8b_single_threshold.json``; cells contain none of this.
    """
    name = posixpath.basename(source).casefold()
    model, own_model = known_model(name), known_model(branch.model)
    is_same = model is None or own_model is None or KNOWN_MODELS[model] == KNOWN_MODELS[own_model]
    pairs = [
        (next((known for known in OF_FRAMEWORK if known in name), None), framework, framework in name),
        (model, branch.model, is_same),
        (name.split("_")[0], branch.gpu, accelerator_of(name.split("_")[0]) in (None, accelerator_of(branch.gpu))),
    ]
    for said, own, fits in pairs:
        if said and not fits:
            findings.warn(
                OPTION,
                source,
                f"The name of {source} says {said}, but this run is for {own}.",
                "Check that the thresholds are meant for this run.",
            )


def _cells(data: Mapping[str, t.Any]) -> dict[str, dict[str, t.Any]]:
    """Return the cells of a file by name; bounds outside any cell form one without a name.

    If no block has a bound or a name made of sizes, the blocks belong to another tool.
    """
    named = {key: value for key, value in data.items() if isinstance(value, dict) and key != BASELINE}
    if named and all("kind" in value for value in named.values()):
        return {"": named}
    has_bounds = any(isinstance(spec, dict) for cell in named.values() for spec in cell.values())
    return named if has_bounds or any("=" in name for name in named) else {}


def _cell_for(cells: Mapping[str, t.Any], source: str, facts: Mapping[str, t.Any], findings: Findings) -> str | None:
    said = {name: _said(name) for name in cells}
    own = str(facts.get(CELL))
    if own in cells and _is_of_run(own, said[own], source, facts, findings):
        return own
    differing = {name: _differences(parts, facts) for name, parts in said.items()}
    fitting = [name for name, differences in differing.items() if not differences and (said[name] or not name)]
    if fitting:
        # If a shorter name matches as well, the more specific one counts.
        return max(fitting, key=lambda name: len(said[name]))
    only = next(iter(cells))
    if len(cells) == 1 and not said[only]:
        findings.warn(
            OPTION,
            source,
            f"The only cell of {source}, {shown(only)}, is used, although its name gives no sizes of a run.",
            "Name it by the run it is for, such as NNODES=2,STEPS=30,PRECISION=FP8,BATCH=2,SEQLEN=8192.",
        )
        return only
    near = min(filter(differing.get, differing), key=lambda name: len(differing[name]), default=None)
    found = f"; in the closest one, {near}, {' and '.join(differing[near])}" if near else ""
    findings.fault(
        OPTION,
        source,
        f"No cell of {source} matches this run{found}.",
        f"It has {listed(cells)}. Name a cell by the sizes of the run.",
    )
    return None


def _is_of_run(name: str, said: Mapping[str, str], source: str, facts: Mapping[str, t.Any], findings: Findings) -> bool:
    """Return whether the cell named like the run does not contradict its sizes, and warn of labels that do."""
    known = {fact: value for fact, value in said.items() if fact in facts}
    if _differences({fact: value for fact, value in known.items() if fact not in _LABELS}, facts):
        return False
    if differences := _differences(known, facts):
        message = f"The cell {name} of {source} is used because the run has its name, but {' and '.join(differences)}."
        findings.warn(OPTION, source, message, "Check that its thresholds suit this run.")
    return True


def _said(name: str) -> dict[str, str]:
    """Return the sizes in a cell's name by fact, and unknown parts unchanged."""
    pairs = [part.strip().partition("=") for part in name.split(",") if part.strip()]
    if any(equals for _key, equals, _value in pairs):
        said = {_OF_PAIRS.get(key.upper(), key): value.strip().casefold() for key, _equals, value in pairs}
        if any(key.upper() == "BATCH" for key, _equals, _value in pairs):
            said.pop("global_batch_size", None)
        return said
    parts = name.split("_")
    said = {_PARTS[found[1]]: found[2] for part in parts if (found := _PART.fullmatch(part))}
    precision = next((part.casefold() for part in parts if _PRECISION.fullmatch(part)), None)
    return said | ({"precision": precision} if precision else {})


def _differences(said: Mapping[str, str], facts: Mapping[str, t.Any]) -> list[str]:
    """Return in words where a cell's name differs from the run; sizes that the name lacks are no difference."""
    return [
        f"{fact} is {value} instead of {shown(facts[fact])}" if fact in facts else f"{fact} is not a known size"
        for fact, value in said.items()
        if fact not in facts or not _is_said(value, facts[fact])
    ]


def _is_said(value: str, fact: t.Any) -> bool:
    """Return whether a part of a cell's name agrees with a fact: ``2`` and ``2.0`` are the same size."""
    number = _number(fact)
    try:
        return value == str(fact).casefold() if number is None else float(value) == number
    except ValueError:
        return False


class _WrongError(ValueError):
    """An invalid threshold: its value, why that is wrong, and what would be right."""


class _NotJudgedError(_WrongError):
    """A valid threshold that is not judged, in the same form."""


def _bound_of(name: str, spec: t.Any, facts: Mapping[str, t.Any]) -> Bound | None:
    """Return the bound of a metric, or None if there is nothing to judge. Raise _WrongError if it is invalid."""
    if not isinstance(spec, dict):
        raise _WrongError(spec, "A threshold must be an object.", 'Give {"kind": "min", "value": 1000}.')
    kind = _KINDS.get(str(spec.get("kind")))
    if kind is None:
        known = nearest(str(spec.get("kind")), _KINDS)
        hint = f" Did you mean {known}?" if known else ""
        raise _WrongError(spec.get("kind"), "The kind of the threshold is not known.", f"Use {listed(KINDS)}.{hint}")
    short = name.removeprefix(_PREFIX)
    if short == _EFFICIENCY:
        return None if kind == "info" else _efficiency(kind, spec, facts)
    metric, factor, statistic = _metric(short, facts)
    if metric is None:
        if kind == "info" or short == _JUDGED_ANYWAY:
            return None
        reason = f"{short} is not measured, so it cannot be judged."
        raise _WrongError(None, reason, 'Give it "kind": "info", or leave it out.')
    if ROWS[metric].needs == TARGET and facts.get(TARGET) is None:
        if kind == "info":
            return None
        reason = f"{short} is not judged: the config has no loss of the training to reach."
        raise _NotJudgedError(spec.get("value"), reason, "Set convergence.target_value.")
    value = _number(spec.get("value"))
    if value is None:
        if kind == "info":
            return None
        raise _WrongError(spec.get("value"), "The value is not a number.", "Give a number.")
    bound: Bound = {"metric": metric, "kind": kind, "value": value if kind == "ratio" else value * factor}
    if statistic:
        bound["statistic"] = statistic
    if spec.get("optional") is True:
        bound["optional"] = True
    _complete(bound, spec, factor, facts)
    return bound


def _efficiency(kind: str, spec: Mapping[str, t.Any], facts: Mapping[str, t.Any]) -> Bound:
    """Return the bound of the scaling efficiency: tokens/s per GPU as a fraction of the baseline's.

    Source: compute_scaling_efficiency in cvs/lib/training/megatron/utils/scaling.py, which takes all tokens/s by nodes.
    """
    value, baseline = _number(spec.get("value")), facts.get(BASELINE)
    if kind != "min" or value is None or value <= 0:
        reason = f"{_EFFICIENCY} needs kind min and a value in percent."
        raise _WrongError(spec.get("value"), reason, "Give them.")
    given = baseline if isinstance(baseline, dict) else {}
    total, nodes = _number(given.get("tokens_per_sec_total")), _number(given.get("num_nodes", 1))
    if baseline is None or total == 0:
        why = "there is no baseline" if baseline is None else "its baseline is 0 tokens/s"
        raise _NotJudgedError(value, f"{_EFFICIENCY} is not judged: {why}.", f"Measure one, and set {_EXAMPLE}.")
    if total is None or total < 0 or nodes is None or nodes <= 0:
        reason = f"{BASELINE} has no throughput."
        raise _WrongError(value, reason, f"Give {_EXAMPLE}, as a config of CVS has it.")
    reference = total / nodes / (facts["gpus"] / facts["nnodes"])
    return {"metric": "tokens_per_sec_per_gpu", "kind": "ratio", "value": value / 100, "reference": reference}


def _complete(bound: Bound, spec: Mapping[str, t.Any], factor: float, facts: Mapping[str, t.Any]) -> None:
    """Add the entries that a kind needs in addition to the value; ``factor`` is the metric's."""
    if bound["kind"] == "within":
        tolerance = _number(spec.get("tolerance_pct"))
        if tolerance is None or tolerance < 0:
            raise _WrongError(spec.get("tolerance_pct"), "within needs a tolerance_pct of 0 or more.", "Give one.")
        bound["tolerance_pct"] = tolerance
    if bound["kind"] == "ratio":
        given = spec.get("reference")
        # A number has the unit of the bound's own metric.
        of_number: tuple[str | float | None, float, str | None] = ((_number(given) or 0) * factor, factor, None)
        named = _metric(given.removeprefix(_PREFIX), facts) if isinstance(given, str) else None
        reference, unit, statistic = named or of_number
        if not reference or statistic:
            reason = "ratio needs a reference: a number, or a metric by its own statistic."
            raise _WrongError(given, reason, "Give one.")
        bound["reference"] = reference
        bound["value"] *= factor / unit


def _metric(name: str, facts: Mapping[str, t.Any]) -> tuple[str | None, float, str | None]:
    """Return the canonical metric of a name, the factor to its unit, and the statistic if it differs from its own."""
    if name == _OF_ALL_GPUS:
        return "tokens_per_sec_per_gpu", 1.0 / facts["gpus"], None
    return _OTHERS.get(name, (canonical_metric(name), 1.0, None))


def _number(value: t.Any) -> float | None:
    """Return a finite number as float; None for anything else, including true and false."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
