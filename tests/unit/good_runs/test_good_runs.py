# SPDX-License-Identifier: GPL-3.0-or-later
"""No good run is refused: recorded runs with real exit noise, each benign line in them, and all forms of logs.

The lines were collected without a look at what the verdict knows of them.
"""

from __future__ import annotations

import pytest
from judging import against, judged, told
from variants_of_runs import VARIANTS, Variant


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_a_good_run_passes(variant: Variant) -> None:
    summary = judged(variant.make(), told(variant.base.nodes, variant.base.expected))
    assert summary["verdict"] == "PASS", (against(summary), [reason.get("message") for reason in summary["reasons"]])
