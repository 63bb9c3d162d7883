# SPDX-License-Identifier: GPL-3.0-or-later
"""Folds many findings into few sentences: nodes with the same finding share one."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..contracts import Reason
from .nodes import alike, as_on, folded, named, nameless
from .sentences import MOST_PAIRS, Form, Several, fields_of, filled, form_that_says, of_many

# A range hides which node is the outlier, and fewer sentences are easy to read one by one.
_FEWEST = 4


class Told(t.NamedTuple):
    """A sentence, its code, and its nodes, with the case and values of the first node."""

    message: str
    code: str
    nodes: tuple[str, ...]
    case: str = ""
    values: Mapping[str, t.Any] = {}


def told(forms: Mapping[str, Mapping[str, Form]], findings: Iterable[Reason]) -> list[Told]:
    """Return the sentences of findings: one for all with the same code and case that differ only in node and numbers.

    Only values that the sentence for many nodes shows count; in texts, the node's name, addresses and paths do not.
    Each sentence keeps the place of its first finding, but among sentences about nodes the rarest come first, because
    they stand out. Fewer than 4 different numbers get a sentence each. A finding from a run that an earlier version
    judged may lack a fitting form; its message is used.
    """
    groups: dict[t.Any, list[Reason]] = {}
    # Two checks may report the same about a node.
    for finding in {(one.get("code"), one.get("node"), one["message"]): one for one in findings}.values():
        groups.setdefault(_kind(forms, finding), []).append(finding)
    said = [one for group in groups.values() for one in _of_group(forms, group)]
    return sorted(said, key=lambda one: (not one.nodes, len(one.nodes)))


def common(forms: Mapping[str, Mapping[str, Form]], finding: Reason) -> t.Any:
    """Return the part that a finding shares with equal findings about other nodes."""
    form = _form_of(forms, finding)
    if form is None or "node" not in finding:
        node = finding.get("node")
        return alike(nameless(finding["message"], node)) if node else finding["message"]
    return (finding.get("code", ""), finding.get("case", ""), frozen(_alike(_shown(form, finding))))


def _form_of(forms: Mapping[str, Mapping[str, Form]], finding: Reason) -> Form | None:
    of_code, case, values = forms.get(finding.get("code", ""), {}), finding.get("case", ""), finding.get("values", {})
    return form_that_says(finding["message"], of_code, case, values, finding.get("node", ""))


def _of_group(forms: Mapping[str, Mapping[str, Form]], group: list[Reason]) -> list[Told]:
    form = _form_of(forms, group[0])
    if form is None and group[1:]:
        texts = {nameless(finding["message"], finding["node"]) for finding in group}
        nodes = tuple(finding["node"] for finding in group)
        text = nameless(group[0]["message"], nodes[0])
        text = named(as_on(nodes[0], text) if len(texts) > 1 else text, nodes)
        return [_told(text, group[0], nodes)]
    if form is None or "node" not in group[0]:
        return [_one(group)]
    same: dict[str, list[Reason]] = {}
    for finding in group:
        same.setdefault(frozen(_alike(_shown(form, finding))), []).append(finding)
    if len(same) > 1 and form.each:
        return [_many(form, group, {"each": _pairs(form, group)})]
    if form.each:
        form = form._replace(many="", each="")
    if len(same) >= _FEWEST:
        return [_many(form, group, ranges([_shown(form, finding) for finding in group]))]
    return [_many(form, those, _shown(form, those[0])) if those[1:] else _one(those) for those in same.values()]


def _one(same: list[Reason]) -> Told:
    nodes = tuple(finding["node"] for finding in same if "node" in finding)
    return _told(same[0]["message"], same[0], nodes)


def _told(text: str, first: Reason, nodes: tuple[str, ...]) -> Told:
    return Told(text, first.get("code", ""), nodes, first.get("case", ""), first.get("values", {}))


def _many(form: Form, group: list[Reason], values: Mapping[str, t.Any]) -> Told:
    nodes = tuple(finding["node"] for finding in group)
    text = filled(of_many(form), {**group[0].get("values", {}), **values, "node": "\0"})
    texts = {frozen(without_numbers(_shown(form, finding))) for finding in group}
    if not form.each and len(texts) > 1:
        text = as_on(nodes[0], text)
    return _told(named(text, nodes), group[0], nodes)


def _pairs(form: Form, group: Sequence[Reason]) -> str:
    same: dict[str, list[Reason]] = {}
    for finding in group:
        same.setdefault(frozen(_shown(form, finding)), []).append(finding)
    shown = []
    for those in same.values():
        nodes = folded(finding["node"] for finding in those)
        shown.append(filled(form.each, {**those[0].get("values", {}), "node": nodes}))
    more = f" and {len(shown) - MOST_PAIRS} more" if shown[MOST_PAIRS:] else ""
    return ", ".join(shown[:MOST_PAIRS]) + more


def _kind(forms: Mapping[str, Mapping[str, Form]], finding: Reason) -> t.Any:
    """Return the part that findings must share to become one sentence."""
    code, form = finding.get("code", ""), _form_of(forms, finding)
    if "node" not in finding:
        return (code, finding["message"])
    if form is None:
        return (code, alike(nameless(finding["message"], finding["node"])))
    values = _shown(form, finding)
    if form.each:
        values = {name: values[name] for name in fields_of(of_many(form)) & values.keys()}
    return (code, finding.get("case", ""), frozen(_alike(without_numbers(values))))


def _shown(form: Form, finding: Reason) -> dict[str, t.Any]:
    """Return a finding's values that the sentence for many nodes shows for each, without the node's name in them.

    Such a text may mention the node itself: ``gpu01: no space left``.
    """
    fields = fields_of(of_many(form)) | fields_of(form.each)
    return {
        name: _with_texts(value, lambda text: nameless(text, finding["node"]))
        for name, value in finding.get("values", {}).items()
        if name in fields
    }


def _alike(values: t.Any) -> t.Any:
    return _with_texts(values, alike)


def _with_texts(value: t.Any, change: Callable[[str], str]) -> t.Any:
    """Return a value with each text changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: _with_texts(one, change) for name, one in value.items()}
    return [_with_texts(one, change) for one in value] if isinstance(value, list) else value


def without_numbers(value: t.Any) -> t.Any:
    """Return values without their numbers; the rest is equal if one sentence can cover all of them."""
    if isinstance(value, dict):
        return {name: without_numbers(one) for name, one in value.items()}
    return 0 if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def ranges(values: Sequence[t.Any]) -> t.Any:
    """Return values of the same shape as one value, with all numbers of each place together."""
    first = values[0]
    if all(value == first for value in values):
        return first
    if isinstance(first, dict) and "unit" not in first:
        return {name: ranges([one[name] for one in values]) for name in first}
    if isinstance(first, dict):
        return Several(sorted(values, key=lambda one: float(one["value"])), measured=True)
    if isinstance(first, (int, float)) and not isinstance(first, bool):
        is_measured = any(isinstance(value, float) and not value.is_integer() for value in values)
        return Several(sorted(values), measured=is_measured)
    return first


def frozen(values: t.Any) -> str:
    """Return values as a dictionary key."""
    return json.dumps(values, sort_keys=True, default=str)
