"""Running a module of the collection on this machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

from ansible_commands import run

ROOT = Path(__file__).resolve().parents[2]
CALL = """
import json, runpy, sys
from ansible.module_utils.testing import patch_module_args
with patch_module_args(json.loads(sys.argv[2])):
    runpy.run_module("ansible_collections.trainops.cluster.plugins.modules." + sys.argv[1], run_name="__main__")
"""


def run_module(folder: Path, name: str, /, *extra: str, within: tuple[str, ...] = (), **options: Any) -> dict[str, Any]:
    """Run a module with options as anybody would, and return its result; Ansible's own files go to a folder.

    ``within`` is a command that runs another one, such as ``ip netns exec NAME``.
    """
    command = ["ansible", "localhost", "-m", f"trainops.cluster.{name}", *extra]
    command += ["-e", f"ansible_python_interpreter={sys.executable}", *(("-a", json.dumps(options)) if options else ())]
    environment = {"HOME": str(folder), "ANSIBLE_CALLBACK_RESULT_FORMAT": "json"}
    if within:
        done = subprocess.run(
            [*within, str(Path(sys.executable).parent / "ansible"), *command[1:]],
            cwd=ROOT,
            env={**os.environ, **environment, "ANSIBLE_NOCOLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    else:
        done = run(*command, **environment)
    result = re.search(r"^localhost \| [A-Z!]+ => (\{.*\})", done.stdout, re.MULTILINE | re.DOTALL)
    assert result, done.stdout + done.stderr
    return _read(result.group(1))


def call_module(name: str, /, *, within: tuple[str, ...] = (), check: bool = False, **options: Any) -> dict[str, Any]:
    """Call a module with options and return its result: the same without the seconds that Ansible takes to start."""
    done = subprocess.run(
        [*within, sys.executable, "-c", CALL, name, json.dumps({**options, "_ansible_check_mode": check})],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "collections")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return {key: value for key, value in _read(done.stdout).items() if key != "invocation"}


def _read(answer: str) -> dict[str, Any]:
    """Return a result, read as strictly as JSON asks for."""
    return json.loads(answer, parse_constant=_refuse)


def _refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON")
