"""A plan of a real training config, and the facts of nodes that are ready for it; tests change one thing at a time."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "data" / "nodes"))

from node_trees import mi300x_thor2

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.gpus import gpu_facts, with_sensors
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.providers import provider_libraries
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.rdma import rdma_devices
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.sensors import measured
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.settings import setting_facts
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.system import system_facts
from ansible_collections.trainops.cluster.plugins.module_utils.node.phase import NodeError
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.cells import RED
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.checks import preflight
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.needs import inspection_of

EXAMPLE = ROOT / "examples" / "megatron" / "mi3xx_megatron_llama_distributed.json"
LIBRARY = "/usr/local/lib/libbnxt_re-rdmav34.so"
PROBE = "/home/ops/cache/.trainops-preflight-x"
GIB = 1024**3
_FILLED = {
    "master_address": "auto",
    "training_iterations": "30",
    "nic_type": "thor2",
    "nccl_ib_hca_list": ",".join(f"bnxt_re{number}" for number in range(8)),
    "nccl_socket_ifname": "ens1np0",
    "gloo_socket_ifname": "ens1np0",
    "nccl_ib_gid_index": "3",
}
LINK = {"device": "bnxt_re3", "address": "0000:04:00.0", "kind": "nic"}
WHOLE_LINK = {"pcie_speed": 32.0, "pcie_width": 16, "pcie_speed_limit": 32.0, "pcie_width_limit": 16}
# As AMD asks for; the trees of nodes have nothing of it.
_SETTINGS: dict[str, Any] = {
    "virtual_machine": False,
    "command_line": "ro pci=realloc=off,bfsort iommu=pt",
    "acs_bridges": [],
    "iommu": ["identity"],
    "pcie": [{**LINK, **WHOLE_LINK}],
    "governors": ["performance"],
    "c2": False,
    "slurmd_memlock": -1,
    "roce_dscp": {f"bnxt_re{number}": 10 for number in range(8)},
    "roce": {f"bnxt_re{number}": {"pfc": [3], "dscp": {"10": 3, "48": 7}, "ecn": [3]} for number in range(8)},
    "nic_firmware": {},
    "relaxed_ordering": {f"bnxt_re{number}": True for number in range(8)},
    "shared_rails": [],
    "port_range": [32768, 60999],
    "reserved_ports": "",
}
# Anything given as None is left out of the config.
Changes = dict[str, Any]


def plan_of(count: int = 2, mode: str = "multi_node", engine: str = "docker", **changes: Any) -> dict[str, Any]:
    """Return the plan of the example config on ``count`` nodes, with changed keys of its section config."""
    data = json.loads(EXAMPLE.read_text("utf-8"))
    volumes = changes.pop("volume_dict", None)
    config = {**data["config"], **_FILLED, "nnodes": str(count), **changes}
    data["config"] = {key: value for key, value in config.items() if value is not None}
    if volumes is not None:
        data["config"]["container_config"]["volume_dict"] = volumes
    data["model_params"] = {mode: data["model_params"]["multi_node"]}
    # Two sequences for each of the 8 GPUs of a node.
    data["model_params"][mode]["llama3_1_8b"]["mi300x"]["batch_size"] = str(16 * count)
    nodes = [Node(f"gpu{number:02}", f"192.168.1.{number}", "ops") for number in range(1, count + 1)]
    options = {
        "training_model": "llama3_1_8b",
        "training_gpu": "mi300x",
        "training_record_only": True,
        "training_mode": mode,
        "training_run_id": "run7",
        "container_engine": engine,
    }
    plan = make_plan(json.dumps(data), str(EXAMPLE), options, nodes)
    assert not plan["faults"], plan["faults"]
    return plan


def base_facts(tree: Path) -> dict[str, Any]:
    """Return the facts in the files of a node with MI300X and Thor2, and the limits of a login that is ready."""
    root = str(mi300x_thor2(tree))
    return {
        **system_facts(root),
        "bios": "2.1.V1",
        "gpus": {**with_sensors(gpu_facts(root), measured(root)), "tool": "amd-smi"},
        "rdma": {
            "devices": rdma_devices(root),
            "libraries": provider_libraries(root),
            "verbs": {"devices": 8, "warnings": []},
        },
        "limits": {
            "memlock": {"soft": -1, "hard": -1},
            "nofile": {"soft": 1024, "hard": 1048576},
            "uid": 0,
            "nr_open": 1048576,
            "shm": {"total_bytes": 1100 * GIB, "free_bytes": 1100 * GIB},
        },
        "settings": {**setting_facts(root, gpu_facts(root)["devices"], rdma_devices(root)), **_SETTINGS},
        "problems": {},
    }


def facts_of(plan: dict[str, Any], base: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the facts of each node of a plan, if the nodes are ready for it."""
    image = {"id": f"sha256:{'ab' * 32}", "digests": []}
    facts = {}
    for number, node in enumerate(plan["nodes"], 1):
        paths = {path: path_facts() for path in inspection_of(plan, node)["paths"]}
        for path in paths:
            if path.endswith((".so", ".sh")):
                paths[path] |= {"kind": "file", "library": {"soname": None, "rdma_abi": 34}}
        paths |= {secret["source"]: path_facts(kind="file") for secret in node["secrets"]}
        facts[node["node"]] = {
            **copy.deepcopy(base),
            "hostname": node["node"],
            "network": {
                "interfaces": {
                    "lo": {"mtu": 65536, "up": True, "addresses": ["127.0.0.1/8"]},
                    "ens1np0": {"mtu": 9000, "up": True, "addresses": [f"192.168.1.{number}/24"]},
                    "eno1": {"mtu": 1500, "up": True, "addresses": [f"10.0.0.{number}/24"]},
                },
                "hostname": {"addresses": [f"192.168.1.{number}"], "loopback": False},
                "master": {
                    "address": "192.168.1.1",
                    "interface": None if number == 1 else "ens1np0",
                    "source": f"192.168.1.{number}",
                    "own": number == 1,
                    "mtu": None if number == 1 else 9000,
                    "path_mtu": None if number == 1 else 9000,
                },
                "master_port_problem": None,
            },
            "paths": {**paths, PROBE: path_facts(kind="file")},
            "engines": {
                "docker": {
                    "version": "27.3.1",
                    "problem": None,
                    "knows_registry": True,
                    "image": dict(image),
                    "storage": path_facts(path="/var/lib/docker"),
                },
                "podman": None,
            },
            "clock": {
                "began": 100.0,
                "time": 100.4,
                "synchronized": True,
                "estimated_error_seconds": 0.0001,
                "offset_seconds": [-0.1, 0.3],
            },
        }
    return facts


