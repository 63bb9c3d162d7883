# SPDX-License-Identifier: GPL-3.0-or-later
"""The format of AMD's CVS with ``schema_version`` 1: JSON with a ``framework``, a ``container`` and a sweep."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from ..cvs1.megatron.dialect import DIALECT as MEGATRON
from ..cvs1.megatron.dialect import PRIMUS, trainers_for
from ..face import Choice
from .file import LaterFile
from .frameworks import FRAMEWORKS, TELLING
from .later import LaterFormat
from .shape import Shape, with_primus

_VERSION = re.compile(r'"schema_version"\s*:')


class Cvs2(LaterFormat):
    """CVS's format with schema_version."""

    name = "cvs2"
    title = "CVS's format with schema_version"
    trainers = (*dict.fromkeys(FRAMEWORKS.values()), PRIMUS.trainer)
    sweep_blocks = ("sweep.combinations", "training.sweeps")
    sections = 'sections that its framework has, such as "config", "model_params" and "container"'
    baseline = ("scaling_baseline", "training.scaling_baseline")
    convergence = ("convergence", "training.convergence")

    def recognizes(self, text: str, _source: str) -> bool:
        """Return whether a file has a version, and one of the frameworks of CVS."""
        return bool(_VERSION.search(text) and TELLING.search(text))

    def trainers_in(self, text: str) -> Sequence[Choice]:
        """Return the trainer of the framework that the file names."""
        found = TELLING.search(text)
        if not found:
            return []
        trainer, why = FRAMEWORKS[found[1]], f"Its framework is {found[1]}."
        return trainers_for(text, why) if trainer == MEGATRON.trainer else [Choice(trainer, why)]

    def shape_of(self, config: LaterFile) -> Shape:
        """Return the shape of the files for the trainer."""
        from .maxtext import SHAPE as MAXTEXT  # noqa: PLC0415
        from .megatron import SHAPE as OF_MEGATRON  # noqa: PLC0415
        from .torchtitan import SHAPE as TORCHTITAN  # noqa: PLC0415

        return {shape.dialect.trainer: shape for shape in (OF_MEGATRON, with_primus(OF_MEGATRON), MAXTEXT, TORCHTITAN)}[
            config.trainer
        ]

    def models(self) -> Mapping[str, type[BaseModel]]:
        """Return the models of its files, by the trainer that they are for."""
        from .config import MegatronFile, TorchTitanFile  # noqa: PLC0415
        from .maxtext_config import MaxTextFile  # noqa: PLC0415

        return {"cvs2_megatron": MegatronFile, "cvs2_maxtext": MaxTextFile, "cvs2_torchtitan": TorchTitanFile}


FORMAT = Cvs2()
