# SPDX-License-Identifier: GPL-3.0-or-later
"""Images with MaxText: where the trainer is in them, by the generation or the version in the tag.

Sources: the folders of ROCm's images where CVS looks (cvs/lib/jax_training_lib.py) and that its later configs give
(``__maxtext_version<=26.3__train_script``), and the packages of MaxText on PyPI.
"""

from __future__ import annotations

import re

ROOT = "/workspace/maxtext"
# The training script, and the last generation with it (year and month of ROCm's release).
_ENTRY_POINTS = {
    (25, 5): "MaxText/train.py",
    (26, 3): "src/MaxText/train.py",
}
_NEWEST = "src/maxtext/trainers/pre_train/train.py"
# The module, and the last version of PyPI's package with it; it needs no checkout.
_MODULES = {(0, 1): "MaxText.train"}
MODULE = "maxtext.trainers.pre_train.train"
ENTRY_POINTS = (*_ENTRY_POINTS.values(), _NEWEST, *_MODULES.values(), MODULE)
_VERSION = re.compile(r"maxtext[-_:=]+v?(0)\.([0-9]{1,2})(?![0-9])", re.IGNORECASE)
_GENERATION = re.compile(r"maxtext-v([0-9]{2})\.([0-9]{1,2})(?![0-9])")
_LAST_WITHOUT_HEARTBEAT, _FIRST_WITH_HEARTBEAT = (25, 5), (26, 2)
# The newest generation that has JAX 0.4.35.
_OF_JAX_0_4 = (25, 5)


def generation_of(image: str | None) -> tuple[int, int] | None:
    """Return the year and month of an image's release, or None if its tag does not say."""
    found = _GENERATION.search(image or "")
    return (int(found.group(1)), int(found.group(2))) if found else None


def is_of_rocm(image: str | None) -> bool:
    """Return whether an image's tag says that it is ROCm's, with a checkout at `ROOT`."""
    return generation_of(image) is not None


def entry_point_of(image: str | None) -> str | None:
    """Return the training script of an image, relative to `ROOT`, or its module, or None if its tag does not say."""
    generation = generation_of(image)
    if generation:
        return next((script for last, script in _ENTRY_POINTS.items() if generation <= last), _NEWEST)
    found = _VERSION.search(image or "")
    version = (int(found.group(1)), int(found.group(2))) if found else None
    return next((name for last, name in _MODULES.items() if version <= last), MODULE) if version else None


def has_heartbeat_key(image: str | None) -> bool | None:
    """Return whether an image's MaxText has jax_distributed_heartbeat_timeout_seconds, or None if that is unknown.

    AMD's images have it, as AMD's configs and runs with maxtext-v26.2 show; PyPI's up to 0.2.5 and AMD's of spring 2025
    do not.
    """
    generation = generation_of(image)
    if generation is None or _LAST_WITHOUT_HEARTBEAT < generation < _FIRST_WITH_HEARTBEAT:
        return None
    return generation >= _FIRST_WITH_HEARTBEAT


def has_jax_0_4(image: str | None) -> bool | None:
    """Return whether an image has JAX 0.4.35 rather than a newer one, or None if its tag does not say."""
    generation = generation_of(image)
    return None if generation is None else generation <= _OF_JAX_0_4
