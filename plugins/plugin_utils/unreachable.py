# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a node cannot be reached over SSH, by what ssh said, and what to do about each cause.

The texts are those of OpenSSH (sshconnect.c, sshconnect2.c, kex.c, packet.c), of getaddrinfo and of connect (errno).
"""

from __future__ import annotations

import re
import typing as t

# Ansible's own words around what ssh said; nobody needs them.
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


class Cause(t.NamedTuple):
    """A cause: its code, what ssh says of it, the beginning of a sentence about it, and what to do."""

    code: str
    said: re.Pattern[str]
    sentence: str
    remedy: str


def _cause(code: str, said: str, sentence: str, remedy: str) -> Cause:
    return Cause(code, re.compile(said, re.IGNORECASE), sentence, remedy)


_CAUSES = (
    _cause(
        "unknown_host",
        "could not resolve hostname|name or service not known|failure in name resolution|nodename nor servname",
        "No such host name is known to this machine",
        "Set ansible_host to the node's address in the inventory, or add the name to DNS or /etc/hosts here.",
    ),
    _cause(
        "host_key_changed",
        "remote host identification has changed|host key for .* has changed",
        "The node has another host key than the one that this machine knows",
        "If the node was installed again, remove the old key with ssh-keygen -R HOST and log in once by hand; if not, "
        "find out who answers at its address.",
    ),
    _cause(
        "host_key_unknown",
        "host key verification failed|no .* host key is known",
        "This machine does not know the node's host key",
        "Log in once by hand (ssh USER@HOST) and compare the fingerprint, or add it with ssh-keyscan HOST >> "
        "~/.ssh/known_hosts.",
    ),
    _cause(
        "login_refused",
        r"permission denied \([^)]*\)|too many authentication failures|no supported authentication methods",
        "The node is up, but refuses the login",
        "Check ansible_user, and give the node this machine's public key (ssh-copy-id USER@HOST), or name the right "
        "key with ansible_ssh_private_key_file; for a password, add --ask-pass.",
    ),
    _cause(
        "connection_refused",
        "connection refused",
        "The node is up, but nothing listens on its SSH port",
        "Start sshd there (systemctl start ssh or sshd, from its console), or set ansible_port to the port on which it "
        "listens.",
    ),
    _cause(
        "no_route",
        "no route to host|network is unreachable|host is down",
        "No way leads to the node's address",
        "Check that the node is on (its BMC), and that its address and the routes of this machine are right.",
    ),
    _cause(
        "timeout",
        "timed? ?out|not responding",
        "Nothing answers at the node's address",
        "Check that the node is on (ping, its BMC), that ansible_host is right, and that no firewall drops packets.",
    ),
    _cause(
        "connection_ended",
        "kex_exchange_identification|connection closed by|connection reset|connection to .* closed|broken pipe",
        "The node ended the connection",
        "Check that sshd works there (journalctl --unit ssh or sshd); it ends connections when there are too many at "
        "once (MaxStartups) or an address is banned.",
    ),
)
_UNKNOWN = "Check that the node is up and its management network works (ssh USER@HOST)."


def why_unreachable(said: str) -> tuple[str, str]:
    """Return a sentence about why a node cannot be reached, without a full stop, and what to do about it."""
    plain, found = _plain(said), _cause_of(said)
    if found is None:
        return f"The node did not answer: {plain or 'nothing more is known'}", _UNKNOWN
    return f"{found.sentence} ({plain})", found.remedy


def cause_code(said: str) -> tuple[str, str]:
    """Return the code of why a node cannot be reached, empty if it is not known, and what ssh said of it."""
    found = _cause_of(said)
    return found.code if found else "", _plain(said)


def _cause_of(said: str) -> Cause | None:
    return next((cause for cause in _CAUSES if cause.said.search(_plain(said))), None)


def _plain(said: str) -> str:
    """Return what ssh said, without Ansible's words around it."""
    return " ".join(_AROUND.sub("", said).split()).rstrip(".")


def told_by_a_command(said: str) -> list[str]:
    """Return the lines that a command printed over ssh, without what ssh and sshd add; all of them if it is all."""
    lines = [line.strip() for line in said.strip().splitlines() if line.strip()]
    return [line for line in lines if not _ASIDE.match(line)] or lines
