# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a YAML training config with OmegaConf, like Hydra, so that both see the same values.

PyYAML alone reads ``3e-4`` as a string and does not resolve ``${trainer.max_steps}``.
"""

from __future__ import annotations

import io
import math
import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import yaml
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ...text.words import key_path
from .budget import DEEPEST, LONGEST_TEXT, MOST_VALUES, TOO_DEEP, TOO_LONG_A_TEXT, over_budget, too_many_values
from .findings import Findings
from .overrides import fault_no_place, within_depth
from .secret_names import line_without_secrets

_UNREADABLE = object()
# PyYAML may be built with libyaml, whose parser is much faster than the one in Python.
_QUICK_LOADER: type[t.Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SHOWN = 500
# In YAML keys are nodes as well as values.
_MOST_NODES = 2 * MOST_VALUES
# Each may expand to a text with others in it, so the work grows as 3 to the power of a third of their number.
_MOST_INTERPOLATIONS = 20


@dataclass(frozen=True)
class YamlConfig:
    """A YAML file: its original ``text``, and OmegaConf's config with interpolations unresolved."""

    text: str
    config: DictConfig


def read_yaml(text: str, source: str, findings: Findings) -> YamlConfig | None:
    """Return the config in the text; None, and a fault, if it is not a YAML object. ``source`` is the file's name."""
    try:
        if text.count("${") > _MOST_INTERPOLATIONS:
            raise ValueError(f"it has more than {_MOST_INTERPOLATIONS} interpolations (${{…}})")
        check_budget(text)
        config = OmegaConf.load(io.StringIO(text.removeprefix("\ufeff")))
    except yaml.MarkedYAMLError as error:
        fault_syntax(text, source, error, findings)
        return None
    except (yaml.YAMLError, OmegaConfBaseException, OSError, ValueError, RecursionError) as error:
        reason = TOO_DEEP if isinstance(error, RecursionError) else _first_line(error)
        findings.fault("training_config", source, f"{source} cannot be read: {reason}.", "Fix that.")
        return None
    if not isinstance(config, DictConfig):
        findings.fault(
            "training_config",
            source,
            f"{source} contains a list, not keys.",
            "Give the keys and sections of its format at the top level.",
        )
        return None
    return YamlConfig(text, config)


def check_budget(text: str) -> None:
    """Raise ValueError if a text exceeds the limits, YAMLError if it is not YAML.

    The content of an alias counts each time.
    """
    try:
        _check_budget(yaml.parse(text, _QUICK_LOADER))
    except yaml.YAMLError:
        # It refuses the same files, in the same words, as the loader that reads the values.
        _check_budget(yaml.parse(text, yaml.SafeLoader))


def _check_budget(events: t.Iterable[yaml.Event]) -> None:
    anchored: dict[str, int] = {}
    around: list[tuple[str | None, int]] = []
    for event in events:
        anchor, values = getattr(event, "anchor", None), 1
        if isinstance(event, yaml.CollectionStartEvent):
            around.append((anchor, 1))
            if len(around) > DEEPEST:
                raise ValueError(TOO_DEEP)
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, values = around.pop()
        elif isinstance(event, yaml.AliasEvent):
            # An open collection would contain itself.
            values, anchor = anchored.get(str(anchor), _MOST_NODES), None
        elif not isinstance(event, yaml.ScalarEvent):
            continue
        elif len(event.value) > LONGEST_TEXT:
            raise ValueError(TOO_LONG_A_TEXT)
        if anchor:
            anchored[anchor] = values
        if around:
            around[-1] = (around[-1][0], around[-1][1] + values)
        if sum(held for _anchor, held in around) > _MOST_NODES:
            raise ValueError(too_many_values())


