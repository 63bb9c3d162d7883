# SPDX-License-Identifier: GPL-3.0-or-later
"""All variables of a plan: the common ones, and each framework's own."""

from __future__ import annotations

import typing as t

from pydantic import create_model

from .config.kinds import OneOf
from .frameworks.known import FRAMEWORKS
from .job.options import ON_HOSTS, ConfigOptions, RunOptions
from .slurm.options import SlurmOptions

FRAMEWORK_NAMES = ("auto", *FRAMEWORKS)
PLATFORMS = (ON_HOSTS, *(platform for framework in FRAMEWORKS.values() for platform in framework.platforms))


def _with_own_options() -> type[SlurmOptions]:
    common = RunOptions.model_fields
    # A framework without its own options has only those of SlurmOptions.
    own = [framework.options for framework in FRAMEWORKS.values() if framework.options is not RunOptions]
    return create_model(
        "PlanOptions",
        __base__=(*own, SlurmOptions),
        training_framework=(t.Annotated[str, OneOf(FRAMEWORK_NAMES)], common["training_framework"]),
        training_platform=(t.Annotated[str, OneOf(PLATFORMS)], common["training_platform"]),
    )


PlanOptions = _with_own_options()


# The variables that only one framework has: its location and version, as far as the config does not set them.
FRAMEWORK_OPTIONS = tuple(name for name in PlanOptions.model_fields if name not in SlurmOptions.model_fields)

# The name of a variable as an argument of a task that makes a plan, or that reads a config for its logs.
PLAN_ARGUMENTS, CONFIG_ARGUMENTS = (
    {name: name.removeprefix("training_") for name in model.model_fields} for model in (PlanOptions, ConfigOptions)
)
