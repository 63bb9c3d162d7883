# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of ``fio --output-format=json``: a list of jobs, each with its reads and writes.

Source: axboe/fio, HOWTO ("JSON output") and stat.c; ``runtime`` is in milliseconds and includes the sync at the end.
"""

from __future__ import annotations

import json
import os
import typing as t


def seconds_in(output: str, size: int) -> dict[str, list[float]]:
    """Return the seconds that the jobs of each name take for ``size`` bytes, in order; ValueError without results."""
    # Lines about errors may precede it.
    jobs = json.loads(output[output.find("{") :])["jobs"]
    found: dict[str, list[float]] = {}
    for job in jobs:
        done: t.Mapping[str, t.Any] = job[job["jobname"]]
        if job["error"] or not done["io_bytes"]:
            raise ValueError(f"fio could not {job['jobname']}: {os.strerror(job['error'])}")
        found.setdefault(job["jobname"], []).append(done["runtime"] / 1000 * (size / done["io_bytes"]))
    return found
