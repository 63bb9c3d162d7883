# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of what holds the training: the container engine, or the checkout where there is none."""

from __future__ import annotations

from .cells import Cell, by_hand, green, grey, red
from .look import Look
from .needs import script_of

_INSTALL = {
    "debian": {"docker": "apt-get install docker.io", "podman": "apt-get install podman"},
    "rhel": {"podman": "dnf install podman"},
}


def check_engine(look: Look) -> Cell:
    """The container engine answers; without one, the training script is there."""
    if look.in_job:
        return grey(f"{str(look.plan['container_engine']).capitalize()} starts the container with the ranks")
    if look.engine is None:
        return _checkout(look)
    engine = look.facts["engines"].get(look.engine)
    if engine is None:
        install = _INSTALL.get(look.facts["os"]["family"] or "", {}).get(look.engine)
        return red("missing", f"{look.engine} is not installed", install or by_hand(f"install {look.engine}"))
    if engine["problem"]:
        restart = "systemctl restart docker" if look.engine == "docker" else by_hand("fix podman", "podman info")
        return red("no answer", engine["problem"], restart)
    return green(f"{look.engine} {engine['version']}")


def _checkout(look: Look) -> Cell:
    script = script_of(look.node)
    if script is None:
        return green("no container")
    facts = look.path(script)
    if facts and facts["kind"] == "file":
        return green("no container")
    reason = f"the training script {script} does not exist"
    return red(
        "no script", reason, f"set training_{look.plan['framework']}_root to the trainer's checkout on the nodes"
    )


def check_image(look: Look) -> Cell:
    """The image is there, or can be fetched when the run is staged."""
    if look.engine is None:
        return grey("fetched when the ranks start" if look.in_job else "no container")
    engine = look.facts["engines"].get(look.engine)
    if engine is None or engine["problem"]:
        return grey("unknown")
    if engine["image"]:
        return green(engine["image"]["id"][:19])
    return _image_to_come(look)


def _image_to_come(look: Look) -> Cell:
    image, archive = look.node["image"], look.node.get("image_archive")
    there = look.path(archive) if archive else None
    if there and there["kind"] == "file":
        return grey("not loaded yet; its archive is on the node")
    if archive:
        copy = "copy the archive to the node, or omit training_image_archive so that the image is pulled"
        return red("no archive", f"the node has neither the image {image} nor its archive {archive}", by_hand(copy))
    if image and image.startswith("localhost/"):
        reason = f"the image {image} is not on the node, and no registry has it"
        return red("missing", reason, f"{look.engine} load --input IMAGE.tar")
    return grey("not on the node yet; staging the run fetches it")
