#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets a kernel setting under /proc/sys and keeps it across reboots."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_setting
short_description: Sets a kernel setting under /proc/sys and keeps it across reboots
version_added: 1.0.0
description:
  - Writes the value to the running kernel and to /etc/sysctl.d/99-trainops.conf, a file that no other tool writes.
  - Does nothing on a kernel that lacks the setting, such as one for a single NUMA node without
    C(kernel.numa_balancing).
extends_documentation_fragment:
  - trainops.cluster.attributes
attributes:
  diff_mode:
    support: full
options:
  name:
    description:
      - Name of the setting, separated by dots. If a part contains a dot itself, as a VLAN interface does, use slashes
        instead.
    type: str
    required: true
  value:
    description:
      - Value of the setting.
    type: str
    required: true
  at_least:
    description:
      - Whether a larger number is also right. If the node already has one, it is neither lowered nor written to the
        file.
    type: bool
    default: false
seealso:
  - module: trainops.cluster.node_inspect
"""

EXAMPLES = r"""
- name: Turn off NUMA auto-balancing
  trainops.cluster.kernel_setting:
    name: kernel.numa_balancing
    value: "0"

- name: Let all ranks of a large job connect to rank 0 at once
  trainops.cluster.kernel_setting:
    name: net.core.somaxconn
    value: "4096"
    at_least: true

- name: Accept traffic that arrives on another RDMA interface of the same network
  trainops.cluster.kernel_setting:
    name: net/ipv4/conf/ens51np0.100/rp_filter
    value: "2"
"""

RETURN = r"""
value:
  description: Value in the running kernel before the change, null if the kernel has no such setting.
  returned: success
  type: str
  sample: "1"
skipped:
  description: Whether the task was skipped because the kernel has no such setting.
  returned: when the task was skipped
  type: bool
"""

import os
import re
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.node.files import write_bytes
from ..module_utils.node.inspection.files import below, names, text

FILE = "/etc/sysctl.d/99-trainops.conf"
_HEADER = "# Written by the Ansible collection trainops.cluster.\n"
# The order is systemd-sysctl's: by file name, whatever the folder (sysctl.d(5)).
_FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d")
_PART = r"[A-Za-z0-9_:.-]+"
_NAME = re.compile(rf"{_PART}(/{_PART})+")


class Setting(t.NamedTuple):
    """A setting that is wanted: its ``path`` below /proc/sys, the ``value``, and whether more is right as well."""

    path: str
    value: str
    at_least: bool

    def suits(self, found: str) -> bool:
        """Return whether a value that was found is right; blanks between numbers do not matter."""
        if not self.at_least:
            return found.split() == self.value.split()
        if not found.isdigit():
            raise ValueError(f"{self.name} is {found!r}, which is not a number, so at_least cannot be checked")
        return int(found) >= int(self.value)

    @property
    def name(self) -> str:
        """Return the name as sysctl(8) writes it: with dots, unless a part of it contains one."""
        return self.path if "." in self.path else self.path.replace("/", ".")


def path_of(name: str) -> str:
    """Return where a setting stands below /proc/sys; as for sysctl(8), its first separator says which one it uses."""
    return name if re.findall(r"[./]", name)[:1] == ["/"] else name.replace(".", "/")


def setting_of(name: str, value: str, at_least: bool) -> Setting:
    """Return the setting that the options describe; ValueError gives the fault in them."""
    path = path_of(name)
    if not _NAME.fullmatch(path) or ".." in path.split("/"):
        raise ValueError(f"name is {name!r}, but must be a kernel setting such as kernel.numa_balancing")
    if not value.strip() or "\n" in value:
        raise ValueError(f"value is {value!r}, but must be a single non-empty line")
    if at_least and not value.strip().isdigit():
        raise ValueError(f"value is {value!r}, but with at_least it must be a whole number of 0 or more")
    return Setting(path, value.strip(), at_least)


def running_value(root: str, setting: Setting) -> str | None:
    """Return the value of the running kernel, or None where it has no such setting."""
    content = text(root, f"/proc/sys/{setting.path}")
    return None if content is None else " ".join(content.split())


def kept(content: str | None) -> dict[str, str]:
    """Return the settings in a sysctl.d file: path below /proc/sys, and value."""
    found = {}
    for row in (content or "").splitlines():
        name, separator, value = row.partition("=")
        if separator and not row.lstrip().startswith(("#", ";")):
            found[path_of(name.strip().lstrip("-"))] = " ".join(value.split())
    return found


def kept_with(content: str | None, setting: Setting) -> str:
    """Return our file with a setting in it, sorted, with a header."""
    settings = dict(kept(content), **{setting.path: setting.value})
    rows = [f"{Setting(path, value, False).name} = {value}\n" for path, value in sorted(settings.items())]
    return _HEADER + "".join(rows)


def overriding(root: str, setting: Setting) -> list[str]:
    """Return the files that set something else and are read after ours, so that they win at the next boot."""
    ours = os.path.basename(FILE)
    later = [f"{folder}/{name}" for folder in _FOLDERS for name in names(root, folder) if name > ours]
    others = [path for path in later if path.endswith(".conf")]
    found = {path: kept(text(root, path)).get(setting.path) for path in others}
    return [path for path, value in found.items() if value is not None and not setting.suits(value)]


def changes_to(root: str, setting: Setting, found: str) -> dict[str, tuple[str, str]]:
    """Return the changes to the running kernel and to our file: by path, the present and the wanted content."""
    changes = {}
    if not setting.suits(found):
        changes[f"/proc/sys/{setting.path}"] = (f"{found}\n", f"{setting.value}\n")
    before = text(root, FILE)
    value = kept(before).get(setting.path)
    # A number that is great enough comes from elsewhere; kept in our file, ours would lower it at the next boot.
    is_elsewhere = value is None and setting.at_least and setting.suits(found)
    if value != setting.value and not is_elsewhere:
        changes[FILE] = (before or "", kept_with(before, setting))
    return changes


def write(root: str, path: str, content: str) -> None:
    """Write a file of the kernel, or our own, which is replaced as a whole."""
    place = below(root, path)
    if path == FILE:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        write_bytes(place, content.encode(), 0o644)
        return
    with open(place, "w", encoding="utf-8") as stream:
        stream.write(content)


def ensure(root: str, setting: Setting, check_mode: bool) -> dict[str, t.Any]:
    """Apply a setting below a root folder, unless in check mode, and return the module's result for it.

    OSError: the kernel or the disk refuses. ValueError: the values cannot be compared.
    """
    found = running_value(root, setting)
    if found is None:
        return {"changed": False, "skipped": True, "value": None, "msg": f"this kernel has no setting {setting.name}"}
    changes = changes_to(root, setting, found)
    if not check_mode:
        for path, (_before, after) in changes.items():
            write(root, path, after)
    diff = [
        {"before_header": path, "before": before, "after_header": path, "after": after}
        for path, (before, after) in changes.items()
    ]
    return {"changed": bool(changes), "value": found, "diff": diff}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "value": {"type": "str", "required": True},
            "at_least": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    name = module.params["name"]
    try:
        setting = setting_of(name, module.params["value"], module.params["at_least"])
        result = ensure("/", setting, module.check_mode)
    except ValueError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=f"{name} cannot be set to {setting.value}: {error.strerror} ({error.filename})")
    for path in overriding("/", setting):
        module.warn(f"{path} sets {name} to another value and is read after {FILE}, so it wins at the next boot")
    module.exit_json(**result)


if __name__ == "__main__":
    main()
