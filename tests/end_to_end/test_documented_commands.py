"""Every command in the pages is run, in a clone, exactly as printed.

In the clone ``inventories/mine`` is a copy of the local inventory, ``my.json`` one of its training config, and a run
has gone by, so most commands work as printed. If one needs a cluster, or takes long, an invisible comment above the
block gives the extra arguments for the test::

    <!-- tested with ansible-playbook --list-tasks -->

Commands within a sentence or a table are run as ``INLINE`` says.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import typing as t
from importlib import metadata
from pathlib import Path

import ansible_commands
import pytest
from ansible_commands import finished
from not_run import need
from ports import free_port

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
PLUGINS = "collections/ansible_collections/trainops/cluster/plugins"
RUN_ID = "20261121-081757-llama3_1_8b-mi300x"

_FENCE = re.compile(
    r"^(?P<indent> *)(?:<!-- tested (?P<how>[^\n]*) -->\n *)?```(?:bash|console|sh|shell)\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
_INLINE = re.compile(r"(?<!`)`((?:\.venv/bin/)?(?P<program>[a-z]+(?:-[a-z]+)*) [^`]+)`(?!`)")
_ROW = re.compile(r"^\| `(?P<command>\w+\.yml\b[^`]*)`", re.MULTILINE)
PLAYBOOK = "ansible-playbook"
# Commands that are spared the second that Ansible takes to start.
FORKED = (PLAYBOOK, "ansible", "ansible-inventory")
# The extra arguments of a command within a sentence or a table; the others are bound to do something somewhere.
INLINE = {
    "ansible-doc": "",
    "ansible-galaxy": "--help",
    "ansible-playbook": "-i inventories/mine --syntax-check",
    "ansible-test": "--help",
    "ansible-vault": "--help",
    "make": "--dry-run",
    "nox": "--list",
}


class Block(t.NamedTuple):
    """Commands of a page, and the extra arguments for testing each program; or a single command and its program."""

    place: str
    text: str
    more: dict[str, str]
    program: str | None = None


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
    prose = _FENCE.sub("", text)
    inline = [
        Block(f"{name}:`{match[1]}`", " ".join(match[1].split()), {program: INLINE[program]}, program)
        for match in _INLINE.finditer(prose)
        if (program := match["program"]) in INLINE and "…" not in match[1]
    ]
    rows = [
        Block(
            f"{name}:{row['command']}", f"{PLAYBOOK} playbooks/{row['command']}", {PLAYBOOK: INLINE[PLAYBOOK]}, PLAYBOOK
        )
        for row in _ROW.finditer(prose)
        if (ROOT / "playbooks" / row["command"].split()[0]).exists()
    ]
    return found + inline + rows


def untested_in(page: Path) -> list[str]:
    """Return the lines of a page that look like a command and are in no block that is run."""
    prose = _FENCE.sub("", page.read_text(encoding="utf-8"))
    programs = r"(?:\.venv/bin/\S+|ansible(?:-[a-z]+)?|pytest|nox|make [a-z-]+$|export \w+=)"
    return re.findall(rf"^ *(?:\$ |sudo )?{programs}(?: .*)?$", prose, re.MULTILINE)


def once(blocks: t.Iterable[Block]) -> list[Block]:
    """Return the blocks without those that repeat an earlier one, on the same page or another."""
    first: dict[str, Block] = {}
    for block in blocks:
        first.setdefault(f"{block.text.strip()} {block.more}", block)
    return list(first.values())


BLOCKS = once(block for page in pages() for block in blocks_of(page))


def play(clone: Path, *arguments: str, environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["ansible-playbook", *arguments], cwd=clone, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def put_programs(folder: Path, more: dict[str, str]) -> None:
    """Write starters for the programs of this environment, and for sudo; those of ``more`` get extra arguments."""
    folder.mkdir(parents=True)
    programs = {path.name: f"'{path}'" for path in BIN.iterdir() if path.is_file() and os.access(path, os.X_OK)}
    programs |= {name: f"'{sys.executable}' -IS '{ansible_commands.__file__}' {name}" for name in FORKED}
    programs |= {name: f"'{shutil.which(name)}'" for name in more if name not in programs}
    programs |= {"sudo": ""}
    for name, program in programs.items():
        starter = folder / name
        starter.write_text(f'#!/bin/sh\nexec {program} "$@" {more.get(name, "")}\n')
        starter.chmod(0o755)
    (folder / "activate").write_text("")


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """A clone as a reader of the pages has it: an installed environment, an inventory, a config, a run."""
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
    # The pages mention a run, which an earlier test may have left on this node.
    file = folder / "inventories/local/tiny_llama.json"
    config = json.loads(file.read_text())
    config["config"] |= {"data_cache_dir": str(folder / "node/cache"), "log_dir": str(folder / "node/logs")}
    # Steps that take no time: the demo itself is another test's.
    config["config"]["training_iterations"] = "10"
    branch = config["model_params"]["multi_node"]["llama3_tiny"]["cpu"]
    branch |= {"sequence_length": "2", "result_dict": {"loss": "100"}}
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "block",
    [
        # The tests that such a block runs are run by themselves as well.
        pytest.param(block, id=block.place, marks=pytest.mark.long if "bin/pytest" in block.text else ())
        for block in BLOCKS
    ],
)
def test_a_command_of_the_pages_works(block: Block, clone: Path) -> None:
    if "preflight.yml" in block.text:
        need("ip")
    environment = environment_of(clone)
    if block.program in (PLAYBOOK, "ansible-doc"):
        command = shlex.split(f"{block.text} {block.more[block.program]}")
        done = finished([block.program, *command[1:]], environment, clone, packages=())
        assert done.returncode == 0, f"{block.text}\n{done.stdout[-4000:]}"
        return
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
    assert (clone / PLUGINS).is_symlink(), "the clone no longer runs its own files"


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_no_command_of_a_page_escapes(page: Path) -> None:
    assert untested_in(page) == []


def programs_of_the_project() -> set[str]:
    """Return the programs of the packages that the project requires, whatever else is installed beside them."""
    wanted = "".join((ROOT / name).read_text() for name in ("requirements.txt", "requirements-dev.txt"))
    installed = [metadata.distribution(name) for name in re.findall(r"^[A-Za-z][\w-]*", wanted, re.MULTILINE)]
    return {point.name for one in installed for point in one.entry_points if point.group == "console_scripts"}


def test_commands_within_sentences_are_of_programs_that_are_tested() -> None:
    tools = programs_of_the_project() | {"git", "make", "ruff", "sudo"}
    assert INLINE.keys() <= tools
    inline = [match for page in pages() for match in _INLINE.finditer(_FENCE.sub("", page.read_text()))]
    assert [match[1] for match in inline if match["program"] in tools - INLINE.keys()] == []


def test_the_pages_have_commands() -> None:
    assert {"README.md", "CONTRIBUTING.md", "docs/getting_started.md"} <= {
        block.place.split(":")[0] for block in BLOCKS
    }
