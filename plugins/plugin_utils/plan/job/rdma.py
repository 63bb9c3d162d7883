# SPDX-License-Identifier: GPL-3.0-or-later
"""RDMA devices and network cards of a job: their variables, and checks of them."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ....module_utils.node.accelerators import trains_on_cpus
from ...contracts import NodePlan, Plan
from ...text.words import counted, listed, misspelled
from ..config.findings import Findings
from .job import Job

if t.TYPE_CHECKING:
    from ....module_utils.node.contracts import Traffic


@dataclass(frozen=True)
class NicRule:
    """The rule of one kind of adapter.

    ``device_prefix`` begins the names of its RDMA devices unless udev renames them, ``provider`` the rdma-core provider
    that drives them, ``kernel_module`` the driver to load. ``image_kernel_abi`` is the kernel ABI that the provider of
    an ordinary image knows; None if images differ. ``usual_gid_index`` is preferred among several that fit.
    """

    device_prefix: str
    provider: str
    kernel_module: str
    image_kernel_abi: int | None
    usual_gid_index: int


# ABI: rdma-core, providers/*: match_min_abi_version to match_max_abi_version. Broadcom's own driver packages have
# raised bnxt_re's to 6 and more. ionic's is 1 upstream and 4 in older packages, and images know the one or the other.
# GID index: RoCE v1 and v2 of the link-local address come first, then of IPv4; ionic has no RoCE v1.
NIC_TYPES = {
    "thor2": NicRule("bnxt_re", "bnxt_re", "bnxt_re", image_kernel_abi=1, usual_gid_index=3),
    "ainic": NicRule("ionic_", "ionic", "ionic_rdma", image_kernel_abi=None, usual_gid_index=1),
    "cx7": NicRule("mlx5_", "mlx5", "mlx5_ib", image_kernel_abi=1, usual_gid_index=3),
}
ALIASES = {"thor": "thor2", "broadcom": "thor2", "pollara": "ainic", "connectx7": "cx7"}


def nic_type_of(given: str) -> str | None:
    """Return the kind of adapter that a ``nic_type`` names, or None."""
    name = given.casefold().replace("-", "").replace(" ", "")
    name = ALIASES.get(name, name)
    return name if name in NIC_TYPES else None


# A plan that sets one of these uses RDMA, unless it turns RDMA off.
DEVICES = "NCCL_IB_HCA"
_RDMA_VARIABLES = (DEVICES, "NCCL_IB_GID_INDEX")
_RDMA_NETWORKS = {"ib", "ibext", "ofi", "aws libfabric"}
SWITCHED_OFF = "NCCL_IB_DISABLE"
_LEVEL = "NCCL_DEBUG"
# NCCL reports its network only at these levels.
_TELLING_LEVELS = ("INFO", "TRACE")
# As C's strtoll: with base 0, no further than the digits go.
_NUMBER = re.compile(r"\s*([+-]?)(?:0[xX]([\da-fA-F]+)|(0[0-7]*)|([1-9]\d*))")


def number_of_nccl(value: t.Any) -> int:
    """Return the number that NCCL reads in the value of a variable: 0 where it begins with none."""
    found = _NUMBER.match(str(value))
    if not found:
        return 0
    sign, *digits = found.groups()
    number = next(int(text, base) for text, base in zip(digits, (16, 8, 10), strict=True) if text)
    return -number if sign == "-" else number


# NCCL's name of plain TCP.
TCP: t.Final = "NET/Socket"


def asks_for_rdma(mode: str, nodes: Sequence[NodePlan]) -> bool:
    """Return whether a plan in this mode, with these nodes, should use RDMA."""
    if mode != "multi_node" or len(nodes) < 2:
        return False
    environment = nodes[0].get("env", {})
    if number_of_nccl(environment.get(SWITCHED_OFF)):
        return False
    named = str(environment.get("NCCL_NET", "")).casefold() in _RDMA_NETWORKS
    return named or any(environment.get(name) for name in _RDMA_VARIABLES)


def requires_rdma(plan: Plan) -> bool:
    """Return whether a run has to use RDMA. A training that was planned for CPUs need not."""
    return asks_for_rdma(plan["mode"], plan["nodes"]) and not trains_on_cpus(plan)


def level_that_hides_the_network(nodes: Sequence[NodePlan]) -> str | None:
    """Return NCCL's log level (empty if not set) if it does not report the network at that level, else None."""
    level = str(nodes[0].get("env", {}).get(_LEVEL, ""))
    return None if level.upper() in _TELLING_LEVELS else level


