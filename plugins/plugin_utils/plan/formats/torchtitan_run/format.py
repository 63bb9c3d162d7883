# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that selects a config of TorchTitan 0.3 or later; its section ``trainops`` says how to run it."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

from ...config.findings import Findings
from ...job.options import ConfigOptions
from ..face import Asked, Format

if t.TYPE_CHECKING:
    from .config import RunFile
    from .file import TitanRun

_KEYS = re.compile(r"^(module|config)\s*:", re.MULTILINE)


class TorchTitanRun(Format["TitanRun"]):
    """TorchTitan's config by name."""

    name = "torchtitan_run"
    title = "TorchTitan's YAML of a module and a config"
    trainers = ("torchtitan",)

    def recognizes(self, text: str, source: str) -> bool:
        """Return whether a training config is YAML with both names at its top."""
        return source.casefold().endswith((".yaml", ".yml")) and len(set(_KEYS.findall(text))) > 1

    def read(self, text: str, source: str, _trainer: str, findings: Findings) -> TitanRun | None:
        """Return the content of a YAML file, or None after reporting its faults."""
        from ...config.yaml_config import read_yaml, values_of  # noqa: PLC0415
        from .file import run_of  # noqa: PLC0415

        read = read_yaml(text, source, findings)
        values = values_of(read.config, {}, findings) if read else None
        return None if values is None else run_of(values, findings)

    def overridden(self, config: TitanRun, options: ConfigOptions, _node_count: int, findings: Findings) -> TitanRun:
        """Return a file with the values of ``training_overrides``, of its own keys or of the config's."""
        from .file import with_overrides  # noqa: PLC0415

        return with_overrides(config, options.training_overrides, findings)

    def asked(self, config: TitanRun, _options: ConfigOptions, _node_count: int) -> Asked:
        """Return ``trainops.master_address``; the file does not say for how many nodes it is."""
        given = config.values.get("trainops")
        master = given.get("master_address") if isinstance(given, dict) else None
        return Asked(None, master if isinstance(master, str) else None)

    def models(self) -> Mapping[str, type[RunFile]]:
        """Return the model of such a file."""
        from .config import RunFile  # noqa: PLC0415

        return {"torchtitan_run": RunFile}


FORMAT = TorchTitanRun()
