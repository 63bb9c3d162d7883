# SPDX-License-Identifier: GPL-3.0-or-later
"""AWS instances with Trainium: how many devices a node offers, and how logical NeuronCores map to physical ones.

Sources: the architecture pages of Trn1 and Trn2 and the page on the Logical NeuronCore configuration in the Neuron
documentation; ``get_lnc_size`` in neuronx_distributed_training/utils/utils.py for NxDT's reading of ``trainer.lnc``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Instance:
    """An instance type: its Trainium ``chips``, physical NeuronCores of each, and logical-core sizes, usual one first.

    ``efa`` tells whether it has EFA for communication between nodes.
    """

    chips: int
    cores_per_chip: int
    lnc_sizes: tuple[int, ...]
    efa: bool

    def logical_devices(self, lnc: int) -> int:
        """Return how many logical NeuronCores a node offers if each consists of ``lnc`` physical ones."""
        return self.chips * self.cores_per_chip // lnc

    @property
    def device_files(self) -> list[str]:
        """Return the paths of the devices that a container needs."""
        return [f"/dev/neuron{number}" for number in range(self.chips)]


INSTANCES = {
    "trn1.2xlarge": Instance(1, 2, (1,), efa=False),
    "trn1.32xlarge": Instance(16, 2, (1,), efa=True),
    "trn1n.32xlarge": Instance(16, 2, (1,), efa=True),
    "trn2.3xlarge": Instance(1, 8, (2, 1), efa=False),
    "trn2.48xlarge": Instance(16, 8, (2, 1), efa=True),
    "trn2u.48xlarge": Instance(16, 8, (2, 1), efa=True),
}


def lnc_of(instance: Instance, asked: int | None) -> int:
    """Return how many physical NeuronCores form a logical one in NxDT; always 1 except on Trn2."""
    return asked if asked in instance.lnc_sizes else instance.lnc_sizes[0]
