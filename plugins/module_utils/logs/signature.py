# SPDX-License-Identifier: GPL-3.0-or-later
"""What a signature of a failure is, and the classes of failures that there are."""

from __future__ import annotations

import re
import typing as t
from functools import lru_cache

_FIRST_ECHO = 60
LINE_CHARACTERS = 400

# The smaller, the nearer a class is to the cause, whatever is printed first: fault of the GPU or the host 1x, out of
# memory 2x, NaN and what Neuron says in general 3x, the program and its settings 4x, the network and the scheduler 5x.
# From 60 on a class is an echo, which follows from a failure elsewhere: it stands in the logs of healthy nodes as well.
BLAME = {
    "gpu_hang": 10,
    "gpu_memory_fault": 10,
    "gpu_ecc": 10,
    "node_failure": 11,
    "no_gpu": 12,
    "driver_mismatch": 12,
    "wrong_gpu_build": 12,
    "gpu_error": 13,
    "killed": 14,
    "disk_full": 18,
    "io_error": 18,
    "out_of_memory": 20,
    "nan": 30,
    "neuron": 31,
    "access_denied": 40,
    "checkpoint": 40,
    "compile": 40,
    "container": 40,
    "data_cache": 40,
    "data": 40,
    "data_corrupt": 40,
    "duplicate_gpu": 40,
    "hub_rate_limit": 40,
    "hub_unreachable": 40,
    "image_pull": 40,
    "import_error": 40,
    "jax_start": 40,
    "not_found": 40,
    "open_files": 40,
    "permission_denied": 40,
    "process_limit": 40,
    "settings_refused": 40,
    "sizes": 40,
    "slurm_start": 40,
    "collective_mismatch": 40,
    "tokenizer": 40,
    "wrong_rank": 40,
    "xla_flags": 40,
    "address_in_use": 41,
    "bus_error": 42,
    "illegal_instruction": 42,
    "segmentation_fault": 42,
    "name_resolution": 43,
    "network_interface": 43,
    "python_error": 44,
    "memlock": 48,
    "rdma_abi_mismatch": 48,
    "rdma_devices": 48,
    "gloo": 50,
    "rendezvous_timeout": 54,
    "stale_process": 54,
    "nccl": 56,
    "preempted": 58,
    "scheduler": 59,
    "time_limit": 58,
    "watchdog": 60,
    "elastic": 62,
    "child_failed": 64,
    "training_script": 66,
    "coordinator_died": 70,
    "peer_died": 70,
    "sigterm": 80,
    "unnamed": 98,
}


class Signature(t.NamedTuple):
    """How a failure of one class shows in what one source prints, and what helps.

    ``pattern`` is a regular expression. One of the ``NEEDLES`` is part of every line in which a match begins. It is
    compiled only where one of its literals stands, as few ever are. All of its repeats are bounded, so that what it
    costs grows with the length of a line and no faster. Its groups ``rank`` (the rank or JAX task that the text blames)
    and ``exit_code`` are kept. ``nearness`` is the place in `BLAME` of a text that often follows from a failure of
    another class.
    """

    failure: str
    remedy: str
    pattern: bytes = b""
    nearness: t.Optional[int] = None

    @property
    def blame(self) -> int:
        """Return how near the text is to the cause; see `BLAME`."""
        return BLAME[self.failure] if self.nearness is None else self.nearness

    @property
    def echo(self) -> bool:
        """Return whether the class follows from a failure elsewhere."""
        return self.blame >= _FIRST_ECHO

    def failure_in(self, line: bytes, rank: int | None = None, exit_code: int | None = None) -> dict[str, t.Any]:
        """Return the failure that a line shows, see ``find_failures``."""
        return {
            "class": self.failure,
            "blame": self.blame,
            "echo": self.echo,
            "remedy": self.remedy,
            "line": " ".join(line[: 4 * LINE_CHARACTERS].decode("utf-8", "replace").split())[:LINE_CHARACTERS],
            "rank": rank,
            "exit_code": exit_code,
        }


# Few logs hold any failure.
compiled = lru_cache(maxsize=None)(re.compile)
