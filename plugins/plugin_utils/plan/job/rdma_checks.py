# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the RDMA devices that a plan names fit each other, the type of the network cards, and other variables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...text.words import counted, listed, misspelled
from ..config.findings import Findings
from .job import Job
from .nic_types import NIC_TYPES, nic_type_of
from .rdma import DEVICES, SWITCHED_OFF, device_names, number_of_nccl

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
            f"It switches RDMA off, but {DEVICES} names {counted(len(wanted.named), 'RDMA device')}: the nodes would "
            "exchange gradients over TCP.",
            f"Leave {SWITCHED_OFF} out, or the devices.",
        )
    _warn_of_odd_one(wanted.named, findings)
    _warn_of_other_cards(wanted.named, job.parameters.get("nic_type"), findings)


def _warn_of_odd_one(names: Sequence[str], findings: Findings) -> None:
    """Warn of one device whose name looks like a typo in that of its siblings."""
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
            f"Devices of {known} are called {own}0, but {DEVICES} names {listed(foreign)}, which are of {of}.",
            f"Set nic_type to {of}, or fix the devices.",
        )
