# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures of the page on speed, from what `make bench` measured: medians, beside the last release."""

from __future__ import annotations

import csv
import statistics
import typing as t
from pathlib import Path

_RESULTS: t.Final = Path(__file__).resolve().parents[2] / "benchmarks/results"
_TRAINING_S: t.Final = 1.0
# Of the rows in follow.csv beyond those in launch.csv.
_FOLLOWED_S: t.Final = 59.0
_RUN: t.Final = ("trainops", "release")
_PREFLIGHT: t.Final = ("preflight", "release_preflight")
_Rows = list[dict[str, str]]


def values() -> dict[str, str]:
    """Return the tables."""
    launches, scale, follow = (_rows(name) for name in ("launch", "scale", "follow"))
    return {
        "waits": _table(("", "now", "last release"), _waits(launches, scale, follow)),
        "launches": _table(_LAUNCHES, _launches(launches)),
    }


_LAUNCHES: t.Final = ("nodes", "what", "wall (s)", "× bare ssh", "controller CPU (s)", "CPU of a node (ms)")
_ARMS: t.Final = {
    "empty": "a playbook with one task that does nothing",
    "trainops": "this collection",
    "trainops_warm": "this collection, connections open",
    "release": "its last release",
    "ssh_two_trips": "bare ssh, two round trips, the same key exchange",
    "ssh_floor": "bare ssh, three round trips, OpenSSH's own key exchange",
    "pssh": "parallel-ssh, 15 commands",
    "naive": "a naive playbook",
}


def _launches(rows: _Rows) -> t.Iterator[tuple[str, ...]]:
    for nodes in dict.fromkeys(row["nodes"] for row in rows):
        floor = _median(rows, "wall_s", nodes=nodes, arm="ssh_two_trips")
        for arm, words in _ARMS.items():
            wall, cpu, of_node = (
                _median(rows, field, nodes=nodes, arm=arm) for field in ("wall_s", "controller_cpu_s", "node_cpu_ms")
            )
            if wall is not None:
                ratio = f"{wall / floor:.1f}" if floor else "–"
                yield nodes, words, f"{wall:.1f}", ratio, _number(cpu), _number(of_node, digits=0)


def _waits(launches: _Rows, scale: _Rows, follow: _Rows) -> t.Iterator[tuple[str, ...]]:
    def launched(nodes: str, field: str, arms: t.Sequence[str] = _RUN, *, bare: bool = False) -> tuple[str, str]:
        less = _TRAINING_S + (_median(launches, field, nodes=nodes, arm="empty") or 0.0) if bare else 0.0
        return _two(_less(_median(launches, field, nodes=nodes, arm=arm), less) for arm in arms)

    def scaled(what: str, field: str, *, less_empty: bool = False) -> tuple[str, str]:
        empty = (_median(scale, field, what="an empty playbook") or 0.0) if less_empty else 0.0
        return _two(_less(_median(scale, field, what=what, version=one), empty) for one in ("now", "release"))

    def followed(arm: str) -> float | None:
        minute, launch = (_median(rows, "node_cpu_ms", nodes="4", arm=arm) for rows in (follow, launches))
        return None if minute is None or launch is None else (minute - launch) * 60 / _FOLLOWED_S

    for nodes in dict.fromkeys(row["nodes"] for row in launches):
        yield (f"launch of {nodes} nodes, a training of 1 s: controller, CPU s", *launched(nodes, "controller_cpu_s"))
        yield (
            f"launch of {nodes} nodes: wall s, less an empty playbook and the training",
            *launched(nodes, "wall_s", bare=True),
        )
        yield f"launch of {nodes} nodes: CPU ms of a node", *launched(nodes, "node_cpu_ms")
        yield f"preflight of {nodes} nodes: wall s", *launched(nodes, "wall_s", _PREFLIGHT)
    yield "a node followed for a minute: its CPU ms", *_two(map(followed, _RUN), digits=0)
    for what in dict.fromkeys(row["what"] for row in scale if row["what"].startswith(("plan", "report.yml"))):
        yield f"{what}: wall s, less an empty playbook", *scaled(what, "wall_s", less_empty=True)
    for what in dict.fromkeys(row["what"] for row in scale if row["what"].startswith("report of")):
        yield f"{what}: CPU s", *scaled(what, "cpu_s")
        yield f"{what}: peak MB", *scaled(what, "peak_mb")


def _less(value: float | None, less: float) -> float | None:
    return None if value is None else value - less


def _two(found: t.Iterable[float | None], *, digits: int = 2) -> tuple[str, str]:
    now, release = (_number(one, digits=digits) for one in found)
    return now, release


def _number(value: float | None, *, digits: int = 2) -> str:
    if value is None:
        return "–"
    return f"{value:.{digits}f}" if value < 20 else f"{value:.0f}"


def _median(rows: _Rows, field: str, **wanted: str) -> float | None:
    found = [float(row[field]) for row in rows if all(row[name] == value for name, value in wanted.items())]
    return statistics.median(found) if found else None


def _rows(name: str) -> _Rows:
    path = _RESULTS / f"{name}.csv"
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def _table(head: t.Sequence[str], rows: t.Iterable[t.Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
