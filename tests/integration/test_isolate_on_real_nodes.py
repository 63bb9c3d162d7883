# SPDX-License-Identifier: GPL-3.0-or-later
"""isolate.yml on real nodes: one gets little of the processor, and one link little of the network. Each is named.

Times come from the clocks of nodes that share the processors of this machine. So the nodes come before the machine's
other work, and a bad node is bad by far.
"""

from __future__ import annotations

import json
import subprocess
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_command import COMMAND, nodes_up
from cluster_of_nodes import Cluster
from not_run import need

pytestmark = pytest.mark.measures
NODES = 6
# SHARE is of one processor, RATE in Mbit/s.
SHARE, RATE = 0.02, 20


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Return nodes whose partners reach them over the fabric."""
    cluster = Cluster(tmp_path_factory.mktemp("isolated"))
    with nodes_up(cluster, NODES):
        inventory = json.loads(cluster.inventory.read_text())
        for hosts in (group["hosts"] for group in inventory.values()):
            for number, variables in enumerate(hosts.values(), 1):
                variables["training_address"] = running(cluster)[f"node{number}"].fabric_address
        cluster.inventory.write_text(json.dumps(inventory))
        if group := _group_of_processors():
            of_version_2 = (group / "cgroup.controllers").exists()
            weight = running(cluster)["node1"].network.name, "cpu.weight" if of_version_2 else "cpu.shares"
            group.joinpath(*weight).write_text("2000" if of_version_2 else "20480")
        yield cluster


def running(cluster: Cluster) -> dict[str, t.Any]:
    import _cluster  # noqa: PLC0415 - the path to it is set by the command

    return {node.name: node for node in _cluster.running(_cluster.Cluster(cluster.state, COMMAND.parent))}


def _group_of_processors() -> Path | None:
    """Return the root of the control groups that limit processors, if there is one."""
    import _cgroups  # noqa: PLC0415

    trees = (one for one in _cgroups.hierarchies() if one.file_system == "cgroup2" or "cpu" in one.options.split(","))
    return next((one.folder for one in trees), None)


@pytest.fixture
def throttled(nodes: Cluster) -> Iterator[str]:
    """Let a node have a fiftieth of a processor by its control group, and return its name."""
    node, group = running(nodes)["node2"], _group_of_processors()
    if group is None:
        pytest.skip("this machine has no control groups that limit processors")
    of_node, period = group / node.network.name / node.name, 100_000
    file, quota, none = of_node / "cpu.max", f"{int(SHARE * period)} {period}", "max"
    if not (group / "cgroup.controllers").exists():
        file, quota, none = of_node / "cpu.cfs_quota_us", f"{int(SHARE * period)}", "-1"
    if not file.exists():
        pytest.skip(f"this kernel limits no processors of control groups: there is no {file}")
    file.write_text(quota)
    yield node.name
    file.write_text(none)


@pytest.fixture
def slow_link(nodes: Cluster) -> Iterator[set[str]]:
    """Let two nodes say little to each other, and all to the others; return their names."""
    need("tc")
    ends = [running(nodes)[name] for name in ("node3", "node5")]
    for node, other in (ends, ends[::-1]):
        for words in (
            "qdisc add dev fab0 root handle 1: htb default 1",
            "class add dev fab0 parent 1: classid 1:1 htb rate 100gbit",
            f"class add dev fab0 parent 1: classid 1:2 htb rate {RATE}mbit",
            f"filter add dev fab0 parent 1: protocol ip u32 match ip dst {other.fabric_address}/32 flowid 1:2",
        ):
            done = tc(node, words)
            if done.returncode:
                pytest.skip(f"this kernel shapes no traffic: tc {words}: {done.stderr.strip()}")
    yield {node.name for node in ends}
    for node in ends:
        tc(node, "qdisc delete dev fab0 root")


@pytest.fixture
def slow_sender(nodes: Cluster) -> Iterator[str]:
    """Let the last node of the inventory send little to the others, and receive all that they send; return its name."""
    need("tc")
    node = running(nodes)[f"node{NODES}"]
    # The answers to what it receives are small enough.
    words = f"qdisc add dev fab0 root tbf rate {RATE}mbit burst 64kb latency 50ms"
    done = tc(node, words)
    if done.returncode:
        pytest.skip(f"this kernel shapes no traffic: tc {words}: {done.stderr.strip()}")
    yield node.name
    tc(node, "qdisc delete dev fab0 root")


def tc(node: t.Any, words: str) -> subprocess.CompletedProcess[str]:
    namespace = node.network.namespace(node.name)
    return subprocess.run(["tc", "-n", namespace, *words.split()], capture_output=True, text=True, check=False)


def isolated(nodes: Cluster, folder: Path, name: str, **variables: t.Any) -> tuple[dict[str, t.Any], str]:
    done = nodes.play("isolate.yml", training_output_dir=str(folder), isolate_name=name, **variables)
    found = folder / f"isolation/{name}/isolation.json"
    assert found.exists(), done.stdout
    return json.loads(found.read_text()), done.stdout


def of_nodes(found: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    """Return the suspects of all probes except latency: in that one, nodes that share processors wait for each other.

    The slowest come first. Other work of this machine may make others suspect, by far less.
    """
    return [one for one in found["suspects"] if one["probe"] != "tcp_latency"]


@pytest.mark.long
def test_a_node_with_little_of_a_processor_is_named(nodes: Cluster, throttled: str, tmp_path: Path) -> None:
    found, output = isolated(nodes, tmp_path, "processor")
    alone = [one for one in found["suspects"] if one["probe"] in ("cpu", "memory")]
    assert alone, output
    worst = of_nodes(found)[0]
    assert (worst["node"], worst["other"], worst["verdict"]) == (throttled, None, "slow"), output
    assert [one["node"] for one in alone if one["slower_by"] > 1] == [throttled] * len(alone), output
    assert found["nodes"][throttled]["verdict"] == "slow"
    assert throttled in (tmp_path / "isolation/processor/failing_nodes.txt").read_text().split()


def test_a_link_with_little_throughput_is_named_and_not_its_nodes(
    nodes: Cluster, slow_link: set[str], tmp_path: Path
) -> None:
    found, output = isolated(nodes, tmp_path, "link", isolate_probes=["tcp"])
    worst = of_nodes(found)[0]
    assert {worst["node"], worst["other"]} == slow_link, output


def test_a_node_that_sends_slowly_is_named_with_the_way(nodes: Cluster, slow_sender: str, tmp_path: Path) -> None:
    found, output = isolated(nodes, tmp_path, "sender", isolate_probes=["tcp"])
    assert of_nodes(found), output
    worst = of_nodes(found)[0]
    assert (worst["node"], worst["other"], worst["part"]) == (slow_sender, None, "link, sending"), output
    assert found["nodes"][slow_sender]["verdict"] == "slow"
