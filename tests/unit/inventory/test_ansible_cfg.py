"""The promises of the project's ansible.cfg to users who play from a clone."""

from __future__ import annotations

import yaml
from ansible_commands import run


def settings() -> dict[str, str]:
    done = run("ansible-config", "dump", "--type", "all", "--format", "yaml")
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = {}
    for entry in yaml.safe_load(done.stdout):
        if "name" in entry:
            found[entry["name"]] = entry["value"]
        else:
            [plugins] = entry.values()
            for plugin in plugins:
                for own in plugin.values():
                    found |= {setting["name"]: setting["value"] for setting in own}
    return found


def test_host_keys_are_checked() -> None:
    found = settings()
    assert found["HOST_KEY_CHECKING"] is True
    told = run("ansible-config", "dump", "--only-changed", "--type", "all").stdout
    assert "StrictHostKeyChecking" not in told
    assert "UserKnownHostsFile" not in told


def test_what_is_wrong_with_an_inventory_ends_a_play() -> None:
    assert settings()["INVENTORY_ANY_UNPARSED_IS_FAILED"] is True


def test_the_python_of_a_node_is_found_without_a_warning_for_each() -> None:
    assert settings()["INTERPRETER_PYTHON"] == "auto_silent"
