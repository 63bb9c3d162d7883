# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables with a prefix of the collection that nothing in it reads, for example misspelled ones."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path

import yaml

from ..contracts import Finding
from ..text.nodes import folded
from ..text.words import misspelled, nearest

PREFIXES = ("training_", "report_", "node_prep_", "isolate_")
# Host variables that are not role arguments.
_OF_HOSTS = ("training_address", "training_node_environment", "training_topology", "isolate_rehearsal_slowdown")
# Variables of the role report that the role training does not read; its own apply to the report as well.
_OF_REPORT = {"report_require_nodes": "training_require_nodes", "report_require_pass": "training_require_pass"}
_COLLECTION = Path(__file__).resolve().parents[3]
_PREFIX = re.compile("|".join(f"^{prefix}" for prefix in PREFIXES))
_NAMED_BY = ("register", "loop_var")
# Ansible's variables for connections, become and Python ("Connecting to hosts: behavioral inventory parameters").
_OF_ANSIBLE = {
    *("ansible_host", "ansible_port", "ansible_user", "ansible_password", "ansible_connection", "ansible_timeout"),
    *("ansible_become", "ansible_become_user", "ansible_become_method", "ansible_become_pass", "ansible_become_exe"),
    *("ansible_become_password", "ansible_become_flags", "ansible_python_interpreter", "ansible_shell_type"),
    *("ansible_shell_executable", "ansible_pipelining", "ansible_private_key_file", "ansible_remote_tmp"),
    *(f"ansible_ssh_{rest}" for rest in ("private_key_file", "common_args", "extra_args", "pipelining", "executable")),
    *(f"ansible_ssh_{rest}" for rest in ("host", "port", "user", "pass", "password", "args", "retries", "timeout")),
    *(f"ansible_ssh_{rest}" for rest in ("host_key_checking", "transfer_method", "use_tty")),
    *("ansible_sftp_extra_args", "ansible_scp_extra_args", "ansible_host_key_checking", "ansible_paramiko_pty"),
}

_REMOVE = "Remove it. To change a key of the training config, set training_overrides."


def unknown_variables(variables: Mapping[str, Collection[str]]) -> list[Finding]:
    """Return a finding for each unknown name among the variables of each host."""
    hosts: dict[str, list[str]] = {}
    for host, names in variables.items():
        for name in names:
            if name.startswith(PREFIXES) and name not in _known():
                hosts.setdefault(name, []).append(host)
    return [
        {
            "key": name,
            "value": None,
            "message": f"The variable does not exist{'' if len(on) == len(variables) else f' (on {folded(on)})'}.",
            "remedy": f"Did you mean {like}?" if (like := _like(name)) else _REMOVE,
        }
        for name, on in sorted(hosts.items())
    ]


def ignored_variables(variables: Mapping[str, t.Any]) -> list[Finding]:
    """Return a fault for each variable of the role report that is set to false where the role training has its own.

    ``variables`` are one host's variables with their values. The defaults of both roles are true.
    """
    return [
        {
            "key": old,
            "value": variables[old],
            "message": "The role training does not read this variable.",
            "remedy": f"Set {new} to false instead.",
        }
        for old, new in _OF_REPORT.items()
        if _is_false(variables.get(old)) and not _is_false(variables.get(new))
    ]


def _is_false(value: t.Any) -> bool:
    return value is False or str(value).casefold() in ("false", "no", "0")


def misspelled_variables(variables: Mapping[str, Collection[str]]) -> list[Finding]:
    """Return a warning for each name, among the variables of each host, that looks like a typo of a known one.

    Anybody may have variables of any name, so these are warnings, and only of names without the collection's prefixes.
    """
    hosts: dict[str, list[str]] = {}
    for host, names in variables.items():
        for name in names:
            hosts.setdefault(name, []).append(host)
    known = _arguments() | _OF_ANSIBLE
    meant = {name: misspelled(name, known) for name in hosts if name not in known and not name.startswith(PREFIXES)}
    return [
        {
            "key": name,
            "value": None,
            "message": f"Nothing reads this variable{'' if len(on) == len(variables) else f' (on {folded(on)})'}.",
            "remedy": f"Did you mean {like}?",
        }
        for name, on in sorted(hosts.items())
        if (like := meant.get(name))
    ]


def _like(name: str) -> str | None:
    """Return the argument with the closest name, ignoring prefixes."""
    own = next(prefix for prefix in PREFIXES if name.startswith(prefix))
    # If two arguments differ only in their prefix, the one with the same prefix as the name comes last.
    ordered = sorted(_arguments(), key=lambda argument: argument.startswith(own))
    by_rest = {_PREFIX.sub("", argument): argument for argument in ordered}
    found = nearest(name.removeprefix(own), by_rest)
    return by_rest[found] if found else None


@cache
def _arguments() -> frozenset[str]:
    """Return the arguments of all roles, and the variables that hosts may have."""
    found = set(_OF_HOSTS)
    for path in sorted(_COLLECTION.glob("roles/*/meta/argument_specs.yml")):
        for entry in _read(path)["argument_specs"].values():
            found |= entry.get("options", {}).keys()
    return frozenset(found)


@cache
def _known() -> frozenset[str]:
    """Return the arguments, and the names that roles and playbooks register or set themselves."""
    folders = ("roles/*/tasks", "roles/*/vars", "roles/*/defaults", "playbooks")
    own = {
        name
        for folder in folders
        for path in sorted(_COLLECTION.glob(f"{folder}/*.yml"))
        for name in _names_in(_read(path))
        if name.startswith(PREFIXES)
    }
    return _arguments() | own


def _names_in(content: t.Any) -> Iterator[str]:
    """Yield every key of an Ansible file, and the variables that its tasks register or loop with."""
    if isinstance(content, list):
        for item in content:
            yield from _names_in(item)
    elif isinstance(content, dict):
        for key, value in content.items():
            yield str(key)
            if key in _NAMED_BY:
                yield str(value)
            yield from _names_in(value)


def _read(path: Path) -> t.Any:
    return yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
