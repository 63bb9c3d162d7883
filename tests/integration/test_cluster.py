# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster of real nodes: it comes up, it is as described, and it goes away without a trace.

Skipped in words if the machine is too small for one. The first run on a machine builds the root file system (cache).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

import pytest
from ansible_commands import finished
from cluster_command import COMMAND, IMAGE, ClusterCommand, nodes_up

NODES = ("node1", "node2", "node3")

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Done = subprocess.CompletedProcess[str]


class Cluster(ClusterCommand):
    def up(self, nodes: int) -> Done:
        done = self.run("up", "--nodes", str(nodes))
        assert done.returncode == 0, done.stderr
        return done


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three nodes, shared by the tests that leave them running."""
    cluster = Cluster(tmp_path_factory.mktemp("shared nodes") / "state")
    with nodes_up(cluster, len(NODES)):
        yield cluster


@pytest.fixture(scope="module")
def image(cluster: Cluster) -> Path:
    archive = cluster.state.parent / "trainer.tar"
    done = cluster.run("image", str(archive))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, IMAGE), done.stderr
    return archive


@pytest.fixture
def own(cluster: Cluster, tmp_path: Path) -> Iterator[Cluster]:  # noqa: ARG001  # skips where that one cannot be
    """A cluster that is not up yet, for a test that ends or breaks it."""
    own = Cluster(tmp_path / "state")
    yield own
    own.down()
    assert left_behind(own) == []


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within 60 s"
        time.sleep(0.01)


def name_of(cluster: Cluster) -> str:
    """The name on everything that the cluster makes on this machine."""
    sys.path.insert(0, str(COMMAND.parent))
    from _cluster import Cluster as Named  # noqa: PLC0415

    return Named(cluster.state, Path()).name


def left_behind(cluster: Cluster) -> list[str]:
    """Everything of ``cluster`` in the kernel and on disk: processes, mounts, control groups, interfaces,
    namespaces."""
    name = name_of(cluster)
    found = [str(cluster.state)] if cluster.state.exists() else []
    found += [line for line in Path("/proc/self/mounts").read_text().splitlines() if name in line]
    found += [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(cluster.state) in line]
    found += [folder for folder, _, _ in os.walk("/sys/fs/cgroup") if name in folder]
    links = json.loads(subprocess.check_output(["ip", "-json", "link", "show"]))
    found += [link["ifname"] for link in links if name in link["ifname"]]
    found += [str(namespace) for namespace in Path("/run/netns").glob(f"{name}*")]
    for command_line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = command_line.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # ended meanwhile
            continue
        if str(cluster.state) in words:
            found.append(words)
    return found


def ansible(cluster: Cluster, *arguments: str) -> Done:
    command = ["ansible", "-i", str(cluster.state / "hosts"), "all", *arguments]
    environment = {**os.environ, "ANSIBLE_CALLBACK_RESULT_FORMAT": "json"}
    # Started in a folder without an ansible.cfg.
    return finished(command, environment, cluster.state, apart=True, packages=())


class TestNodes:
    def test_ansible_reaches_all_over_ssh(self, cluster: Cluster) -> None:
        done = ansible(cluster, "-m", "ansible.builtin.ping")

        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count('"ping": "pong"') == len(NODES)

    def test_a_node_with_another_nodes_key_is_refused(self, cluster: Cluster, tmp_path: Path) -> None:
        lines = [line.split() for line in (cluster.state / "known_hosts").read_text().splitlines()]
        (address, *_), (_, *other_key), *_ = lines
        (tmp_path / "known_hosts").write_text(" ".join([address, *other_key]) + "\n")
        inventory = (cluster.state / "hosts").read_text()
        (tmp_path / "hosts").write_text(
            inventory.replace(str(cluster.state / "known_hosts"), str(tmp_path / "known_hosts"))
        )
        shutil.copy(cluster.state / "id", tmp_path)

        done = ansible(
            Cluster(tmp_path),
            *("-m", "ansible.builtin.ping", "--limit", "node1"),
            "--ssh-extra-args=-o ControlPath=none",
        )

        assert done.returncode != 0
        assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in done.stdout + done.stderr

    def test_each_is_a_machine_of_its_own(self, cluster: Cluster) -> None:
        own = [
            tuple(cluster.on(node, "sh", "-c", f"cat {file}") for node in NODES)
            for file in ("/etc/machine-id", "/etc/ssh/ssh_host_ed25519_key.pub", "/etc/hostname")
        ]

        assert [len(set(values)) for values in own] == [len(NODES)] * 3

    def test_each_knows_its_own_name_at_its_own_address(self, cluster: Cluster) -> None:
        addresses = [line.split()[0] for line in (cluster.state / "known_hosts").read_text().splitlines()]

        found = [cluster.on(node, "sh", "-c", 'getent hosts "$(hostname)"').split() for node in NODES]

        assert found == [[address, node] for address, node in zip(addresses, NODES, strict=True)]

    def test_systemd_runs_and_nothing_failed(self, cluster: Cluster) -> None:
        assert cluster.on("node1", "systemctl", "is-system-running", "--wait") == "running\n"

    def test_the_exit_status_of_a_command_comes_back(self, cluster: Cluster) -> None:
        assert cluster.run("exec", "node1", "sh", "-c", "exit 7").returncode == 7

    def test_a_node_that_is_not_there_is_named(self, cluster: Cluster) -> None:
        done = cluster.run("exec", "node9", "true")

        assert (done.returncode, done.stderr) == (1, "cluster: node9 is not up; up are: node1, node2, node3\n")

    def test_status_tells_the_nodes_and_their_addresses(self, cluster: Cluster) -> None:
        done = cluster.run("status")

        assert done.returncode == 0
        assert [line.split()[0] for line in done.stdout.splitlines()] == list(NODES)


class TestNetwork:
    def test_nodes_reach_each_other_over_the_fabric_interface(self, cluster: Cluster) -> None:
        fabric = cluster.on("node2", "ip", "-json", "-4", "address", "show", "dev", "fab0")
        address = json.loads(fabric)[0]["addr_info"][0]["local"]

        route = cluster.on("node1", "ip", "-json", "route", "get", address)

        assert json.loads(route)[0]["dev"] == "fab0"
        assert "1 received" in cluster.on("node1", "ping", "-c", "1", "-W", "10", "-I", "fab0", address)

    def test_there_is_no_way_out(self, cluster: Cluster) -> None:
        assert cluster.on("node1", "ip", "route", "show", "default") == ""


class TestSettings:
    def test_numa_balancing_is_each_nodes_own(self, cluster: Cluster) -> None:
        setting = Path("/proc/sys/kernel/numa_balancing")
        if not setting.exists():
            pytest.skip("this machine's kernel has no NUMA balancing")
        before = setting.read_text()

        cluster.on("node1", "sysctl", "-w", "kernel.numa_balancing=0")

        assert cluster.on("node1", "sysctl", "-n", "kernel.numa_balancing") == "0\n"
        assert cluster.on("node2", "sysctl", "-n", "kernel.numa_balancing") == "1\n"
        assert setting.read_text() == before

    @pytest.mark.parametrize("setting", ["vm.swappiness", "kernel.pid_max"])
    def test_what_is_the_machines_cannot_be_set(self, cluster: Cluster, setting: str) -> None:
        value = cluster.on("node1", "sysctl", "-n", setting).strip()

        done = cluster.ssh("node1", "sysctl", "-w", f"{setting}={value}")

        assert done.returncode != 0
        assert "permission denied" in done.stderr

    def test_network_settings_can_be_set(self, cluster: Cluster) -> None:
        cluster.on("node1", "sysctl", "-w", "net.ipv4.ip_forward=1")

        assert cluster.on("node2", "sysctl", "-n", "net.ipv4.ip_forward") == "0\n"

    def test_sys_is_read_only(self, cluster: Cluster) -> None:
        done = cluster.ssh("node1", "sh", "-c", "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")

        assert done.returncode != 0
        assert "Read-only file system" in done.stderr

    def test_all_processes_are_in_control_groups_of_the_cluster(self, cluster: Cluster) -> None:
        """Or, in a hierarchy without nodes, in this process's group: never in another one's."""
        name = name_of(cluster)
        groups = [Path(folder) for folder, _, _ in os.walk("/sys/fs/cgroup") if f"/{name}/node1" in folder]
        processes = {process for group in groups for process in (group / "cgroup.procs").read_text().split()}
        here = set(Path("/proc/self/cgroup").read_text().splitlines())

        places = {line for process in processes for line in Path(f"/proc/{process}/cgroup").read_text().splitlines()}

        assert len(processes) > 1
        assert [place for place in places - here if f":/{name}/node1" not in place] == []


class TestPackages:
    def test_rdma_packages_install_offline_and_list_the_simulated_adapter(self, cluster: Cluster) -> None:
        cluster.on(
            "node1", "apt-get", "-q", "-y", "install", "rdma-core", "ibverbs-utils", "ibverbs-providers", "perftest"
        )

        assert (
            cluster.on("node1", "cat", "/sys/class/infiniband/bnxt_re0/node_desc") == "simulated by trainops.cluster\n"
        )
        listed = cluster.on("node1", "ibv_devices")
        if "bnxt_re0" not in listed and Path("/sys/module/ib_core").exists():
            pytest.skip("this machine's kernel has RDMA support: ibv_devices asks it, and it knows of no adapter")
        assert "bnxt_re0" in listed

    def test_any_other_package_is_refused_at_once(self, cluster: Cluster) -> None:
        done = cluster.ssh("node1", "apt-get", "install", "nginx")

        assert done.returncode != 0
        assert "Unable to locate package nginx" in done.stderr


@pytest.mark.parametrize("engine", ["podman", "docker"])
class TestEngines:
    def load(self, cluster: Cluster, node: str, engine: str, image: Path) -> None:
        with image.open("rb") as archive:
            done = cluster.ssh(node, engine, "load", "--quiet", stdin=t.cast("t.IO[bytes]", archive))
        assert (done.returncode, done.stdout) == (0, f"Loaded image: {IMAGE}\n"), done.stderr

    def launch(self, engine: str, *command: str) -> list[str]:
        """The flags of a GPU training."""
        return [
            *(engine, "run", "--rm", "--network", "host", "--ipc", "host", "--privileged", "--group-add", "video"),
            *(
                "--ulimit",
                "memlock=-1:-1",
                "--device",
                "/dev/kfd",
                "--device",
                "/dev/dri",
                "--device",
                "/dev/infiniband",
            ),
            *(IMAGE, *command),
        ]

    def test_a_container_with_the_flags_of_a_gpu_training_runs(
        self, cluster: Cluster, engine: str, image: Path
    ) -> None:
        self.load(cluster, "node1", engine, image)

        inside = (
            "hostname; ls /dev/kfd /dev/dri/renderD128 /dev/infiniband/uverbs0; ip -brief link show fab0 | cut -c1-4"
        )
        printed = cluster.on("node1", *self.launch(engine, "sh", "-c", inside))

        assert printed.split() == ["node1", "/dev/dri/renderD128", "/dev/infiniband/uverbs0", "/dev/kfd", "fab0"]

    def test_images_are_each_nodes_own(self, cluster: Cluster, engine: str, image: Path) -> None:
        self.load(cluster, "node1", engine, image)

        listed = [cluster.on(node, engine, "images", "--quiet", IMAGE) for node in ("node1", "node3")]

        assert (bool(listed[0]), listed[1]) == (True, "")

    def test_images_lie_on_the_disk_under_overlay(self, cluster: Cluster, engine: str) -> None:
        driver = {"podman": "{{.Store.GraphDriverName}}", "docker": "{{.Driver}}"}[engine]

        assert cluster.on("node1", engine, "info", "--format", driver).strip() in {"overlay", "overlay2"}

    def test_two_nodes_train_together_over_the_fabric(self, cluster: Cluster, engine: str, image: Path) -> None:
        nodes = NODES[:2]
        addresses = [
            json.loads(cluster.on(node, "ip", "-json", "-4", "address", "show", "dev", "fab0"))[0]["addr_info"][0][
                "local"
            ]
            for node in nodes
        ]
        for node in nodes:
            self.load(cluster, node, engine, image)

        ranks = []
        for rank, node in enumerate(nodes):
            settings = (
                f"NODE_RANK={rank}",
                f"MASTER_ADDR={addresses[0]}",
                "NNODES=2",
                "TOTAL_ITERS=3",
                "LOG_DIR=/tmp/log",
            )
            train = self.launch(engine, "bash", "examples/llama/train_llama3.sh", *settings, "GLOO_SOCKET_IFNAME=fab0")
            argv = cluster.argv("exec", node, *train)
            ranks.append(subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        printed = [rank.communicate()[0] for rank in ranks]

        assert [rank.returncode for rank in ranks] == [0, 0], printed
        assert all("iteration        3/       3" in text for text in printed), printed


class TestLife:
    def test_what_runs_is_left_alone_and_what_is_missing_is_added(self, own: Cluster) -> None:
        own.up(1)
        own.on("node1", "touch", "/run/still-the-same")

        again = own.up(1)
        grown = own.up(2)

        assert again.stdout.splitlines()[:-1] == ["node1 is up already"]
        assert [line.split(" at ")[0] for line in grown.stdout.splitlines()[:-1]] == [
            "node1 is up already",
            "node2 is up",
        ]
        own.on("node1", "test", "-e", "/run/still-the-same")
        assert "1 received" in own.on("node1", "ping", "-c", "1", "-W", "10", "node2")
        assert ansible(own, "-m", "ansible.builtin.ping").stdout.count("pong") == 2

    def test_asking_for_fewer_takes_none_away(self, own: Cluster) -> None:
        own.up(2)

        assert own.up(1).stdout.splitlines()[:-1] == ["node1 is up already", "node2 is up already"]

    def test_a_node_that_died_comes_back(self, own: Cluster) -> None:
        own.up(2)
        own.ssh("node2", "systemctl", "poweroff", "--force", "--force")
        wait_until(lambda: "node2" not in own.run("status").stdout, "node2 is down")

        assert [line.split(" at ")[0] for line in own.up(2).stdout.splitlines()[:-1]] == [
            "node1 is up already",
            "node2 is up",
        ]
        own.on("node2", "true")

    def test_down_twice_is_no_error(self, own: Cluster) -> None:
        own.up(1)

        own.down()
        own.down()

        assert left_behind(own) == []

    def test_another_cluster_is_left_alone(self, own: Cluster, cluster: Cluster) -> None:
        before = cluster.run("status").stdout

        own.up(1)
        own.down()

        assert cluster.run("status").stdout == before
        assert ansible(cluster, "-m", "ansible.builtin.ping").stdout.count("pong") == len(NODES)

    def test_ssh_connections_that_ansible_keeps_end_with_the_nodes(self, own: Cluster) -> None:
        own.up(1)
        kept = "-o ControlMaster=auto -o ControlPersist=600s"
        assert ansible(own, "-m", "ansible.builtin.ping", f"--ssh-extra-args={kept}").returncode == 0
        assert any("ssh" in found for found in left_behind(own))

        own.down()

        wait_until(lambda: left_behind(own) == [], "nothing is left")

    @pytest.mark.parametrize("reached", ["nodes/node1", "nodes/node2/spec.json", "nodes/node3/console.log"])
    def test_an_up_that_was_killed_can_be_taken_down(self, own: Cluster, reached: str) -> None:
        self.kill_at(own, reached)

        own.down()

        assert left_behind(own) == []

    def test_an_up_that_was_killed_can_be_repeated(self, own: Cluster) -> None:
        self.kill_at(own, "nodes/node2/spec.json")

        own.up(3)

        assert ansible(own, "-m", "ansible.builtin.ping").stdout.count("pong") == 3

    def test_a_cluster_whose_state_is_lost_can_be_taken_down(self, own: Cluster) -> None:
        own.up(2)
        own.state.rename(own.state.parent / "lost")

        own.down()

        assert left_behind(own) == []

    def kill_at(self, cluster: Cluster, reached: str) -> None:
        """Kill an `up` of three nodes once it has made the file or folder ``reached``."""
        starting = subprocess.Popen(cluster.argv("up", "--nodes", "3"), stderr=subprocess.PIPE, text=True)
        wait_until(lambda: (cluster.state / reached).exists() or starting.poll() is not None, f"{reached} is made")
        starting.send_signal(signal.SIGKILL)
        _, complaint = starting.communicate()
        assert starting.returncode == -signal.SIGKILL, complaint
