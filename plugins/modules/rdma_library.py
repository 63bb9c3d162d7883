#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Provides files of RDMA user space at the paths that training configs mount."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_library
short_description: Provides files of RDMA user space at the paths that training configs mount
version_added: 1.0.0
description:
  - Links O(path) to the provider library of the installed rdma-core if no library is there. A vendor's own library
    stays as it is.
  - The library must support the kernel driver, and its name must end with the number that O(path) asks for, because a
    program can only load a provider for its own release of libibverbs.
  - Does nothing on a node without adapters that the library drives.
  - Notes on the node which links it makes. O(state=absent) removes these, unless somebody has changed them since.
extends_documentation_fragment:
  - trainops.cluster.attributes
attributes:
  diff_mode:
    support: full
options:
  path:
    description:
      - Path of the library, C(FOLDER/libDRIVER-rdmavNUMBER.so). C(*) stands for the number of the installed library,
        such as 34 or 59. Without it no library is provided.
    type: path
  drivers:
    description:
      - Whether to provide C(/lib/libibverbs.d), which AMD's training configs mount. If it is missing, it becomes a link
        to C(/etc/libibverbs.d), where rdma-core lists the drivers.
    type: bool
    default: false
  expect_rdma_core:
    description: In check mode, whether rdma-core will be installed by the time that the task runs.
    type: bool
    default: false
  state:
    description: Whether to make the links, or to remove those that this module made.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: trainops.cluster.node_inspect
"""

EXAMPLES = r"""
- name: Provide Broadcom's library where training configs mount it from
  trainops.cluster.rdma_library:
    path: /usr/local/lib/libbnxt_re-rdmav*.so
    drivers: true
"""

RETURN = r"""
links:
  description: Links that were made or removed, each with its C(path) and C(source).
  returned: success
  type: list
  elements: dict
  sample:
    - path: /usr/local/lib/libbnxt_re-rdmav34.so
      source: /usr/lib/x86_64-linux-gnu/libibverbs/libbnxt_re-rdmav34.so
code:
  description: Why the library cannot be provided, C(not_a_library_name), C(folder_in_place), C(not_installed),
    C(other_abi) or C(kernel_abi_not_supported).
  returned: when the task failed
  type: str
  sample: other_abi
"""

import os
import re
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.node.inspection.files import below
from ..module_utils.node.inspection.providers import CONFIGURED, provider_libraries, verbs_facts
from ..module_utils.node.inspection.rdma import rdma_devices
from ..module_utils.node.inspection.tools import ToolError
from ..module_utils.node.preparation import apply, forget, noted
from ..module_utils.node.rdma_library import DRIVERS, kind_of

_NOTES = "rdma_library"
_NAME = re.compile(r"lib(?P<driver>[a-z0-9_]+)-rdmav(?P<number>[0-9]+|\*)\.so")


class RefusedError(Exception):
    """The reason why a library cannot be provided: its code and its text."""

    def __init__(self, code: str, message: str) -> None:
        """Keep both."""
        super().__init__(message)
        self.code = code


class Link(t.NamedTuple):
    """A link to make: its ``path``, and the library that is its ``source``."""

    path: str
    source: str


def needed_link(root: str, path: str) -> Link | None:
    """Return the link that provides the library; None if one is there, or no adapter needs it.

    RefusedError says why there cannot be one.
    """
    folder, name = os.path.split(path)
    asked = _NAME.fullmatch(name)
    if asked is None:
        raise RefusedError(
            "not_a_library_name", f"path is {path}, but must end like libbnxt_re-rdmav34.so, or rdmav*.so"
        )
    driver, number = asked["driver"], asked["number"]
    if driver not in {device["provider"] for device in rdma_devices(root)}:
        return None
    found = [one["path"] for one in provider_libraries(root) if one["driver"] == driver]
    if any(os.path.dirname(one) == folder and _fits(one, number) for one in found):
        return None
    others = [one for one in found if os.path.dirname(one) != folder]
    fitting = [one for one in others if _fits(one, number)]
    target = os.path.join(folder, os.path.basename(fitting[0])) if fitting else path
    kind = kind_of(below(root, target))
    if kind != "missing":
        advice = f"; remove it (rmdir {target})" if kind == "directory" else ""
        raise RefusedError("folder_in_place", f"{target} must be a library, but is a {kind}{advice}")
    if not others:
        raise RefusedError(
            "not_installed",
            f"{path} does not exist, and rdma-core has no library for {driver}; install the package of the vendor's "
            "kernel driver",
        )
    if not fitting:
        raise RefusedError(
            "other_abi",
            f"{path} does not exist, and rdma-core's {', '.join(others)} is for another release of libibverbs, so an "
            f"image that needs {name} cannot load it; use an image with the same release and mount that library, or "
            "install the package of the vendor's kernel driver",
        )
    return Link(target, fitting[0])


def _fits(path: str, number: str) -> bool:
    name = _NAME.fullmatch(os.path.basename(path))
    return name is not None and number in ("*", name["number"])


def drivers_link(root: str, expect_rdma_core: bool) -> Link | None:
    """Return the link to rdma-core's list of drivers; None if the list is there, or rdma-core is not."""
    is_known = expect_rdma_core or kind_of(below(root, CONFIGURED)) == "directory"
    return Link(DRIVERS, CONFIGURED) if is_known and kind_of(below(root, DRIVERS)) == "missing" else None


