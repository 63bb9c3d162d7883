# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the page on training configs for NxDT that come from the models."""

from __future__ import annotations

import typing as t

from docs._tables import sections, table, variable

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.nxdt_yaml.config import NxdtConfig
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.nxdt_yaml.devices import INSTANCES
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.nxdt_yaml.precision import PRECISIONS

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.nxdt_yaml.devices import Instance


def values() -> dict[str, str]:
    """Return the parts of the page, by name."""
    return {
        "top": table(NxdtConfig, variable),
        "sections": "\n".join(sections(NxdtConfig, "")),
        "precisions": "\n".join(_precision_row(name, *precision) for name, precision in PRECISIONS.items()),
        "instances": "\n".join(_instance_row(name, instance) for name, instance in INSTANCES.items()),
    }


def _precision_row(name: str, values: Sequence[str | None], flags: str) -> str:
    return f"| `{name}` | {' | '.join(value or 'not set' for value in values)} | `{flags}` |"


def _instance_row(name: str, instance: Instance) -> str:
    sizes = instance.lnc_sizes
    by_lnc = [f"{instance.logical_devices(lnc)}{f' at lnc {lnc}' if len(sizes) > 1 else ''}" for lnc in sizes]
    return f"| `{name}` | {', '.join(by_lnc)} | {'yes' if instance.efa else 'no'} |"
