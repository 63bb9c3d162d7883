# SPDX-License-Identifier: GPL-3.0-or-later
"""The prefixes that launchers and collectors put on each line of a log, and what they say about its rank and time.

``srun --label`` writes ``12: text``, kubectl ``[pod/worker-1/pytorch] text``, and so on: each is a row of `PREFIXES`. A
log may have several, one around the other. `prefixes_of` recognizes them from some lines, and `PrefixReader` takes them
off, piece by piece as the log grows.
"""

from __future__ import annotations

import re
import typing as t
from collections import Counter
from collections.abc import Iterator, Sequence

from .pattern import compiled, later
from .text import plain

# Prefixes in prefixes: the stamp of a container's log, the label of a launcher, the label of torchrun.
_MOST_PREFIXES = 4
# How much of a line without an end is taken at a time.
_LINE_BYTES = 1 << 20
_MOST_HEADS = 4096


class Told(t.NamedTuple):
    """The facts in a line's prefixes: the node, a task of the launcher, a rank of its node or of the job, the time.

    ``time`` is as printed; `clock.seconds_of_rfc3339` reads it. ``world`` is the number of all ranks. Missing facts are
    None.
    """

    host: t.Optional[str] = None
    task: t.Optional[int] = None
    local_rank: t.Optional[int] = None
    rank: t.Optional[int] = None
    world: t.Optional[int] = None
    time: t.Optional[bytes] = None


class Prefix(t.NamedTuple):
    """The prefix that one program puts on each line.

    ``pattern`` matches it at the start of a line; its groups are the fields of `Told`, and ``partial`` if the line
    continues in the next one. A log has the prefix if at least the share ``least`` of its lines do, ``fewest`` of each
    host, and at least the share ``surely`` match ``sure``. A line with a ``kept`` prefix stays as it is, because the
    grammars know it. ``sample`` is a line that has the prefix, ``source`` says where the format is defined.
    """

    name: str
    pattern: bytes
    sample: bytes
    source: str
    least: float = 0.5
    fewest: int = 1
    sure: bytes = b""
    surely: float = 0.0
    kept: bool = False


_TIME = rb"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d))"
# A host name in a cluster has a digit, unlike the words and programs at the start of other lines.
_HOST = rb"(?P<host>(?=[A-Za-z_.-]{0,99}\d)(?!(?:rank|step|epoch|iteration)[ _-]?\d)[A-Za-z0-9][\w.-]{0,99})"

