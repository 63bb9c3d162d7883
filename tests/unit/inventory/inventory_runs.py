# SPDX-License-Identifier: GPL-3.0-or-later
"""An inventory source as read by ansible-inventory and playbooks."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

from ansible_commands import run


def listed(source: Path, **environment: str) -> dict[str, t.Any]:
    """Return the whole inventory of a source; its groups by name, and the variables of its hosts in ``hostvars``."""
    done = run("ansible-inventory", "-i", str(source), "--list", "--export", **environment)
    assert done.returncode == 0, done.stderr
    loaded: dict[str, t.Any] = json.loads(done.stdout)
    return {**loaded, "hostvars": _plain(loaded.pop("_meta")["hostvars"])}


def _plain(value: t.Any) -> t.Any:
    """Return data without the marks that ansible-inventory puts on text that is not a template."""
    if isinstance(value, dict):
        return (
            value["__ansible_unsafe"]
            if set(value) == {"__ansible_unsafe"}
            else {k: _plain(v) for k, v in value.items()}
        )
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def in_play_order(source: Path, **environment: str) -> list[str]:
    """Return the hosts in the order in which a play takes them."""
    done = run("ansible", "all", "-i", str(source), "--list-hosts", **environment)
    assert done.returncode == 0, done.stderr
    return [line.strip() for line in done.stdout.splitlines()[1:]]


def planned_nodes(folder: Path, source: Path, config: Path, **variables: t.Any) -> list[dict[str, t.Any]]:
    """Return the nodes of the plan that playbooks/plan.yml makes, in rank order."""
    plan = folder / "plan.json"
    everything = json.dumps({"training_config": str(config), "training_plan_file": str(plan), **variables})
    done = run("ansible-playbook", "playbooks/plan.yml", "-i", str(source), "-e", everything)
    assert done.returncode == 0, done.stdout + done.stderr
    nodes: list[dict[str, t.Any]] = json.loads(plan.read_text())["nodes"]
    return nodes
