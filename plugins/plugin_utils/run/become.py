# SPDX-License-Identifier: GPL-3.0-or-later
"""Why Ansible could not become another user on a node, in words that say what to do."""

from __future__ import annotations

import re

from ..plain_text import one_line

_ABSENT = re.compile(r"([\w./-]*\b(?:sudo|doas|su|pbrun|dzdo)): (?:(?:\d+: )?(?:command )?not found|No such file)")
_PASSWORD = re.compile(r"password is required|Missing \w+ password|terminal is required|no tty present", re.IGNORECASE)
_WRONG = re.compile(r"Incorrect \w+ password|Sorry, try again|incorrect password attempt", re.IGNORECASE)
_FORBIDDEN = re.compile(r"not in the sudoers file|is not allowed to|may not run sudo", re.IGNORECASE)
# Ansible's own words around what the program printed.
_WAITED = re.compile(r"waiting for (?:become success|privilege escalation prompt)", re.IGNORECASE)


def become_problem(said: str) -> str | None:
    """Return why becoming another user failed, without a full stop; None if the text does not mention it."""
    absent = _ABSENT.search(said)
    if absent:
        return (
            f"{absent[1]} is missing, and Ansible needs it to become another user; install it, or set "
            "ansible_become=false"
        )
    if _WRONG.search(said):
        return "the sudo password is wrong; enter it with --ask-become-pass"
    if _PASSWORD.search(said):
        return "sudo asks for a password; add --ask-become-pass, or allow this login sudo without one"
    if _FORBIDDEN.search(said):
        return "this login may not use sudo; allow it, or set ansible_become=false"
    if _WAITED.search(said):
        return f"Ansible could not become another user: {one_line(said.strip().splitlines()[-1])}"
    return None
