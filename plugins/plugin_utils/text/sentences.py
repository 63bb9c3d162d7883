# SPDX-License-Identifier: GPL-3.0-or-later
"""How a finding becomes a sentence: the form of its code and case, filled with its values.

A form is a text with fields for ``str.format``, such as ``{node} reached only step {step} of {goal}.`` After a colon, a
field sets how its value is written: one of `WAYS`, or a Python format. A `Quantity` is written with its unit. Brackets
select a part of a value, as in ``{pause[seconds]:duration}``.
"""

from __future__ import annotations

import functools
import re
import shlex
import string
import typing as t
from collections.abc import Callable, Mapping, Sequence

from ...module_utils.node.room import in_gib
from ..contracts import Quantity, Reason
from .bounds import asked, margin_in_words, threshold_in_words
from .inspected import (
    gpus_in_words,
    mounts_fixed_by,
    mounts_in_words,
    pcie_links_in_words,
    ports_in_words,
    processes_in_words,
    properties_in_words,
)
from .machine import details_in_words, fact_in_words
from .nodes import folded
from .numbers import (
    DIGITS,
    billions,
    byte_size,
    duration,
    exact,
    field,
    in_words,
    name_of,
    number,
    number_of,
    part,
    quantity_in_words,
    things,
    unit_of,
)
from .slowness import (
    at_most,
    bounds,
    failed_probes,
    last_in_words,
    longer,
    percents_in_words,
    probe_in_words,
    proofs_in_words,
    sizes_in_words,
    slower,
    times,
)
from .words import all_of, counted, every, listed

# Nobody reads more pairs of node and value one by one.
MOST_PAIRS: t.Final = 8

# The way for a value that only the first of many nodes shows.
EXAMPLE: t.Final = "example"


class Form(t.NamedTuple):
    """The sentences of a finding for one node and for many.

    In ``many``, ``{node}`` is the names of all nodes; without ``many``, ``one`` is used. If the nodes' values differ,
    ``each`` is written for each node, in place of ``{each}`` within ``many``.
    """

    one: str
    many: str = ""
    each: str = ""


class Several(t.NamedTuple):
    """The values of a number on several nodes: a range if they were measured, else a list."""

    values: Sequence[t.Any]
    measured: bool

    def joined(self, texts: Sequence[str]) -> str:
        """Return the texts of the values as one: ``420.6 – 423.8 ms``, or ``3, 5 and 7``."""
        *others, last = dict.fromkeys(texts)
        if not others:
            return last
        unit = last[last.find(" ") :] if " " in last else ""
        if unit and all(text.endswith(unit) for text in others):
            others = [text.removesuffix(unit) for text in others]
        if self.measured or len(others) >= MOST_PAIRS:
            return f"{others[0]} – {last}"
        return f"{', '.join(others)} and {last}"


def _each(value: t.Any) -> list[str]:
    return [str(one) for one in value]


def _left_out(nodes: t.Any, _more: str) -> str:
    """Return the nodes that made a run fail, each with its reason and the spare that replaced it."""
    return "".join(
        f"{one['node']} was left out ({one['reason'].rstrip('.')})"
        f"{', and ' + one['spare'] + ' took its place' if one['spare'] else ''}; "
        for one in nodes
    )


def _number_of(value: t.Any) -> int:
    return len(value) if isinstance(value, list) else int(value)


def _number(value: t.Any, _more: str) -> str:
    return number_of(t.cast(Quantity, value)) if isinstance(value, dict) else number(float(value))


def _sizes(value: Mapping[str, t.Any], _more: str) -> str:
    """Return the bytes of each name: ``mlx5_0 8.00 GB, mlx5_1 7.90 GB``."""
    return ", ".join(f"{name} {filled('{size:bytes}', {'size': size})}" for name, size in value.items())


def _share(value: t.Any, digits: int = 2) -> str:
    return f"{number(100.0 * float(value), digits=digits)} %"


