# SPDX-License-Identifier: GPL-3.0-or-later
"""One node of a run as a check sees it: the plan, the node's part of it, its facts, and the devices in use.

A rule, from the config's ``nic_type`` or else from the existing devices, decides which RDMA devices the plan uses, and
which entries of their GID tables fit.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..contracts import NodePlan, Plan
from ..plan.job.options import APPTAINER, PYXIS
from ..plan.job.rdma import NIC_TYPES, NicRule, device_names, nic_type_of, number_of_nccl
from ..plan.trainers.known import OF_FRAMEWORK
from .facts import Facts, Gid, Path, Port, RdmaDevice
from .needs import MACHINE


def rule_of(nic_type: str | None, devices: list[RdmaDevice]) -> NicRule | None:
    """Return the rule of a ``nic_type``; if the config sets none, the rule of the existing RDMA devices."""
    if nic_type:
        return NIC_TYPES.get(nic_type_of(nic_type) or "")
    providers = {device["provider"] for device in devices}
    return next((rule for rule in NIC_TYPES.values() if rule.provider in providers), None)


def gid_fits(gid: Gid) -> bool:
    """Return whether a training can use an entry of a GID table: RoCE v2, with an address that others can route to."""
    is_link_local = gid["address"].startswith(("fe80:", "169.254."))
    return gid["type"] == "RoCE v2" and not is_link_local


def fitting_gids(port: Port) -> set[int]:
    """Return the indexes of a port that fit: IPv4's, or IPv6's if there is no IPv4."""
    fitting = [gid for gid in port["gids"] if gid_fits(gid)]
    ipv4 = {gid["index"] for gid in fitting if ":" not in gid["address"]}
    return ipv4 or {gid["index"] for gid in fitting}


def best_gid(indexes: set[int], rule: NicRule | None) -> int | None:
    """Return the index to use among those that fit everywhere, or None if there is none."""
    if rule and rule.usual_gid_index in indexes:
        return rule.usual_gid_index
    return min(indexes, default=None)


class Selection(t.NamedTuple):
    """The RDMA devices that a list of names selects, and the names that match no device."""

    devices: list[RdmaDevice]
    unknown: list[str]


def selected_devices(devices: list[RdmaDevice], names: str | None) -> Selection:
    """Return the devices that ``NCCL_IB_HCA`` selects; without names, all devices."""
    wanted = device_names(names)
    selected = [device for device in devices if wanted.select(device["name"])]
    if wanted.left_out:
        return Selection(selected, [])
    unknown = [name for name in wanted.named if not any(wanted.match(device["name"], name) for device in devices)]
    return Selection(selected, unknown)


AUTO = "auto"
_ENGINES = ("docker", "podman")


@dataclass(frozen=True)
class Look:
    """``facts`` come from the module ``node_inspect``, ``node`` is the node's part of the plan.

    ``probe`` is a file that rank 0 has just left in the data cache, under a name that nobody else has, if it could.
    """

    plan: Plan
    node: NodePlan
    facts: Facts
    probe: str | None = None

    @property
    def name(self) -> str:
        """Return the node's name."""
        return str(self.node["node"])

    @property
    def has_config(self) -> bool:
        """Return whether the plan is for a training config; without one only the machine itself is judged."""
        return self.plan["mode"] != MACHINE

    @property
    def multi_node(self) -> bool:
        """Return whether the node has to work together with others."""
        return bool(self.plan["mode"] == "multi_node" and len(self.plan["nodes"]) > 1)

    @property
    def is_first(self) -> bool:
        """Return whether the node is rank 0 of its job."""
        return bool(self.node["node_rank"] == 0)

    def variable(self, name: str) -> str | None:
        """Return a variable of the training's environment; None if it is unset or left to be found."""
        value = self.node["env"].get(name)
        return None if value in (None, "", AUTO) else str(value)

    @property
    def uses_nccl(self) -> bool:
        """Return whether training configs of the framework have keys for NCCL and Gloo."""
        return OF_FRAMEWORK[self.plan["framework"]].uses_nccl

    @property
    def in_job(self) -> bool:
        """Return whether the job of Slurm itself makes the container."""
        return self.plan["container_engine"] in (PYXIS, APPTAINER)

    @property
    def engine(self) -> str | None:
        """Return the container engine that will be used: with ``auto`` the first that is installed. None for none."""
        engine = self.plan["container_engine"]
        if engine != AUTO:
            return None if engine == "none" or self.in_job else str(engine)
        return next((name for name in _ENGINES if self.facts["engines"].get(name)), _ENGINES[0])

    @property
    def uses_rdma(self) -> bool:
        """Return whether the plan means the nodes to talk over RDMA; without a config, whether they can."""
        if not self.has_config:
            return bool(self.facts["rdma"]["devices"])
        named = self.variable("NCCL_IB_HCA") or self.nic_type not in (None, "none")
        return bool(self.multi_node and named and not number_of_nccl(self.variable("NCCL_IB_DISABLE")))

    @property
    def gid_index(self) -> int | None:
        """Return the GID index that NCCL reads; None if it is missing or negative, so that NCCL chooses."""
        text = self.node["env"].get("NCCL_IB_GID_INDEX")
        index = -1 if text in (None, "") else number_of_nccl(text)
        return index if index >= 0 else None

    @property
    def nic_type(self) -> str | None:
        """Return the training config's settings for its adapters."""
        value = self.plan["parameters"].get("nic_type")
        return str(value).casefold() if value else None

    @property
    def nic_rule(self) -> NicRule | None:
        """Return the rule of the node's adapters."""
        return rule_of(None if self.nic_type == "none" else self.nic_type, self.facts["rdma"]["devices"])

    @property
    def rdma_selection(self) -> Selection:
        """Return the RDMA devices that the plan selects on this node."""
        devices, names = self.facts["rdma"]["devices"], self.variable("NCCL_IB_HCA")
        rule = self.nic_rule
        if not names and rule:
            devices = [device for device in devices if device["provider"] == rule.provider]
        return selected_devices(devices, names)

    def path(self, path: str) -> Path | None:
        """Return the node's facts about a path, or None if it reported none."""
        return self.facts["paths"].get(path)