PREFIXES = (
    Prefix(
        "containerd and CRI-O",
        _TIME + rb" (?:stdout|stderr) (?:F|(?P<partial>P)) ?",
        b"2026-11-26T10:00:00.123456789Z stdout F iteration 1/ 10 |",
        "Kubernetes, pkg/kubelet/kuberuntime/logs/logs.go; /var/log/pods",
    ),
    Prefix(
        "syslog with RFC 3339",
        _TIME + rb" " + _HOST + rb" [\w./-]{1,64}(?:\[\d{1,9}\])?: ",
        b"2026-11-26T10:00:00.123456+00:00 mi300-0 train.sh[4100]: iteration 1/ 10 |",
        "journalctl --output=short-iso-precise, rsyslog RSYSLOG_FileFormat",
    ),
    Prefix(
        "RFC 3339",
        rb"\[?" + _TIME + rb"\]?(?: |$)",
        b"2026-11-26T10:00:00.123456789Z iteration 1/ 10 |",
        "docker logs --timestamps, kubectl logs --timestamps, podman, CI servers",
    ),
    Prefix(
        "syslog",
        rb"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d " + _HOST + rb" [\w./-]{1,64}(?:\[\d{1,9}\])?: ",
        b"Nov 26 10:00:00 mi300-0 train.sh[4100]: iteration 1/ 10 |",
        "journalctl --unit, RFC 3164",
    ),
    Prefix(
        "kubectl logs --prefix",
        rb"\[pod/(?P<host>[a-z0-9][a-z0-9.-]{0,252})/[a-z0-9.-]{1,63}\] ?",
        b"[pod/train-worker-1/pytorch] iteration 1/ 10 |",
        "kubectl, staging/src/k8s.io/kubectl/pkg/cmd/logs/logs.go",
    ),
    Prefix(
        "docker service logs",
        rb"[\w.-]{1,99}\.(?P<task>\d{1,6})\.[a-z0-9]{25}@(?P<host>[\w.-]{1,99}) +\| ?",
        b"train.2.x1y2z3x1y2z3x1y2z3x1y2z31@mi300-1    | iteration 1/ 10 |",
        "docker/cli, cli/command/service/logs.go",
    ),
    Prefix(
        "docker compose",
        _HOST + rb" +\| ?",
        b"node0-1  | iteration 1/ 10 |",
        "docker/compose, cmd/formatter/logs.go",
        least=0.8,
        fewest=2,
    ),
    Prefix(
        "mpirun --tag-output",
        rb"\[[\w@.,-]{1,99}?,(?P<task>\d{1,7})\]<std(?:out|err|diag)>: ?",
        b"[1,12]<stdout>:iteration 1/ 10 |",
        "Open MPI 4: orte/mca/iof/base/iof_base_output.c; 5 writes [prterun-host-77@1,12]<stdout>: text",
    ),
    Prefix(
        "srun --label",
        rb" {0,6}(?P<task>\d{1,7}):(?: |$)",
        b"12: iteration 1/ 10 |",
        "Slurm, src/api/step_io.c and src/common/io_hdr.c: as wide as the highest task",
    ),
    Prefix(
        "torchrun --tee",
        rb"\[(?!rank\d)[A-Za-z_][\w-]{0,30}?(?P<local_rank>\d{1,5})\]:",
        b"[default0]:iteration 1/ 10 |",
        "PyTorch, torch/distributed/elastic/multiprocessing/tail_log.py and agent/server/api.py: role and local rank",
    ),
    # PyTorch itself begins the lines of an exception and of its C++ parts with the rank in the job.
    Prefix(
        "torchrun --role rank --tee",
        rb"\[rank(?P<local_rank>\d{1,5})\]:",
        b"[rank0]:[titan] 2026-11-26 10:00:00,123 - root - INFO - step:  1  loss: 8.1",
        "the same; torchtitan's run_train.sh names the role rank",
        sure=rb"\[rank\d{1,5}\]:(?! |\[[EWIF][\d ]|\[rank\d|[EWIFV]\d{4} |$)",
        surely=0.05,
    ),
    Prefix(
        "pdsh",
        _HOST + rb":(?: |$)",
        b"mi300-1: iteration 1/ 10 |",
        "pdsh, src/pdsh/dsh.c; clush writes the same",
        least=0.8,
        fewest=2,
    ),
    Prefix(
        "Primus",
        rb"\[\d{8} \d\d:\d\d:\d\d\]\[rank-(?P<rank>\d{1,7})/(?P<world>\d{1,7})\]",
        b"[20261126 10:00:00][rank-8/16][INFO    ] [--------trainer.py:120] : iteration 1/ 10 |",
        "Primus, primus/core/utils/logger.py",
        least=0.01,
        kept=True,
    ),
)

# From srun itself, without a label: it belongs to the node whose task it mentions.
_OF_SRUN = later(rb"srun: error: (?P<host>[\w.-]{1,99}): tasks? (?P<task>\d{1,7})\b")
# NCCL and RCCL name their host in each line, and the runner of Primus both.
_OF_HOST = later(
    rb"(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] )?"
    rb"(?:(?P<host>(?!localhost)[A-Za-z0-9][\w.-]{0,99}):\d{1,9}:\d{1,9} \[\d+\] NCCL"
    rb"|\[NODE-\d{1,6}\((?P<primus>[\w.-]{1,99})\)\])"
)
_NUMBERS = ("task", "local_rank", "rank", "world")
_NOTHING = Told()


class Line(t.NamedTuple):
    """A log line without its prefixes, with its line end, and the facts in them; only a part of a very long line."""

    told: Told
    text: bytes


