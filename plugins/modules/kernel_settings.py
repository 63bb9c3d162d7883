#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets kernel settings under /proc/sys and keeps them across reboots."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_settings
short_description: Sets kernel settings under /proc/sys and keeps them across reboots
version_added: 1.0.0
description:
  - Writes the values to the running kernel and to /etc/sysctl.d/99-trainops.conf, a file that no other tool writes.
  - Checks all settings before it changes the first. If the kernel lacks one, or one that must change is read-only, the
    task fails with all faults, also in check mode, and nothing is changed.
  - If the kernel refuses a value, the settings that were already changed get their former values back.
  - Keeps on the node the values before its first change. O(state=absent) sets these again, unless somebody has changed
    a setting since, and removes the file.
  - Warns in every run about a file that is read later and sets another value, which wins at the next boot.
extends_documentation_fragment:
  - trainops.cluster.attributes
attributes:
  diff_mode:
    support: full
options:
  settings:
    description:
      - Settings, each with its value. Parts of a name are separated by dots. If a part contains a dot itself, such as
        the name of a VLAN interface, use slashes instead.
      - A setting without a value (null) is left alone.
    type: dict
    default: {}
  minimums:
    description:
      - Settings, each with its minimum value. The greatest of this value, the value in the file of an earlier run, and
        the values in other files that are read before it is set, so that no value is ever lowered.
      - A larger value of the running kernel is left alone.
      - A setting without a value (null) is left alone.
    type: dict
    default: {}
  optional:
    description:
      - Settings that a kernel may lack, such as C(kernel.numa_balancing) of one for a single NUMA node.
    type: list
    elements: str
    default: []
  state:
    description: Whether to make the settings, or to take back all that this module made.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: trainops.cluster.node_inspect
"""

EXAMPLES = r"""
- name: Turn off NUMA auto-balancing
  trainops.cluster.kernel_settings:
    settings:
      kernel.numa_balancing: 0
    optional: [kernel.numa_balancing]

- name: Let all ranks of a large job connect to rank 0 at once
  trainops.cluster.kernel_settings:
    minimums:
      net.core.somaxconn: 4096

- name: Accept traffic that arrives on another RDMA interface of the same network
  trainops.cluster.kernel_settings:
    settings:
      net/ipv4/conf/ens51np0.100/rp_filter: 2

- name: Take back all settings
  trainops.cluster.kernel_settings:
    state: absent
"""

RETURN = r"""
before:
  description: Value of each setting in the running kernel before the change, null if the kernel has no such setting.
  returned: success
  type: dict
  sample:
    kernel.numa_balancing: "1"
overridden:
  description: For each setting, the files that win at the next boot because they set another value and are read later.
  returned: success
  type: dict
  sample:
    kernel.numa_balancing: [/etc/sysctl.d/99-zz-site.conf]
faults:
  description: What prevents the change, by C(code) and C(name) of the setting.
  returned: when the task failed
  type: list
  elements: dict
  sample: [{code: no_such_setting, name: net.core.somaxcon}]
