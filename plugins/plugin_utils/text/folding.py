# SPDX-License-Identifier: GPL-3.0-or-later
"""Many findings as few sentences: nodes of which the same is said are named together."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Iterable, Mapping, Sequence

from ..contracts import Reason
from .nodes import folded, named, nameless
from .sentences import MOST_PAIRS, Form, Several, filled, of_many

# A range does not say which node is the odd one, and fewer sentences are read one by one.
_FEWEST = 4


class Told(t.NamedTuple):
    """A sentence, its code, the nodes that it is about, and how many findings it stands for."""

    message: str
    code: str
    nodes: tuple[str, ...]
    findings: int


def told(forms: Mapping[str, Mapping[str, Form]], findings: Iterable[Reason]) -> list[Told]:
    """Return what findings say: one sentence for those of a code and case that differ only in node and numbers.

    Each keeps the place of its first finding, but of those about nodes the rarest come first, as they stand out. Fewer
    than 4 different numbers are told one by one. A finding without a form, of a run that an earlier version judged,
    says what its message says.
    """
    groups: dict[t.Any, list[Reason]] = {}
    for finding in findings:
        groups.setdefault(_kind(forms, finding), []).append(finding)
    said = [one for group in groups.values() for one in _of_group(forms, group)]
    return sorted(said, key=lambda one: (bool(one.nodes), len(one.nodes)))


def _of_group(forms: Mapping[str, Mapping[str, Form]], group: list[Reason]) -> list[Told]:
    form = forms.get(group[0].get("code", ""), {}).get(group[0].get("case", ""))
    if form is None and group[1:]:
        nodes = [finding["node"] for finding in group]
        text = named(nameless(group[0]["message"], nodes[0]), nodes)
        return [Told(text, group[0].get("code", ""), tuple(nodes), len(group))]
    if form is None or "node" not in group[0]:
        return [_one(group)]
    alike: dict[str, list[Reason]] = {}
    for finding in group:
        alike.setdefault(frozen(finding.get("values", {})), []).append(finding)
    if len(alike) > 1 and form.each:
        return [_many(of_many(form), group, {"each": _pairs(form.each, group)})]
    if len(alike) >= _FEWEST:
        return [_many(of_many(form), group, ranges([finding.get("values", {}) for finding in group]))]
    return [_many(of_many(form), same, {}) if same[1:] else _one(same) for same in alike.values()]


def _one(same: list[Reason]) -> Told:
    nodes = tuple(finding["node"] for finding in same if "node" in finding)
    return Told(same[0]["message"], same[0].get("code", ""), nodes, len(same))


def _many(text: str, group: list[Reason], values: Mapping[str, t.Any]) -> Told:
    nodes = tuple(finding["node"] for finding in group)
    message = filled(text, {**group[0].get("values", {}), **values, "node": folded(nodes)})
    return Told(message, group[0].get("code", ""), nodes, len(group))


def _pairs(text: str, group: Sequence[Reason]) -> str:
    alike: dict[str, list[str]] = {}
    for finding in group:
        alike.setdefault(frozen(finding.get("values", {})), []).append(finding["node"])
    first = {frozen(finding.get("values", {})): finding.get("values", {}) for finding in group}
    shown = [filled(text, {**first[key], "node": folded(nodes)}) for key, nodes in alike.items()]
    more = f" and {len(shown) - MOST_PAIRS} more" if shown[MOST_PAIRS:] else ""
    return ", ".join(shown[:MOST_PAIRS]) + more


def _kind(forms: Mapping[str, Mapping[str, Form]], finding: Reason) -> t.Any:
    """Return what findings share that may become one sentence."""
    code, case, values = finding.get("code", ""), finding.get("case", ""), finding.get("values", {})
    if "node" not in finding:
        return (code, finding["message"])
    form = forms.get(code, {}).get(case)
    if form is None:
        return (code, nameless(finding["message"], finding["node"]))
    return (code, case, "" if form.each else frozen(without_numbers(values)))


def without_numbers(value: t.Any) -> t.Any:
    """Return values without their numbers: what is left is the same where one sentence can say all of it."""
    if isinstance(value, dict):
        return {name: without_numbers(one) for name, one in value.items()}
    return 0 if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def ranges(values: Sequence[t.Any]) -> t.Any:
    """Return values of the same shape as one, each number as all that it is."""
    first = values[0]
    if isinstance(first, dict) and "unit" not in first:
        return {name: ranges([one[name] for one in values]) for name in first}
    if isinstance(first, dict):
        return Several(sorted(values, key=lambda one: float(one["value"])), measured=True)
    if isinstance(first, (int, float)) and not isinstance(first, bool):
        is_measured = any(isinstance(value, float) and not value.is_integer() for value in values)
        return Several(sorted(values), measured=is_measured)
    return first


def frozen(values: t.Any) -> str:
    """Return values as a key of a dictionary."""
    return json.dumps(values, sort_keys=True, default=str)
