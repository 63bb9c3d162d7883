# SPDX-License-Identifier: GPL-3.0-or-later
"""What ib_write_bw of perftest prints: a table, or in the file of --out_json JSON.

Source: linux-rdma/perftest, src/perftest_parameters.h (``RESULT_FMT_G`` and ``REPORT_FMT``, ``REPORT_FMT_JSON``) and
``write_bw_report_to_file`` of src/perftest_parameters.c.
"""

from __future__ import annotations

import json
import re
import typing as t

# The header names the unit; the message rate at the end is not there in all releases.
_HEADER = re.compile(r"^ ?#bytes +#iterations +BW peak\[(\S+)\] +BW average\[(\S+)\]")
_ROW = re.compile(r"^ *(\d+) +(\d+) +([\d.]+) +([\d.]+)")
_BITS_PER_SECOND = {"Gb/sec": 1e9, "MiB/sec": 8 * (1 << 20), "MB/sec": 8 * (1 << 20)}


def bits_per_second(output: str) -> float:
    """Return the average bandwidth of an output; ValueError where it has none."""
    found = _of_json(output) if output.lstrip().startswith("{") else _of_table(output)
    if not found:
        raise ValueError("there is no bandwidth in the output")
    return found


def _of_table(output: str) -> float | None:
    unit = None
    for line in output.splitlines():
        header, row = _HEADER.match(line), _ROW.match(line)
        if header:
            unit = header.group(2)
        elif row and unit in _BITS_PER_SECOND:
            return float(row.group(4)) * _BITS_PER_SECOND[unit]
    return None


def _of_json(output: str) -> float | None:
    """Return what JSON says, in Gb/s as ``--report_gbits`` asks for."""
    results: t.Any = json.loads(output).get("results", {})
    average = results.get("BW_average", results.get("bw_avg"))
    return float(average) * 1e9 if average else None
