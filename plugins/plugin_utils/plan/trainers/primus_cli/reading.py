# SPDX-License-Identifier: GPL-3.0-or-later
"""An experiment of Primus as the checks see it."""

from __future__ import annotations

from dataclasses import dataclass

from ...formats.primus_yaml.experiment import Experiment
from ...formats.primus_yaml.keys import Keys
from ...job.reading import ConfigReading
from .options import PrimusOptions


@dataclass(frozen=True)
class PrimusReading(ConfigReading[Experiment, PrimusOptions]):
    """An experiment for Primus, and the run around it: which ``module`` is run, by which ``backend``.

    ``own`` are the keys that the file itself gives, ``keys`` these and the known keys of the presets. ``in_image``
    tells whether the file is in the image, where other keys may be.
    """

    module: str
    backend: str
    own: Keys
    keys: Keys
    in_image: bool = False