"""

import difflib
import os
import re
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.node.files import write_bytes
from ..module_utils.node.inspection.files import below, names, text
from ..module_utils.node.preparation import apply, forget, noted

FILE = "/etc/sysctl.d/99-trainops.conf"
_PROC = "/proc/sys/"
_NOTES = "kernel_settings"
_HEADER = "# Written by the Ansible collection trainops.cluster.\n"
# The order is systemd-sysctl's: by file name, whatever the folder (sysctl.d(5)).
_FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d")
# sysctl --system reads it last (sysctl(8)).
_LAST_FILE = "/etc/sysctl.conf"
_PART = r"[A-Za-z0-9_:.-]+"
_NAME = re.compile(rf"{_PART}(/{_PART})+")


class Setting(t.NamedTuple):
    """A setting that is wanted: its ``path`` below /proc/sys, the ``value``, and whether more is right as well."""

    path: str
    value: str
    at_least: bool = False

    def suits(self, found: str) -> bool:
        """Return whether a value that was found is right; blanks between numbers do not matter."""
        if self.at_least and found.isdigit():
            return int(found) >= int(self.value)
        return found.split() == self.value.split()

    @property
    def name(self) -> str:
        """Return the name as sysctl(8) writes it: with dots, unless a part of it contains one."""
        return self.path if "." in self.path else self.path.replace("/", ".")


class Fault(t.NamedTuple):
    """A reason against a change: its code and its text."""

    code: str
    name: str
    message: str


def path_of(name: str) -> str:
    """Return where a setting stands below /proc/sys; as for sysctl(8), its first separator says which one it uses."""
    return name if re.findall(r"[./]", name)[:1] == ["/"] else name.replace(".", "/")


def wanted(settings: dict[str, t.Any], minimums: dict[str, t.Any]) -> tuple[list[Setting], list[Fault]]:
    """Return the settings that the options describe, and the faults in them."""
    found: dict[str, Setting] = {}
    faults = []
    for at_least, options in ((False, settings), (True, minimums)):
        for name, value in options.items():
            if value is None:
                continue
            setting = Setting(path_of(name), "" if isinstance(value, bool) else str(value).strip(), at_least)
            fault = _fault_of_option(name, setting, value) or _contradiction(found.get(setting.path), setting)
            if fault:
                faults.append(fault)
            else:
                found.setdefault(setting.path, setting)
    return list(found.values()), faults


def _fault_of_option(name: str, setting: Setting, value: t.Any) -> Fault | None:
    if not _NAME.fullmatch(setting.path) or ".." in setting.path.split("/"):
        return Fault("not_a_name", name, f"{name!r} is not the name of a kernel setting such as kernel.numa_balancing")
    if not setting.value or "\n" in setting.value:
        return Fault("not_a_value", name, f"{name} is {value!r}, but must be a number or a single line of text")
    if setting.at_least and not setting.value.isdigit():
        message = f"the minimum of {name} is {setting.value!r}, but must be a whole number of 0 or more"
        return Fault("not_a_number", name, message)
    return None


def _contradiction(exact: Setting | None, minimum: Setting) -> Fault | None:
    if exact is None or minimum.suits(exact.value):
        return None
    message = f"{minimum.name} is to be {exact.value} and also at least {minimum.value}; drop one of them"
    return Fault("contradiction", minimum.name, message)


def running_value(root: str, path: str) -> str | None:
    """Return the value of the running kernel, or None where it has no such setting."""
    content = text(root, f"/proc/sys/{path}")
    return None if content is None else " ".join(content.split())


def kept(content: str | None) -> dict[str, str]:
    """Return the settings in a sysctl.d file: path below /proc/sys, and value."""
    found = {}
    for row in (content or "").splitlines():
        name, separator, value = row.partition("=")
        if separator and not row.lstrip().startswith(("#", ";")):
            found[path_of(name.strip().lstrip("-"))] = " ".join(value.split())
    return found


def other_files(root: str) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """Return the settings in the files that are read before ours and after it, each by its path."""
    by_name: dict[str, str] = {}
    for folder in reversed(_FOLDERS):
        by_name.update({name: f"{folder}/{name}" for name in names(root, folder) if name.endswith(".conf")})
    ours = os.path.basename(FILE)
    earlier = {path: kept(text(root, path)) for name, path in sorted(by_name.items()) if name < ours}
    later = {path: kept(text(root, path)) for name, path in sorted(by_name.items()) if name > ours}
    return earlier, {**later, _LAST_FILE: kept(text(root, _LAST_FILE))}


def raised(root: str, settings: list[Setting]) -> list[Setting]:
    """Return the settings; each minimum is raised to what our file or one that is read before it sets."""
    sources = [kept(text(root, FILE)), *other_files(root)[0].values()]

    def greatest(setting: Setting) -> str:
        values = [source.get(setting.path, "") for source in sources]
        return str(max(int(value) for value in [setting.value, *values] if value.isdigit()))

    return [one._replace(value=greatest(one)) if one.at_least else one for one in settings]


def faults_on(root: str, settings: list[Setting], optional: list[str]) -> list[Fault]:
    """Return the faults of settings on this node: it lacks one, or refuses to change it."""
    may_lack = {path_of(name) for name in optional}
    faults = []
    for setting in settings:
        found = running_value(root, setting.path)
        place = below(root, f"/proc/sys/{setting.path}")
        if found is None and os.path.exists(place):
            faults.append(
                Fault("unreadable", setting.name, f"{setting.name} cannot be read (/proc/sys/{setting.path})")
            )
        elif found is None and setting.path not in may_lack:
            faults.append(Fault("no_such_setting", setting.name, _missing(root, setting)))
        elif found is not None and setting.at_least and not found.isdigit():
            message = f"{setting.name} is {found!r}, which is not a number, so it has no minimum"
            faults.append(Fault("no_minimum", setting.name, message))
        elif found is not None and not setting.suits(found) and not os.access(place, os.W_OK):
            message = f"{setting.name} is {found} and cannot be set to {setting.value}: it is read-only on this node"
            faults.append(Fault("read_only", setting.name, message))
    return faults


def _missing(root: str, setting: Setting) -> str:
    folder, _slash, last = setting.path.rpartition("/")
    near = difflib.get_close_matches(last, names(root, f"/proc/sys/{folder}"), 1)
    advice = (
        f"did you mean {Setting(f'{folder}/{near[0]}', '').name}?"
        if near
        else "correct the name, or load the kernel module that provides it"
    )
    return f"this kernel has no setting {setting.name}; {advice}"


def overridden(root: str, settings: list[Setting]) -> dict[str, list[str]]:
    """Return for each setting the files that set something else and are read after ours, so that they win at boot."""
    later = other_files(root)[1]
    present = [setting for setting in settings if running_value(root, setting.path) is not None]
    found = {
        one.name: [path for path, others in later.items() if not one.suits(others.get(one.path, one.value))]
        for one in present
    }
    return {name: paths for name, paths in found.items() if paths}


def changes_to(root: str, settings: list[Setting]) -> dict[str, tuple[str, str]]:
    """Return the changes to the running kernel and to our file: by path, the present and the wanted content."""
    changes = {}
    before = text(root, FILE)
    of_file = kept(before)
    for setting in settings:
        found = running_value(root, setting.path)
        if found is None:
            continue
        if not setting.suits(found):
            changes[_PROC + setting.path] = (f"{found}\n", f"{setting.value}\n")
        # A number that is great enough comes from elsewhere; kept in our file, ours would lower it at the next boot.
        if setting.path in of_file or not (setting.at_least and setting.suits(found)):
            of_file[setting.path] = setting.value
    if of_file != kept(before):
        rows = [f"{Setting(path, value).name} = {value}\n" for path, value in sorted(of_file.items())]
        changes[FILE] = (before or "", _HEADER + "".join(rows))
    return changes


def changes_back(root: str) -> dict[str, tuple[str, str]]:
    """Return the changes that undo ours; a value that somebody has changed since stays as it is."""
    content = text(root, FILE)
    ours = kept(content)
    changes = {}
    for path, before in noted(root, _NOTES).items():
        found = running_value(root, path)
        if found is not None and Setting(path, ours.get(path, "")).suits(found) and found != before:
            changes[_PROC + path] = (f"{found}\n", f"{before}\n")
    return changes if content is None else {**changes, FILE: (content, "")}


def write(root: str, path: str, content: str) -> None:
    """Write a file of the kernel, or our own, which is replaced as a whole, or removed without content."""
    place = below(root, path)
    if path == FILE:
        if not content:
            os.unlink(place)
            return
        os.makedirs(os.path.dirname(place), exist_ok=True)
        write_bytes(place, content.encode(), 0o644)
        return
    with open(place, "w", encoding="utf-8") as stream:
        stream.write(content)


class Result(t.NamedTuple):
    """What the module returns: its result, and all that stood against it."""

    result: dict[str, t.Any]
    faults: list[Fault]


def _change(root: str, notes: dict[str, dict[str, str]], changes: dict[str, tuple[str, str]]) -> Fault | None:
    refused = apply(root, notes, changes, lambda path, content: write(root, path, content))
    if refused is None:
        return None
    path, why = refused
    name = path if path == FILE else Setting(path[len(_PROC) :], "").name
    what = f"{FILE} cannot be written" if path == FILE else f"{name} cannot be set to {changes[path][1].strip()}"
    return Fault("refused", name, f"{what}: {why}")


def _diff(changes: dict[str, tuple[str, str]]) -> list[dict[str, str]]:
    return [
        {"before_header": path, "before": before, "after_header": path, "after": after}
        for path, (before, after) in changes.items()
    ]


def ensure(
    root: str,
    settings: dict[str, t.Any],
    minimums: dict[str, t.Any],
    optional: list[str],
    check_mode: bool,
) -> Result:
    """Apply settings below a root folder, unless in check mode or at fault."""
    asked, faults = wanted(settings, minimums)
    asked = raised(root, asked)
    faults += faults_on(root, asked, optional)
    changes = {} if faults else changes_to(root, asked)
    before = {setting.name: running_value(root, setting.path) for setting in asked}
    refused = None
    if not check_mode:
        running = {path[len(_PROC) :]: was.strip() for path, (was, _after) in changes.items() if path != FILE}
        refused = _change(root, {_NOTES: running}, changes)
    if faults or refused:
        return Result({}, faults or [t.cast("Fault", refused)])
    found = {"changed": bool(changes), "before": before, "overridden": overridden(root, asked), "diff": _diff(changes)}
    return Result(found, [])


def take_back(root: str, check_mode: bool) -> Result:
    """Undo our changes below a root folder, unless in check mode."""
    changes, names_noted = changes_back(root), list(noted(root, _NOTES))
    before = {Setting(path, "").name: running_value(root, path) for path in names_noted}
    if not check_mode:
        refused = _change(root, {}, changes)
        if refused:
            return Result({}, [refused])
        forget(root, _NOTES, names_noted)
    return Result({"changed": bool(changes), "before": before, "overridden": {}, "diff": _diff(changes)}, [])


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "settings": {"type": "dict", "default": {}},
            "minimums": {"type": "dict", "default": {}},
            "optional": {"type": "list", "elements": "str", "default": []},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    options = module.params
    try:
        result, faults = (
            take_back("/", module.check_mode)
            if options["state"] == "absent"
            else ensure("/", options["settings"], options["minimums"], options["optional"], module.check_mode)
        )
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    if faults:
        module.fail_json(
            msg=f"{'; '.join(fault.message for fault in faults)}. Nothing has been changed.",
            faults=[{"code": fault.code, "name": fault.name} for fault in faults],
        )
    for name, paths in result["overridden"].items():
        for path in paths:
            module.warn(f"{path} sets {name} to another value and is read after {FILE}, so it wins at the next boot")
    module.exit_json(**result)


if __name__ == "__main__":
    main()