class DeviceNames(t.NamedTuple):
    """What a value of ``NCCL_IB_HCA`` names.

    Names are beginnings of names, after ``=`` whole names, and after ``^`` those that are left out; ``:port`` may
    follow each (NCCL, environment variables). None named means all.
    """

    named: list[str]
    exact: bool
    left_out: bool

    def match(self, device: str, name: str) -> bool:
        """Return whether one of the names is a device's."""
        return device == name if self.exact else device.startswith(name)

    def select(self, device: str) -> bool:
        """Return whether NCCL uses a device."""
        return not self.named or any(self.match(device, name) for name in self.named) is not self.left_out


def device_names(value: str | None) -> DeviceNames:
    """Return the devices that a value of ``NCCL_IB_HCA`` selects."""
    text = value or ""
    named = [name.partition(":")[0] for name in text.lstrip("^=").split(",") if name]
    return DeviceNames(named, "=" in text[:2], "^" in text[:2])


def devices_of(node: NodePlan) -> DeviceNames:
    """Return the RDMA devices that the plan of a node names."""
    return device_names(node.get("env", {}).get(DEVICES))


def sent_by_device(node: NodePlan, traffic: Mapping[str, Traffic]) -> dict[str, int]:
    """Return the bytes that each RDMA device sent that the plan of a node names; ``traffic`` is by port."""
    wanted, sent = devices_of(node), dict[str, int]()
    for port, moved in traffic.items():
        device = port.partition("/")[0]
        if wanted.select(device):
            sent[device] = sent.get(device, 0) + moved["sent"]
    return sent


_NUMBER_AT_END = re.compile(r"[0-9]+$")
# With fewer siblings it is not clear which of the names is wrong.
_FEWEST_SIBLINGS = 3


def warn_of_rdma(job: Job, findings: Findings) -> None:
    """Warn of a type of network cards, and of devices of a job over several nodes, that cannot be meant so."""
    _warn_of_unknown_card(job.parameters.get("nic_type"), findings)
    if job.nnodes < 2:
        return
    value = job.environment.get(DEVICES)
    wanted = device_names(value)
    if wanted.left_out or not wanted.named:
        return
    off = job.environment.get(SWITCHED_OFF, "")
    if number_of_nccl(off):
        findings.warn(
            SWITCHED_OFF,
            off,
            f"It switches RDMA off, but {DEVICES} lists {counted(len(wanted.named), 'RDMA device')}: the nodes would "
            "exchange gradients over TCP.",
            f"Leave {SWITCHED_OFF} out, or the devices.",
        )
    _warn_of_odd_one(wanted.named, findings)
    _warn_of_other_cards(wanted.named, job.parameters.get("nic_type"), findings)


def _warn_of_odd_one(names: Sequence[str], findings: Findings) -> None:
    """Warn of one device whose name looks like a typo of its siblings' names."""
    families = [_NUMBER_AT_END.sub("", name) for name in names]
    usual = max(families, key=families.count)
    odd = [name for name, family in zip(names, families, strict=True) if family != usual]
    if len(odd) != 1 or families.count(usual) < _FEWEST_SIBLINGS:
        return
    meant = _NUMBER_AT_END.search(odd[0])
    if misspelled(_NUMBER_AT_END.sub("", odd[0]), [usual]):
        findings.warn(
            DEVICES,
            odd[0],
            f"The other {families.count(usual)} RDMA devices are called {usual}…, this one {odd[0]}.",
            f"Did you mean {usual}{meant[0] if meant else ''}?",
        )


def _warn_of_unknown_card(given: str | None, findings: Findings) -> None:
    if given and nic_type_of(given) is None:
        near = f"Give one of {listed(NIC_TYPES)}, or leave it out."
        findings.warn("nic_type", given, f"{given} is not a known type of network card, so it has no effect.", near)


def _warn_of_other_cards(names: Sequence[str], given: str | None, findings: Findings) -> None:
    """Warn of a nic_type whose driver gives the devices other names."""
    known = nic_type_of(given) if given else None
    if known is None:
        return
    own = NIC_TYPES[known].device_prefix
    others = {name: kind.device_prefix for name, kind in NIC_TYPES.items() if kind.device_prefix != own}
    foreign = [name for name in names if name.startswith(tuple(others.values()))]
    if foreign:
        of = next(kind for kind, prefix in others.items() if foreign[0].startswith(prefix))
        findings.warn(
            "nic_type",
            given,
            f"Devices of {known} are called {own}0, but {DEVICES} lists {listed(foreign)}, which are of {of}.",
            f"Set nic_type to {of}, or fix the devices.",
        )