class PrefixReader:
    """Takes prefixes, outermost first, off the lines of a log that comes in pieces."""

    def __init__(self, prefixes: Sequence[Prefix]) -> None:
        """Begin at the start of a log."""
        self._prefixes = [(compiled(prefix.pattern), prefix.kept) for prefix in prefixes]
        self._rest = b""
        self._within: t.Optional[Told] = None
        self._is_torn = False
        # Most lines begin as others do.
        self._told: dict[bytes, Told] = {}

    def read(self, chunk: bytes, final: bool = False) -> Iterator[Line]:
        """Yield the lines that a piece completes; a ``final`` piece completes the last one."""
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            yield from self._parts(line, b"\n")
            self._within = None
        if len(self._rest) > _LINE_BYTES or (final and self._rest):
            line, self._rest = self._rest, b""
            yield from self._parts(line, b"")
            self._is_torn = True

    def _parts(self, line: bytes, end: bytes) -> Iterator[Line]:
        """Yield a line; if it has carriage returns (progress bars), yield it in parts, which may have prefixes."""
        if b"\r" in line:
            *parts, line = line.split(b"\r")
            for part in parts:
                yield self._line(part, b"\r")
        yield self._line(line, end)

    def _line(self, line: bytes, end: bytes) -> Line:
        if self._is_torn and self._within is not None:
            self._is_torn = False
            return Line(self._within, line + end)
        found = self._taken_off(plain(line), end)
        if self._within is not None and found.told == _NOTHING:
            return Line(self._within, line + end)
        self._within = found.told
        return found

    def _taken_off(self, line: bytes, end: bytes) -> Line:
        matches = []
        place = behind = 0
        for pattern, kept in self._prefixes:
            match = pattern.match(line, behind)
            if not match:
                break
            matches.append(match)
            behind = match.end()
            if not kept:
                place = behind
            if match.lastgroup == "partial":
                end = b""
        of_srun = _OF_SRUN.match(line, place) if line.startswith(b"srun", place) else None
        if of_srun:
            return Line(_told([*matches, of_srun]), line[place:] + end)
        if not matches:
            return Line(_NOTHING, line + end)
        head = line[:behind]
        told = self._told.get(head)
        if told is None:
            if len(self._told) == _MOST_HEADS:
                self._told.clear()
            told = self._told[head] = _told(matches)
        return Line(told, line[place:] + end)


def _told(matches: Sequence[re.Match[bytes]]) -> Told:
    said: dict[str, t.Any] = {}
    for match in matches:
        said.update((name, value) for name, value in match.groupdict().items() if value and name not in said)
    said.pop("partial", None)
    if "host" in said:
        said["host"] = said["host"].decode("ascii", "replace")
    for name in _NUMBERS:
        if name in said:
            said[name] = int(said[name])
    return Told(**said)


def prefixes_of(lines: Sequence[bytes]) -> tuple[Prefix, ...]:
    """Return the prefixes that whole lines of a log have, outermost first."""
    left = [line for line in map(plain, lines) if line.strip()]
    found: list[Prefix] = []
    while left and len(found) < _MOST_PREFIXES:
        prefix = next((row for row in PREFIXES if row not in found and _has(left, row)), None)
        if prefix is None:
            break
        found.append(prefix)
        if prefix.kept:
            break
        matches = map(compiled(prefix.pattern).match, left)
        bare = (match.string[match.end() :] for match in matches if match)
        left = [line for line in bare if line.strip()]
    return tuple(found)


def host_named_in(text: bytes) -> str | None:
    """Return the host that a line without prefixes gives as its own, or None."""
    match = _OF_HOST.match(text) if b" NCCL " in text or b"[NODE-" in text[:40] else None
    return None if match is None else (match["host"] or match["primus"]).decode("ascii", "replace")


def _has(lines: Sequence[bytes], prefix: Prefix) -> bool:
    matches = [match for match in map(compiled(prefix.pattern).match, lines) if match]
    # One line may contain all bars of a training.
    bytes_of_lines = sum(map(len, lines))
    with_prefix = sum(len(match.string) for match in matches)
    if not matches or max(len(matches) / len(lines), with_prefix / bytes_of_lines) < prefix.least:
        return False
    if prefix.fewest > 1:
        hosts = Counter(match["host"] for match in matches)
        if min(hosts.values()) < prefix.fewest:
            return False
    if prefix.sure:
        return sum(map(bool, map(compiled(prefix.sure).match, lines))) >= prefix.surely * len(lines)
    return True
