# SPDX-License-Identifier: GPL-3.0-or-later
"""What a signature of a failure is, and the classes of failures that there are."""

from __future__ import annotations

import re
import typing as t
from functools import lru_cache

from .severity import INFO, WARNING, Severity, severity_of

_FIRST_ECHO = 60
LINE_CHARACTERS = 400

# The smaller, the nearer a class is to the cause, whatever is printed first: fault of the GPU or the host 1x, out of
# memory 2x, NaN and what Neuron says in general 3x, the program and its settings 4x, the network and the scheduler 5x.
# From 60 on a class is an echo, which follows from a failure elsewhere: it stands in the logs of healthy nodes as well.
_CLASSES = {
    10: "gpu_hang gpu_memory_fault gpu_ecc",
    11: "node_failure",
    12: "no_gpu driver_mismatch wrong_gpu_build",
    13: "gpu_error",
    14: "host_memory killed",
    18: "disk_full io_error",
    20: "out_of_memory",
    30: "nan",
    31: "neuron",
    40: (
        "access_denied checkpoint collective_mismatch compile container data data_cache data_corrupt duplicate_gpu "
        "hub_rate_limit hub_unreachable image_pull import_error jax_start not_found open_files permission_denied "
        "process_limit settings_refused sizes slurm_start tokenizer wrong_rank xla_flags"
    ),
    41: "address_in_use",
    42: "bus_error illegal_instruction segmentation_fault",
    43: "name_resolution network_interface",
    44: "python_error",
    48: "memlock rdma_abi_mismatch rdma_devices",
    50: "gloo",
    54: "rendezvous_timeout stale_process",
    56: "nccl",
    58: "preempted time_limit",
    59: "scheduler",
    60: "watchdog",
    62: "elastic",
    64: "child_failed",
    66: "training_script",
    70: "coordinator_died peer_died",
    80: "sigterm",
    98: "unnamed",
}
BLAME = {name: nearness for nearness, names in _CLASSES.items() for name in names.split()}

# "class" is a keyword of Python.
Failure = t.TypedDict(
    "Failure",
    {
        "class": str,
        "blame": int,
        "echo": bool,
        "remedy": str,
        "line": str,
        "rank": "int | None",
        "exit_code": "int | None",
        "severity": Severity,
        "step": "int | None",
    },
)
Failure.__doc__ = "A failure in a log; see `failures.find_failures`."


class Signature(t.NamedTuple):
    """How a failure of one class shows in what one source prints, and what helps.

    ``pattern`` is a regular expression. One of the ``NEEDLES`` is part of every line in which a match begins. It is
    compiled only where one of its literals stands, as few ever are. All of its repeats are bounded, so that what it
    costs grows with the length of a line and no faster. Its groups ``rank`` (the rank or JAX task that the text blames)
    and ``exit_code`` are kept. ``nearness`` is the place in `BLAME` of a text that often follows from a failure of
    another class. ``sample`` is a line that it matches, which is its test; who prints it, its module says.
    """

    failure: str
    remedy: str
    pattern: bytes = b""
    nearness: t.Optional[int] = None
    sample: str = ""

    @property
    def blame(self) -> int:
        """Return how near the text is to the cause; see `BLAME`."""
        return BLAME[self.failure] if self.nearness is None else self.nearness

    @property
    def echo(self) -> bool:
        """Return whether the class follows from a failure elsewhere."""
        return self.blame >= _FIRST_ECHO

    def failure_in(self, line: bytes, rank: int | None = None, exit_code: int | None = None) -> Failure:
        """Return the failure that a line shows, see ``find_failures``."""
        return {
            "class": self.failure,
            "blame": self.blame,
            "echo": self.echo,
            "remedy": self.remedy,
            "line": " ".join(line[: 4 * LINE_CHARACTERS].decode("utf-8", "replace").split())[:LINE_CHARACTERS],
            "rank": rank,
            "exit_code": exit_code,
            "severity": severity_of(line),
            "step": None,
        }


def is_warning(failure: Failure) -> bool:
    """Return whether the program itself calls the line a warning or information: then it reports no failure."""
    return failure["severity"] in (WARNING, INFO)


# Few logs hold any failure.
compiled = lru_cache(maxsize=None)(re.compile)
