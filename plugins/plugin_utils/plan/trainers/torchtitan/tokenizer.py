# SPDX-License-Identifier: GPL-3.0-or-later
"""Fetches a tokenizer before the training; in TorchTitan's documentation, users do that by hand.

Source: scripts/download_hf_assets.py of pytorch/torchtitan 0.2.2, which makes a folder of the tokenizer's name.
"""

from __future__ import annotations

import posixpath
import typing as t

from .reading import RunReading

_SCRIPT = "with_tokenizer.sh"
_FETCH = """\
#!/bin/bash
# Fetches a tokenizer into a folder, unless it is there, and then runs what follows.
python=$1 tokenizer=$2 folder=$3
shift 3
if [ ! -e "$folder/${tokenizer##*/}" ]; then
  (
    # An interrupted fetch must not leave a folder that looks like the tokenizer.
    mkdir -p "$folder" && part=$(mktemp -d "$folder/.fetched.XXXXXX") && trap 'rm -rf "$part"' EXIT || exit
    "$python" scripts/download_hf_assets.py --repo_id "$tokenizer" --local_dir "$part" --assets tokenizer || exit
    # Several nodes may share the folder: the first one to finish provides it.
    mv -T "$part/${tokenizer##*/}" "$folder/${tokenizer##*/}" || [ -e "$folder/${tokenizer##*/}" ]
  ) || exit
fi
exec "$@"
"""


def check_tokenizer(reading: RunReading[t.Any], folder: str | None, place: str) -> None:
    """Report a tokenizer that is not fetched into the folder that it is read from, which is set at a place."""
    tokenizer = reading.get("trainops.tokenizer")
    if not tokenizer or reading.findings.has_fault(place):
        return
    if not folder:
        reading.findings.fault(
            place,
            None,
            f"It is not set, so nothing says which folder {tokenizer} is fetched into and read from.",
            f"Give a path with {posixpath.basename(tokenizer)} at its end, or leave trainops.tokenizer out.",
        )
    elif posixpath.basename(folder) != posixpath.basename(tokenizer):
        reading.findings.fault(
            place,
            folder,
            f"TorchTitan's script fetches {tokenizer} into a folder {posixpath.basename(tokenizer)}.",
            "Give a path with that at its end, or leave trainops.tokenizer out.",
        )


def fetching(reading: RunReading[t.Any], folder: str | None, command: list[str]) -> list[str]:
    """Return a command that first fetches the tokenizer into a folder, if one is named."""
    tokenizer = reading.get("trainops.tokenizer")
    if not tokenizer or not folder:
        return command
    python = reading.python or "python3"
    return ["bash", f"{{run-folder}}/{_SCRIPT}", python, tokenizer, posixpath.dirname(folder) or ".", *command]


def script_of(reading: RunReading[t.Any]) -> dict[str, str]:
    """Return the script of such a command by its name in the run's folder."""
    return {_SCRIPT: _FETCH} if reading.get("trainops.tokenizer") else {}
