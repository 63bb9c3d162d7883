# SPDX-License-Identifier: GPL-3.0-or-later
"""All variables of a plan: the common ones, and each trainer's own."""

from __future__ import annotations

import typing as t

from pydantic import create_model

from ...module_utils.logs.grammars.known import GRAMMARS
from .config.kinds import OneOf
from .job.options import ON_HOSTS, ConfigOptions, LaunchOptions, RunOptions
from .trainers.known import OF_FRAMEWORK, TRAINERS

FRAMEWORK_NAMES = ("auto", *OF_FRAMEWORK)
PLATFORMS = (ON_HOSTS, *(platform for trainer in TRAINERS.values() for platform in trainer.platforms))
_NAMES = {
    "training_framework": FRAMEWORK_NAMES,
    "training_trainer": ("auto", *TRAINERS),
    "training_log_grammar": ("auto", *GRAMMARS),
    "training_platform": PLATFORMS,
}


def _with_own_options() -> type[LaunchOptions]:
    common = RunOptions.model_fields
    # A trainer without its own options has only the common ones.
    own = [trainer.options for trainer in TRAINERS.values() if trainer.options is not RunOptions]
    named: dict[str, t.Any] = {name: (t.Annotated[str, OneOf(names)], common[name]) for name, names in _NAMES.items()}
    return create_model(
        "PlanOptions",
        __base__=(*own, LaunchOptions),
        **named,
    )


PlanOptions = _with_own_options()


# The variables that only one trainer has: its location and version, as far as the config does not set them.
FRAMEWORK_OPTIONS = tuple(name for name in PlanOptions.model_fields if name not in LaunchOptions.model_fields)

# The name of a variable as an argument of a task that makes a plan, or that reads a config for its logs.
PLAN_ARGUMENTS, CONFIG_ARGUMENTS = (
    {name: name.removeprefix("training_") for name in model.model_fields} for model in (PlanOptions, ConfigOptions)
)
