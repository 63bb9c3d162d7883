# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of cells that say their sizes: ``MBS=1,GBS=64,PRECISION=FP8``."""

from __future__ import annotations


def sizes_in(name: str) -> dict[str, str]:
    """Return the sizes in a name, by what it calls them."""
    pairs = (part.strip().partition("=") for part in name.split(","))
    return {key.upper(): value for key, equals, value in pairs if equals}
