# SPDX-License-Identifier: GPL-3.0-or-later
"""The severity of a line comes from the program that printed it, whatever words follow."""

from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.severity import (
    ERROR,
    INFO,
    MARKS,
    UNMARKED,
    WARNING,
    severity_of,
)

SAMPLES = [(severity, sample) for mark in MARKS for severity, sample in mark.samples.items()]


@pytest.mark.parametrize(("severity", "sample"), SAMPLES)
@pytest.mark.parametrize("prefix", ["", "[rank3]: ", "[default0]:", "0: "])
def test_a_sample_has_its_severity_behind_any_prefix(severity: str, sample: str, prefix: str) -> None:
    assert severity_of((prefix + sample).encode()) == severity


@pytest.mark.parametrize(
    ("severity", "line"),
    [
        (UNMARKED, "Killed"),
        (UNMARKED, "[ 8123.1] NVRM: Xid (PCI:0000:4e:00): 79, pid=4100, GPU has fallen off the bus."),
        (UNMARKED, "HW Exception by GPU node-9 (Agent handle: 0x55d1c0) reason :GPU Hang"),
        (UNMARKED, "[rank5]: torch.OutOfMemoryError: HIP out of memory."),
        (UNMARKED, "ValueError: the info that was given is wrong"),
        (UNMARKED, "RuntimeError: error: info"),
        (WARNING, "WARNING:2026-01-02 03:04:05,678:jax._src.xla_bridge:794: An NVIDIA GPU may be present"),
        (INFO, "INFO:torch.distributed.elastic.agent.server.api:[default] worker group failed"),
        (INFO, "[2026-01-02 03:04:05] [INFO] could not find the tuned configuration: using the default"),
        (ERROR, "[rank1]:[F1126 20:08:32.1 ProcessGroupNCCL.cpp:99] [Rank 1] terminating the process"),
        (ERROR, "CRITICAL: the loss is not finite"),
    ],
)
def test_what_other_lines_are(severity: str, line: str) -> None:
    assert severity_of(line.encode()) == severity
