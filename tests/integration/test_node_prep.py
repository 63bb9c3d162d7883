# SPDX-License-Identifier: GPL-3.0-or-later
"""The role node_prep and the preflight on real nodes, from an unprepared machine to one that is ready.

The tests of `TestPreparing` build on each other. Skipped in words if the machine is too small for a cluster.
cluster/README.md says what nodes simulate, and what they cannot: only ``net.*`` and NUMA balancing are kernel settings
of their own.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from ansible_commands import finished
from cluster_command import ClusterCommand, nodes_up
from not_run import need

ROOT = Path(__file__).resolve().parents[2]
NODES = ("node1", "node2")
LIBRARY = "/usr/local/lib/libbnxt_re-rdmav34.so"
DRIVERS = "/lib/libibverbs.d"
LIMITS = "/etc/security/limits.d/99-trainops.conf"
# Linux 6.11 and later.
RTO = "/proc/sys/net/ipv4/tcp_rto_min_us"
CACHE = "/srv/shared/cache"
# vm.max_map_count is the machine's, and read-only in the nodes.
PREPARING = {"node_prep_kernel_minimums": {"vm.max_map_count": 0, "net.core.somaxconn": 8192}}

sys.path.insert(0, str(ROOT / "collections"))
from ansible_collections.trainops.cluster.plugins.module_utils.node.rdma_library import FUNCTION, library_lines

if t.TYPE_CHECKING:
    from collections.abc import Iterator


class Played(t.NamedTuple):
    """How a playbook went. ``changed`` are task and node of all that it changed, or in check mode would."""

    status: int
    output: str
    changed: set[tuple[str, str]]


class Cluster(ClusterCommand):
    """The nodes, and playbooks on them as a user runs them."""

    def shell(self, node: str, script: str) -> str:
        return self.on(node, "sh", "-c", script)

    def play(
        self,
        playbook: str,
        *arguments: str,
        inventory: Path | None = None,
        # It shows each task before its changes.
        callback: str = "ansible.builtin.default",
        **variables: t.Any,
    ) -> Played:
        of_all = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
        done = finished(
            [
                *("ansible-playbook", str(ROOT / "playbooks" / playbook), "-i", str(inventory or self.state / "hosts")),
                *("-e", json.dumps(variables), *arguments),
            ],
            {
                **of_all,
                "ANSIBLE_NOCOLOR": "1",
                "ANSIBLE_INJECT_FACT_VARS": "false",
                "ANSIBLE_STDOUT_CALLBACK": callback,
            },
            apart=True,
            packages=(),
            seconds=1200,
        )
        changed, task = set(), ""
        for line in done.stdout.splitlines():
            named = re.match(r"TASK \[(?:.* : )?(.*)\] \*", line)
            found = re.match(r"changed: \[(\w+)\](.*)", line)
            if named:
                task = named[1]
            elif found:
                changed.add((task + found[2], found[1]))
        return Played(done.returncode, done.stdout + done.stderr, changed)

    def prepare(self, *arguments: str, **variables: t.Any) -> Played:
        return self.play("node_prep.yml", *arguments, **{**PREPARING, **variables})


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("node_prep") / "state")
    with nodes_up(cluster, len(NODES)):
        yield cluster


@pytest.fixture(scope="module")
def shared_disk(cluster: Cluster) -> Iterator[str]:
    """A disk that nodes can mount and then have in common: one block device of the kernel that they share."""
    need("losetup", "mkfs.ext4")
    image = cluster.state.parent / "shared.img"
    with image.open("wb") as stream:
        stream.truncate(1200 * 1024**2)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
    attached = subprocess.run(["losetup", "--find", "--show", str(image)], capture_output=True, text=True, check=False)
    if attached.returncode:
        pytest.skip(f"this machine gives no loop device for the disk that nodes share: {attached.stderr.strip()}")
    device = attached.stdout.strip()
    yield device
    for node in NODES:
        cluster.ssh(node, "umount", "/srv/shared")
    subprocess.run(["losetup", "--detach", device], check=True)


@pytest.fixture(scope="module")
def config(cluster: Cluster) -> Path:
    """A training config that fits the nodes: simulated Broadcom adapters, an image that no registry has."""
    data = json.loads((ROOT / "inventories/local/tiny_llama.json").read_text())
    data["config"] |= {
        "nnodes": str(len(NODES)),
        "master_address": "auto",
        "container_image": "localhost/trainops/trainer:1",
        "nic_type": "thor2",
        "nccl_ib_hca_list": "bnxt_re0",
        "nccl_ib_gid_index": "3",
        "nccl_socket_ifname": "eth0",
        "gloo_socket_ifname": "eth0",
        "shm_size": "64M",
        "log_dir": "/srv/runs",
        "data_cache_dir": CACHE,
        "container_config": {
            "device_list": ["/dev/kfd", "/dev/dri"],
            "volume_dict": {
                "/srv/shared": "/srv/shared",
                "/dev/infiniband": "/dev/infiniband",
                DRIVERS: DRIVERS,
                LIBRARY: "/usr/lib/x86_64-linux-gnu/libibverbs/libbnxt_re-rdmav34.so.host",
            },
        },
    }
    path = cluster.state.parent / "config.json"
    path.write_text(json.dumps(data))
    return path


@pytest.fixture
def options(config: Path) -> dict[str, t.Any]:
    return {
        "training_config": str(config),
        "training_gpus_per_node": 1,
        "training_megatron_root": "/workspace/Megatron-LM",
        "container_engine": "podman",
    }


def settings_of(cluster: Cluster, node: str) -> str:
    """A node's state of everything that the role changes."""
    files = "/etc/sysctl.d/99-trainops.conf /etc/security/limits.d/99-trainops.conf"
    return cluster.shell(
        node,
        f"cat /proc/sys/kernel/numa_balancing /proc/sys/net/core/somaxconn; cat {files} 2>&1;"
        f" readlink {LIBRARY} {DRIVERS} || echo none; dpkg-query --show rdma-core ibverbs-providers 2>&1 || true",
    )


