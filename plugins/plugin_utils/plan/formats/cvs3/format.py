# SPDX-License-Identifier: GPL-3.0-or-later
"""The format of AMD's CVS of today: JSON with ``gpu_name``, ``paths``, ``train_params`` and ``container``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel

from ..cvs1.maxtext.dialect import DIALECT as OF_MAXTEXT
from ..cvs1.megatron.dialect import DIALECT as OF_MEGATRON
from ..cvs1.megatron.dialect import PRIMUS, trainers_for
from ..cvs1.torchtitan.dialect import DIALECT as OF_TORCHTITAN
from ..cvs_later import LaterFormat
from ..cvs_translation import Shape
from ..face import Choice

_GPU, _PARAMETERS = re.compile(r'"gpu_name"\s*:'), re.compile(r'"train_params"\s*:')
_OF_TRAINERS = {
    OF_TORCHTITAN.trainer: OF_TORCHTITAN.telling,
    OF_MAXTEXT.trainer: re.compile(r'"(maxtext_config)"\s*:'),
    OF_MEGATRON.trainer: re.compile(r'"(tokenizer_model|model_size|training_iterations)"\s*:'),
}


class Cvs3(LaterFormat):
    """CVS's format with train_params."""

    name = "cvs3"
    title = "CVS's format with train_params"
    trainers = (OF_MEGATRON.trainer, OF_MAXTEXT.trainer, OF_TORCHTITAN.trainer, PRIMUS.trainer)
    sweep_blocks = ("sweep.combinations", "sweeps")
    sections = 'sections "paths", "train_params" and "container"'

    def recognizes(self, text: str, _source: str) -> bool:
        """Return whether a file has the two keys that only such files combine, and the keys of a trainer."""
        return bool(_GPU.search(text) and _PARAMETERS.search(text) and self.trainers_in(text))

    def trainers_in(self, text: str) -> Sequence[Choice]:
        """Return the trainers whose keys the file has."""
        found = ((trainer, telling.search(text)) for trainer, telling in _OF_TRAINERS.items())
        choices = [Choice(trainer, f"It has the key {match[1]}.") for trainer, match in found if match][:1]
        is_megatrons = bool(choices) and choices[0].name == OF_MEGATRON.trainer
        return trainers_for(text, choices[0].why) if is_megatrons else choices

    def shapes(self) -> Iterable[Shape]:
        """Return the shapes of the files, one for each trainer."""
        from .shapes import SHAPES  # noqa: PLC0415

        return SHAPES

    def models(self) -> Mapping[str, type[BaseModel]]:
        """Return the models of its files, by the trainer that they are for."""
        from .config import MaxTextFile, MegatronFile  # noqa: PLC0415

        return {"cvs3_megatron": MegatronFile, "cvs3_maxtext": MaxTextFile}


FORMAT = Cvs3()
