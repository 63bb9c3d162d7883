#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tunes a network interface and TCP until the next boot."""

from __future__ import annotations

DOCUMENTATION = r"""
module: network_tuning
short_description: Tunes a network interface and TCP until the next boot
version_added: 1.0.0
description:
  - Sets an interface's MTU and features, the minimum retransmission timeout of the default route, and how TCP CUBIC
    exits slow start. MaxText's C(rto_setup.sh) makes the same changes to a host, in addition to kernel settings.
  - Changes the running kernel only. To make the changes permanent, use the host's own network configuration.
  - The minimum retransmission timeout belongs to the route. Both outlive a link that loses its carrier, and both are
    gone after C(ip link set down). On Linux 6.11 and later, set C(net.ipv4.tcp_rto_min_us) with
    M(trainops.cluster.kernel_settings) instead.
  - Keeps on the node the values before its first change. O(state=absent) sets these again, unless somebody has changed
    one since.
  - Needs C(ip) from iproute2, and C(ethtool) for O(features). In check mode, features are reported as changes if
    C(ethtool) is missing.
extends_documentation_fragment:
  - trainops.cluster.attributes
attributes:
  diff_mode:
    support: full
options:
  interface:
    description:
      - Name of the interface. By default, the interface of the default route.
    type: str
  mtu:
    description:
      - Maximum packet size in bytes. Every switch and host on the path must support it.
    type: int
  rto_min_ms:
    description:
      - Minimum time in ms before TCP retransmits a packet, for the default route over the interface.
    type: int
  features:
    description:
      - Features of the interface, named as in C(ethtool --show-features), each on or off.
    type: dict
  hystart_detect:
    description:
      - What makes TCP CUBIC exit slow start, 1 for ACK trains, 2 for delay, 3 for both.
      - Applies to the whole kernel. Does nothing on a kernel without TCP CUBIC.
    type: int
    choices: [1, 2, 3]
  state:
    description: Whether to make the changes, or to take back all that this module made.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: trainops.cluster.kernel_settings
"""

EXAMPLES = r"""
- name: Tune the network of a host on Google Cloud as MaxText does
  trainops.cluster.network_tuning:
    mtu: 8896
    rto_min_ms: 5
    features:
      tx-nocache-copy: true
    hystart_detect: 2

- name: Use jumbo frames on the interface between the nodes
  trainops.cluster.network_tuning:
    interface: ens51f1np1
    mtu: 9000
"""

RETURN = r"""
interface:
  description: Name of the interface, null with O(state=absent).
  returned: success
  type: str
  sample: ens4
commands:
  description: Commands that were run, or in check mode would be. A write to a file under /sys is shown as its path and
    value.
  returned: success
  type: list
  elements: list
  sample: [[ip, link, set, dev, ens4, mtu, "8896"]]
"""

import contextlib
import os
import re
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.node.preparation import forget, note, noted

if t.TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[list[str]], str]

HYSTART = "/sys/module/tcp_cubic/parameters/hystart_detect"
# IPv4's minimum, and the kernel's maximum.
_LEAST_MTU = 68
_GREATEST_MTU = 65536
_NO_TIMEOUT = "kernel default"
_NOTES = "network_tuning"
_INTERFACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@-]{0,14}")


class Change(t.NamedTuple):
    """A change: the setting, its value before and after, and the command, or the file and its new value.

    ``undo`` are the options that take it back.
    """

    what: str
    before: str
    after: str
    command: list[str]
    undo: dict[str, t.Any]


def default_route(routes: str, interface: str | None) -> list[str] | None:
    """Return the words of the first default route in the output of ``ip route show default``, over an interface."""
    for line in routes.splitlines():
        words = line.split()
        if "dev" in words and interface in (None, words[words.index("dev") + 1]):
            return words
    return None


def without_rto_min(route: list[str]) -> tuple[list[str], str]:
    """Return a route without its least retransmission timeout, and that as ip writes it (``5ms``; empty for none)."""
    if "rto_min" not in route:
        return route, ""
    place = route.index("rto_min")
    end = place + (3 if route[place + 1] == "lock" else 2)
    return route[:place] + route[end:], route[end - 1]


