"""Running a module of the collection as anybody would, on this machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


def run_module(folder: Path, name: str, /, *extra: str, within: tuple[str, ...] = (), **options: Any) -> dict[str, Any]:
    """Run a module with options, and return its result; Ansible's own files go to a folder.

    ``within`` is a command that runs another one, such as ``ip netns exec NAME``.
    """
    done = subprocess.run(
        [
            *within,
            *(str(Path(sys.executable).parent / "ansible"), "localhost", "-m", f"trainops.cluster.{name}"),
            *(("-a", json.dumps(options)) if options else ()),
            *("-e", f"ansible_python_interpreter={sys.executable}", *extra),
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "HOME": str(folder),
            "ANSIBLE_LOCAL_TEMP": str(folder / "local"),
            "ANSIBLE_REMOTE_TEMP": str(folder / "remote"),
            "ANSIBLE_CALLBACKS_ENABLED": "ansible.builtin.minimal",
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
            "ANSIBLE_NOCOLOR": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    result = re.search(r"^localhost \| [A-Z!]+ => (\{.*\})", done.stdout, re.MULTILINE | re.DOTALL)
    assert result, done.stdout + done.stderr
    answer: dict[str, Any] = json.loads(result.group(1))
    return answer
