"""Templating an expression as a play does."""

from __future__ import annotations

import json
from pathlib import Path

from ansible_commands import run


def shown(tmp_path: Path, expression: str) -> tuple[str, str, int]:
    """Template an expression as a play does; return its value as JSON, all output, and the exit status."""
    target = tmp_path / "shown"
    task = {"ansible.builtin.copy": {"content": f"{{{{ {expression} | to_json }}}}", "dest": str(target)}}
    playbook = tmp_path / "play.yml"
    playbook.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": [task]}]))
    done = run("ansible-playbook", str(playbook))
    return target.read_text() if target.exists() else "", " ".join((done.stdout + done.stderr).split()), done.returncode


def value(tmp_path: Path, expression: str):
    text, said, status = shown(tmp_path, expression)
    assert status == 0, said
    return json.loads(text)