def features_of(shown: str) -> dict[str, tuple[bool, bool]]:
    """Return each feature in the output of ``ethtool --show-features``: whether it is on, and whether it is fixed."""
    rows = re.findall(r"^\s*([a-z0-9-]+): (on|off)( \[fixed\])?", shown, re.MULTILINE)
    return {name: (state == "on", bool(fixed)) for name, state, fixed in rows}


def feature_changes(interface: str, wanted: dict[str, bool], shown: str) -> list[Change]:
    """Return the features to switch; ValueError for one that the interface does not have or cannot switch."""
    found = features_of(shown)
    changes = []
    for name, state in wanted.items():
        if name not in found:
            raise ValueError(f"{interface} has no feature {name}; ethtool --show-features {interface} lists them")
        is_on, is_fixed = found[name]
        if is_on != state:
            if is_fixed:
                raise ValueError(f"the feature {name} of {interface} is fixed to {'on' if is_on else 'off'}")
            words = {True: "on", False: "off"}
            command = ["ethtool", "--features", interface, name, words[state]]
            undo = {"features": {name: is_on}}
            changes.append(Change(f"{interface} {name}", words[is_on], words[state], command, undo))
    return changes


def route_change(route: list[str], rto_min_ms: int) -> Change | None:
    """Return the change of a default route, or None where it has this timeout; 0 is the kernel's own."""
    bare, found = without_rto_min(route)
    wanted = f"{rto_min_ms}ms" if rto_min_ms else ""
    if found == wanted:
        return None
    # What ip shows of the state of a link, it does not take back.
    kept = [word for word in bare if word not in ("linkdown", "dead", "offload", "trap")]
    command = ["ip", "route", "change", *kept, *(("rto_min", wanted) if wanted else ())]
    undo = {"rto_min_ms": int(found.removesuffix("ms")) if found.removesuffix("ms").isdigit() else 0}
    return Change(f"{' '.join(kept)} rto_min", found or _NO_TIMEOUT, wanted or _NO_TIMEOUT, command, undo)


def without_ethtool(interface: str, wanted: dict[str, bool]) -> list[Change]:
    """Return the features as changes for check mode on a host where ethtool would first be installed."""
    return [
        Change(f"{interface} {name}", "unknown (ethtool is not installed)", "on" if state else "off", [], {})
        for name, state in wanted.items()
    ]


def changes_to(options: dict[str, t.Any], run: Run, shows_features: bool = True) -> tuple[str, list[Change]]:
    """Return the interface and all necessary changes; ValueError if an option cannot be met."""
    routes = run(["ip", "-oneline", "route", "show", "default"])
    route = default_route(routes, options["interface"])
    interface = options["interface"] or (route[route.index("dev") + 1] if route else None)
    if interface is None:
        raise ValueError("there is no default route to take the interface from; set interface")
    changes = []
    if options["mtu"]:
        found = run(["cat", f"/sys/class/net/{interface}/mtu"]).strip()
        if found != str(options["mtu"]):
            command = ["ip", "link", "set", "dev", interface, "mtu", str(options["mtu"])]
            changes.append(Change(f"{interface} mtu", found, str(options["mtu"]), command, {"mtu": int(found)}))
    if options["rto_min_ms"] is not None:
        if route is None:
            raise ValueError(f"there is no default route over {interface} to set rto_min_ms on")
        changed = route_change(route, options["rto_min_ms"])
        changes += [changed] if changed else []
    if options["features"] and not shows_features:
        changes += without_ethtool(interface, options["features"])
    elif options["features"]:
        shown = run(["ethtool", "--show-features", interface])
        changes += feature_changes(interface, options["features"], shown)
    if options["hystart_detect"] and os.path.exists(HYSTART):
        found, wanted = run(["cat", HYSTART]).strip(), str(options["hystart_detect"])
        if found != wanted:
            changes.append(Change(HYSTART, found, wanted, [HYSTART, wanted], {"hystart_detect": int(found)}))
    return interface, changes


