#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs the packages that a program of a node needs, by the names of its system."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_packages
short_description: Installs what training needs under the names of each system
version_added: 1.0.0
description:
  - Installs the packages of O(programs) that a node lacks, with the package manager of its system. Nothing is fetched
    if all are installed, and installed versions stay as they are.
  - Knows Debian and Ubuntu (apt), RHEL 9, Rocky Linux 9 and their relatives (dnf), SLES 15 (zypper), and Azure Linux 3
    (tdnf).
  - Notes on the node which packages it installs. O(state=absent) removes these, unless another package needs one by
    then. Their configuration files stay, and what came with them as a dependency.
extends_documentation_fragment:
  - trainops.cluster.attributes
options:
  programs:
    description:
      - What is needed. V(rdma) is rdma-core, the provider libraries and C(ibv_devinfo).
      - With O(state=absent), whose packages to remove.
    type: list
    elements: str
    choices: [ethtool, rdma, setpci]
    required: true
  state:
    description: Whether to install the packages, or to remove those that this module installed.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: ansible.builtin.package
"""

EXAMPLES = r"""
- name: Install RDMA user space
  trainops.cluster.node_packages:
    programs: [rdma]
"""

RETURN = r"""
packages:
  description: Packages that were installed or removed, or in check mode would be.
  returned: success
  type: list
  elements: str
  sample: [rdma-core, ibverbs-providers, ibverbs-utils]
kept:
  description: With O(state=absent), packages that stay because another package needs them.
  returned: success
  type: list
  elements: str
  sample: [rdma-core]
code:
  description: Why the packages cannot be installed, C(unknown_system) or C(not_installed).
  returned: when the task failed
  type: str
  sample: not_installed
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.node.inspection.system import operating_system
from ..module_utils.node.preparation import forget, note, noted

if t.TYPE_CHECKING:
    from collections.abc import Callable

    # A command, and its exit status, standard output and error.
    Run = Callable[[list[str]], tuple[int, str, str]]

_NOTES = "node_packages"
_LONGEST_WORDS = 500


class Family(t.NamedTuple):
    """The package manager of a family of systems, and its packages by program.

    ``listed`` prints ``installed NAME`` for each package. ``refresh`` fetches the lists of packages where installing
    does not. ``remove`` refuses to remove what another package needs, and with ``trial`` only says so.
    """

    systems: str
    listed: list[str]
    refresh: list[str]
    install: list[str]
    remove: list[str]
    trial: str
    packages: dict[str, list[str]]


def _of_rpm(systems: str, *install: str) -> Family:
    packages = {
        "ethtool": ["ethtool"],
        "rdma": ["rdma-core", "libibverbs", "libibverbs-utils"],
        "setpci": ["pciutils"],
    }
    listed = ["rpm", "--query", "--queryformat", "installed %{NAME}\\n"]
    return Family(systems, listed, [], list(install), ["rpm", "--erase"], "--test", packages)


_APT = ["apt-get", "--quiet=2", "-o", "DPkg::Lock::Timeout=60", "-o", "Acquire::Retries=1"]
# As in the spec file of rdma-core of each system.
FAMILIES = {
    "debian": Family(
        "Debian and Ubuntu",
        ["dpkg-query", "--show", "--showformat", "${db:Status-Status} ${Package}\\n"],
        [*_APT, "update"],
        [*_APT, "--yes", "--no-install-recommends", "install"],
        ["dpkg", "--remove"],
        "--simulate",
        {"ethtool": ["ethtool"], "rdma": ["rdma-core", "ibverbs-providers", "ibverbs-utils"], "setpci": ["pciutils"]},
    ),
    "rhel": _of_rpm("RHEL, Rocky Linux and relatives", "dnf", "--quiet", "--assumeyes", "install"),
    "suse": _of_rpm("SLES and openSUSE", "zypper", "--quiet", "--non-interactive", "install", "--no-recommends"),
    "azure": _of_rpm("Azure Linux", "tdnf", "--quiet", "--assumeyes", "install"),
}


class RefusedError(Exception):
    """Why packages cannot be installed: the code and the text."""

    def __init__(self, code: str, message: str) -> None:
        """Keep both."""
        super().__init__(message)
        self.code = code


