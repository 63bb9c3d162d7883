# SPDX-License-Identifier: GPL-3.0-or-later
"""The YAML of NxDT, and a section ``trainops`` that says how to run it."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

from ...config.findings import Findings
from ...job.options import ConfigOptions
from ..face import Asked, Format

if t.TYPE_CHECKING:
    from ...config.yaml_config import YamlConfig
    from .config import NxdtConfig

_SECTIONS = re.compile(
    r"^(trainer|exp_manager|distributed_strategy|model_source|precision|model_alignment_strategy)\s*:", re.MULTILINE
)


class NxdtYaml(Format["YamlConfig"]):
    """NxDT's YAML."""

    name = "nxdt_yaml"
    title = "NxDT's YAML"
    trainers = ("nxdt",)

    def recognizes(self, text: str, source: str) -> bool:
        """Return whether a training config is NxDT's: a YAML file with two of its sections or more."""
        is_yaml = source.casefold().endswith((".yaml", ".yml"))
        return is_yaml and len(set(_SECTIONS.findall(text))) > 1

    def read(self, text: str, source: str, _trainer: str, findings: Findings) -> YamlConfig | None:
        """Return the content of a YAML file with interpolations unresolved, or None after reporting its faults."""
        from ...config.yaml_config import read_yaml  # noqa: PLC0415

        return read_yaml(text, source, findings)

    def overridden(
        self, config: YamlConfig, options: ConfigOptions, _node_count: int, findings: Findings
    ) -> YamlConfig:
        """Return a config with the values of ``training_overrides``, whose paths start at the top level."""
        from ...config.yaml_config import with_overrides  # noqa: PLC0415

        return with_overrides(config, options.training_overrides, findings)

    def asked(self, config: YamlConfig, options: ConfigOptions, _node_count: int) -> Asked:
        """Return ``trainer.num_nodes``, unless the batch is scaled from it, and ``trainops.master_address``."""
        from .run import asked_of  # noqa: PLC0415

        return asked_of(config, options)

    def models(self) -> Mapping[str, type[NxdtConfig]]:
        """Return the model of such a file."""
        from .config import NxdtConfig  # noqa: PLC0415

        return {"nxdt": NxdtConfig}


FORMAT = NxdtYaml()
