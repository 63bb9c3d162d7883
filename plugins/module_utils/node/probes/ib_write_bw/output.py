# SPDX-License-Identifier: GPL-3.0-or-later
"""The table that ib_write_bw of perftest prints.

Source: linux-rdma/perftest, src/perftest_parameters.h (``RESULT_FMT_G`` and ``REPORT_FMT``).
"""

from __future__ import annotations

import re

# The header shows the unit; not all releases print the message rate at the end.
_HEADER = re.compile(r"^ ?#bytes +#iterations +BW peak\[(\S+)\] +BW average\[(\S+)\]")
_ROW = re.compile(r"^ *(\d+) +(\d+) +([\d.]+) +([\d.]+)")
_BITS_PER_SECOND = {"Gb/sec": 1e9, "MiB/sec": 8 * (1 << 20), "MB/sec": 8 * (1 << 20)}


def bits_per_second(output: str) -> float:
    """Return the average bandwidth of an output; ValueError if it has none."""
    unit = None
    for line in output.splitlines():
        header, row = _HEADER.match(line), _ROW.match(line)
        if header:
            unit = header.group(2)
        elif row and unit in _BITS_PER_SECOND and float(row.group(4)):
            return float(row.group(4)) * _BITS_PER_SECOND[unit]
    raise ValueError("there is no bandwidth in the output")
