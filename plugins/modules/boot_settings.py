#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets processors, PCIe, kernel modules and limits of slurmd for training, and makes it so at each boot."""

from __future__ import annotations

DOCUMENTATION = r"""
module: boot_settings
short_description: Makes settings of processors, PCIe and services, now and at each boot
version_added: 1.0.0
description:
  - Sets the frequency governor and idle states of processors and ACS of PCIe bridges in the running kernel, and writes
    a systemd unit that does the same at each boot. Kernel modules and limits of a service have files of their own.
  - Does nothing on a node without the hardware or service that a setting is for.
  - Checks all settings before it changes the first. If one cannot be made, the task fails with all faults, also in
    check mode, and nothing is changed.
  - Keeps on the node the values before its first change. O(state=absent) undoes its changes, except those that somebody
    has changed since.
extends_documentation_fragment:
  - trainops.cluster.attributes
attributes:
  diff_mode:
    support: full
options:
  settings:
    description:
      - V(cpu_governor) sets the frequency governor of all processors to C(performance).
      - V(cpu_c2_off) keeps processors of AMD from sleeping in C2.
      - V(pcie_acs_off) clears the control register of ACS of the bridges above GPUs and RDMA adapters, so that these
        reach each other without the processor. Refused in a virtual machine and on a machine that hands devices to
        guests, which ACS isolates from each other. The unit needs C(setpci).
      - V(nvidia_peermem) loads this kernel module on nodes with GPUs of NVIDIA and RDMA adapters, unless the driver is
        NVIDIA's open one, which has dma-buf. O(state=absent) leaves it loaded until the next boot.
      - V(slurmd_memlock) lets slurmd, and so its jobs, lock all memory. Takes effect when slurmd is restarted, which
        is left to you.
    type: list
    elements: str
    choices: [cpu_governor, cpu_c2_off, pcie_acs_off, nvidia_peermem, slurmd_memlock]
    required: true
  state:
    description: Whether to make the settings, or to take them back.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: trainops.cluster.kernel_settings
"""

EXAMPLES = r"""
- name: Keep processors at full speed
  trainops.cluster.boot_settings:
    settings: [cpu_governor, cpu_c2_off]

- name: Let GPUs and adapters reach each other without the processor
  trainops.cluster.boot_settings:
    settings: [pcie_acs_off]

- name: Undo the settings of processors
  trainops.cluster.boot_settings:
    settings: [cpu_governor, cpu_c2_off]
    state: absent
"""

RETURN = r"""
before:
  description: For each thing that is changed, its value before.
  returned: success
  type: dict
  sample:
    /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor: powersave
faults:
  description: What prevents the change, by C(code) and C(name) of the setting. The codes are C(read_only),
    C(not_available), C(virtual_machine), C(guests), C(unreadable), C(no_systemd), C(no_program) and C(refused).
  returned: when the task failed
  type: list
  elements: dict
  sample: [{code: guests, name: pcie_acs_off}]
"""

import contextlib
import os
import struct
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.node.files import write_bytes
from ..module_utils.node.inspection.files import below, line, names, number, text
from ..module_utils.node.inspection.gpus import first_vendor, nvidia_devices
from ..module_utils.node.inspection.rdma import rdma_devices
from ..module_utils.node.inspection.settings import (
    C2_DISABLED,
    GOVERNOR,
    AcsRegister,
    acs_register,
    acs_registers,
    configuration_path,
    has_open_nvidia_module,
    is_virtual_machine,
    of_processors,
    pci_devices,
    slurmd_memlock,
)
from ..module_utils.node.preparation import apply, forget, noted

if t.TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[list[str]], str]
    Changes = dict[str, tuple[str, str]]

_HEADER = "# Written by the Ansible collection trainops.cluster.\n"
_UNITS = "/etc/systemd/system"
_AT_BOOT = f"{_UNITS}/multi-user.target.wants"
_OF_UNITS = (_UNITS, "/usr/lib/systemd/system", "/lib/systemd/system")
_PEERMEM = "nvidia_peermem"
_MODULE = "/sys/module/"
_LOADED = "loaded"
_CONFIGURATION = "/config"


