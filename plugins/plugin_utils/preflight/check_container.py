# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the training's software: the container engine, or the checkout if there is no container."""

from __future__ import annotations

from .cells import Cell, green, grey, red
from .look import Look
from .needs import script_of


def check_engine(look: Look) -> Cell:
    """The container engine answers; without one, the training script is there."""
    if look.in_job:
        return grey("engine_of_job", engine=look.plan["container_engine"])
    if look.engine is None:
        return _checkout(look)
    engine = look.facts["engines"].get(look.engine)
    if engine is None:
        return red("engine_missing", remedy=f"{look.engine} on {look.facts['os']['family']}", engine=look.engine)
    if engine["problem"]:
        return red("engine_fails", remedy=look.engine, engine=look.engine, said=engine["problem"])
    return green("engine", engine=look.engine, version=engine["version"])


def _checkout(look: Look) -> Cell:
    script = script_of(look.node)
    if script is None:
        return green("no_container")
    facts = look.path(script)
    if facts and facts["kind"] == "file":
        return green("no_container")
    return red("script_missing", script=script, framework=look.plan["framework"])


def check_image(look: Look) -> Cell:
    """The image is there, or can be fetched when the run is staged."""
    if look.engine is None:
        return grey("image_at_start" if look.in_job else "no_container")
    engine = look.facts["engines"].get(look.engine)
    if engine is None or engine["problem"]:
        return grey("unknown")
    if engine["image"]:
        return green("image", image_id=engine["image"]["id"])
    return _image_to_come(look, engine["knows_registry"])


def _image_to_come(look: Look, knows_registry: bool) -> Cell:
    image, archive = look.node["image"], look.node.get("image_archive")
    there = look.path(archive) if archive else None
    if there and there["kind"] == "file":
        return grey("image_to_load", archive=archive)
    if archive:
        return red("image_archive_missing", image=image, archive=archive)
    if image and image.startswith("localhost/"):
        return red("image_missing", image=image, engine=look.engine)
    return grey("image_to_fetch") if knows_registry else red("image_name_short", image=image)
