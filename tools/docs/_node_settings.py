# SPDX-License-Identifier: GPL-3.0-or-later
"""The page on the settings of nodes by hardware; its checks and variables must exist."""

from __future__ import annotations

import typing as t
from pathlib import Path

import yaml

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.adapter_tools import TOOLS
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.checks import CHECKS

_FILE = Path(__file__).with_name("node_settings.yml")
_SPECS = Path(__file__).resolve().parents[2] / "roles/node_prep/meta/argument_specs.yml"


def values() -> dict[str, str]:
    """Return a section with a table for each kind of hardware, and the rows of the table of programs."""
    data = yaml.safe_load(_FILE.read_text("utf-8"))
    options = yaml.safe_load(_SPECS.read_text("utf-8"))["argument_specs"]["main"]["options"]
    sections = []
    for hardware, title in data["hardware"].items():
        rows = [_row(row, data["sources"], options) for row in data["settings"] if hardware in row["hardware"]]
        table = ["| setting | asked for by | checked | set | only you |", "| --- | --- | --- | --- | --- |", *rows]
        sections.append("\n".join([f"## {title}", "", f"Folder: `inventories/{hardware}`", "", *table]))
    tools = [f"| `{one.name}` | {one.provider or 'any'} | {one.shows} | {one.source} |" for one in TOOLS]
    return {"sections": "\n\n".join(sections), "tools": "\n".join(tools)}


def _row(row: dict[str, t.Any], sources: dict[str, list[str]], options: dict[str, t.Any]) -> str:
    who, title, address = sources[row["source"]]
    check, variable = row.get("check", ""), row.get("variable", "")
    if check and check not in CHECKS:
        raise ValueError(f"{_FILE}: check is {check}, but must be one of {', '.join(CHECKS)}")
    if variable and variable not in options:
        raise ValueError(f"{_FILE}: variable is {variable}, but node_prep has no such option")
    cells = (
        row["setting"],
        f"[{who}, {title}]({address})",
        f"`{check}`" if check else "",
        f"`{variable}`{_when(options[variable])}" if variable else "",
        row.get("only_you", ""),
    )
    return f"| {' | '.join(cells)} |"


def _when(option: dict[str, t.Any]) -> str:
    return ", off by default" if option["default"] in (False, {}) else ""
