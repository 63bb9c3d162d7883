# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventory plugin trainops.cluster.slurm_allocation."""

from __future__ import annotations

DOCUMENTATION = r"""
name: slurm_allocation
short_description: The nodes of a Slurm job or reservation as an inventory
version_added: 1.0.0
author:
  - The trainops.cluster maintainers (@trainops)
description:
  - Inside an allocation (C(salloc), C(sbatch)), uses the nodes of that job, from E(SLURM_JOB_NODELIST).
  - Elsewhere, uses the nodes of the job, reservation or hostlist that you name.
  - The hosts are in Slurm's order, which is their rank order.
  - With O(topology), the hosts under one switch are in a group for that switch, and get neighbouring ranks.
  - C(scontrol) expands hostlists if it is available. Otherwise, for example in a container, the plugin expands them
    itself.
  - Pass a file whose name ends in C(slurm_allocation.yml).
extends_documentation_fragment:
  - constructed
  - inventory_cache
options:
  plugin:
    description: Marks the file as one for this plugin.
    type: str
    required: true
    choices: [trainops.cluster.slurm_allocation]
  nodelist:
    description:
      - Nodes as a hostlist, for example V(gpu[01-04,7]).
      - Set at most one of O(nodelist), O(job_id) and O(reservation).
    type: str
  job_id:
    description: Job whose nodes to use.
    type: str
  reservation:
    description: Reservation whose nodes to use.
    type: str
  topology:
    description: Ask Slurm which switches are above each node. This needs Slurm's C(topology/tree) on the cluster.
    type: bool
    default: false
  scontrol:
    description: Name or path of the command C(scontrol).
    type: str
    default: scontrol
"""

EXAMPLES = r"""
---
# slurm_allocation.yml, for ansible-playbook inside salloc or sbatch
plugin: trainops.cluster.slurm_allocation
---
# The nodes of a reservation, ranked by switch, with the remote user train
plugin: trainops.cluster.slurm_allocation
reservation: acceptance
topology: true
compose:
  ansible_user: "'train'"
"""

import os
import subprocess
import typing as t

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable

from ..plugin_utils.inventory.hosts import Host
from ..plugin_utils.inventory_plugin import fill
from ..plugin_utils.slurm.commands import nodes_of, switches
from ..plugin_utils.slurm.hostlist import expand_hostlist

if t.TYPE_CHECKING:
    from ansible.inventory.data import InventoryData
    from ansible.parsing.dataloader import DataLoader

_SECONDS = 60
_OF_ALLOCATION = ("SLURM_JOB_NODELIST", "SLURM_NODELIST")


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    """Asks Slurm for nodes."""

    NAME = "trainops.cluster.slurm_allocation"

    def verify_file(self, path: str) -> bool:
        """Return whether a file is one of this plugin, by its name."""
        return bool(super().verify_file(path)) and path.endswith(("slurm_allocation.yml", "slurm_allocation.yaml"))

    def parse(self, inventory: InventoryData, loader: DataLoader, path: str, cache: bool = True) -> None:
        """Add the nodes to the inventory."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        try:
            found = self._cached(path, cache)
        except ValueError as error:
            raise AnsibleParserError(f"{path}: {error}.") from None
        above = found["switches"]
        fill(self, [Host(node, topology=tuple(above.get(node, ()))) for node in found["nodes"]], "switch", "switches")

    def _cached(self, path: str, cache: bool) -> dict[str, t.Any]:
        """Return the known facts about the nodes, from the cache if the user wants one."""
        kind, name = self._meant()
        if not self.get_option("cache"):
            return self._asked(kind, name)
        self.load_cache_plugin()
        # The same file means other nodes in another allocation.
        key = self.get_cache_key(f"{path} {kind} {name}")
        if cache and key in self.cache:
            return t.cast("dict[str, t.Any]", self.cache[key])
        found = self._asked(kind, name)
        self.cache[key] = found
        return found

    def _meant(self) -> tuple[str, str]:
        """Return which kind of source is set (``nodelist``, ``job`` or ``reservation``) and its value."""
        asked = {name: self.get_option(name) for name in ("nodelist", "job_id", "reservation")}
        named = {name: str(value) for name, value in asked.items() if value not in (None, "")}
        if len(named) > 1:
            raise ValueError(f"only one of nodelist, job_id and reservation may be set, not {' and '.join(named)}")
        for option, value in named.items():
            return option.removesuffix("_id"), value
        allocated = next((os.environ[name] for name in _OF_ALLOCATION if os.environ.get(name)), None)
        if allocated is None:
            raise ValueError(
                "there is no allocation: SLURM_JOB_NODELIST is not set. Run inside salloc or sbatch, or set "
                "job_id, reservation or nodelist"
            )
        return "nodelist", allocated

    def _asked(self, kind: str, name: str) -> dict[str, t.Any]:
        hostlist = name if kind == "nodelist" else nodes_of(self._scontrol("show", kind, name), kind, name)
        nodes = self._expand(hostlist)
        above = switches(self._scontrol("show", "topology"), self._expand) if self.get_option("topology") else {}
        if self.get_option("topology") and not above:
            self.display.warning("Slurm reports no switches (topology/tree), so the ranks stay in Slurm's order.")
        return {"nodes": nodes, "switches": {node: list(above[node]) for node in nodes if node in above}}

    def _expand(self, hostlist: str) -> list[str]:
        """Return the names of a hostlist; scontrol knows every dialect of its own version."""
        try:
            names = self._scontrol("show", "hostnames", hostlist).split()
        except FileNotFoundError:
            return expand_hostlist(hostlist)
        if not names:
            raise ValueError(f"Slurm cannot expand the hostlist {hostlist}")
        return names

    def _scontrol(self, *arguments: str) -> str:
        command = [self.get_option("scontrol"), "--oneliner", *arguments]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", check=False, timeout=_SECONDS
            )
        except FileNotFoundError:
            if arguments[1] == "hostnames":
                raise
            raise ValueError(
                f"{command[0]} was not found, so Slurm cannot be asked for the {arguments[1]}. Set the option "
                "scontrol to its path, or set nodelist"
            ) from None
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ValueError(f"{' '.join(command)} failed: {error}") from None
        if done.returncode != 0:
            said = " ".join((done.stderr or done.stdout).split())
            raise ValueError(f"{' '.join(command)} failed with exit status {done.returncode}: {said}")
        return done.stdout
