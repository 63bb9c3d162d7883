# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of the user for what runs on a node itself."""

from __future__ import annotations

import os


def add_environment(variables: dict[str, str]) -> None:
    """Set variables for this process and all that it starts, one after the other.

    ``$PATH`` and the like in them are resolved here, and may name one that stands before.
    """
    for name, value in variables.items():
        os.environ[name] = os.path.expandvars(value)
