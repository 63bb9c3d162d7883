# SPDX-License-Identifier: GPL-3.0-or-later
"""NxDT on AWS Trainium: its names. The module `job`, loaded only on demand, turns its config into a job."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Sequence

from ...config.findings import Findings
from ...job.job import Job
from ...job.ranks import Node
from ..face import Asked, Framework
from .options import NxdtOptions

if t.TYPE_CHECKING:
    from ...config.yaml_config import YamlConfig
    from .config import NxdtConfig

_SECTIONS = re.compile(
    r"^(trainer|exp_manager|distributed_strategy|model_source|precision|model_alignment_strategy)\s*:", re.MULTILINE
)


class Nxdt(Framework["YamlConfig", NxdtOptions]):
    """NeuronX Distributed Training."""

    name = "nxdt"
    title = "NxDT"
    options = NxdtOptions
    launcher = "torchrun"
    uses_nccl = False

    @property
    def model(self) -> type[NxdtConfig]:
        """The model of its YAML file."""
        from .config import NxdtConfig  # noqa: PLC0415

        return NxdtConfig

    def recognizes(self, text: str, source: str) -> bool:
        """Return whether a training config is NxDT's: a YAML file with two of its sections or more."""
        is_yaml = source.casefold().endswith((".yaml", ".yml"))
        return is_yaml and len(set(_SECTIONS.findall(text))) > 1

    def read(self, text: str, source: str, findings: Findings) -> YamlConfig | None:
        """Return the content of a YAML file with interpolations unresolved, or None after reporting its faults."""
        from ...config.yaml_config import read_yaml  # noqa: PLC0415

        return read_yaml(text, source, findings)

    def overridden(self, config: YamlConfig, options: NxdtOptions, _node_count: int, findings: Findings) -> YamlConfig:
        """Return a config with the values of ``training_overrides``, whose paths start at the top level."""
        from ...config.yaml_config import with_overrides  # noqa: PLC0415

        return with_overrides(config, options.training_overrides, findings)

    def engine_for(self, config: YamlConfig, options: NxdtOptions, findings: Findings) -> str:
        """Return ``none`` if neither an engine nor an image is set: NxDT's guide trains on the host."""
        from .job import engine_for  # noqa: PLC0415

        return engine_for(config, options, findings)

    def asked(self, config: YamlConfig, options: NxdtOptions, _node_count: int) -> Asked:
        """Return ``trainer.num_nodes``, unless the batch is scaled from it, and ``trainops.master_address``."""
        from .job import asked_of  # noqa: PLC0415

        return asked_of(config, options)

    def plan_job(
        self, config: YamlConfig, options: NxdtOptions, nodes: Sequence[Node], findings: Findings
    ) -> Job | None:
        """Return the job to run, or None if there is any fault."""
        from .job import plan_job  # noqa: PLC0415

        return plan_job(config, options, nodes, findings)


FRAMEWORK = Nxdt()
