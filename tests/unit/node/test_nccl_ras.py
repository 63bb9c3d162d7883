# SPDX-License-Identifier: GPL-3.0-or-later
"""Asking NCCL's RAS: a server on this machine speaks its protocol, with the report of NCCL's guide."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node import nccl_ras
from ansible_collections.trainops.cluster.plugins.module_utils.node.nccl_ras import ras_here

# docs/userguide/source/troubleshooting/ras.rst of NCCL 2.30.7, with a stopped process.
REPORT = """\
Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      4          8            1         32       32

Communicators... (2.05s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         4       7-8        32        32   RUNNING  INCOMPLETE

Errors
======

INCOMPLETE
  Missing communicator data from 1 job process
  Process 3487984 on node 172.16.64.213 managing GPU 5

#0-0 (cf264af53edbe986) INCOMPLETE
  Missing communicator data from 1 rank
  The missing rank: 21

Warnings
========

TIMEOUT
  Encountered 2 communication timeouts while gathering communicator data
"""


class Server:
    """A listener in the place of RAS, once; ``said`` is its answer to each line, by the line's beginning."""

    def __init__(self, **said: str) -> None:
        self.said = {"CLIENT": "SERVER PROTOCOL 2\n", "TIMEOUT": "OK\n", "STATUS": REPORT, **said}
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.where = {"NCCL_RAS_ADDR": f"127.0.0.1:{self.socket.getsockname()[1]}"}
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self) -> None:
        client, _address = self.socket.accept()
        with client, client.makefile("r") as lines:
            for line in lines:
                answer = self.said[line.split()[0]]
                client.sendall(answer.encode())
                if answer == REPORT:
                    break

    def end(self) -> None:
        self.socket.close()
        self.thread.join()


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    made: list[Server] = []
    yield made
    for server in made:
        server.end()


def test_its_errors_and_warnings_are_returned(servers: list[Server]) -> None:
    servers.append(Server())
    lines = ras_here(servers[0].where)
    assert lines[0] == "Errors"
    assert "  Process 3487984 on node 172.16.64.213 managing GPU 5" in lines
    assert lines[-2] == "TIMEOUT"
    assert not [line for line in lines if "====" in line or "Job summary" in line]


def test_another_protocol_or_a_report_without_problems_says_nothing(servers: list[Server]) -> None:
    servers += [Server(CLIENT="220 mail.example.org ESMTP\n"), Server(TIMEOUT="ERROR\n")]
    for server in servers:
        assert ras_here(server.where) == []


def test_a_server_that_says_nothing_is_waited_for_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nccl_ras, "_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert ras_here({"NCCL_RAS_ADDR": f"127.0.0.1:{silent.getsockname()[1]}"}) == []


@pytest.mark.parametrize("where", ["", "127.0.0.1:1", "127.0.0.1:text", "127.0.0.1:99999999", "nowhere.invalid:28028"])
def test_where_nothing_listens_nothing_is_known(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nccl_ras, "_PORT", 1)
    assert ras_here({"NCCL_RAS_ADDR": where} if where else {}) == []