def write(root: str, path: str, source: str) -> None:
    """Make a link, in place of one that leads nowhere; without a source, remove it."""
    place = below(root, path)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if os.path.islink(place):
        os.unlink(place)
    if source:
        os.symlink(source, place)


def links_made(root: str) -> list[Link]:
    """Return the links that this module made and that are still as it made them."""
    made = [Link(path, source) for path, source in noted(root, _NOTES).items()]
    return [link for link in made if _target(below(root, link.path)) == link.source]


def _target(path: str) -> str | None:
    return os.readlink(path) if os.path.islink(path) else None


def change(root: str, links: list[Link], *, absent: bool) -> None:
    """Make or remove links; OSError if one is refused."""
    changes = {link.path: (link.source, "") if absent else ("", link.source) for link in links}
    notes = {} if absent else {_NOTES: {link.path: link.source for link in links}}
    refused = apply(root, notes, changes, lambda path, source: write(root, path, source))
    if refused:
        raise OSError(f"{refused[0]} cannot be changed: {refused[1]}")
    if absent:
        forget(root, _NOTES, noted(root, _NOTES))


def _library_link(path: str, expected: bool) -> Link | None:
    try:
        link = needed_link("/", path)
    except RefusedError as error:
        if expected and error.code == "not_installed":
            return Link(path, "the library of rdma-core, once it is installed")
        raise
    warnings = verbs_facts()["warnings"] if link else []
    if link and warnings:
        raise RefusedError("kernel_abi_not_supported", f"{link.source} cannot replace {link.path}: {warnings[0]}")
    return link


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path"},
            "drivers": {"type": "bool", "default": False},
            "expect_rdma_core": {"type": "bool", "default": False},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    options = module.params
    expected = module.check_mode and options["expect_rdma_core"]
    absent = options["state"] == "absent"
    try:
        if absent:
            links = links_made("/")
        else:
            wanted = [drivers_link("/", expected) if options["drivers"] else None]
            wanted.append(_library_link(options["path"], expected) if options["path"] else None)
            links = [link for link in wanted if link]
        if not module.check_mode:
            change("/", links, absent=absent)
    except RefusedError as error:
        module.fail_json(msg=str(error), code=error.code)
    except (OSError, ToolError, ValueError) as error:
        module.fail_json(msg=f"RDMA files cannot be provided: {error}")
    rows = "".join(f"{link.path} -> {link.source}\n" for link in links)
    diff = {"before": rows, "after": ""} if absent else {"before": "", "after": rows}
    module.exit_json(changed=bool(links), links=[link._asdict() for link in links], diff=diff)


if __name__ == "__main__":
    main()