def changes_back(root: str, run: Run) -> list[Change]:
    """Return the changes that undo ours; a value that somebody has changed since, or removed, stays as it is."""
    changes = []
    for made in noted(root, _NOTES).values():
        options = {**dict.fromkeys(_OPTIONS), "interface": made["interface"], **made["undo"]}
        with contextlib.suppress(ValueError):
            changes += [change for change in changes_to(options, run)[1] if change.before == made["after"]]
    return changes


def note_changes(root: str, interface: str, changes: list[Change]) -> None:
    """Note the values before and after the changes; a value noted before an earlier change stays."""
    known = noted(root, _NOTES)
    notes = {
        change.what: {
            "interface": interface,
            "undo": known.get(change.what, {}).get("undo", change.undo),
            "after": change.after,
        }
        for change in changes
    }
    forget(root, _NOTES, notes)
    note(root, _NOTES, notes)


def diff_of(changes: list[Change]) -> dict[str, str]:
    """Return the changes as lines, before and after."""
    return {
        "before": "".join(f"{change.what}: {change.before}\n" for change in changes),
        "after": "".join(f"{change.what}: {change.after}\n" for change in changes),
    }


def apply(change: Change, run: Run) -> None:
    """Make a change; OSError if the kernel refuses it."""
    if change.what == HYSTART:
        with open(HYSTART, "w", encoding="ascii") as stream:
            stream.write(change.after + "\n")
    else:
        run(change.command)


def refused(options: dict[str, t.Any]) -> str | None:
    """Return the fault in the options, or None."""
    mtu = options["mtu"]
    if options["interface"] and not _INTERFACE.fullmatch(options["interface"]):
        return f"interface is {options['interface']!r}, which is not a valid interface name"
    if mtu is not None and not _LEAST_MTU <= mtu <= _GREATEST_MTU:
        return f"mtu is {mtu}, but must be between {_LEAST_MTU} and {_GREATEST_MTU} bytes"
    if options["rto_min_ms"] is not None and options["rto_min_ms"] < 1:
        return f"rto_min_ms is {options['rto_min_ms']}, but must be 1 ms or more"
    for name, state in (options["features"] or {}).items():
        if not isinstance(state, bool):
            return f"features.{name} is {state!r}, but must be true or false"
    return None


_OPTIONS: dict[str, dict[str, t.Any]] = {
    "interface": {"type": "str"},
    "mtu": {"type": "int"},
    "rto_min_ms": {"type": "int"},
    "features": {"type": "dict"},
    "hystart_detect": {"type": "int", "choices": [1, 2, 3]},
}


def main() -> None:
    """Run the module."""
    states = {"type": "str", "choices": ["present", "absent"], "default": "present"}
    module = AnsibleModule(argument_spec={**_OPTIONS, "state": states}, supports_check_mode=True)
    wrong = refused(module.params)
    if wrong:
        module.fail_json(msg=wrong)

    def run(command: list[str]) -> str:
        program = module.get_bin_path(command[0])
        if program is None:
            raise ValueError(f"{command[0]} is not installed on this host; install it, or omit what needs it")
        status, output, problem = module.run_command([program, *command[1:]])
        if status:
            raise ValueError(f"{' '.join(command)} failed: {problem.strip() or output.strip()}")
        return str(output)

    absent = module.params["state"] == "absent"
    interface: str | None = None
    try:
        shows_features = not module.check_mode or module.get_bin_path("ethtool") is not None
        if absent:
            changes = changes_back("/", run)
        else:
            interface, changes = changes_to(module.params, run, shows_features)
        if not module.check_mode:
            if interface:
                note_changes("/", interface, changes)
            for change in changes:
                apply(change, run)
            if absent:
                forget("/", _NOTES, noted("/", _NOTES))
    except ValueError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=f"{error.filename} cannot be changed: {error.strerror}")
    module.exit_json(
        changed=bool(changes),
        interface=interface,
        commands=[change.command for change in changes],
        diff=diff_of(changes),
    )


if __name__ == "__main__":
    main()
