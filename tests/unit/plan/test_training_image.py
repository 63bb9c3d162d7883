# SPDX-License-Identifier: GPL-3.0-or-later
"""The option training_image, for training configs without an image."""

from __future__ import annotations

from nxdt_configs import HF, planned_nxdt
from training_configs import DISTRIBUTED, filled, planned


def test_a_config_without_an_image_trains_in_that_of_the_option() -> None:
    plan = planned_nxdt(HF, container_engine="auto", training_image="neuron:2.30")
    assert (plan["container_engine"], plan["nodes"][0]["image"]) == ("auto", "neuron:2.30")
    assert "training_image" not in [warning["key"] for warning in plan["warnings"]]


def test_the_image_of_the_config_stays() -> None:
    before = planned(filled(DISTRIBUTED))
    plan = planned(filled(DISTRIBUTED), training_image="other:1")
    assert plan["nodes"][0]["image"] == before["nodes"][0]["image"]
    assert "training_image" in [warning["key"] for warning in plan["warnings"]]