def _slow_nodes(value: t.Any, _more: str) -> str:
    """Return nodes and how much slower each is: ``gpu01 (5.6 % slower), gpu02 (25 % slower in 20 % of its steps)``."""
    return ", ".join(
        filled(
            "{node} ({slower:share 2} slower)"
            if one["in_steps"] is None
            else "{node} ({slower:share 2} slower in {in_steps:share 2} of its steps)",
            one,
        )
        for one in value
    )


def _size_pairs(sizes: t.Any, _more: str) -> str:
    """Return the sizes of two runs by their names: ``GPU (mi300x and h100), nodes (2 and 4)``."""
    known = {name: ["unknown" if one is None else one for one in pair] for name, pair in sizes.items()}
    return listed(f"{_SIZES[name]} ({before} and {after})" for name, (before, after) in known.items())


_SIZES = {
    "gpu": "GPU",
    "nnodes": "nodes",
    "gpus_per_node": "GPUs per node",
    "precision": "precision",
    "global_batch_size": "global batch size",
    "micro_batch_size": "micro batch size",
    "sequence_length": "sequence length",
}
_OF_STATISTIC = {"mean": " on average", "p05": " at the 5th percentile", "p95": " at the 95th percentile"}

# How a value is written; the text after the way's name in a field is passed on.
WAYS: t.Final[Mapping[str, Callable[[t.Any, str], str]]] = {
    "all": lambda value, what: all_of(int(value), what),
    "all_listed": lambda value, _more: ", ".join(_each(value)),
    "asked": lambda value, _more: asked(value),
    "and": lambda value, _more: " and ".join(_each(value)),
    "at_most": lambda value, _more: at_most(float(value)),
    "billions": lambda value, _more: billions(float(value)),
    "bounds": lambda value, _more: bounds(value),
    "bytes": lambda value, _more: byte_size(float(value)),
    "count": lambda value, what: counted(_number_of(value), what),
    "details": lambda value, how: details_in_words(value, brackets=how == "in brackets"),
    "duration": lambda value, _more: duration(float(value)),
    EXAMPLE: lambda value, _more: f"for example {value}",
    "exact": lambda value, _more: exact(float(value)),
    "every": lambda value, _more: every(int(value)),
    "exacts": lambda value, _more: " and ".join(exact(float(one)) for one in value),
    "fact": lambda value, _more: fact_in_words(str(value)),
    "probe": lambda value, _more: probe_in_words(str(value)),
    "failed_probes": lambda value, _more: failed_probes(value),
    "field": lambda value, _more: field(str(value)),
    "figures": lambda value, digits: number(float(value), digits=int(digits)),
    "gib": lambda value, _more: in_gib(float(value)),
    "giga": lambda value, digits: number(float(value) / 1e9, digits=int(digits)),
    "gpus": lambda value, _more: gpus_in_words(value),
    "group_sizes": lambda value, _more: sizes_in_words(value),
    "joined": lambda value, _more: ",".join(_each(value)),
    "kib": lambda value, _more: f"{int(value) // 1024} KiB",
    "list": lambda value, most: listed(_each(value), *([int(most)] if most else [])),
    "first": lambda value, what: f"first {what if value == 1 else counted(int(value), what)}",
    "left_out": _left_out,
    "lines": lambda value, _more: " / ".join(_each(value)),
    "last_nodes": lambda value, _more: last_in_words(value),
    "longer": lambda value, _more: longer(float(value)),
    "margin": lambda value, _more: margin_in_words(value) if value else "against",
    "metric": lambda value, _more: name_of(str(value)),
    "metrics": lambda value, _more: " and ".join(dict.fromkeys(map(name_of, _each(value)))),
    "mounts": lambda value, _more: mounts_in_words(value),
    "mounts_fixed": lambda value, _more: mounts_fixed_by(value),
    "nodes": lambda value, _more: folded(_each(value)),
    "number": _number,
    "pairs": lambda value, _more: "; ".join(f"{name}: {one}" for name, one in value.items()),
    "part": lambda value, _more: part(str(value)),
    "pcie_links": lambda value, _more: pcie_links_in_words(value),
    "percent": lambda value, places: f"{100.0 * float(value):.{places}f} %",
    "ports": lambda value, _more: ports_in_words(value),
    "processes": lambda value, _more: processes_in_words(value),
    "times": lambda value, _more: times(float(value)),
    "percents": lambda value, _more: percents_in_words(value),
    "proofs": lambda value, _more: proofs_in_words(value),
    "properties": lambda value, _more: properties_in_words(value),
    "quoted": lambda value, _more: shlex.quote(str(value)),
    "share": lambda value, digits: _share(value, int(digits or DIGITS)),
    "sizes": _sizes,
    "slow_nodes": _slow_nodes,
    "size_pairs": _size_pairs,
    "slower": lambda value, digits: slower(float(value), int(digits or 1)),
    "statistic": lambda value, _more: _OF_STATISTIC.get(str(value), ""),
    "texts_listed": lambda value, _more: "; ".join(_each(value)),
    "texts": lambda value, _more: " and ".join(str(one) or "nothing" for one in value),
    "things": lambda value, _more: things(str(value)),
    "threshold": lambda value, _more: threshold_in_words(value),
    "unit": lambda value, _more: unit_of(str(value)),
    "value": lambda value, metric: in_words(metric, float(value)),
    "without": lambda value, _more: "" if value is None else f", and {_share(value)} without them",
}


