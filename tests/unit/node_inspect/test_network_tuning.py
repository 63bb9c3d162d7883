"""The module network_tuning on real interfaces, in a network namespace of its own.

Things that a namespace cannot have: /sys/module is the machine's, so nothing there is written; that path is left to
`test_slow_start_is_read_and_written_below_sys`.
"""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from module_runs import call_module, run_module
from not_run import need, need_root

from ansible_collections.trainops.cluster.plugins.modules import network_tuning as tuning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SETUP = (
    "ip link add e0 type veth peer name e1",
    "ip address add 10.9.0.2/24 dev e0",
    "ip link set e0 up",
    "ip link set e1 up",
    "ip route add default via 10.9.0.1 dev e0 metric 100",
)


def in_namespace(name: str, command: str) -> str:
    return subprocess.run(
        ["ip", "netns", "exec", name, *command.split()], check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def namespace() -> Iterator[str]:
    """Return the name of a network namespace with an interface e0 and a default route over it."""
    need("ip")
    need_root("only root makes a network namespace")
    name = f"trainops-{os.getpid()}"
    for command in (f"ip netns add {name}", f"ip netns exec {name} true"):
        made = subprocess.run(command.split(), capture_output=True, text=True, check=False)
        if made.returncode:
            # A failed try leaves this file behind, and the next one would fail because of it.
            Path("/run/netns", name).unlink(missing_ok=True)
            pytest.skip(f"this machine makes no network namespace: {made.stderr.strip()}")
    try:
        for command in SETUP:
            in_namespace(name, command)
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


@pytest.fixture
def within(namespace: str, tmp_path: Path) -> tuple[str, ...]:
    """Return a command that runs another one in the namespace, with a /var/lib of its own for the module's notes."""
    script = 'mount --bind "$0" /var/lib && exec "$@"'
    return ("ip", "netns", "exec", namespace, "unshare", "--mount", "sh", "-c", script, str(tmp_path))


@pytest.fixture
def tune(within: tuple[str, ...]) -> Callable[..., dict[str, Any]]:
    """Return a function that runs the module in the namespace."""
    return functools.partial(call_module, "network_tuning", within=within)


def test_check_mode_shows_what_changes_and_the_second_run_changes_nothing(
    tune: Callable[..., dict[str, Any]], namespace: str, within: tuple[str, ...], tmp_path: Path
) -> None:
    wanted = {"mtu": 1400, "rto_min_ms": 5}
    before = in_namespace(namespace, "ip -details route show default") + in_namespace(namespace, "ip link show e0")
    shown = run_module(tmp_path, "network_tuning", "--check", "--diff", within=within, **wanted)
    assert (shown["changed"], shown["interface"]) == (True, "e0")
    assert shown["commands"] == [
        ["ip", "link", "set", "dev", "e0", "mtu", "1400"],
        ["ip", "route", "change", *["default", "via", "10.9.0.1", "dev", "e0", "metric", "100", "rto_min", "5ms"]],
    ]
    after = in_namespace(namespace, "ip -details route show default") + in_namespace(namespace, "ip link show e0")
    assert after == before
    assert tune(**wanted)["commands"] == shown["commands"]
    assert "rto_min lock 5ms" in in_namespace(namespace, "ip route show default")
    assert "mtu 1400" in in_namespace(namespace, "ip link show e0")
    assert tune(**wanted)["changed"] is False
    assert tune(rto_min_ms=7)["commands"][0][-1] == "7ms"
    assert in_namespace(namespace, "ip route show default").split()[-3:] == ["rto_min", "lock", "7ms"]
    undone = tune(state="absent")["commands"]
    assert undone == [shown["commands"][1][:-2], ["ip", "link", "set", "dev", "e0", "mtu", "1500"]]
    after = in_namespace(namespace, "ip -details route show default") + in_namespace(namespace, "ip link show e0")
    assert (after, list(tmp_path.glob("trainops"))) == (before, [])
    assert tune(state="absent")["changed"] is False


def test_what_somebody_has_changed_since_is_not_taken_back(tune: Callable[..., dict[str, Any]], namespace: str) -> None:
    tune(mtu=1400, rto_min_ms=5)
    in_namespace(namespace, "ip link set e0 mtu 1300")
    assert [change[1] for change in tune(state="absent")["commands"]] == ["route"]


def test_features_are_switched_once(tune: Callable[..., dict[str, Any]], namespace: str) -> None:
    need("ethtool")
    first = tune(features={"tx-nocache-copy": True}, interface="e0")
    assert first["commands"] == [["ethtool", "--features", "e0", "tx-nocache-copy", "on"]]
    assert "tx-nocache-copy: on" in in_namespace(namespace, "ethtool --show-features e0")
    assert tune(features={"tx-nocache-copy": True})["changed"] is False
    assert "has no feature tx-nocash-copy" in tune(features={"tx-nocash-copy": True})["msg"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interface": "e9", "mtu": 1400}, "e9"),
        ({"interface": "e1", "rto_min_ms": 5}, "no default route over e1"),
        ({"mtu": 20}, "between 68 and 65536"),
        ({"rto_min_ms": 0}, "1 ms or more"),
        ({"interface": "a b", "mtu": 1400}, "not a valid interface name"),
        ({"features": {"tx-nocache-copy": "maybe"}}, "must be true or false"),
    ],
)
def test_what_cannot_be_is_said(tune: Callable[..., dict[str, Any]], options: dict[str, Any], message: str) -> None:
    assert message in tune(**options)["msg"]


def test_without_a_default_route_the_interface_has_to_be_named(
    tune: Callable[..., dict[str, Any]], namespace: str
) -> None:
    in_namespace(namespace, "ip route delete default")
    assert "set interface" in tune(mtu=1400)["msg"]
    assert tune(mtu=1400, interface="e0")["changed"] is True


def test_a_feature_that_cannot_be_switched_is_named() -> None:
    shown = "Features for e0:\ntx-nocache-copy: off [fixed]\nrx-all: on\n\ttx-tcp: on\n"
    assert tuning.feature_changes("e0", {"rx-all": True, "tx-tcp": True}, shown) == []
    with pytest.raises(ValueError, match="is fixed to off"):
        tuning.feature_changes("e0", {"tx-nocache-copy": True}, shown)


def test_check_mode_reports_features_where_ethtool_is_yet_to_be_installed() -> None:
    options = {"interface": "e0", "mtu": None, "rto_min_ms": None, "hystart_detect": None}
    wanted = {"features": {"tx-nocache-copy": True}}
    _, (change,) = tuning.changes_to(options | wanted, lambda _command: "", shows_features=False)
    assert (change.what, change.after) == ("e0 tx-nocache-copy", "on")


def test_slow_start_is_read_and_written_below_sys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parameter = tmp_path / "hystart_detect"
    monkeypatch.setattr(tuning, "HYSTART", str(parameter))
    options = {"interface": "e0", "mtu": None, "rto_min_ms": None, "features": None, "hystart_detect": 2}

    def run(command: list[str]) -> str:
        return parameter.read_text() if command[0] == "cat" else ""

    assert tuning.changes_to(options, run) == ("e0", [])
    parameter.write_text("3\n")
    _, (change,) = tuning.changes_to(options, run)
    assert tuning.diff_of([change]) == {"before": f"{parameter}: 3\n", "after": f"{parameter}: 2\n"}
    tuning.apply(change, run)
    assert parameter.read_text() == "2\n"
    assert tuning.changes_to(options, run) == ("e0", [])
