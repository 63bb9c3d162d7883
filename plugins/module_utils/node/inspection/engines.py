# SPDX-License-Identifier: GPL-3.0-or-later
"""Container engines that are there, and the image of the training in each of them."""

from __future__ import annotations

import json
import os
import re
import typing as t

from .files import names, text
from .limits import path_facts
from .tools import MissingToolError, ToolError, run_tool

ENGINES = ("docker", "podman")
_SECONDS = 8.0
_ENFORCED = re.compile(r"""^\s*short-name-mode\s*=\s*["']enforcing""", re.MULTILINE)


def engine_facts(name: str, image: str | None, root: str = "/") -> dict[str, t.Any] | None:
    """Return the facts about a container engine; None if it is not installed.

    These are ``version``, ``storage``, ``image``, ``knows_registry`` and ``problem``. ``storage`` is the folder of its
    images, with its free space as in `path_facts`. ``image`` is None if the engine does not have it, else its ``id``
    (sha256:…) and its ``digests`` in registries. ``knows_registry`` says whether the engine can pull the image by this
    name. ``problem`` says why the engine does not answer.
    """
    try:
        info = run_tool([name, "info", "--format", "{{json .}}"], _SECONDS)[0]
        version, folder = version_in(name, info)
        found = _image(name, image) if image else None
    except MissingToolError:
        return None
    except ToolError as error:
        return silent_engine(str(error))
    storage = dict(path_facts(root, folder), path=folder)
    known = name != "podman" or not image or _podman_knows_registry(image, info, root)
    return {"version": version, "storage": storage, "image": found, "knows_registry": known, "problem": None}


def silent_engine(problem: str) -> dict[str, t.Any]:
    """Return the facts about an engine that does not answer."""
    return {"version": None, "storage": None, "image": None, "knows_registry": True, "problem": problem}


def version_in(name: str, output: str) -> tuple[str, str]:
    """Return version and image folder from the JSON output of ``docker info`` or ``podman info``."""
    info = json.loads(output)
    if name == "podman":
        return info["version"]["Version"], info["store"]["graphRoot"]
    # Without its daemon, the docker client prints an info that contains only errors.
    if not info.get("ServerVersion"):
        errors = info.get("ServerErrors") or ["it reported no version"]
        raise ToolError(f"docker's daemon does not answer: {errors[0]}")
    return info["ServerVersion"], info["DockerRootDir"]


def _podman_knows_registry(image: str, info: str, root: str) -> bool:
    """Return whether podman can pull an image without asking a person for its registry.

    A name without a registry is short. It needs an alias, or else registries to search: exactly one if short names are
    enforced, as on RHEL (containers-registries.conf(5), and pkg/shortnames of containers/image).
    """
    first, slash, _rest = image.partition("/")
    if slash and (first == "localhost" or re.search("[.:]", first)):
        return True
    registries = json.loads(info).get("registries", {}).get("search") or []
    configured = "\n".join(text(root, path) or "" for path in _registry_files(root))
    alias = re.compile(rf"""^\s*["']?{re.escape(re.split("[:@]", image)[0])}["']?\s*=""", re.MULTILINE)
    if alias.search(configured) or len(registries) == 1:
        return True
    return bool(registries) and not _ENFORCED.search(configured)


def _registry_files(root: str) -> list[str]:
    """Return the files with podman's registries and aliases of short names."""
    of_user = os.path.expanduser("~/.config/containers")
    folders = ("/usr/share/containers", "/etc/containers", of_user)
    caches = ("/var/cache/containers", os.path.expanduser("~/.cache/containers"))
    return [
        *(f"{folder}/registries.conf" for folder in folders),
        *(
            f"{folder}/registries.conf.d/{name}"
            for folder in folders
            for name in names(root, f"{folder}/registries.conf.d")
        ),
        *(f"{folder}/short-name-aliases.conf" for folder in caches),
    ]


def _image(engine: str, image: str) -> dict[str, t.Any] | None:
    try:
        return image_in(run_tool([engine, "image", "inspect", image], _SECONDS)[0])
    except ToolError as error:
        if "no such image" in str(error).casefold() or "image not known" in str(error).casefold():
            return None
        raise


def image_in(output: str) -> dict[str, t.Any]:
    """Return ``id`` and ``digests`` from the output of ``image inspect``."""
    image = json.loads(output)[0]
    digests = sorted({digest.rpartition("@")[2] for digest in image.get("RepoDigests") or []})
    return {"id": f"sha256:{image['Id'].rpartition(':')[2]}", "digests": digests}