def with_overrides(data: YamlConfig, overrides: Mapping[str, t.Any], findings: Findings) -> YamlConfig:
    """Return a config with the values set at their key paths, and report those that do not fit."""
    changed = data.config.copy()
    for path, value in within_depth(overrides, findings):
        try:
            OmegaConf.update(changed, path, value, merge=False, force_add=True)
        except (OmegaConfBaseException, ValueError, TypeError) as error:
            fault_no_place(path, value, _first_line(error), findings)
    # The file is staged as text; rewriting it drops comments and keeps interpolations.
    return YamlConfig(OmegaConf.to_yaml(changed), changed)


def values_of(config: DictConfig, overrides: Mapping[str, t.Any], findings: Findings) -> dict[str, t.Any] | None:
    """Return the config as plain data with every interpolation resolved; None, and a fault, if they loop.

    ``overrides`` are values by key path, set first; the keys must exist. A value that cannot be resolved is left out
    and reported as a fault at its key path, with its original text.
    """
    changed = config.copy()
    for path, value in overrides.items():
        OmegaConf.update(changed, path, value)
    try:
        return t.cast("dict[str, t.Any]", _Plain(findings).of(changed, OmegaConf.to_container(changed), ""))
    except RecursionError:
        findings.fault("training_config", None, "Its interpolations form a loop.", "Check the values with ${…}.")
    except _TooMuchError as error:
        message = f"With interpolations resolved, {error}."
        findings.fault("training_config", None, message, "Check the values with ${…}.")
    return None


class _TooMuchError(Exception):
    """A config exceeds the limits."""


class _Plain:
    """Converts a config to plain data and counts its values."""

    def __init__(self, findings: Findings) -> None:
        self.findings, self.count = findings, 0

    def of(self, value: t.Any, raw: t.Any, path: str) -> t.Any:
        self.count += 1
        if self.count > MOST_VALUES:
            raise _TooMuchError(too_many_values())
        if isinstance(value, DictConfig):
            return {str(key): inner for key, inner in self._entries(value, value.keys(), raw, path)}
        if isinstance(value, ListConfig):
            return [inner for _key, inner in self._entries(value, range(len(value)), raw, path)]
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            raise _TooMuchError(TOO_LONG_A_TEXT)
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)  # not a JSON number; number fields reject it
        if isinstance(value, int) and over_budget(value):
            return hex(value)  # too large for Python to write in decimal; rejected in the same way
        return value if isinstance(value, str | int | float | None) else str(value)

    def _entries(
        self, section: DictConfig | ListConfig, keys: t.Iterable[t.Any], raw: t.Any, path: str
    ) -> Iterator[tuple[t.Any, t.Any]]:
        for key in keys:
            where = key_path(path, key if isinstance(section, ListConfig) else str(key))
            # A section that is itself an interpolation has no other raw content.
            held = raw[key] if isinstance(raw, dict | list) else raw
            value = _resolved(section, key, held, where, self.findings)
            if value is not _UNREADABLE:
                yield key, self.of(value, held, where)


def _resolved(section: DictConfig | ListConfig, key: t.Any, held: t.Any, where: str, findings: Findings) -> t.Any:
    if held == "???":
        findings.fault(where, held, f"{where} is ???, which marks a value that must be given.", "Give a value.")
        return _UNREADABLE
    try:
        return section[key]
    except (OmegaConfBaseException, ValueError) as error:
        findings.fault(
            where,
            held if isinstance(held, str) else None,
            f"It cannot be resolved: {_first_line(error)}.",
            "Interpolate a key of this file, such as ${trainer.max_steps}, or ${multiply:2, 4}.",
        )
        return _UNREADABLE


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def fault_syntax(text: str, source: str, error: yaml.MarkedYAMLError, findings: Findings) -> None:
    """Report where a text is not YAML."""
    lines = text.splitlines() or [""]
    mark = error.problem_mark or error.context_mark
    line = min(mark.line, len(lines) - 1) if mark else 0
    findings.fault(
        "training_config",
        line_without_secrets(lines[line].strip()[:_SHOWN]),
        f"{source}, line {line + 1}, column {mark.column + 1 if mark else 1}: not valid YAML "
        f"({error.problem or error.context}).",
        "Check indentation, colons and quotes there or on the line before.",
    )
