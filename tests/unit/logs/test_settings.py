# SPDX-License-Identifier: GPL-3.0-or-later
"""What a process says that it trains."""

from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece, Printed
from ansible_collections.trainops.cluster.plugins.module_utils.logs.settings import add_settings


@pytest.mark.parametrize("factors", ["16", "2,8", "2, 8", "pp=2, dp_shard=8, tp=1", "2.0 x 8.0"])
def test_a_setting_is_the_product_of_all_its_numbers(factors: str) -> None:
    printed = Printed(b"mesh: ", rb"mesh: (?P<gpus>[^\n]*)\n")
    assert add_settings({}, [printed], Piece(f"mesh: {factors}\n".encode())) == {"gpus": [16.0]}
