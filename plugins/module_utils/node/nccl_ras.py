# SPDX-License-Identifier: GPL-3.0-or-later
"""NCCL RAS's view of a job: its processes ask each other, and one on each node answers clients.

RAS is on by default since NCCL 2.24. Source: src/ras/client.cc and client_support.cc of NCCL 2.30, and its guide.
"""

from __future__ import annotations

import socket
import time
import typing as t

_ADDRESS = "NCCL_RAS_ADDR"
_HOST, _PORT = "127.0.0.1", 28028
_CONNECT_SECONDS = 2.0
# RAS waits that long for processes that do not react.
_ITS_SECONDS = 3
_SECONDS = 8.0
_MOST_BYTES = 256 << 10
_MOST_LINES = 60
_CHARACTERS = 200


def ras_here(variables: t.Mapping[str, str]) -> list[str]:
    """Return the errors and warnings of RAS as lines, at most 60; none if it is off, another release, or silent.

    ``variables`` are the variables of the training. One of them may say where RAS listens.
    """
    host, _colon, port = variables.get(_ADDRESS, "").rpartition(":")
    try:
        with socket.create_connection((host or _HOST, int(port or _PORT)), _CONNECT_SECONDS) as server:
            return _problems(_asked(server, time.monotonic() + _SECONDS))
    except (OSError, ValueError, OverflowError):
        return []


def _asked(server: socket.socket, deadline: float) -> str:
    """Return the report; each command but the last is answered by a line, and the report ends with the connection."""
    for command, expected in (("CLIENT PROTOCOL 2", "SERVER PROTOCOL"), (f"TIMEOUT {_ITS_SECONDS}", "OK")):
        server.sendall(f"{command}\n".encode())
        if not _received(server, deadline, b"\n").upper().startswith(expected):
            return ""
    server.sendall(b"STATUS\n")
    return _received(server, deadline)


def _received(server: socket.socket, deadline: float, until: bytes | None = None) -> str:
    content = b""
    while len(content) < _MOST_BYTES and not (until and content.endswith(until)):
        server.settimeout(max(0.01, deadline - time.monotonic()))
        part = server.recv(1 if until else 64 << 10)
        if not part:
            break
        content += part
    return content.decode("utf-8", "replace")


def _problems(report: str) -> list[str]:
    """Return the lines of the parts "Errors" and "Warnings"; each has its title underlined."""
    lines = [line.rstrip()[:_CHARACTERS] for line in report.splitlines()]
    begin = next((place for place, line in enumerate(lines) if line in ("Errors", "Warnings")), len(lines))
    return [line for line in lines[begin:] if line.strip("=")][:_MOST_LINES]