def path_facts(**changes: Any) -> dict[str, Any]:
    """Return the facts about a folder with much room."""
    return {
        "kind": "directory",
        "nearest": "/home",
        "writable": True,
        "file_system": "nfs4",
        "total_bytes": 1000 * GIB,
        "free_bytes": 500 * GIB,
        "free_inodes": 10_000_000,
        "empty": False,
        **changes,
    }


class Bench:
    """A plan and its nodes. ``facts`` may be changed before the cells are asked for."""

    def __init__(self, base: dict[str, Any], **options: Any) -> None:
        self.plan = plan_of(**options)
        self.facts = facts_of(self.plan, base)

    def __getitem__(self, number: int) -> dict[str, Any]:
        """Return the facts of a node, counted from 1."""
        return self.facts[f"gpu{number:02}"]

    def result(self, probe: str | None = PROBE) -> dict[str, Any]:
        silent = [node["node"] for node in self.plan["nodes"] if node["node"] not in self.facts]
        return preflight(self.plan, self.facts, probe, errors={name: NodeError("no answer") for name in silent})

    def cell(self, check: str, number: int = 1, probe: str | None = PROBE) -> dict[str, Any]:
        """Return the row of a check of a node."""
        (row,) = [
            row for row in self.result(probe)["rows"] if (row["node"], row["check"]) == (f"gpu{number:02}", check)
        ]
        return row

    def code(self, check: str, number: int = 1) -> tuple[str, str, str]:
        """Return the status of a check of a node, with the code and case of its finding."""
        cell = self.cell(check, number)
        return cell["status"], cell["code"], cell["case"]

    def reds(self) -> list[tuple[str, str]]:
        """Return node and check of all red cells."""
        return [(row["node"], row["check"]) for row in self.result()["rows"] if row["status"] == RED]
