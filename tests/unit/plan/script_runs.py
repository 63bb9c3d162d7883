# SPDX-License-Identifier: GPL-3.0-or-later
"""Running upstream's launch scripts as a plan would, with stubs for the training.

``torchrun`` writes its arguments down and ends, ``torch`` sees as many of sixteen GPUs as the environment lets it, and
nothing is fetched.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

_TORCH = """\
import os, types
_names = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
_visible = next((os.environ[name] for name in _names if name in os.environ), None)
cuda = types.SimpleNamespace(device_count=lambda: 16 if _visible is None else len(_visible.split(",")))
"""
_TORCHRUN = """\
#!{python}
import json, os, sys
with open({argv!r}, "w") as stream:
    json.dump({{"argv": sys.argv[1:], "env": dict(os.environ)}}, stream)
"""
_STUBS = {
    "wget": "#!/bin/sh\n",
    # The scripts of v25.5 end if there are fewer.
    "rdma": f"#!/bin/sh\necho '{json.dumps([{'ifname': f'rdma{number}'} for number in range(8)])}'\n",
    "sudo": "#!/bin/sh\n",
    "scontrol": "#!/bin/sh\nfor name in $STUB_HOSTS; do echo $name; done\n",
    "nslookup": '#!/bin/sh\necho "Address: $1"\n',
}


class Ran(t.NamedTuple):
    """The result of a script: its exit status and output, and the arguments of torchrun, None if it never began."""

    status: int
    output: str
    argv: list[str] | None
    environment: dict[str, str]


def run_script(checkout: Path, folder: Path, command: list[str], env: dict[str, str], where: str = ".") -> Ran:
    """Run a command in a copy of a checkout's examples below ``folder``, with nothing but ``env`` and the stubs."""
    work, stubs, told = folder / "work", folder / "stubs", folder / "argv.json"
    if not work.exists():
        shutil.copytree(checkout / "examples", work / "examples")
        stubs.mkdir()
        scripts = {**_STUBS, "torchrun": _TORCHRUN.format(python=sys.executable, argv=str(told))}
        for name, text in scripts.items():
            (stubs / name).write_text(text)
            (stubs / name).chmod(0o755)
        (stubs / "torch.py").write_text(_TORCH)
    told.unlink(missing_ok=True)
    base = {"PATH": f"{stubs}:{os.environ['PATH']}", "PYTHONPATH": str(stubs), "HOME": str(folder)}
    done = subprocess.run(
        command, cwd=work / where, env=env | base, capture_output=True, text=True, timeout=60, check=False
    )
    found = json.loads(told.read_text()) if told.exists() else {"argv": None, "env": {}}
    return Ran(done.returncode, done.stdout + done.stderr, found["argv"], found["env"])


def options_of(argv: list[str]) -> dict[str, str]:
    """Return the options of a command line with their values, an empty text for a flag; the last one of a name wins."""
    options: dict[str, str] = {}
    for word, following in zip(argv, [*argv[1:], "--"], strict=True):
        if word.startswith("--"):
            name, is_assigned, value = word.partition("=")
            options[name] = value if is_assigned else "" if following.startswith("--") else following
    return options