class TestPreparing:
    def test_check_mode_tells_the_changes_and_makes_none(self, cluster: Cluster) -> None:
        before = settings_of(cluster, "node1")
        assert before.startswith("1\n")
        told = cluster.prepare("--check", "--diff")
        assert told.status == 0, told.output
        assert settings_of(cluster, "node1") == before
        assert "+kernel.numa_balancing = 0" in told.output
        assert "+* - memlock unlimited" in told.output

        done = cluster.prepare()
        assert done.status == 0, done.output
        assert done.changed == told.changed
        assert {task for task, _ in done.changed} == {
            "Set the kernel settings of a step",
            "Install packages",
            "Link to rdma-core's files",
            "Write the login limits",
        }

    def test_the_second_run_changes_nothing(self, cluster: Cluster) -> None:
        first = [settings_of(cluster, node) for node in NODES]
        assert all("kernel.numa_balancing = 0\nnet.core.somaxconn = 8192\n" in settings for settings in first)
        assert all("/usr/lib/x86_64-linux-gnu/libibverbs/libbnxt_re-rdmav34.so" in settings for settings in first)
        assert all("\n/etc/libibverbs.d\n" in settings for settings in first)
        for arguments in ((), ("--check", "--diff")):
            again = cluster.prepare(*arguments)
            assert (again.status, again.changed) == (0, set()), again.output
        assert [settings_of(cluster, node) for node in NODES] == first

    def test_each_step_has_a_switch(self, cluster: Cluster) -> None:
        switches = ("numa_balancing", "rdma_packages", "rdma_drivers", "rdma_library", "limits", "kernel_settings")
        cluster.shell("node1", "echo 1 >/proc/sys/kernel/numa_balancing; rm /etc/sysctl.d/99-trainops.conf")
        # Strings, like extra variables of the form name=value.
        off = cluster.prepare("--limit", "node1", **{f"node_prep_{switch}": "false" for switch in switches})
        assert (off.status, off.changed) == (0, set()), off.output
        on = cluster.prepare("--limit", "node1")
        assert {task for task, _ in on.changed} == {"Set the kernel settings of a step"}, on.output

    def test_the_play_of_the_readme_checks_changes_and_changes_nothing_more(self, cluster: Cluster) -> None:
        readme = (ROOT / "roles/node_prep/README.md").read_text()
        play = cluster.state.parent / "mine.yml"
        play.write_text("---\n" + readme.split("```yaml\n")[1].split("```")[0])
        cluster.shell("node1", f"echo 1 >/proc/sys/kernel/numa_balancing; rm /etc/sysctl.d/99-trainops.conf {LIMITS}")
        before = settings_of(cluster, "node1")
        told, done, again = (
            cluster.play(str(play), "--limit", "node1", *check, **PREPARING) for check in (["--check"], [], [])
        )
        assert (told.status, done.status, again.status) == (0, 0, 0), done.output
        assert told.changed == done.changed
        assert {task for task, _ in done.changed} == {"Set the kernel settings of a step", "Write the login limits"}
        assert again.changed == set(), again.output
        assert settings_of(cluster, "node1") != before

    def test_a_folder_in_place_of_the_library_is_refused_and_left_alone(self, cluster: Cluster) -> None:
        path = "/usr/local/lib/made-by-docker/libbnxt_re-rdmav34.so"
        cluster.shell("node1", f"mkdir -p {path}")
        refused = cluster.prepare("--limit", "node1", node_prep_rdma_library_path=path)
        assert refused.status == 2
        assert f"(rmdir {path})" in " ".join(refused.output.split())
        cluster.shell("node1", f"test -d {path}")

    def test_settings_that_cannot_be_made_are_all_named_before_the_first_change(self, cluster: Cluster) -> None:
        cluster.shell("node1", f"echo 1 >/proc/sys/kernel/numa_balancing; rm -f {LIMITS}")
        before = settings_of(cluster, "node1")
        wrong = {"vm.max_map_count": 2000000, "net.core.somaxcon": 1}
        for check in ([], ["--check"]):
            refused = cluster.prepare("--limit", "node1", *check, node_prep_kernel_minimums=wrong)
            output = " ".join(refused.output.split())
            assert (refused.status, refused.changed) == (2, set())
            assert "and cannot be set to 2000000: it is read-only" in output
            assert "add -e node_prep_kernel_settings=false" in output
            assert "no setting net.core.somaxcon; did you mean net.core.somaxconn?" in output
        assert settings_of(cluster, "node1") == before
        assert cluster.prepare("--limit", "node1").status == 0

    def test_a_file_that_wins_at_the_next_boot_is_told_in_every_run(self, cluster: Cluster) -> None:
        cluster.shell("node1", "echo kernel.numa_balancing=1 >/etc/sysctl.d/zz-vendor.conf")
        runs = [cluster.prepare("--limit", "node1", callback="trainops.cluster.training_output") for _ in range(2)]
        cluster.shell("node1", "rm /etc/sysctl.d/zz-vendor.conf")
        for one in runs:
            output = " ".join(one.output.split())
            assert (one.status, "changed: " in output) == (0, False)
            assert output.count("/etc/sysctl.d/zz-vendor.conf sets kernel.numa_balancing to another value") == 1, output

    def test_absent_takes_back_what_the_role_made_and_nothing_else(self, cluster: Cluster) -> None:
        """On a node with two adapters in one network, slurmd's unit, and processors whose governor is a file."""
        cpu, adapters, rail = "/sys/devices/system/cpu", "/sys/class/infiniband", "/proc/sys/net/ipv4/conf/rail1"
        governor = f"{cpu}/cpu0/cpufreq/scaling_governor"
        cluster.shell(
            "node2",
            f"mount -t tmpfs tmpfs {cpu} && mkdir -p {cpu}/cpu0/cpufreq && echo powersave >{governor}"
            f"; touch /etc/systemd/system/slurmd.service; echo '# mine' >>{LIMITS}"
            f"; cp -a {adapters} /srv/adapters && cd /srv/adapters && cp -a bnxt_re0 bnxt_re1"
            f"; echo rail1 | tee bnxt_re1/ports/1/gid_attrs/ndevs/*; mount --bind /srv/adapters {adapters}"
            "; ip link add rail1 type veth peer name rail2; own=$(ip -o -4 address show dev fab0 | awk '{print $4}')"
            " && ip address add ${own%.*}.250/${own#*/} dev rail1 noprefixroute"
            # A strict filter, and none at all.
            "; cd /proc/sys/net/ipv4/conf; echo 0 | tee all/rp_filter fab0/rp_filter; echo 1 >rail1/rp_filter",
        )
        try:
            made = cluster.prepare("--limit", "node2")
            assert {task for task, _ in made.changed} == {
                "Make settings of processors, PCIe and services, and keep them at each boot",
                "Set the kernel settings of a step",
            }, made.output
            assert cluster.prepare("--limit", "node2").changed == set()
            # As at boot.
            cluster.shell(
                "node2",
                f"echo powersave >{governor}; echo 1 >/proc/sys/kernel/numa_balancing; echo 0 >{rail}/arp_ignore"
                "; systemctl daemon-reload"
                "; systemctl restart systemd-sysctl; systemctl start multi-user.target trainops-cpu-governor",
            )
            wanted = "enabled\ninfinity\nperformance\n0\n2\n1\n2\n0\n"
            assert wanted == cluster.shell(
                "node2",
                "systemctl is-enabled trainops-cpu-governor; systemctl show --value -p LimitMEMLOCK slurmd"
                f"; cat {governor} /proc/sys/kernel/numa_balancing"
                f"; cat {rail}/arp_ignore {rail}/arp_announce {rail}/rp_filter {rail}/../fab0/rp_filter",
            )
            back = [
                cluster.prepare("--limit", "node2", *more, node_prep_state="absent") for more in (["--check"], [], [])
            ]
            assert [one.status for one in back] == [0, 0, 0], back[1].output
            assert back[0].changed == back[1].changed
            assert back[2].changed == set()
            left = cluster.shell(
                "node2",
                f"cat {governor} /proc/sys/kernel/numa_balancing /proc/sys/net/core/somaxconn"
                f"; cat {rail}/arp_ignore {rail}/rp_filter {LIMITS}"
                "; find /etc /var/lib /usr/local -name '*trainops*' -o -name '*rdmav34*'; test ! -L /lib/libibverbs.d"
                " && dpkg-query --show --showformat '${db:Status-Status}\\n' rdma-core ibverbs-providers",
            )
            assert left == f"powersave\n1\n4096\n0\n1\n# mine\n{LIMITS}\n" + "config-files\n" * 2
        finally:
            cluster.shell("node2", f"umount {cpu}; rm {LIMITS} /etc/systemd/system/slurmd.service")
            cluster.shell("node2", f"ip link delete rail1; umount {adapters}; rm -r /srv/adapters")
        assert cluster.prepare("--limit", "node2").status == 0

    def test_more_open_files_than_the_kernel_allows_are_refused(self, cluster: Cluster) -> None:
        refused = cluster.prepare("--limit", "node1", node_prep_limits_nofile=2000000)
        assert refused.status == 2
        assert "but the kernel allows 1048576 open files" in " ".join(refused.output.split())

    def test_the_library_is_put_in_place_and_proved_with_the_real_libibverbs(self, cluster: Cluster) -> None:
        target = "/srv/container/libbnxt_re-rdmav34.so"
        lines = library_lines([{"source": LIBRARY, "target": f"{target}.host"}], 1)
        script = "\n".join([*lines, f"{FUNCTION} && echo training"])
        cluster.shell("node1", f"mkdir -p /srv/container; cp {LIBRARY} {target}.host")
        done = cluster.ssh("node1", "bash", "-c", script)
        assert (done.returncode, done.stdout) == (0, "training\n"), done.stderr
        cluster.shell("node1", f"cmp {target} {target}.host")
        # The same device with the ABI of Broadcom's own driver, in a copy of /sys that libibverbs is pointed to.
        cluster.shell(
            "node1",
            "mkdir -p /srv/sys/class; cp -rL /sys/class/infiniband /sys/class/infiniband_verbs /srv/sys/class/;"
            " echo 6 >/srv/sys/class/infiniband_verbs/uverbs0/abi_version",
        )
        refused = cluster.ssh("node1", "env", "SYSFS_PATH=/srv/sys", "bash", "-c", script)
        assert refused.returncode == 1
        assert "Driver bnxt_re does not support the kernel ABI of 6 (supports 1 to 1)" in refused.stdout
        assert "RDMA devices: 1 on the node, 0 in the container" in refused.stdout
        assert "training\n" not in refused.stdout