# Ways for measured values, whatever the type of the number.
_MEASURED = frozenset(("bytes", "duration", "value"))


class _Sentences(string.Formatter):
    def format_field(self, value: t.Any, format_spec: str) -> str:
        """Return a value in the way that its field sets."""
        way, _space, more = format_spec.partition(" ")
        if isinstance(value, Several):
            every_value = value._replace(measured=value.measured or way in _MEASURED)
            return every_value.joined([self.format_field(one, format_spec) for one in value.values])
        if way in WAYS:
            return WAYS[way](value, more)
        if isinstance(value, dict) and "unit" in value:
            return quantity_in_words(t.cast(Quantity, value))
        # From a summary that was read from a file: JSON has no NaN.
        if isinstance(value, str) and format_spec[-1:] in ("f", "g"):
            return value
        return str(super().format_field(value, format_spec))


_SENTENCES = _Sentences()
_OF_MANY = {"was": "were", "is": "are", "has": "have", "does": "do", "counts": "count", "reports": "report"}


def filled(text: str, values: Mapping[str, t.Any]) -> str:
    """Return a form's text with its values."""
    return _SENTENCES.vformat(text, (), values)


@functools.cache
def fields_of(text: str) -> frozenset[str]:
    """Return the names of the values that a form's text shows for every node; an example comes from one node."""
    return frozenset(
        re.split(r"[.\[]", name)[0] for _before, name, way, _to in _SENTENCES.parse(text) if name and way != EXAMPLE
    )


def of_many(form: Form) -> str:
    """Return the text of a form for many nodes: the verb after their names is plural."""
    if form.many:
        return form.many
    head, verb, *rest = form.one.split(" ", 2) if form.one.count(" ") > 1 else (form.one, "")
    return " ".join([head, _OF_MANY[verb], *rest]) if head == "{node}" and verb in _OF_MANY else form.one


def form_that_says(
    text: str, forms: Mapping[str, Form], case: str, values: Mapping[str, t.Any], node: str = ""
) -> Form | None:
    """Return the form of a case; None if it does not give this message, because an earlier version judged the run."""
    form = forms.get(case)
    if form is None or not fields_of(form.one) <= {"node", *values}:
        return None
    return form if filled(form.one, {**values, "node": node}) == text else None


def sentence(forms: Mapping[str, Mapping[str, Form]], finding: Reason) -> str:
    """Return the sentence of a finding, from the forms of its code and case."""
    form = forms[finding["code"]][finding.get("case", "")]
    return filled(form.one, {**finding.get("values", {}), "node": finding.get("node", "")})
