#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs ansible-lint, which checks the syntax of each playbook with a command of Ansible.

These commands are forked from one process that has imported Ansible, as in the tests: starting them is most of their
cost.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from ansible_commands import OWNER, SERVERS

BIN = Path(sys.prefix, "bin")
STARTER = """#!/bin/sh
exec "{python}" "{tests}/ansible_commands.py" ansible-playbook "$@"
"""

if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="lint-ansible-") as folder:
        starter = Path(folder, "ansible-playbook")
        starter.write_text(STARTER.format(python=sys.executable, tests=ROOT / "tests"), encoding="utf-8")
        starter.chmod(0o755)
        path = os.pathsep.join([folder, str(BIN), os.environ["PATH"]])
        environment = {**os.environ, "PATH": path, SERVERS: folder, OWNER: str(os.getpid())}
        command = [str(BIN / "ansible-lint"), "--offline", "--strict", *sys.argv[1:]]
        sys.exit(subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode)
