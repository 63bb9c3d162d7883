# SPDX-License-Identifier: GPL-3.0-or-later
"""The probes that there are."""

from __future__ import annotations

import typing as t

Of = t.Literal["nodes", "pairs", "groups"]


class Probe(t.NamedTuple):
    """A probe by its name, with the module of this folder that does it, and what it is of: what takes part in a test.

    ``reading`` and ``part`` are what has failed where the whole probe has; those of each unit where they name it.
    ``seconds`` are those that it takes at most, and ``more`` for each unit, such as an adapter. ``by_default`` says
    whether it is done wherever all nodes have what it needs, or only if it is named; one with ``needs`` needs more than
    Python's standard library. One that is ``instead_of`` another is done by default only where that one cannot be.
    """

    name: str
    module: str
    of: Of
    reading: str
    part: str
    seconds: float
    more: float = 0.0
    by_default: bool = True
    needs: bool = True
    instead_of: str = ""

    def readings(self, units: t.Sequence[str]) -> list[tuple[str, str]]:
        """Return what has failed where the whole probe has: readings with their parts."""
        if self.reading.format(unit="") == self.reading:
            return [(self.reading, self.part)]
        return [(self.reading.format(unit=unit), self.part.format(unit=unit)) for unit in units]


PROBES = {
    probe.name: probe
    for probe in (
        Probe("cpu", "cpu.probe", "nodes", "cpu", "cpu", 5, needs=False),
        Probe("memory", "memory.probe", "nodes", "memory", "memory", 10, needs=False),
        Probe("disk", "disk.probe", "nodes", "disk_write", "disk", 30, by_default=False, needs=False),
        Probe("fio", "fio.probe", "nodes", "fio_write", "disk", 60, by_default=False),
        Probe("tcp", "tcp.probe", "pairs", "tcp_throughput", "link", 10, needs=False),
        Probe("torch", "torch.probe", "nodes", "torch_gemm", "GPUs", 40),
        Probe("nccl_tests", "nccl_tests.probe", "nodes", "nccl_all_reduce", "GPUs", 30),
        Probe("dcgm", "dcgm.probe", "nodes", "dcgm", "GPUs", 60, by_default=False),
        Probe("rvs", "rvs.probe", "nodes", "rvs", "GPUs", 90, by_default=False),
        Probe("agfhc", "agfhc.probe", "nodes", "agfhc", "GPUs", 420, by_default=False),
        Probe("ib_write_bw", "ib_write_bw.probe", "pairs", "ib_write_bw {unit}", "HCA {unit}", 2, more=4),
        Probe(
            "ib_loopback",
            "ib_write_bw.loopback",
            "nodes",
            "ib_loopback {unit}",
            "HCA {unit}",
            2,
            more=6,
            by_default=False,
        ),
        Probe("torch_pairs", "torch.pairs", "pairs", "torch_all_reduce", "link", 35),
        Probe("nccl_tests_pairs", "nccl_tests.pairs", "pairs", "nccl_all_reduce_pairs", "link", 30, by_default=False),
        Probe("torch_groups", "torch.groups", "groups", "torch_groups_all_reduce", "groups", 90),
        Probe("tcp_groups", "tcp.groups", "groups", "tcp_groups", "groups", 15, needs=False, instead_of="torch_groups"),
    )
}
