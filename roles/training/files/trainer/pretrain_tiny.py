# SPDX-License-Identifier: GPL-3.0-or-later
"""Trains the tiny byte-level language model of the package tiny_lm beside this file.

Use it through examples/llama/train_llama3.sh, which sets every variable that is read. ``--check`` only prints the
errors in the settings (exit status 2) or nothing (0).
"""

from __future__ import annotations

import runpy
import sys

# By name, so that this folder may be called anything: an import of the package would have to spell it out.
MODULES = {(): "tiny_lm.pretrain", ("--check",): "tiny_lm.check"}

if __name__ == "__main__":
    arguments = tuple(sys.argv[1:])
    if arguments not in MODULES:
        print(f"usage: pretrain_tiny.py [--check], not: {' '.join(arguments)}", file=sys.stderr)
        sys.exit(2)
    runpy.run_module(MODULES[arguments], run_name="__main__")
