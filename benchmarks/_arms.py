# SPDX-License-Identifier: GPL-3.0-or-later
"""What the collection is held against, each a process of its own: ``python _arms.py ARM FOLDER``.

All do what the phases of a run do: they put something in place, start the same training, wait for its end, and fetch
its log. ``FOLDER/bench.json`` says where the nodes are.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import typing as t
from pathlib import Path

# As many bytes as the collection sends to a node that has nothing of it, and to one that has.
_PROGRAM_BYTES: t.Final = 177_000
_REQUEST_BYTES: t.Final = 4_000


def main(arm: str, folder: Path) -> None:
    """Run one arm."""
    bench = json.loads((folder / "bench.json").read_text())
    if arm == "pssh":
        parallel_ssh(bench)
    else:
        bare_ssh(bench, bench["ssh_options"][arm], log_apart=arm == "ssh_floor")


def bare_ssh(bench: dict[str, t.Any], options: list[str], *, log_apart: bool) -> None:
    """Use bare ssh over shared connections: two or three commands on each node, all at once, a barrier after each.

    The log comes with the answer of the training, or by a command of its own, as for the collection where it is longer
    than an answer may be.
    """

    def work(address: str) -> str:
        return shlex.quote(f"{bench['work']}/{address}")

    start = f"nohup bash {shlex.quote(bench['script'])} >log 2>&1; echo >ended"
    phases: list[tuple[int, t.Callable[[str], str]]] = [
        (
            _PROGRAM_BYTES,
            lambda address: f"mkdir -p {work(address)} && cd {work(address)} && mkfifo ended && cat >program",
        ),
        (
            _REQUEST_BYTES,
            lambda address: (
                f"cat >/dev/null; cd {work(address)} || exit; ({start}) >/dev/null 2>&1 & "
                f"cd {work(address)}; read end <ended; {'tail -3 log' if log_apart else 'rm ended; gzip -c log'}"
            ),
        ),
    ]
    if log_apart:
        phases.append((_REQUEST_BYTES, lambda address: f"cat >/dev/null; cd {work(address)}; rm ended; gzip -c log"))
    for size, command in phases:
        running = []
        for address in bench["addresses"]:
            process = subprocess.Popen(
                ["ssh", *options, address, command(address)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            running.append(process)
        for process in running:
            stream = t.cast("t.BinaryIO", process.stdin)
            stream.write(b"x" * size)
            stream.close()
        if any(process.wait() for process in running):
            raise SystemExit("a command failed on a node")


def parallel_ssh(bench: dict[str, t.Any]) -> None:
    """Use parallel-ssh as CVS does: 15 short commands one after the other, each on all nodes."""
    from pssh.clients import ParallelSSHClient

    addresses = bench["addresses"]
    client = ParallelSSHClient(addresses, port=bench["port"], pkey=bench["key"], pool_size=len(addresses))
    script = shlex.quote(bench["script"])
    work = f"{shlex.quote(bench['work'])}/$(echo $SSH_CONNECTION | cut -d' ' -f3)"
    commands = [
        *["uname -a"] * 4,
        f"mkdir -p {work} && mkfifo {work}/ended",
        *[f"echo setting >>{work}/env"] * 5,
        f"cd {work} || exit; (nohup bash {script} >log 2>&1; echo >ended) >/dev/null 2>&1 &",
        f"read end <{work}/ended",
        f"tail -3 {work}/log",
        f"rm {work}/ended",
        f"cat {work}/log",
    ]
    for command in commands:
        output = client.run_command(command)
        client.join(output)
        for host in output:
            list(host.stdout)
            if host.exit_code:
                raise SystemExit(f"{command} failed on {host.host}")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
