# SPDX-License-Identifier: GPL-3.0-or-later
"""The TOML of TorchTitan up to 0.2, and a table ``trainops`` that says how to run it."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

from ...config.findings import Findings
from ...job.options import ConfigOptions
from ..face import Asked, Format

if t.TYPE_CHECKING:
    from .config import TorchTitanConfig
    from .file import TitanFile

_TABLES = re.compile(
    r"^[ \t]*\[(job|model|optimizer|lr_scheduler|training|parallelism|checkpoint|activation_checkpoint|metrics"
    r"|profiling|validation|comm)\]",
    re.MULTILINE,
)


class TorchTitanToml(Format["TitanFile"]):
    """TorchTitan's TOML."""

    name = "torchtitan_toml"
    title = "TorchTitan's TOML"
    trainers = ("torchtitan",)

    def recognizes(self, text: str, source: str) -> bool:
        """Return whether a training config is TorchTitan's: TOML with two of its tables or more."""
        return source.casefold().endswith(".toml") and len(set(_TABLES.findall(text))) > 1

    def read(self, text: str, source: str, _trainer: str, findings: Findings) -> TitanFile | None:
        """Return the content of a TOML file, or None after reporting its faults."""
        from ...config.toml_config import read_toml  # noqa: PLC0415
        from .file import TitanFile  # noqa: PLC0415

        read = read_toml(text, source, findings)
        return TitanFile(read.text, read.values) if read else None

    def overridden(self, config: TitanFile, options: ConfigOptions, _node_count: int, findings: Findings) -> TitanFile:
        """Return a config with the values of ``training_overrides``, whose paths start at the top level."""
        from ...config.toml_config import with_overrides  # noqa: PLC0415

        return with_overrides(config, options.training_overrides, findings)

    def asked(self, config: TitanFile, _options: ConfigOptions, _node_count: int) -> Asked:
        """Return ``trainops.master_address``; the file does not say for how many nodes it is."""
        given = config.values.get("trainops")
        master = given.get("master_address") if isinstance(given, dict) else None
        return Asked(None, master if isinstance(master, str) else None)

    def models(self) -> Mapping[str, type[TorchTitanConfig]]:
        """Return the model of such a file."""
        from .config import TorchTitanConfig  # noqa: PLC0415

        return {"torchtitan": TorchTitanConfig}


FORMAT = TorchTitanToml()
