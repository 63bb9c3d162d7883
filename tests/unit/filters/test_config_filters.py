"""Filters that translate a training config, through Ansible's own templating."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from ansible.playbook.task import Task
from filter_runs import shown, value

ROOT = Path(__file__).resolve().parents[3]
CONFIG = str(ROOT / "inventories/local/tiny_llama.json")
TRAINER = str(ROOT / "roles/training/files/trainer")
OPTIONS = (
    "['gpu01', 'gpu02'], overrides={'config.master_address': 'auto'}, container_engine='none', gpus_per_node=1, "
    f"megatron_root='{TRAINER}'"
)


def test_a_config_becomes_the_variables_of_each_node(tmp_path: Path) -> None:
    call = f"'{CONFIG}' | trainops.cluster.training_env"
    first, second = (value(tmp_path, f"{call}({node}, {OPTIONS}, interface='eth7')") for node in (0, "'gpu02'"))
    assert {name: (first[name], second[name]) for name in first if first[name] != second[name]}.keys() >= {"NODE_RANK"}
    assert (first["NODE_RANK"], second["NODE_RANK"]) == ("0", "1")
    assert first["MASTER_ADDR"] == "gpu01"


@pytest.mark.parametrize("source", ["path", "text", "data", "plan"])
def test_a_config_may_be_given_in_each_form_and_gives_one_command(tmp_path: Path, source: str) -> None:
    given = {
        "path": f"'{CONFIG}'",
        "text": f"lookup('ansible.builtin.file', '{CONFIG}')",
        "data": f"(lookup('ansible.builtin.file', '{CONFIG}') | from_json)",
        "plan": f"('{CONFIG}' | trainops.cluster.training_plan({OPTIONS}))",
    }[source]
    more = "" if source == "plan" else f", {OPTIONS}"
    argv = value(tmp_path, f"{given} | trainops.cluster.training_argv(1{more}, interface='lo')")
    assert argv[0] == "bash"
    assert any(word.endswith(".sh") for word in argv)
    assert "auto" not in " ".join(argv)


def test_an_interface_that_the_node_finds_is_set_or_left_out_with_a_warning_and_never_the_word_auto(
    tmp_path: Path,
) -> None:
    options = OPTIONS.replace(
        "'auto'}", "'auto', 'config.nccl_socket_ifname': 'auto', 'config.gloo_socket_ifname': 'auto'}"
    )
    call = f"'{CONFIG}' | trainops.cluster.training_env(0, {options}"
    text, said, status = shown(tmp_path, f"{call})")
    assert status == 0, said
    assert "auto" not in json.loads(text).values()
    assert "NCCL_SOCKET_IFNAME" not in json.loads(text)
    assert "NCCL_SOCKET_IFNAME" in said
    assert "interface=NAME" in said
    assert value(tmp_path, f"{call}, interface='eth7')")["NCCL_SOCKET_IFNAME"] == "eth7"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (f"'{CONFIG}' | trainops.cluster.training_env(7, {OPTIONS})", "no node 7; give a rank from 0 to 1"),
        (f"'{CONFIG}' | trainops.cluster.training_env(0, modle='x')", "modle (did you mean model?)"),
        ("'/no/such.json' | trainops.cluster.training_plan", "/no/such.json: No such file or directory"),
        (
            f"'{CONFIG}' | trainops.cluster.training_plan({OPTIONS}, gpu='h7')",
            "The file offers",
        ),
        (f"'{CONFIG}' | trainops.cluster.training_plan(['gpu01'])", "nnodes is 2, but the run has 1"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, expression: str, expected: str) -> None:
    _text, said, status = shown(tmp_path, expression)
    assert status != 0
    assert expected in said
    assert "Traceback" not in said


@pytest.mark.parametrize("name", ["training_env", "training_argv", "training_plan"])
def test_an_example_passes_the_variables_of_the_hosts_from_which_the_role_takes_ranks_and_addresses(name: str) -> None:
    text = (ROOT / f"plugins/filter/{name}.py").read_text(encoding="utf-8")
    example = text.partition('EXAMPLES = r"""')[2].partition('"""')[0]
    assert example.count("groups.all") == example.count("groups.all | map('extract', hostvars)") == 1
    (task,) = yaml.safe_load(example)
    # Ansible takes the name of a keyword, such as environment, for the keyword.
    assert not task["vars"].keys() & Task.fattributes.keys()
