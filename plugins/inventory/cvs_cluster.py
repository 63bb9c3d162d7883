# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventory plugin trainops.cluster.cvs_cluster."""

from __future__ import annotations

DOCUMENTATION = r"""
name: cvs_cluster
short_description: A cluster file of AMD's Cluster Validation Suite as an inventory
version_added: 1.0.0
author:
  - The trainops.cluster maintainers (@trainops)
description:
  - Reads the same C(cluster.json) as C(cvs run --cluster_file), so that nothing has to be written twice.
  - The hosts are in the order of C(node_dict), which is their rank order. Only the head node always comes first, as
    rank 0.
  - Each host gets C(ansible_host), C(ansible_user), C(ansible_ssh_private_key_file), and as C(training_address) its
    C(vpc_ip), where the other nodes reach it.
  - C(env_vars) become C(training_node_environment), the variables of what runs on the node itself, as in CVS. A
    container gets its own from the training config.
  - Nodes with a rack are in a group for that rack, a child of the group C(racks), and get neighbouring ranks.
  - C({user-id}) becomes the user who runs Ansible. Keys that begin with C(_) are notes.
  - Passwords of nodes and switches are not used.
  - All errors in the file are reported together.
  - Pass the cluster file itself if the plugin is enabled (C(enable_plugins) in the section C(inventory) of
    C(ansible.cfg)), or else a file whose name ends in C(cvs_cluster.yml).
extends_documentation_fragment:
  - constructed
options:
  plugin:
    description: Marks the file as one for this plugin.
    type: str
    choices: [trainops.cluster.cvs_cluster]
  cluster_file:
    description: The cluster file, relative to the file with this option.
    type: str
"""

EXAMPLES = r"""
---
# cluster.cvs_cluster.yml; if the plugin is enabled, -i cluster.json alone is enough
plugin: trainops.cluster.cvs_cluster
cluster_file: cluster.json
---
# The same, with a container engine and a GPU count for all nodes, and a group of the nodes with a known BMC
plugin: trainops.cluster.cvs_cluster
cluster_file: cluster.json
compose:
  container_engine: "'podman'"
  training_gpus_per_node: 8
groups:
  with_bmc: cvs_bmc_ip is defined
"""

import getpass
import os
import typing as t

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Constructable
from ansible.plugins.loader import inventory_loader

if t.TYPE_CHECKING:
    from ansible.inventory.data import InventoryData
    from ansible.parsing.dataloader import DataLoader

# A few hundred for each node, because there may be thousands of nodes.
_MOST_BYTES = 8 * 1024 * 1024
_MARKS = ('"node_dict"', '"nodes"')


class InventoryModule(BaseInventoryPlugin, Constructable):
    """Reads a cluster file of CVS."""

    NAME = "trainops.cluster.cvs_cluster"

    def verify_file(self, path: str) -> bool:
        """Return whether a file may be a cluster file, or refer to one."""
        return bool(super().verify_file(path) and path.endswith(("cvs_cluster.yml", "cvs_cluster.yaml", ".json")))

    def parse(self, inventory: InventoryData, loader: DataLoader, path: str, cache: bool = True) -> None:
        """Add the nodes of the cluster file to the inventory, or the hosts of a JSON file that is Ansible's own."""
        if path.endswith(".json") and not _looks_like_a_cluster_file(path):
            inventory_loader.get("ansible.builtin.yaml").parse(inventory, loader, path, cache)
            return
        super().parse(inventory, loader, path, cache)
        # Ansible loads this plugin for inventories of other kinds, too.
        from ..plugin_utils.controller_action import late_imports

        with late_imports():
            from ..plugin_utils.inventory.cluster_file import read_cluster_file
            from ..plugin_utils.inventory_plugin import fill
            from ..plugin_utils.plan.config.findings import Findings
            from ..plugin_utils.plan.plan_text import findings_text
            from ..plugin_utils.text.words import counted
        source = path if path.endswith(".json") else self._named_in(path)
        findings = Findings()
        hosts = read_cluster_file(_text_of(source), source, getpass.getuser(), findings)
        found = findings.as_dict()
        if found["faults"]:
            raise AnsibleParserError(
                findings_text(f"{counted(len(found['faults']), 'error')} in {source}:", found["faults"])
            )
        for warning in found["warnings"]:
            self.display.warning(f"{source}: {warning['key']}: {warning['message']} {warning['remedy']}")
        fill(self, hosts, "rack", "racks")

    def _named_in(self, path: str) -> str:
        self._read_config_data(path)
        named = self.get_option("cluster_file")
        if not named:
            raise AnsibleParserError(f"{path} does not set cluster_file. Set it to the path of a CVS cluster file.")
        return os.path.join(os.path.dirname(os.path.abspath(path)), os.path.expanduser(named))


def _looks_like_a_cluster_file(path: str) -> bool:
    try:
        text = _text_of(path)
    except AnsibleParserError:
        return False
    return '"username"' in text and any(mark in text for mark in _MARKS)


def _text_of(path: str) -> str:
    from ..plugin_utils.plan.config.budget import text_of

    try:
        return text_of(path, _MOST_BYTES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise AnsibleParserError(f"The cluster file {path} cannot be read: {reason}.") from None
