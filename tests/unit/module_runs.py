"""Running a module of the collection on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from ansible.module_utils.testing import patch_module_args
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
    arguments = {**options, "_ansible_check_mode": check}
    if within:
        done = subprocess.run(
            [*within, sys.executable, "-c", CALL, name, json.dumps(arguments)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "collections")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout, done.stderr
        said = done.stdout
    else:
        said = _forked(name, arguments)
    return {key: value for key, value in _read(said).items() if key != "invocation"}


def _forked(name: str, arguments: dict[str, Any]) -> str:
    """Return what a module prints in a process of its own, which has imported Ansible already."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        child = os.fork()
        if not child:
            try:
                os.chdir(ROOT)
                with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit), patch_module_args(arguments):
                    import_module(f"ansible_collections.trainops.cluster.plugins.modules.{name}").main()
                said.flush()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        said.seek(0)
        return said.read()


def _read(answer: str) -> dict[str, Any]:
    """Return a result, read as strictly as JSON asks for."""
    return json.loads(answer, parse_constant=_refuse)


def _refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON")