class Fault(t.NamedTuple):
    """A reason against a setting: its code, the setting, and its text."""

    code: str
    name: str
    message: str


class Setting(t.NamedTuple):
    """How a setting is made: ``kept`` in a file at each boot, and ``values`` of the running kernel.

    ``values`` returns the wanted ones, by path below /sys; None where the setting is for other nodes. ``content``
    returns the text of the file. ``against`` returns an objection to the setting on this node, and ``program`` is a
    program that the unit needs.
    """

    kept: str
    values: Callable[[str], dict[str, str] | None]
    content: Callable[[str], str]
    against: Callable[[str], tuple[str, str] | None] = lambda _root: None
    program: str = ""

    @property
    def links(self) -> list[str]:
        """Return the links to the file, which start a unit at boot."""
        name = os.path.basename(self.kept)
        return [f"{_AT_BOOT}/{name}"] if name.endswith(".service") else []


def _unit(description: str, script: str, conditions: str = "") -> str:
    # systemd reads $$ as $.
    escaped = script.replace("$", "$$")
    return (
        f"{_HEADER}[Unit]\nDescription={description}\n{conditions}\n"
        f"[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c '{escaped}'\n\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )


def _processors(path: str, value: str) -> str:
    return f'for file in /sys/devices/system/cpu/cpu*/{path}; do echo {value} >"$file"; done'


def _governors(root: str) -> dict[str, str] | None:
    return dict.fromkeys(of_processors(root, GOVERNOR), "performance") or None


def _no_performance(root: str) -> tuple[str, str] | None:
    known = of_processors(root, "cpufreq/scaling_available_governors")
    lacking = [path for path, offered in known.items() if "performance" not in offered.split()]
    if not lacking:
        return None
    return "not_available", f"{lacking[0]} offers {known[lacking[0]]}, and not performance"


def _c2(root: str) -> dict[str, str] | None:
    called = set(of_processors(root, "cpuidle/state2/name").values())
    return dict.fromkeys(of_processors(root, C2_DISABLED), "1") or None if called == {"C2"} else None


def _registers(root: str) -> dict[str, AcsRegister] | None:
    return acs_registers(root, list(pci_devices(first_vendor(root)[1], rdma_devices(root))))


def _bridges(root: str) -> dict[str, str] | None:
    registers = _registers(root)
    # What cannot be read stands against the setting.
    return None if registers == {} else {configuration_path(bridge): _hex(0) for bridge in registers or ()}


def _hex(control: int) -> str:
    return f"0x{control:04x}"


def _acs_unit(root: str) -> str:
    bridges = [path.split("/")[-2] for path in _bridges(root) or ()]
    guard = 'for one in /sys/bus/pci/drivers/vfio-pci/*:*; do [ -e "$one" ] && exit 0; done'
    script = "; ".join([guard, *(f"setpci -s {bridge} ECAP_ACS+6.w=0" for bridge in bridges)])
    conditions = "ConditionVirtualization=no\nConditionKernelCommandLine=!vfio-pci.ids\n"
    return _unit("PCIe bridges let GPUs and adapters reach each other", script, conditions)


def guests_of(root: str) -> str | None:
    """Return how it shows that a machine hands devices to guests, or None."""
    bound = [name for name in names(root, "/sys/bus/pci/drivers/vfio-pci") if ":" in name]
    if bound:
        return f"vfio-pci drives {bound[0]}"
    if "vfio-pci.ids=" in (line(root, "/proc/cmdline") or ""):
        return "the kernel's command line has vfio-pci.ids"
    for module in ("kvm_amd", "kvm_intel"):
        if number(root, f"{_MODULE}{module}/refcnt"):
            return f"guests use {module}"
    return "it is a host of Xen" if "control_d" in (text(root, "/proc/xen/capabilities") or "") else None


def _no_acs(root: str) -> tuple[str, str] | None:
    if is_virtual_machine(root):
        return "virtual_machine", "this is a virtual machine, whose host decides about ACS"
    guests = guests_of(root)
    if guests:
        return "guests", f"this machine hands devices to guests ({guests}), which ACS isolates from each other"
    if _registers(root) is None:
        return "unreadable", "the configuration of the bridges cannot be read"
    return None


def _peer_memory(root: str) -> dict[str, str] | None:
    if not nvidia_devices(root) or not rdma_devices(root) or has_open_nvidia_module(root):
        return None
    # An old one that its own service loads.
    return None if os.path.isdir(below(root, f"{_MODULE}nv_peer_mem")) else {f"{_MODULE}{_PEERMEM}": _LOADED}


def _slurmd(root: str) -> dict[str, str] | None:
    return {} if any(os.path.exists(below(root, f"{folder}/slurmd.service")) for folder in _OF_UNITS) else None


SETTINGS = {
    "cpu_governor": Setting(
        f"{_UNITS}/trainops-cpu-governor.service",
        _governors,
        lambda _root: _unit("Processors keep their speed", _processors(GOVERNOR, "performance")),
        _no_performance,
    ),
    "cpu_c2_off": Setting(
        f"{_UNITS}/trainops-cpu-c2-off.service",
        _c2,
        lambda _root: _unit("Processors do not sleep in C2", _processors(C2_DISABLED, "1")),
    ),
    "pcie_acs_off": Setting(f"{_UNITS}/trainops-pcie-acs-off.service", _bridges, _acs_unit, _no_acs, "setpci"),
    _PEERMEM: Setting(
        "/etc/modules-load.d/trainops-nvidia-peermem.conf", _peer_memory, lambda _root: f"{_HEADER}nvidia-peermem\n"
    ),
    "slurmd_memlock": Setting(
        f"{_UNITS}/slurmd.service.d/trainops.conf",
        _slurmd,
        lambda _root: f"{_HEADER}[Service]\nLimitMEMLOCK=infinity\n",
    ),
}


def found_at(root: str, path: str) -> str | None:
    """Return the value of a setting of the running kernel, in the form of the wanted value."""
    if path.startswith(_MODULE):
        return _LOADED if os.path.isdir(below(root, path)) else "not loaded"
    if path.endswith(_CONFIGURATION):
        register = acs_register(root, path.split("/")[-2])
        return _hex(register.control) if register else None
    return line(root, path)


def write(root: str, path: str, content: str, run: Run) -> None:
    """Give a setting of the running kernel its value, or a file of ours its content; empty to remove it."""
    place = below(root, path)
    if path.startswith(_MODULE):
        run(["modprobe", os.path.basename(path)])
    elif path.endswith(_CONFIGURATION):
        register = acs_register(root, path.split("/")[-2])
        with open(place, "r+b", buffering=0) as stream:
            os.pwrite(stream.fileno(), struct.pack("<H", int(content, 16)), register.place if register else -1)
    elif path.startswith("/sys/"):
        with open(place, "w", encoding="ascii") as stream:
            stream.write(f"{content}\n")
    elif not content:
        os.unlink(place)
        if path == SETTINGS["slurmd_memlock"].kept:
            with contextlib.suppress(OSError):
                os.rmdir(os.path.dirname(place))
    else:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if path.startswith(_AT_BOOT):
            os.symlink(content, place)
        else:
            write_bytes(place, content.encode(), 0o644)


def changes_for(root: str, name: str, has_program: Callable[[str], bool]) -> tuple[Changes, list[Fault]]:
    """Return the changes that make a setting, by path, and what stands against them."""
    setting = SETTINGS[name]
    values = setting.values(root)
    if values is None:
        return {}, []
    against = setting.against(root)
    if against:
        return {}, [Fault(against[0], name, f"{name}: {against[1]}")]
    faults = []
    changes = {path: (found_at(root, path) or "", value) for path, value in values.items()}
    changes = {path: change for path, change in changes.items() if change[0] != change[1]}
    fixed = [path for path in changes if not path.startswith(_MODULE) and not os.access(below(root, path), os.W_OK)]
    if fixed:
        message = f"{name}: {fixed[0]} is {changes[fixed[0]][0]} and cannot be set: it is read-only on this node"
        faults.append(Fault("read_only", name, message))
    if not os.path.isdir(below(root, "/run/systemd/system")):
        faults.append(Fault("no_systemd", name, f"{name}: no systemd runs on this node that would set it at boot"))
    if setting.program and not has_program(setting.program):
        faults.append(Fault("no_program", name, f"{name}: {setting.program} is not installed, which sets it at boot"))
    content, there = setting.content(root), text(root, setting.kept) or ""
    if there != content:
        changes[setting.kept] = (there, content)
    changes |= {link: ("", setting.kept) for link in setting.links if not os.path.islink(below(root, link))}
    return ({} if faults else changes), faults


def changes_back(root: str, name: str) -> Changes:
    """Return the changes that take a setting back; what somebody has changed since stays as it is."""
    setting = SETTINGS[name]
    before, wanted = noted(root, name), setting.values(root) or {}
    changes = {
        path: (value, before[path])
        for path, value in wanted.items()
        if path in before and not path.startswith(_MODULE) and found_at(root, path) == value
    }
    changes |= {link: (setting.kept, "") for link in setting.links if os.path.islink(below(root, link))}
    there = text(root, setting.kept)
    return changes if there is None else {**changes, setting.kept: (there, "")}


def _running(changes: Changes) -> dict[str, str]:
    return {path: before for path, (before, _after) in changes.items() if path.startswith("/sys/")}


def ensure(
    root: str, settings: list[str], *, absent: bool, check_mode: bool, run: Run, has_program: Callable[[str], bool]
) -> tuple[dict[str, t.Any], list[Fault]]:
    """Make or take back settings below a root folder, unless in check mode or at fault."""
    planned: dict[str, Changes] = {}
    faults: list[Fault] = []
    for name in settings:
        planned[name], found = (changes_back(root, name), []) if absent else changes_for(root, name, has_program)
        faults += found
    if faults:
        return {}, faults
    changes = {path: change for one in planned.values() for path, change in one.items()}
    if not check_mode:
        notes = {} if absent else {name: _running(one) for name, one in planned.items()}
        refused = apply(root, notes, changes, lambda path, content: write(root, path, content, run))
        if refused:
            path, why = refused
            name = next(name for name, one in planned.items() if path in one)
            return {}, [Fault("refused", name, f"{name}: {path} cannot be changed: {why}")]
        for name in settings if absent else ():
            forget(root, name, noted(root, name))
        if any(path.startswith(_UNITS) for path in changes):
            run(["systemctl", "daemon-reload"])
    diff = [
        {"before_header": path, "before": f"{before}\n".lstrip(), "after_header": path, "after": f"{after}\n".lstrip()}
        for path, (before, after) in changes.items()
    ]
    return {"changed": bool(changes), "before": _running(changes), "diff": diff}, []


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "settings": {"type": "list", "elements": "str", "choices": list(SETTINGS), "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )

    def run(command: list[str]) -> str:
        status, output, problem = module.run_command(command)
        if status:
            raise OSError(f"{' '.join(command)} failed: {problem.strip() or output.strip()}")
        return str(output)

    absent = module.params["state"] == "absent"
    try:
        result, faults = ensure(
            "/",
            module.params["settings"],
            absent=absent,
            check_mode=module.check_mode,
            run=run,
            # Check mode has installed no package.
            has_program=lambda program: module.check_mode or module.get_bin_path(program) is not None,
        )
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    if faults:
        module.fail_json(
            msg=f"{'; '.join(fault.message for fault in faults)}. Nothing has been changed.",
            faults=[{"code": fault.code, "name": fault.name} for fault in faults],
        )
    if "slurmd_memlock" in module.params["settings"] and not absent and slurmd_memlock("/") not in (None, -1):
        module.warn("slurmd has a limit on locked memory until it is restarted: systemctl restart slurmd")
    module.exit_json(**result)


if __name__ == "__main__":
    main()
