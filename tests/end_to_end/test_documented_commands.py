"""Every command that the pages name is run, in a clone, as it stands there.

In the clone ``inventories/mine`` is a copy of the local inventory, ``my.json`` one of its training config, and a run
has gone by, so most commands do what they say. Where that needs a cluster, or takes long, an invisible comment
above the block says with which arguments more the command is run::

    <!-- tested with ansible-playbook --list-tasks -->
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from playbook_bench import free_port

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
RUN_ID = "20261121-081757-llama3_1_8b-mi300x"

_FENCE = re.compile(
    r"^(?P<indent> *)(?:<!-- tested (?P<how>[^\n]*) -->\n *)?```(?:bash|console|sh|shell)\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
_INLINE = re.compile(r"`(ansible-doc [^`]+)`")


class Block(t.NamedTuple):
    """Commands of a page, and with which arguments more each program is tested."""

    place: str
    text: str
    more: dict[str, str]


def pages() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).exists()]


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(ROOT)
    found = []
    for fence in _FENCE.finditer(text):
        line = text.count("\n", 0, fence.start("text")) + 1
        more = {}
        if fence["how"]:
            assert fence["how"].startswith("with "), f"{name}:{line}: say `tested with PROGRAM ARGUMENTS`"
            for addition in fence["how"].removeprefix("with ").split(", "):
                program, _space, arguments = addition.partition(" ")
                more[program] = arguments
        found.append(Block(f"{name}:{line}", fence["text"], more))
    inline = [Block(f"{name}:`{command}`", " ".join(command.split()), {}) for command in _INLINE.findall(text)]
    return found + inline


BLOCKS = [block for page in pages() for block in blocks_of(page)]


def play(clone: Path, *arguments: str, environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["ansible-playbook", *arguments], cwd=clone, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def put_programs(folder: Path, more: dict[str, str]) -> None:
    """Write starters for the programs of this environment, and for sudo; those of ``more`` get arguments more."""
    folder.mkdir(parents=True)
    programs = {path.name: f"'{path}'" for path in BIN.iterdir() if path.is_file() and os.access(path, os.X_OK)}
    programs |= {name: f"'{shutil.which(name)}'" for name in more if name not in programs}
    programs |= {"sudo": ""}
    for name, program in programs.items():
        starter = folder / name
        starter.write_text(f'#!/bin/sh\nexec {program} "$@" {more.get(name, "")}\n')
        starter.chmod(0o755)
    (folder / "activate").write_text("")


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """A clone with what a reader of the pages has: an installed environment, an inventory, a config, a run."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode != 0:
        pytest.skip("this is no git checkout, so what belongs to a clone is not known")
    folder = tmp_path_factory.mktemp("clone")
    for name in filter(None, tracked.stdout.split("\0")):
        if (ROOT / name).exists() or (ROOT / name).is_symlink():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    # The pages name a run, which an earlier test may have left on this node.
    file = folder / "inventories/local/tiny_llama.json"
    config = json.loads(file.read_text())
    config["config"] |= {"data_cache_dir": str(folder / "node/cache"), "log_dir": str(folder / "node/logs")}
    file.write_text(json.dumps(config))
    shutil.copytree(folder / "inventories/local", folder / "inventories/mine")
    shutil.copy(folder / "inventories/local/tiny_llama.json", folder / "my.json")
    put_programs(folder / ".venv/bin", {})
    for stamp in ("run", "dev", "docs"):
        (folder / ".venv" / stamp).touch()
    environment = environment_of(folder)
    variables = f"training_run_id={RUN_ID} training_master_port={free_port()}"
    play(folder, "playbooks/megatron_multinode.yml", "-i", "inventories/mine", "-e", variables, environment=environment)
    return folder


def environment_of(clone: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "MAKE", "MFLAGS"))}
    own = {"TRAINOPS_LOCK_FOLDER": str(clone / "locks"), "HOME": str(clone / "home"), "ANSIBLE_NOCOLOR": "1"}
    return {**kept, **own, "PATH": f"{clone / '.venv/bin'}:{kept['PATH']}"}


@pytest.mark.parametrize("block", BLOCKS, ids=[block.place for block in BLOCKS])
def test_a_command_of_the_pages_works(block: Block, clone: Path) -> None:
    environment = environment_of(clone)
    if block.more:
        programs = clone / ".venv/bin"
        shutil.rmtree(programs)
        put_programs(programs, block.more)
    try:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.text],
            cwd=clone,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
    finally:
        if block.more:
            shutil.rmtree(programs)
            put_programs(programs, {})
    assert done.returncode == 0, f"{block.text}\n{done.stdout[-4000:]}"


def test_the_pages_have_commands() -> None:
    assert {"README.md", "CONTRIBUTING.md", "docs/getting_started.md"} <= {
        block.place.split(":")[0] for block in BLOCKS
    }
