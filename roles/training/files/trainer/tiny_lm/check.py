# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints the errors in the settings, before anything is started and without loading the training code.

Exit status: 0 they are right; 2 they are refused, with all faults on stderr.
"""

from __future__ import annotations

import os
import sys
import typing as t

from .settings import read_settings

if t.TYPE_CHECKING:
    from .settings import Settings


def checked_settings() -> Settings | None:
    """Return the settings from the environment; None, with the reasons on stderr, if they are refused."""
    try:
        return read_settings(os.environ)
    except ValueError as error:
        faults = "\n  ".join(str(error).splitlines())
        print(f"pretrain_tiny.py: the settings are refused, nothing was started:\n  {faults}", file=sys.stderr)
        return None


if __name__ == "__main__":
    sys.exit(0 if checked_settings() else 2)
