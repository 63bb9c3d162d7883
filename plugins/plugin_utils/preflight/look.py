# SPDX-License-Identifier: GPL-3.0-or-later
"""One node of a run as a check sees it: the plan, the node's part of it, and what the node said."""

from __future__ import annotations

from dataclasses import dataclass

from ..contracts import NodePlan, Plan
from ..plan.job.rdma import NicRule, number_of_nccl
from ..plan.slurm.around import APPTAINER, PYXIS
from ..plan.trainers.known import OF_FRAMEWORK
from .facts import Facts, Path
from .needs import MACHINE
from .nics import Selection, rule_of, selected_devices

AUTO = "auto"
_ENGINES = ("docker", "podman")


@dataclass(frozen=True)
class Look:
    """``facts`` are those of the module ``node_inspect``, ``node`` is the node's part of the plan.

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
        """Return whether the plan is that of a training config; without one only the machine itself is judged."""
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
        """Return a variable of the training's environment; None where it is left to be found, too."""
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
        """Return the GID index that NCCL reads; None where there is none, or a negative one, and NCCL chooses."""
        text = self.node["env"].get("NCCL_IB_GID_INDEX")
        index = -1 if text in (None, "") else number_of_nccl(text)
        return index if index >= 0 else None

    @property
    def nic_type(self) -> str | None:
        """Return what the training config says of its adapters."""
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
        """Return what the node said of a path, or None where it said nothing."""
        return self.facts["paths"].get(path)
