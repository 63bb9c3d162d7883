# SPDX-License-Identifier: GPL-3.0-or-later
"""RDMA user space: the installed provider libraries, and the devices that libibverbs finds with them."""

from __future__ import annotations

import glob
import os
import sys
import typing as t

from ..rdma_library import COUNT_PROGRAM, abi_warnings
from .elf import shared_library
from .files import below, fields, names, text
from .tools import SlowToolError, ToolError, run_tool

_SECONDS = 4.0
CONFIGURED = "/etc/libibverbs.d"
# Where distributions keep providers (Debian's architecture folders, RHEL), and where vendors' installers put their own.
_FOLDERS = ("/usr/lib/*-linux-gnu/libibverbs", "/usr/lib64/libibverbs", "/usr/lib/libibverbs", "/usr/local/lib")


def provider_libraries(root: str) -> list[dict[str, t.Any]]:
    """Return each provider library with ``driver``, ``path``, ``configured``, ``soname`` and ``rdma_abi``.

    ``configured`` says whether a file of /etc/libibverbs.d lists the driver, so that libibverbs loads it by name.
    """
    drivers = configured_drivers(root)
    found = []
    for folder in _FOLDERS:
        for path in sorted(glob.glob(os.path.join(below(root, folder), "lib*-rdmav[0-9]*.so"))):
            driver = os.path.basename(path)[len("lib") :].rpartition("-rdmav")[0]
            if os.path.isfile(path):
                inside = path[len(root.rstrip("/")) :]
                found.append(
                    {"driver": driver, "path": inside, "configured": driver in drivers, **shared_library(path)}
                )
    return found


def configured_drivers(root: str) -> set[str]:
    """Return the drivers that /etc/libibverbs.d/*.driver names, one a line: ``driver bnxt_re``.

    A driver may be given with a path in place of a name; then its base name counts (libibverbs, man ibverbs).
    """
    drivers = set()
    for name in names(root, CONFIGURED):
        if name.endswith(".driver"):
            driver = fields(text(root, f"{CONFIGURED}/{name}"), " ").get("driver", "")
            drivers.add(os.path.basename(driver).replace("lib", "", 1) if "/" in driver else driver)
    return drivers - {""}


def verbs_facts() -> dict[str, t.Any]:
    """Return how many ``devices`` libibverbs offers a program here, and its ``warnings`` of a kernel ABI mismatch.

    ``devices`` is None if libibverbs did not answer in time.
    """
    try:
        output, errors = run_tool([sys.executable, "-c", COUNT_PROGRAM], _SECONDS)
    except SlowToolError:
        return {"devices": None, "warnings": []}
    except ToolError as error:
        # The last line of Python's traceback says it all.
        raise ToolError(str(error).partition("): ")[2] or str(error)) from None
    return {"devices": int(output.split()[-1]), "warnings": abi_warnings(errors)}
