# SPDX-License-Identifier: GPL-3.0-or-later
"""What the key ``framework`` of a CVS config with ``schema_version`` may be, and the trainer of each."""

from __future__ import annotations

import re

from ..cvs1.maxtext.dialect import DIALECT as MAXTEXT
from ..cvs1.megatron.dialect import DIALECT as MEGATRON
from ..cvs1.torchtitan.dialect import DIALECT as TORCHTITAN

FRAMEWORKS = {
    "megatron_single": MEGATRON.trainer,
    "megatron_distributed": MEGATRON.trainer,
    "jaxmaxtext": MAXTEXT.trainer,
    "torchtitan_single": TORCHTITAN.trainer,
    "torchtitan_distributed": TORCHTITAN.trainer,
}
TELLING = re.compile(rf'"framework"\s*:\s*"({"|".join(FRAMEWORKS)})"')
