#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster of real nodes on one Linux machine, reached by Ansible over SSH as any other.

Each node has its own root file system, address, systemd, sshd, Python, and podman and docker with their own images.
See README.md beside this file.
"""

from __future__ import annotations

import argparse
import os
import sys
import typing as t
from pathlib import Path

import _cluster
import _host
import _image
from _network import LARGEST_CLUSTER
from _run import CannotRunHereError, ClusterError

CANNOT_RUN_HERE: t.Final = 77  # Automake's test driver and others read this as "skipped"
CLONE: t.Final = Path(__file__).resolve().parents[3]

Command = t.Callable[[_cluster.Cluster, argparse.Namespace], int]


def main(arguments: list[str]) -> int:
    """Run the command line; return 0, or 1 for an error, or 77 if this machine lacks a requirement of a cluster.

    The exit status of `exec` is the command's.
    """
    options = _parser().parse_args(arguments)
    cluster = _cluster.Cluster(options.state.resolve(), _cache())
    try:
        return int(options.do(cluster, options))
    except CannotRunHereError as error:
        print(f"cluster: cannot run here: {error}", file=sys.stderr)
        return CANNOT_RUN_HERE
    except (ClusterError, OSError) as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("cluster: interrupted; `down` removes what there is", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, do: Command, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(do=do)
        where = "folder of this cluster (default: .cluster in the clone)"
        command.add_argument("--state", type=Path, default=CLONE / ".cluster", help=where)
        return command

    up = add("up", _up, "start nodes, and write an Ansible inventory to the state folder: hosts")
    up.add_argument("--nodes", type=_node_count, default=4, help="how many must run in the end (default: 4)")
    up.add_argument("--install", action="store_true", help="apt-get install what this machine lacks")
    add("down", _down, "end all nodes and remove everything that `up` made")
    add("status", _status, "say which nodes run; exit status 0 if there are any, else 1")
    execute = add("exec", _exec, "run a command on a node over SSH, or a shell")
    execute.add_argument("node", help="node1, node2, …")
    execute.add_argument("command", nargs=argparse.REMAINDER)
    image = add("image", _write_image, f"write {_image.NAME} for `podman load` and `docker load`")
    image.add_argument("out", type=Path, metavar="OUT.tar")
    image.add_argument("--install", action="store_true", help="apt-get install what this machine lacks")
    image.add_argument("--trainer", type=Path, default=CLONE / "roles/training/files/trainer", help="its folder")
    return parser


def _node_count(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= LARGEST_CLUSTER:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of nodes from 1 to {LARGEST_CLUSTER}")
    return int(text)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "trainops-cluster").absolute()


def _up(cluster: _cluster.Cluster, options: argparse.Namespace) -> int:
    _cluster.up(cluster, options.nodes, install=options.install)
    return 0


def _down(cluster: _cluster.Cluster, _: argparse.Namespace) -> int:
    _cluster.down(cluster)
    print("the cluster is down")
    return 0


def _status(cluster: _cluster.Cluster, _: argparse.Namespace) -> int:
    nodes = _cluster.running(cluster)
    for node in nodes:
        print(f"{node.name} is up at {node.address}, fabric {node.fabric_address}")
    if not nodes:
        print("no node is up")
    return 0 if nodes else 1


def _exec(cluster: _cluster.Cluster, options: argparse.Namespace) -> int:
    return _cluster.execute(cluster, options.node, options.command)


def _write_image(cluster: _cluster.Cluster, options: argparse.Namespace) -> int:
    _host.require_root()
    with _cluster.alone(cluster.cache):
        _image.write(options.out, cluster.cache, options.trainer, install=options.install)
    print(_image.NAME)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
