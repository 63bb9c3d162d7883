# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of the programs of nccl-tests and rccl-tests: a table, or with their option -J JSON.

Sources: NVIDIA/nccl-tests, src/util.cu (2.19.6: ``writeResultHeader``, ``writeBenchmarkLineBody``,
``writeResultFooter``) and before that src/common.cu; ROCm/rccl-tests, src/common.cu, which can leave out-of-place out.
The columns are taken from their header, because releases differ: ``root`` and ``redop`` are not always there,
``#wrong`` was ``error`` once, and columns for single iterations follow on request. Times are in µs.
"""

from __future__ import annotations

import json
import re
import typing as t

_TIMES = ("time", "cputime")
_WRONG = "#wrong"
_MICRO = 1e-6
_FOOTER = re.compile(r"^# Out of bounds values\s*: (\d+)", re.MULTILINE)


class Row(t.NamedTuple):
    """The measurements of one size.

    ``size`` is in bytes, ``seconds`` are out-of-place first, if measured, and in-place. ``wrong`` counts wrong values;
    None if they were not checked.
    """

    size: int
    seconds: t.List[float]
    wrong: t.Optional[int]


def rows_in(output: str) -> list[Row]:
    """Return the rows of an output; ValueError if it has none, or its end is missing."""
    rows = _of_json(json.loads(output)) if output.lstrip().startswith("{") else _of_table(output)
    if not rows:
        raise ValueError("there are no results in the output")
    return rows


def _of_table(output: str) -> list[Row]:
    columns: list[str] = []
    rows = []
    for line in output.splitlines():
        words = line.lstrip("# ").split() if line.startswith("#") else line.split()
        if line.startswith("#") and words[:1] == ["size"]:
            # The mark before a comment is not part of the first column, but of "#wrong" it is.
            columns = line[1:].split()
        elif columns and words and words[0].isdigit() and len(words) >= len(columns):
            rows.append(_row(list(zip(columns, words))))
    if rows and not _FOOTER.search(output):
        raise ValueError("the output ends before the test does")
    return rows


def _row(cells: list[tuple[str, str]]) -> Row:
    wrong = [float(word) for column, word in cells if column == _WRONG and word != "N/A"]
    return Row(
        size=int(cells[0][1]),
        seconds=[float(word) * _MICRO for column, word in cells if column in _TIMES],
        wrong=int(sum(wrong)) if wrong else None,
    )


def _of_json(results: t.Any) -> list[Row]:
    return [_row_of_json(row) for row in results["results"]]


def _row_of_json(row: t.Mapping[str, t.Any]) -> Row:
    ways = [way for way in (row.get("out_of_place"), row.get("in_place")) if way]
    wrong = [float(way["nwrong"]) for way in ways if way.get("nwrong") is not None]
    return Row(
        size=int(row["size"]),
        seconds=[float(way.get("time", way.get("cpu_time"))) * _MICRO for way in ways],
        wrong=int(sum(wrong)) if wrong else None,
    )
