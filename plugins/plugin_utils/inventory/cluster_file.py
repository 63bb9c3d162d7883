# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading a cluster file of AMD's Cluster Validation Suite (CVS) into hosts in rank order.

Format: https://rocm.docs.amd.com/projects/cvs/en/latest/reference/cluster/cluster-file.html
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Sequence

from pydantic import BaseModel, Field

from ..plan.config.field_types import USER_FIELD, Environment, FreeObject, Line, Name, with_user
from ..plan.config.findings import Findings
from ..plan.config.json_config import read_json
from ..plan.config.model import section, typed
from ..text.words import key_path, listed
from .hosts import Host

_TO_FILL_IN = re.compile(r"\{[^{}]*\}|<changeme>", re.IGNORECASE)
# What the file has instead of a value.
_NONE = ("", "na", "n/a", "none")
# Several per node, and there may be thousands of nodes.
_MOST_VALUES = 100_000


class _HeadNode(BaseModel):
    mgmt_ip: Name | None = Field(default=None, description="Address of the head node.", examples=["192.0.2.10"])


class _ClusterFile(BaseModel):
    """Keys of the file. Keys for CVS tests other than trainings are known, but not read."""

    username: Name = Field(description="User who connects to the nodes.", examples=[USER_FIELD])
    priv_key_file: Line | None = Field(
        default=None, description="Private key for SSH.", examples=[f"/home/{USER_FIELD}/.ssh/id_rsa"]
    )
    head_node_dict: _HeadNode | None = Field(default=None, description="The head node, which becomes rank 0.")
    head_node: Name | None = Field(default=None, description="The head node, in newer files.")
    env_vars: Environment = Field(default={}, description="Environment variables for every command on a node.")
    node_dict: FreeObject | None = Field(default=None, description="The nodes, in rank order.")
    nodes: FreeObject | None = Field(default=None, description="The nodes, in newer files.")
    racks: FreeObject = Field(default={}, description="The racks that nodes name in rack_id.")
    orchestrator: Line = Field(default="baremetal", description="How CVS runs its tests.")
    container: FreeObject = Field(default={}, description="Container of CVS's tests.")
    password: Line | None = Field(default=None, description="Password for SSH.")


class _ClusterNode(BaseModel):
    vpc_ip: Name | None = Field(default=None, description="Address at which other nodes reach the node.")
    bmc_ip: Name | None = Field(default=None, description="Address of the node's BMC.")
    rack_id: Name | None = Field(default=None, description="Rack that the node is in.")


def read_cluster_file(text: str, source: str, user: str, findings: Findings) -> list[Host]:
    """Return the nodes of a cluster file, the head node first and the others in the file's order.

    ``{user-id}`` becomes ``user``, who runs Ansible. All errors are reported at once; unknown keys are warnings,
    because CVS adds some with every release.
    """
    data = read_json(text, source, findings, "cluster_file", 'keys "username" and "node_dict"', _MOST_VALUES)
    if data is None:
        return []
    data = with_user(data, user)
    cluster = typed(_ClusterFile, data, "", findings, lower_unknown=True)
    key = "nodes" if "nodes" in data and "node_dict" not in data else "node_dict"
    nodes = section(data, key, key, findings)
    if nodes is not None and not nodes:
        findings.fault(key, None, "It lists no nodes.", "List each node by its address or host name.")
    if cluster.password:
        findings.warn(
            "password",
            None,
            "The password in a cluster file is not used.",
            "Use an SSH key, or set ansible_password from a vault.",
        )
    # The racks also contain the login and password of their switches.
    racks = [name for name, rack in (cluster.racks or {}).items() if isinstance(rack, dict)]
    hosts = [_host(name, node, key, cluster, racks, findings) for name, node in (nodes or {}).items()]
    head = (cluster.head_node_dict.mgmt_ip if cluster.head_node_dict else None) or cluster.head_node
    return sorted(hosts, key=lambda host: host.name != head)


def _host(name: str, node: t.Any, key: str, cluster: _ClusterFile, racks: Sequence[str], findings: Findings) -> Host:
    path = key_path(key, name)
    if _TO_FILL_IN.search(name):
        findings.fault(path, None, f"{name} is a placeholder.", "Replace it with the node's address or host name.")
    data = section({name: node}, name, path, findings) or {}
    read = typed(_ClusterNode, data, path, findings, lower_unknown=True)
    if read.rack_id and racks and read.rack_id not in racks:
        message, remedy = f"{read.rack_id} is not one of the racks.", f"Racks in the file: {listed(racks)}."
        findings.fault(key_path(path, "rack_id"), read.rack_id, message, remedy)
    variables: dict[str, t.Any] = {
        "ansible_host": name,
        "ansible_user": cluster.username,
        "training_address": _given(read.vpc_ip) or name,
        **({"ansible_ssh_private_key_file": cluster.priv_key_file} if cluster.priv_key_file else {}),
        **({"training_node_environment": cluster.env_vars} if cluster.env_vars else {}),
        **({"cvs_bmc_ip": read.bmc_ip} if _given(read.bmc_ip) else {}),
    }
    return Host(name, variables, (read.rack_id,) if read.rack_id else ())


def _given(value: str | None) -> str | None:
    return None if value is None or value.casefold() in _NONE else value
