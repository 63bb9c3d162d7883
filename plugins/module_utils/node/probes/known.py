# SPDX-License-Identifier: GPL-3.0-or-later
"""The probes that there are."""

from __future__ import annotations

import typing as t

Of = t.Literal["nodes", "pairs", "groups"]


class Probe(t.NamedTuple):
    """A probe by its name, with its module in this folder, and its subject: the part of the nodes that is tested.

    ``reading`` and ``part`` are what has failed if the whole probe has; if they contain the unit, they apply per unit.
    ``seconds`` is the most that it takes, and ``more`` is added for each unit, such as an adapter. It is done wherever
    all nodes have its needs, unless ``only_if_named`` gives a reason against that; one with ``needs`` needs more than
    Python's standard library. One that is ``instead_of`` another is done by default only if the other cannot be done.
    It may have ``more_readings``. Readings ``one_way`` are of one direction between two nodes: each node measures its
    own sending. Readings ``of_any_size`` take as long in groups of any size. A probe ``of_gpus`` tests GPUs. The
    work of readings ``of_training`` depends on the training's config, and they are missing without one.
    """

    name: str
    module: str
    of: Of
    reading: str
    part: str
    seconds: float
    more: float = 0.0
    only_if_named: str = ""
    needs: bool = True
    instead_of: str = ""
    more_readings: t.Tuple[str, ...] = ()
    of_any_size: t.Tuple[str, ...] = ()
    of_gpus: bool = False
    of_training: t.Tuple[str, ...] = ()
    one_way: t.Tuple[str, ...] = ()

    @property
    def by_default(self) -> bool:
        """Return whether it is done without being named."""
        return not self.only_if_named

    def readings(self, units: t.Sequence[str]) -> list[tuple[str, str]]:
        """Return the readings, with their parts, that have failed if the whole probe has."""
        if self.reading.format(unit="") == self.reading:
            return [(self.reading, self.part)]
        return [(self.reading.format(unit=unit), self.part.format(unit=unit)) for unit in units]


_USES_DISK = "others may use the disk"
_TAKES_LONG = "a test takes minutes"

PROBES = {
    probe.name: probe
    for probe in (
        Probe("cpu", "cpu.probe", "nodes", "cpu", "cpu", 5, needs=False),
        Probe("memory", "memory.probe", "nodes", "memory", "memory", 10, needs=False),
        Probe(
            *("disk", "disk.probe", "nodes", "disk_write", "disk", 30),
            only_if_named=_USES_DISK,
            needs=False,
            more_readings=("disk_read",),
        ),
        Probe(
            *("fio", "fio.probe", "nodes", "fio_write", "disk", 60),
            only_if_named=_USES_DISK,
            more_readings=("fio_read", "fio_write_cached", "fio_read_cached"),
        ),
        Probe(
            *("tcp", "tcp.probe", "pairs", "tcp_throughput", "link", 10),
            needs=False,
            more_readings=("tcp_latency",),
            one_way=("tcp_throughput",),
        ),
        Probe(
            *("torch", "torch.probe", "nodes", "torch_gemm", "GPUs", 50),
            more_readings=(
                "torch_memory",
                "torch_to_gpu",
                "torch_from_gpu",
                "torch_gemm_of_training",
                "torch_gemm_under_load",
            ),
            of_training=("torch_gemm_of_training",),
            of_gpus=True,
        ),
        Probe("nccl_tests", "nccl_tests.probe", "nodes", "nccl_all_reduce", "GPUs", 30, of_gpus=True),
        Probe(
            *("torch_node", "torch.node", "nodes", "torch_node_all_reduce", "GPUs", 30),
            instead_of="nccl_tests",
            more_readings=("torch_node_reduce_scatter",),
            of_gpus=True,
        ),
        Probe(
            *("dcgm", "dcgm.probe", "nodes", "dcgm", "GPUs", 60),
            only_if_named="it fails for settings, too",
            of_gpus=True,
        ),
        Probe("rvs", "rvs.probe", "nodes", "rvs", "GPUs", 90, only_if_named=_TAKES_LONG, of_gpus=True),
        Probe("agfhc", "agfhc.probe", "nodes", "agfhc", "GPUs", 420, only_if_named=_TAKES_LONG, of_gpus=True),
        Probe(
            *("ib_write_bw", "ib_write_bw.probe", "pairs", "ib_write_bw {unit}", "HCA {unit}", 2),
            more=4,
            one_way=("ib_write_bw {unit}",),
        ),
        Probe(
            *("ib_loopback", "ib_write_bw.loopback", "nodes", "ib_loopback {unit}", "HCA {unit}", 2),
            more=6,
            only_if_named="ib_write_bw tests the same adapters",
        ),
        Probe(
            *("torch_pairs", "torch.pairs", "pairs", "torch_all_reduce", "link", 35),
            more_readings=("torch_send_recv",),
            one_way=("torch_send_recv",),
            of_gpus=True,
        ),
        Probe(
            *("nccl_tests_pairs", "nccl_tests.pairs", "pairs", "nccl_all_reduce_pairs", "link", 30),
            only_if_named="it needs SSH between the nodes",
            of_gpus=True,
        ),
        # With little data, latency grows with every node.
        Probe(
            *("torch_groups", "torch.groups", "groups", "torch_groups_all_reduce", "groups", 90),
            more_readings=(
                "torch_groups_all_reduce_small",
                "torch_groups_all_to_all",
                "torch_groups_all_to_all_small",
            ),
            of_any_size=("torch_groups_all_reduce", "torch_groups_all_to_all"),
            of_gpus=True,
        ),
        Probe(
            *("tcp_groups", "tcp.groups", "groups", "tcp_groups", "groups", 15),
            needs=False,
            instead_of="torch_groups",
            of_any_size=("tcp_groups",),
        ),
    )
}
