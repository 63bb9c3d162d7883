# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of messages from sudo and the like when Ansible cannot become another user on a node."""

from __future__ import annotations

import re

from ...module_utils.node.problems import Problem, problem
from ..plain_text import one_line

_ABSENT = re.compile(r"([\w./-]*\b(?:sudo|doas|su|pbrun|dzdo)): (?:(?:\d+: )?(?:command )?not found|No such file)")
_SAID = {
    code: re.compile(said, re.IGNORECASE)
    for code, said in (
        ("become_password_wrong", r"Incorrect \w+ password|Sorry, try again|incorrect password attempt"),
        (
            "become_password_missing",
            r"password is required|Missing \w+ password|terminal is required|no tty present",
        ),
        (
            "become_user_missing",
            # sudo, su, and Ansible as root, which gives its files to that user before it becomes him.
            "sudo: unknown user|su: user .* does not exist|Failed to change ownership of the temporary files",
        ),
        ("become_forbidden", "not in the sudoers file|is not allowed to|may not run sudo"),
    )
}
# Ansible's own words around the program's output.
_WAITED = re.compile(r"waiting for (?:become success|privilege escalation prompt)", re.IGNORECASE)


def become_problem(said: str) -> Problem | None:
    """Return why becoming another user failed, by the message of sudo or Ansible; None if that is not the topic."""
    absent = _ABSENT.search(said)
    if absent:
        return problem("become_program_missing", program=absent[1])
    for code, pattern in _SAID.items():
        if pattern.search(said):
            return problem(code)
    if _WAITED.search(said):
        return problem("become_failed", said=one_line(said.strip().splitlines()[-1]))
    return None
