"""The inventories in inventories/, one folder for each kind of cluster."""

from __future__ import annotations

import functools
import ipaddress
import itertools
import json
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_commands import ROOT
from inventory_runs import in_play_order, listed, planned_nodes
from nxdt_configs import MEGATRON, text_of
from training_configs import DISTRIBUTED, SINGLE_MI35X, filled

KINDS = sorted(path for path in (ROOT / "inventories").iterdir() if path.is_dir())
FILES = sorted(path for kind in KINDS for path in kind.rglob("group_vars/*/*.yml"))
_KNOB = re.compile(r"#(?: ([a-z_]+:.*)|( {3}.*))")
# RFC 5737
DOCUMENTATION = [ipaddress.ip_network(net) for net in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")]


def tpu_example() -> dict[str, t.Any]:
    config: dict[str, t.Any] = json.loads((ROOT / "examples/maxtext/tpu_v5p_llama2_70b.json").read_text())
    config["config"]["container_image"] = "maxtext:built-here"
    return config


def h100_example() -> dict[str, t.Any]:
    config: dict[str, t.Any] = json.loads((ROOT / "examples/maxtext/2_nodes_h100_llama2_7b.json").read_text())
    config["config"]["container_image"] = "maxtext:built-here"
    return config


# An example of the framework for each kind of cluster, filled in as its user would, and the variable that selects its
# branch.
OF_EXAMPLE: dict[str, tuple[t.Any, dict[str, t.Any]]] = {
    "local": ((ROOT / "inventories/local/tiny_llama.json").read_text(), {}),
    "mi300x_thor2": (filled(DISTRIBUTED), {"training_model": "llama3_1_8b"}),
    "mi355x_ainic": (filled(SINGLE_MI35X, {"config/nnodes": "2"}), {"training_model": "llama3_1_8b"}),
    "cx7": (filled(DISTRIBUTED, {"config/nic_type": "cx7"}), {"training_model": "llama3_1_8b"}),
    "h100_cx7": (h100_example(), {"training_record_only": True}),
    "slurm": (filled(DISTRIBUTED), {"training_model": "llama3_1_8b", "training_gpu": "mi300x"}),
    "trn1": (text_of(MEGATRON), {}),
    "tpu_v5p": (
        tpu_example(),
        {"training_record_only": True, "training_maxtext_entry_point": "maxtext.trainers.pre_train.train"},
    ),
}


@functools.cache
def documented() -> dict[str, t.Any]:
    """Return every variable of the roles with its default."""
    specs = [yaml.safe_load(path.read_text()) for path in (ROOT / "roles").glob("*/meta/argument_specs.yml")]
    entries = itertools.chain.from_iterable(spec["argument_specs"].values() for spec in specs)
    return {name: option["default"] for entry in entries for name, option in entry["options"].items()}


def knobs(path: Path) -> dict[str, t.Any]:
    """Return the commented lines of a file that would otherwise be variables."""
    found = [_KNOB.fullmatch(line) for line in path.read_text().splitlines()]
    lines = (match[1] or match[2] for match in found if match)
    return yaml.safe_load("\n".join(lines)) or {}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT / "inventories")))
def test_a_knob_is_a_documented_variable_and_its_default(path: Path) -> None:
    defaults = documented()
    assert {name: defaults.get(name, "not documented") for name in knobs(path)} == knobs(path)


def test_knobs_are_found() -> None:
    assert knobs(ROOT / "inventories/cx7/group_vars/all/training.yml")["training_stall_timeout"] == 1800


def test_every_kind_offers_its_knobs_and_is_planned_below() -> None:
    assert {kind.name for kind in KINDS} == set(OF_EXAMPLE)
    for kind in KINDS:
        assert any(knobs(path) for path in FILES if kind in path.parents), kind.name


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_an_inventory_holds_its_contract_and_no_real_address(kind: Path) -> None:
    if kind.name == "local":
        assert in_play_order(kind) == ["node0", "node1"]
        return
    if kind.name == "slurm":
        assert in_play_order(kind) == ["login"]
        return
    inventory = listed(kind)
    assert set(inventory["all"]["children"]) >= {"racks", "maintenance"}
    for name, variables in inventory["hostvars"].items():
        assert name.endswith(".example.org")
        for key in ("ansible_host", "training_address"):
            address = ipaddress.ip_address(variables.get(key, "192.0.2.1"))
            assert any(address in network for network in DOCUMENTATION), f"{name}: {key} is {address}"


def without_maintenance(kind: Path, source: Path) -> Path:
    """Return an inventory as it is after a user replaced its hosts file with one that has no group maintenance."""
    hosts = yaml.safe_load((kind / "hosts").read_text())
    if not hosts["all"].get("children", {}).pop("maintenance", None):
        return kind
    source.mkdir()
    (source / "hosts").write_text(yaml.safe_dump(hosts, sort_keys=False))
    (source / "group_vars").symlink_to(kind / "group_vars")
    return source


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_config_of_its_framework_is_planned_on_it(kind: Path, tmp_path: Path) -> None:
    example, variables = OF_EXAMPLE[kind.name]
    config = tmp_path / ("config.yaml" if kind.name == "trn1" else "config.json")
    config.write_text(example if isinstance(example, str) else json.dumps(example))
    nodes = planned_nodes(tmp_path, without_maintenance(kind, tmp_path / "source"), config, **variables)
    chosen_by_slurm = [f"slurm-node-000{rank}" for rank in range(4)]
    assert [node["node"] for node in nodes] == (chosen_by_slurm if kind.name == "slurm" else in_play_order(kind))


def test_a_host_in_maintenance_takes_no_part_and_racks_are_neighbours(tmp_path: Path) -> None:
    hosts = yaml.safe_load((ROOT / "inventories/mi300x_thor2/hosts").read_text())
    racks = hosts["all"]["children"]["racks"]["children"]
    racks["rack_a"]["hosts"]["gpu05.example.org"] = {"ansible_host": "192.0.2.15"}
    hosts["all"]["children"]["maintenance"]["hosts"]["gpu02.example.org"] = {}
    source = tmp_path / "cluster"
    source.mkdir()
    (source / "hosts").write_text(yaml.safe_dump(hosts, sort_keys=False))
    (source / "group_vars").symlink_to(ROOT / "inventories/mi300x_thor2/group_vars")
    config = tmp_path / "config.json"
    config.write_text(json.dumps(filled(DISTRIBUTED)))
    nodes = planned_nodes(tmp_path, source, config, training_model="llama3_1_8b")
    assert [node["node"].split(".")[0] for node in nodes] == ["gpu01", "gpu05", "gpu03", "gpu04"]
