# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of the module training_isolate about the probes: their names, and the ones that run only on request."""

from __future__ import annotations

import re
import textwrap

from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.known import PROBES


def with_probes(module: str) -> str:
    """Return the text of a module with all probes in the items that begin as these sentences do."""
    reasons: dict[str, list[str]] = {}
    for probe in PROBES.values():
        if probe.only_if_named:
            reasons.setdefault(probe.only_if_named, []).append(probe.name)
    named = "; ".join(f"{_listed(names)}, because {reason}" for reason, names in reasons.items())
    for begin, text in (("The probes are ", f"{_listed(list(PROBES))}."), ("By default, it leaves out ", f"{named}.")):
        module = _with_item(module, begin, text)
    return module


def _listed(names: list[str]) -> str:
    *most, last = (f"V({name})" for name in names)
    return f"{', '.join(most)} and {last}" if most else last


def _with_item(module: str, begin: str, text: str) -> str:
    """Return the text of a module after the item of a list with this beginning got another end."""

    def filled(found: re.Match[str]) -> str:
        item = f"{found['indent']}- {begin}{text}"
        return textwrap.fill(item, 120, subsequent_indent=f"{found['indent']}  ", break_on_hyphens=False)

    return re.sub(rf"(?m)^(?P<indent> +)- {begin}.*(?:\n(?P=indent)  .*)*", filled, module)
