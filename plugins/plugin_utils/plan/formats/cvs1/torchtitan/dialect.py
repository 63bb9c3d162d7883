# SPDX-License-Identifier: GPL-3.0-or-later
"""Files for TorchTitan, which become TorchTitan's own TOML."""

from __future__ import annotations

import re
import typing as t

from ....config.findings import Findings
from ....job.options import ConfigOptions
from ...face import Sections
from ..dialect import CvsFile, Dialect


def _sections() -> Sections:
    from .config import TitanConfig, TitanParameters  # noqa: PLC0415

    return Sections(TitanConfig, TitanParameters)


def _as_toml(config: CvsFile, options: ConfigOptions, node_count: int, findings: Findings) -> tuple[t.Any, Findings]:
    from .as_toml import as_toml  # noqa: PLC0415

    return as_toml(config.data, options, node_count, findings)


DIALECT = Dialect(
    name="cvs1_torchtitan",
    trainer="torchtitan",
    telling=re.compile(r'"(torchtitan_root|use_generated_config|data_parallel_shard_degree)"\s*:'),
    master_key="master_address",
    sections=_sections,
    handed=_as_toml,
    certain=True,
)
