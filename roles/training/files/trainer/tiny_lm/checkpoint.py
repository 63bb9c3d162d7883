# SPDX-License-Identifier: GPL-3.0-or-later
"""The checkpoint of a training: one JSON file, whose numbers come back to the last bit."""

from __future__ import annotations

import json
import os
import typing as t

from .adam import Adam

NAME = "tiny_lm.json"


class Checkpoint(t.NamedTuple):
    """The state from which a training resumes after an iteration; 0 is before the first one."""

    iteration: int
    parameters: list[float]
    adam: Adam


def save(folder: str, checkpoint: Checkpoint) -> None:
    """Put a checkpoint in the place of the one before, in one step."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, NAME)
    with open(f"{path}.new", "w", encoding="ascii") as file:
        json.dump([checkpoint.iteration, checkpoint.parameters, vars(checkpoint.adam)], file)
    os.replace(f"{path}.new", path)


def load(folder: str) -> Checkpoint | None:
    """Read the checkpoint of a folder, None if there is none; RuntimeError if it belongs to something else."""
    path = os.path.join(folder, NAME)
    try:
        with open(path, encoding="ascii") as file:
            iteration, parameters, state = json.load(file)
        adam = Adam(len(parameters))
        vars(adam).update(state)
    except FileNotFoundError:
        return None
    except (TypeError, ValueError) as error:
        raise RuntimeError(f"{path} is not a checkpoint of this trainer: {error}") from None
    return Checkpoint(iteration, parameters, adam)
