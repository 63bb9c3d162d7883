# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of messages from docker and podman when they do nothing, or cannot pull or load an image.

The samples are real, of docker 20.10 and podman 4.3 with registries that refuse, unless the row says otherwise.
"""

from __future__ import annotations

import re
import typing as t

from .problems import Problem, problem

# Where the cause is unknown.
REFUSED = "engine_refused"


class Row(t.NamedTuple):
    """A cause: the code of its problem, the pattern of an engine's message, and messages that match."""

    code: str
    pattern: str
    samples: t.Tuple[str, ...]


# Docker's daemon, whatever it is asked for.
OF_DAEMON = (
    Row(
        "engine_forbidden",
        r"permission denied while trying to connect|dial unix .*: permission denied",
        (
            "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: Get "
            '"http://%2Fvar%2Frun%2Fdocker.sock/v1.24/containers/json": dial unix /var/run/docker.sock: connect: '
            "permission denied",
        ),
    ),
    Row(
        "engine_down",
        "cannot connect to the docker daemon|is the docker daemon running",
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",),
    ),
)
# An image that is pulled or loaded. The first row that matches counts.
OF_IMAGE = (
    Row(
        "image_disk_full",
        "no space left on device",
        # Written by hand: no disk was filled for it.
        ("failed to register layer: write /opt/rocm/lib/librocblas.so: no space left on device",),
    ),
    Row(
        "image_name_short",
        "short-name .* did not resolve",
        (
            'Error: short-name "trainer:v1" did not resolve to an alias and no unqualified-search registries are '
            'defined in "/etc/containers/registries.conf"',
        ),
    ),
    Row(
        "registry_untrusted",
        r"x509|does not look like a TLS handshake|server gave HTTP response to HTTPS client",
        (
            'Error response from daemon: Get "https://10.77.0.254:5444/v2/": x509: certificate signed by unknown '
            "authority",
            'Error response from daemon: Get "https://10.77.0.254:5445/v2/": tls: first record does not look like a '
            "TLS handshake",
            "Error: initializing source docker://10.77.0.254:5444/x:1: pinging container registry 10.77.0.254:5444: "
            'Get "https://10.77.0.254:5444/v2/": x509: certificate signed by unknown authority',
            # By hand, after the source of Go's net/http.
            'Get "https://registry:5000/v2/": http: server gave HTTP response to HTTPS client',
        ),
    ),
    Row(
        "registry_unreachable",
        r"dial (?:tcp|udp)\b|no such host|i/o timeout|TLS handshake timeout|Client\.Timeout",
        (
            'Error response from daemon: Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io '
            "on 10.255.255.53:53: dial udp 10.255.255.53:53: connect: network is unreachable",
            'Error response from daemon: Get "http://127.0.0.1:5999/v2/": dial tcp 127.0.0.1:5999: connect: connection '
            "refused",
            "Error: initializing source docker://10.77.0.77:5000/x:1: pinging container registry 10.77.0.77:5000: Get "
            '"https://10.77.0.77:5000/v2/": dial tcp 10.77.0.77:5000: connect: no route to host',
            # By hand, after the source of Go's net and net/http.
            "lookup registry.example: no such host",
            "net/http: TLS handshake timeout",
            "read udp 10.0.0.1:40000->10.0.0.53:53: i/o timeout",
            "net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)",
        ),
    ),
    Row(
        "registry_busy",
        r"toomanyrequests|too many requests|pull rate limit|unexpected (?:HTTP )?status(?: code)?:? 5\d\d",
        (
            "Error response from daemon: toomanyrequests: You have reached your pull rate limit. You may increase the "
            "limit by authenticating and upgrading: https://www.docker.com/increase-rate-limit",
            # By hand, after the source of docker's distribution.
            "Error response from daemon: received unexpected HTTP status: 503 Service Unavailable",
        ),
    ),
    Row(
        "image_denied",
        r"no basic auth credentials|unauthorized|authentication required|access denied|: denied\b|daemon: denied"
        r"|insufficient_scope",
        (
            'Error response from daemon: Head "https://10.77.0.254:5441/v2/x/manifests/1": no basic auth credentials',
            "Error response from daemon: denied",
            "Error: initializing source docker://10.77.0.254:5441/x:1: reading manifest 1 in 10.77.0.254:5441/x: "
            "unauthorized",
            "Error: initializing source docker://10.77.0.254:5442/x:1: reading manifest 1 in 10.77.0.254:5442/x: "
            "denied",
            # By hand: Docker Hub says this of a private image and of one that it does not have.
            "Error response from daemon: pull access denied for x, repository does not exist or may require 'docker "
            "login': denied: requested access to the resource is denied",
            "unauthorized: authentication required",
            "server message: insufficient_scope: authorization failed",
        ),
    ),
    Row(
        "image_unknown",
        r"manifest unknown|name unknown|\bnot found\b",
        (
            "Error response from daemon: manifest for 10.77.0.254:5000/nothere:1 not found: manifest unknown: manifest "
            "unknown",
            "Error: initializing source docker://10.77.0.254:5000/nothere:1: reading manifest 1 in "
            "10.77.0.254:5000/nothere: manifest unknown: manifest unknown",
            # By hand, after the source of containerd.
            'failed to resolve reference "docker.io/rocm/x:1": docker.io/rocm/x:1: not found',
        ),
    ),
)


def engine_problem(engine: str, command: str, said: str) -> Problem:
    """Return why an engine refused a command, by its message; `REFUSED` if that is unknown."""
    return problem(_code(OF_DAEMON, said) or REFUSED, engine=engine, command=command, said=said)


def image_problem(engine: str, image: str, said: str) -> t.Optional[Problem]:
    """Return why an engine cannot pull or load an image, by its message; None if that is unknown."""
    code = _code(OF_IMAGE, said)
    return problem(code, engine=engine, image=image, registry=_registry(image), said=said) if code else None


def _code(rows: t.Iterable[Row], said: str) -> str:
    return next((row.code for row in rows if re.search(row.pattern, said, re.IGNORECASE)), "")


def _registry(image: str) -> str:
    """Return the registry in the name of an image; without one, docker asks Docker Hub."""
    first, slash, _rest = image.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else "docker.io"
