# SPDX-License-Identifier: GPL-3.0-or-later
"""The format of AMD's CVS with ``schema_version`` 1: JSON with a ``framework``, a ``container`` and a sweep."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel

from ..cvs1.maxtext.dialect import DIALECT as MAXTEXT
from ..cvs1.megatron.dialect import DIALECT as MEGATRON
from ..cvs1.megatron.dialect import PRIMUS, trainers_for
from ..cvs1.torchtitan.dialect import DIALECT as TORCHTITAN
from ..cvs_later import LaterFormat
from ..cvs_translation import Shape
from ..face import Choice

FRAMEWORKS = {
    "megatron_single": MEGATRON.trainer,
    "megatron_distributed": MEGATRON.trainer,
    "jaxmaxtext": MAXTEXT.trainer,
    "torchtitan_single": TORCHTITAN.trainer,
    "torchtitan_distributed": TORCHTITAN.trainer,
}
_FRAMEWORK = re.compile(rf'"framework"\s*:\s*"({"|".join(FRAMEWORKS)})"')
_VERSION = re.compile(r'"schema_version"\s*:')


class Cvs2(LaterFormat):
    """CVS's format with schema_version."""

    name = "cvs2"
    title = "CVS's format with schema_version"
    trainers = (*dict.fromkeys(FRAMEWORKS.values()), PRIMUS.trainer)
    sweep_blocks = ("sweep.combinations", "training.sweeps")
    sections = 'sections that its framework has, such as "config", "model_params" and "container"'

    def recognizes(self, text: str, _source: str) -> bool:
        """Return whether a file has a version, and one of the frameworks of CVS."""
        return bool(_VERSION.search(text) and _FRAMEWORK.search(text))

    def trainers_in(self, text: str) -> Sequence[Choice]:
        """Return the trainer of the framework that the file names."""
        found = _FRAMEWORK.search(text)
        if not found:
            return []
        trainer, why = FRAMEWORKS[found[1]], f"Its framework is {found[1]}."
        return trainers_for(text, why) if trainer == MEGATRON.trainer else [Choice(trainer, why)]

    def shapes(self) -> Iterable[Shape]:
        """Return the shapes of the files, one for each trainer."""
        from .shapes import SHAPES  # noqa: PLC0415

        return SHAPES

    def models(self) -> Mapping[str, type[BaseModel]]:
        """Return the models of its files, by the trainer that they are for."""
        from .config import MaxTextFile, MegatronFile, TorchTitanFile  # noqa: PLC0415

        return {"cvs2_megatron": MegatronFile, "cvs2_maxtext": MaxTextFile, "cvs2_torchtitan": TorchTitanFile}


FORMAT = Cvs2()