class TestNetwork:
    """Nodes lack ethtool for the tuning, and /sys is read-only in them: features and slow start are left out here."""

    OPTIONS: t.ClassVar[dict[str, t.Any]] = {
        "node_prep_network": True,
        "node_prep_network_mtu": 8896,
        "node_prep_network_features": {"tx-nocache-copy": None},
        "node_prep_network_hystart_detect": 0,
        **dict.fromkeys(
            (
                f"node_prep_{step}"
                for step in ("numa_balancing", "rdma_packages", "rdma_drivers", "rdma_library", "limits")
            ),
            False,
        ),
        "node_prep_kernel_settings": False,
    }

    def test_it_is_off_by_default(self, cluster: Cluster) -> None:
        played = cluster.play("node_prep.yml", **{**self.OPTIONS, "node_prep_network": False})
        assert (played.status, played.changed) == (0, set()), played.output

    @pytest.fixture
    def routed(self, cluster: Cluster) -> t.Iterator[None]:
        """Give the nodes, which have no way out, a route that leads nowhere, but can be tuned."""
        for node in NODES:
            cluster.shell(node, "ip route replace default dev fab0 metric 100")
        yield
        for node in NODES:
            cluster.shell(node, "ip route delete default && ip link set fab0 mtu 1500")

    @pytest.mark.usefixtures("routed")
    def test_check_mode_and_diff_show_it_and_the_second_run_changes_nothing(self, cluster: Cluster) -> None:
        shown = cluster.play("node_prep.yml", "--check", "--diff", **self.OPTIONS)
        assert shown.status == 0, shown.output
        assert "+fab0 mtu: 8896" in shown.output
        assert "mtu 1500" in cluster.shell(NODES[0], "ip link show fab0")
        first = cluster.play("node_prep.yml", **self.OPTIONS)
        assert first.status == 0, first.output
        assert first.changed == shown.changed
        assert ("Tune the network interface", NODES[1]) in first.changed
        for node in NODES:
            assert "mtu 8896" in cluster.shell(node, "ip link show fab0")
            if cluster.shell(node, f"cat {RTO} || true"):
                assert cluster.shell(node, f"cat {RTO}") == "5000\n"
                assert "rto_min" not in cluster.shell(node, "ip route show default")
            else:
                assert "rto_min lock 5ms" in cluster.shell(node, "ip route show default")
            assert cluster.shell(node, "cat /proc/sys/net/ipv4/tcp_slow_start_after_idle").strip() == "0"
        second = cluster.play("node_prep.yml", **self.OPTIONS)
        assert (second.status, second.changed) == (0, set()), second.output

    @pytest.mark.usefixtures("routed")
    def test_a_greater_minimum_of_another_step_stays(self, cluster: Cluster) -> None:
        both = {
            **self.OPTIONS,
            "node_prep_kernel_settings": True,
            "node_prep_kernel_minimums": {"vm.max_map_count": 0, "net.core.somaxconn": 16384},
        }
        assert cluster.play("node_prep.yml", "--limit", "node1", **both).status == 0
        for again in (both, self.OPTIONS):
            played = cluster.play("node_prep.yml", "--limit", "node1", **again)
            assert (played.status, played.changed) == (0, set()), played.output
        kept = cluster.shell("node1", "grep somaxconn /etc/sysctl.d/99-trainops.conf; cat /proc/sys/net/core/somaxconn")
        assert kept == "net.core.somaxconn = 16384\n16384\n"

    @pytest.mark.usefixtures("routed")
    def test_without_the_package_of_a_program_nothing_of_the_step_is_changed(self, cluster: Cluster) -> None:
        """The nodes' repository has no ethtool."""
        cluster.shell("node1", "sed -i /tcp_no_metrics_save/d /etc/sysctl.d/99-trainops.conf")
        options = {**self.OPTIONS, "node_prep_network_features": {}}
        options |= {"node_prep_limits": True, "node_prep_limits_nofile": 1000}
        played = cluster.play("node_prep.yml", "--limit", "node1", **options)
        # The other steps are done.
        assert (played.status, played.changed) == (2, {("Write the login limits", "node1")})
        assert "ethtool cannot be installed: E: Package" in played.output
        assert "node_prep_network_features to {tx-nocache-copy: null}" in " ".join(played.output.split())
        assert "tcp_no_metrics_save" not in cluster.shell("node1", "cat /etc/sysctl.d/99-trainops.conf")


