# SPDX-License-Identifier: GPL-3.0-or-later
"""Container engines that are there, and the image of the training in each of them."""

from __future__ import annotations

import json
import typing as t

from .limits import path_facts
from .tools import MissingToolError, ToolError, run_tool

ENGINES = ("docker", "podman")
_SECONDS = 8.0


def engine_facts(name: str, image: str | None, root: str = "/") -> dict[str, t.Any] | None:
    """Return ``version``, ``storage``, ``image`` and ``problem`` of a container engine; None if it is not installed.

    ``storage`` is the folder of its images, with its free space as in `path_facts`. ``image`` is None if the engine
    does not have it, else its ``id`` (sha256:…) and its ``digests`` in registries. ``problem`` says why the engine does
    not answer.
    """
    try:
        version, folder = version_in(name, run_tool([name, "info", "--format", "{{json .}}"], _SECONDS)[0])
        found = _image(name, image) if image else None
    except MissingToolError:
        return None
    except ToolError as error:
        return silent_engine(str(error))
    storage = dict(path_facts(root, folder), path=folder)
    return {"version": version, "storage": storage, "image": found, "problem": None}


def silent_engine(problem: str) -> dict[str, t.Any]:
    """Return the facts about an engine that does not answer."""
    return {"version": None, "storage": None, "image": None, "problem": problem}


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
