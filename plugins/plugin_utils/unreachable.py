# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of ssh's messages about a node that it cannot reach: it returns the code of the cause.

The texts come from OpenSSH (sshconnect.c, sshconnect2.c, kex.c, packet.c), getaddrinfo and connect (errno).
`text.problems` explains each cause and its remedy.
"""

from __future__ import annotations

import re

from ..module_utils.node.problems import Problem, problem

# Ansible's own words around ssh's message; nobody needs them.
_AROUND = re.compile(
    r"(?:Task failed: )?(?:Failed to connect to the host via ssh: "
    r"|Data could not be sent to remote host ['\"][^'\"]*['\"]\. Make sure this host can be reached over ssh: )",
    re.IGNORECASE,
)
# ssh and sshd print these besides the command's own output; they are not why it failed.
_ASIDE = re.compile(
    r"ControlSocket .* already exists|Could not chdir to home directory|Warning: Permanently added|mux_client_"
    r"|Pseudo-terminal will not be allocated|Shared connection to .* closed|\*\* "
)
UNKNOWN_CAUSE = "no_answer"
_CAUSES = {
    code: re.compile(said, re.IGNORECASE)
    for code, said in (
        (
            "unknown_host",
            "could not resolve hostname|name or service not known|failure in name resolution|nodename nor servname",
        ),
        ("host_key_changed", "remote host identification has changed|host key for .* has changed"),
        ("host_key_unknown", "host key verification failed|no .* host key is known"),
        (
            "login_refused",
            r"permission denied \([^)]*\)|too many authentication failures|no supported authentication methods",
        ),
        ("connection_refused", "connection refused"),
        ("no_route", "no route to host|network is unreachable|host is down"),
        ("timeout", "timed? ?out|not responding"),
        (
            "connection_ended",
            "kex_exchange_identification|connection closed by|connection reset|connection to .* closed|broken pipe",
        ),
    )
}


def unreachable(said: str) -> Problem:
    """Return the problem of a node that ssh cannot reach, by ssh's message; `UNKNOWN_CAUSE` if that is unknown."""
    plain = " ".join(_AROUND.sub("", said).split()).rstrip(".")
    code = next((code for code, pattern in _CAUSES.items() if pattern.search(plain)), UNKNOWN_CAUSE)
    return problem(code, said=plain)


def told_by_a_command(said: str) -> list[str]:
    """Return a command's output lines over ssh, without lines of ssh and sshd; all lines if there are no others."""
    lines = [line.strip() for line in said.strip().splitlines() if line.strip()]
    return [line for line in lines if not _ASIDE.match(line)] or lines