class TestPreflight:
    """Goes on from nodes that are prepared."""

    def test_what_is_not_ready_is_red_with_what_mends_it(self, cluster: Cluster, options: dict[str, t.Any]) -> None:
        cluster.shell("node2", "echo 1 >/proc/sys/kernel/numa_balancing; ip link set fab0 mtu 1400")
        cluster.shell(
            "node1", "systemd-run --quiet --unit listener python3 -m http.server 6000; mkdir -p /srv/shared/cache"
        )
        found = cluster.play("preflight.yml", **options)
        assert found.status == 2
        for red in (
            "numa on node2",
            "mtu on node[1-2]",
            "port on node1",
            "mounts on node2",
            "cache on node2",
            "image on node[1-2]",
        ):
            assert re.search(rf"^{re.escape(red)}$", found.output, re.MULTILINE), (red, found.output)
        assert "→ sysctl -w kernel.numa_balancing=0" in found.output
        assert (
            "→ manual step: mount what belongs at /srv/shared, or remove it from volume_dict in the config\n"
            in found.output
        )
        assert "Not ready: 8 red cells on 2 of 2 nodes." in found.output
        assert found.changed == set()
        assert cluster.shell("node1", "ls -A /srv/shared/cache") == ""
        # The preflight's own output.
        cluster.shell("node2", "sysctl -qw kernel.numa_balancing=0; ip link set fab0 mtu 1500")
        cluster.shell("node1", "systemctl stop listener")

    def test_nodes_that_are_ready_are_green(
        self, cluster: Cluster, options: dict[str, t.Any], shared_disk: str
    ) -> None:
        number = shared_disk.removeprefix("/dev/loop")
        archive = cluster.state.parent / "trainer.tar"
        done = cluster.run("image", str(archive))
        assert done.returncode == 0, done.stderr
        for node in NODES:
            cluster.shell(
                node,
                f"test -e {shared_disk} || mknod {shared_disk} b 7 {number};"
                f" mkdir -p /srv/shared && mount {shared_disk} /srv/shared && mkdir -p {CACHE}",
            )
            with archive.open("rb") as stream:
                loaded = cluster.ssh(node, "podman", "load", stdin=stream)
            assert loaded.returncode == 0, loaded.stderr
        ready = cluster.play("preflight.yml", **options)
        assert ready.status == 0, ready.output
        assert "Ready: nothing is red on 2 nodes." in ready.output
        assert "    cache: shared\n" in ready.output
        assert "    gid: 3 is RoCE v2\n" in ready.output
        assert ready.changed == set()
        assert cluster.shell("node1", f"ls -A {CACHE}") == ""

    def test_check_mode_writes_no_file_and_so_proves_no_cache(
        self, cluster: Cluster, options: dict[str, t.Any], shared_disk: str
    ) -> None:
        assert shared_disk
        looked = cluster.play("preflight.yml", "--check", **options)
        assert looked.status == 0, looked.output
        assert "cache: not verified: rank 0 could not create a file there" in looked.output

    def test_an_open_config_gets_proposals(
        self, cluster: Cluster, options: dict[str, t.Any], config: Path, shared_disk: str
    ) -> None:
        assert shared_disk
        data = json.loads(config.read_text())
        for key in ("nccl_ib_gid_index", "nccl_socket_ifname", "gloo_socket_ifname"):
            del data["config"][key]
        open_config = config.with_name("open.json")
        open_config.write_text(json.dumps(data))
        told = cluster.play("preflight.yml", **{**options, "training_config": str(open_config)})
        assert told.status == 0, told.output
        assert "    nccl_socket_ifname: eth0\n" in told.output
        assert "    nccl_ib_gid_index: 3\n" in told.output

    def test_a_node_that_does_not_answer_is_red_and_the_others_are_judged(
        self, cluster: Cluster, options: dict[str, t.Any]
    ) -> None:
        data = json.loads((cluster.state / "hosts").read_text())
        hosts = data["gpu_nodes"]["hosts"]
        hosts["node2"]["ansible_host"] = re.sub(r"\d+$", "77", hosts["node2"]["ansible_host"])
        inventory = cluster.state.parent / "hosts"
        inventory.write_text(json.dumps(data))
        found = cluster.play("preflight.yml", inventory=inventory, **options)
        assert found.status != 0
        assert "reached on node2\n" in found.output
        assert re.search(r"^node1 +ok ", found.output, re.MULTILINE)
        assert "Not ready: 1 red cell on 1 of 2 nodes." in found.output
