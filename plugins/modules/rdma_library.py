#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Provides an RDMA provider library at the path that training configs mount."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_library
short_description: Provides an RDMA provider library at the path that training configs mount
version_added: 1.0.0
description:
  - Links O(path) to the provider library of the installed rdma-core if no library is there. A vendor's own library
    stays as it is.
  - The library must support the kernel driver, and its name must end with the number that O(path) asks for, because a
    program can only load a provider for its own release of libibverbs.
  - Does nothing on a node without adapters that the library drives.
extends_documentation_fragment:
  - trainops.cluster.attributes
attributes:
  diff_mode:
    support: full
options:
  path:
    description:
      - Path of the library, C(FOLDER/libDRIVER-rdmavNUMBER.so). C(*) stands for the number of the installed library,
        such as 34 or 59.
    type: path
    required: true
seealso:
  - module: trainops.cluster.node_inspect
"""

EXAMPLES = r"""
- name: Provide Broadcom's library where training configs mount it from
  trainops.cluster.rdma_library:
    path: /usr/local/lib/libbnxt_re-rdmav*.so
"""

RETURN = r"""
path:
  description: Path of the library.
  returned: success
  type: str
  sample: /usr/local/lib/libbnxt_re-rdmav34.so
source:
  description: Library that the path was linked to, null if nothing had to be done.
  returned: success
  type: str
  sample: /usr/lib/x86_64-linux-gnu/libibverbs/libbnxt_re-rdmav34.so
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
from ..module_utils.node.inspection.providers import provider_libraries, verbs_facts
from ..module_utils.node.inspection.rdma import rdma_devices
from ..module_utils.node.inspection.tools import ToolError
from ..module_utils.node.rdma_library import kind_of

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


def make(link: Link) -> None:
    """Make a link, in place of one that leads nowhere."""
    os.makedirs(os.path.dirname(link.path), exist_ok=True)
    if os.path.islink(link.path):
        os.unlink(link.path)
    os.symlink(link.source, link.path)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec={"path": {"type": "path", "required": True}}, supports_check_mode=True)
    path = module.params["path"]
    try:
        link = needed_link("/", path)
        warnings = verbs_facts()["warnings"] if link else []
        if link and warnings:
            raise RefusedError("kernel_abi_not_supported", f"{link.source} cannot replace {link.path}: {warnings[0]}")
        if link and not module.check_mode:
            make(link)
    except RefusedError as error:
        # Check mode has installed no package.
        if not module.check_mode or error.code != "not_installed":
            module.fail_json(msg=str(error), code=error.code)
        link = Link(path, "the library of rdma-core, once it is installed")
    except (OSError, ToolError) as error:
        module.fail_json(msg=f"{path} cannot be provided: {error}")
    if link is None:
        module.exit_json(changed=False, path=path, source=None)
    else:
        diff = {"before": "", "after": f"{link.path} -> {link.source}\n"}
        module.exit_json(changed=True, path=link.path, source=link.source, diff=diff)


if __name__ == "__main__":
    main()
