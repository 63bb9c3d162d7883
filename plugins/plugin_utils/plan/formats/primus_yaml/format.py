# SPDX-License-Identifier: GPL-3.0-or-later
"""The experiment files of Primus, and a section ``trainops`` that says how to run them."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

from ...config.findings import Findings
from ...job.options import ConfigOptions
from ..face import Asked, Format

if t.TYPE_CHECKING:
    from .experiment import Experiment
    from .reading import PrimusFile

_SECTIONS = re.compile(r"^(work_group|user_name|exp_name|workspace|modules)\s*:", re.MULTILINE)
_MODULE = re.compile(r"^\s+(?:pre_trainer|post_trainer)\s*:", re.MULTILINE)


class PrimusYaml(Format["PrimusFile"]):
    """Primus' YAML."""

    name = "primus_yaml"
    title = "Primus' experiment file"
    trainers = ("primus_cli",)

    def recognizes(self, text: str, source: str) -> bool:
        """Return whether a training config is an experiment of Primus, by the keys that it must have."""
        is_yaml = source.casefold().endswith((".yaml", ".yml"))
        sections = set(_SECTIONS.findall(text))
        return is_yaml and (len(sections) > 2 or ("modules" in sections and bool(_MODULE.search(text))))

    def read(self, text: str, source: str, _trainer: str, findings: Findings) -> PrimusFile | None:
        """Return the experiment in a file with the files that it extends, or None after reporting its faults."""
        from .reading import read_experiment  # noqa: PLC0415

        return read_experiment(text, source, findings)

    def overridden(
        self, config: PrimusFile, options: ConfigOptions, _node_count: int, findings: Findings
    ) -> PrimusFile:
        """Return an experiment with the values of ``training_overrides``.

        A path starts at a section of the file, or with a key of the backend, as in an argument of primus-cli.
        """
        from .overrides import with_overrides  # noqa: PLC0415

        return with_overrides(config, options.training_overrides, findings)

    def asked(self, config: PrimusFile, options: ConfigOptions, _node_count: int) -> Asked:
        """Return ``trainops.master_address``; the number of nodes is in no such file."""
        from .run import asked_of  # noqa: PLC0415

        return asked_of(config, options.training_mode)

    def models(self) -> Mapping[str, type[Experiment]]:
        """Return the model of such a file."""
        from .experiment import Experiment  # noqa: PLC0415

        return {"primus": Experiment}


FORMAT = PrimusYaml()
