# SPDX-License-Identifier: GPL-3.0-or-later
"""Regular expressions in a training config, restricted so that no search can take forever."""

from __future__ import annotations

import re

_LONGEST_TEXT, _MOST_CHOICES, _MOST_PATTERNS = 256, 2, 50
_OPENING = re.compile(r"\(\?[a-zA-Z]*[:)]")
_CHOICE, _REPEATED_GROUP = re.compile(r"[*+?{|]"), re.compile(r"\)[*+?{]")


def pattern(value: str) -> str:
    """Return a regular expression; raise ValueError if it is invalid, or could take too long to search for.

    The work grows as the length of the text to the power of the choices (``* + ? { |``), and without a bound where a
    group is repeated.
    """
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is not a regular expression ({error})") from None
    bare = _OPENING.sub("(", value)
    if len(_CHOICE.findall(bare)) > _MOST_CHOICES or _REPEATED_GROUP.search(bare):
        raise ValueError(
            f"repeats a group, or has more than {_MOST_CHOICES} of * + ? {{ |, which can take forever to match"
        )
    return value


def few(patterns: dict[str, str]) -> dict[str, str]:
    """Return an object of patterns; raise ValueError if there are too many."""
    if len(patterns) > _MOST_PATTERNS:
        raise ValueError(f"has more than {_MOST_PATTERNS} patterns")
    return patterns


def is_found(searched: str, text: str) -> bool:
    """Return whether a `pattern` is found in a text, ignoring case; of a long path only the end is searched."""
    return re.search(searched, text[-_LONGEST_TEXT:], re.IGNORECASE) is not None