class Result(t.NamedTuple):
    """The packages that were installed or removed, and those that had to stay."""

    packages: list[str]
    kept: list[str]


def family_of(root: str, programs: list[str]) -> Family:
    """Return the family of a node's system; RefusedError lists the packages that an unknown one would need."""
    system = operating_system(root)
    family = FAMILIES.get(system["family"] or "")
    if family is None:
        wanted = [name for program in programs for name in FAMILIES["rhel"].packages[program]]
        known = "; ".join(one.systems for one in FAMILIES.values())
        message = (
            f"the packages of {system['name'] or 'this system'} are not known (known are {known}); "
            f"install what corresponds to {', '.join(wanted)} yourself"
        )
        raise RefusedError("unknown_system", message)
    return family


def _installed(family: Family, names: list[str], run: Run) -> set[str]:
    # The status is not 0 if one of them is missing.
    rows = run([*family.listed, *names])[1].splitlines()
    return {name for state, _blank, name in (row.partition(" ") for row in rows) if state == "installed"}


def install(root: str, programs: list[str], check_mode: bool, run: Run) -> Result:
    """Install the missing packages of the programs; RefusedError gives the package manager's own words."""
    family = family_of(root, programs)
    names = [name for program in programs for name in family.packages[program]]
    there = _installed(family, names, run)
    missing = [name for name in names if name not in there]
    if missing and not check_mode:
        of_program = {name: program for program in programs for name in family.packages[program]}
        new = {name: of_program[name] for name in missing if name not in noted(root, _NOTES)}
        note(root, _NOTES, new)
        # Old lists may do; only if not, the error from here counts.
        said = [_words(*run(family.refresh)[1:])] if family.refresh else []
        status, output, problem = run([*family.install, *missing])
        if status:
            forget(root, _NOTES, set(new) - _installed(family, missing, run))
            words = "; ".join(one for one in (_words(output, problem), *said) if one)
            message = f"{', '.join(missing)} cannot be installed: {words or f'exit status {status}'}"
            raise RefusedError("not_installed", message)
    return Result(missing, [])


def _words(output: str, problem: str) -> str:
    """Return the output of a package manager, its errors if there are any, in one line."""
    rows = dict.fromkeys(" ".join(row.split()) for row in (problem.strip() or output.strip()).splitlines())
    return " ".join(row for row in rows if row)[:_LONGEST_WORDS]


def remove(root: str, programs: list[str], check_mode: bool, run: Run) -> Result:
    """Remove the packages that were installed for the programs, except those that others need by now."""
    of_programs = [name for name, program in noted(root, _NOTES).items() if program in programs]
    if not of_programs:
        return Result([], [])
    family = family_of(root, programs)
    there = _installed(family, of_programs, run)
    command = [family.remove[0], family.trial, *family.remove[1:]] if check_mode else family.remove
    kept = [name for name in of_programs if name in there]
    removed: list[str] = []
    if kept and run([*command, *kept])[0] == 0:
        removed, kept = kept, []
    while True:
        gone = [name for name in kept if run([*command, name])[0] == 0]
        removed, kept = [*removed, *gone], [name for name in kept if name not in gone]
        if check_mode or not gone or not kept:
            break
    if not check_mode:
        forget(root, _NOTES, of_programs)
    return Result(removed, kept)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "programs": {
                "type": "list",
                "elements": "str",
                "choices": ["ethtool", "rdma", "setpci"],
                "required": True,
            },
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )

    def run(command: list[str]) -> tuple[int, str, str]:
        program = module.get_bin_path(command[0])
        if program is None:
            return 127, "", f"{command[0]} is not installed"
        environment = {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
        status, output, problem = module.run_command([program, *command[1:]], environ_update=environment)
        return int(status), str(output), str(problem)

    change = remove if module.params["state"] == "absent" else install
    try:
        result = change("/", module.params["programs"], module.check_mode, run)
    except RefusedError as error:
        module.fail_json(msg=str(error), code=error.code)
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    for name in result.kept:
        module.warn(f"{name} stays, because another package needs it")
    module.exit_json(changed=bool(result.packages), packages=result.packages, kept=result.kept)


if __name__ == "__main__":
    main()
