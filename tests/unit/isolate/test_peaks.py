# SPDX-License-Identifier: GPL-3.0-or-later
"""What the makers' figures say about nodes: all of them may be slow alike, and a reading may be impossible."""

from __future__ import annotations

import random
import typing as t
from collections.abc import Sequence

import pytest
from answering_nodes import NODES, Answer, healthy, isolated, reading

from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.torch.script import COPIED, EDGE
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.isolation import Isolation
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.outcome import (
    blame_of,
    failing_nodes,
    findings_of,
    headline_of,
    proven_nodes,
    verdict_of,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.peaks import BOUNDED
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.peaks import PEAK_TFLOPS, gpu_in

PRODUCT, COPY = 2 * EDGE[0] ** 3 / 1e12, 2 * COPIED[0] / 1e9


def with_gpu(_node: str, names: Sequence[str]) -> Answer:
    return {name: {"lacks": "" if name == "torch" else "it is not there", "units": ["GPU 0"]} for name in names}


def isolation_of(
    gpu: str | None, tflops: float = 700.0, gb_per_s: float = 4000.0, part: str = "GPU 0", **of_nodes: float
) -> Isolation:
    """Return an isolation of nodes with a GPU that multiplies and copies this fast; some nodes reach other TFLOP/s."""

    def answer(node: str, asked: t.Any) -> Answer:
        said = healthy(node, asked)
        if "torch" in asked["probes"]:
            near = random.Random(node).uniform(0.998, 1.002)
            product = near * PRODUCT / of_nodes.get(node, tflops)
            copy = near * COPY / gb_per_s
            names = {"torch_gemm": product, "torch_gemm_under_load": product, "torch_memory": copy}
            said["measured"] += [reading(name, part, [seconds] * 5) for name, seconds in names.items()]
        return said

    return isolated(answer, tools=with_gpu, gpu=gpu)


def below(found: Isolation) -> dict[str, list[str]]:
    return {one["probe"]: one["nodes"] for one in found.get("below_floor", [])}


def test_nodes_that_are_slow_alike_are_below_the_floor_of_their_model_and_red() -> None:
    found = isolation_of("NVIDIA H200", tflops=300)
    assert below(found) == {"torch_gemm": NODES, "torch_gemm_under_load": NODES}
    headline = headline_of(found)
    assert (verdict_of(found), headline["code"], headline.get("case")) == ("below_floor", "below_floor", "all")
    values = headline["values"]
    assert (values["model"], values["count"], values["of"], values["least"]) == ("H200", 8, 8, 0.5)
    assert values["rate"] == pytest.approx(300, rel=0.01)
    assert values["share"] == pytest.approx(300 / 989.4, rel=0.01)
    # Nobody is accused, and no quarantine ends.
    assert (found["suspects"], failing_nodes(found), proven_nodes(found)) == ([], [], [])
    assert list(blame_of(found)) == NODES


@pytest.mark.parametrize(
    ("gpu", "tflops", "gb_per_s"),
    [
        # A real H200 trained at 474 TFLOP/s, with everything around the products.
        ("NVIDIA H200", 600, 4000),
        ("AMD Instinct MI300X", 550, 4000),
        ("NVIDIA A100-SXM4-40GB", 230, 1300),
        # The figures of these are not known.
        ("NVIDIA H200 NVL", 10, 10),
        (None, 10, 10),
    ],
)
def test_nodes_as_fast_as_their_model_are_good(gpu: str | None, tflops: float, gb_per_s: float) -> None:
    found = isolation_of(gpu, tflops, gb_per_s)
    assert (below(found), verdict_of(found), blame_of(found)) == ({}, "good", {})


def test_slow_memory_is_below_the_floor_too_and_a_processor_has_none() -> None:
    assert below(isolation_of("NVIDIA H200", gb_per_s=2000)) == {"torch_memory": NODES}
    assert below(isolation_of("NVIDIA H200", 1, 1, part="CPU")) == {}


def test_a_node_that_is_accused_anyway_is_named_once() -> None:
    found = isolation_of("NVIDIA H200", n3=300)
    assert {one["node"] for one in found["suspects"]} == {"n3"}
    assert (below(found)["torch_gemm"], verdict_of(found)) == (["n3"], "suspects")
    assert "below_floor" not in {one["code"] for one in findings_of(found)}


def test_a_node_that_is_faster_than_its_makers_peak_is_not_believed() -> None:
    found = isolation_of("NVIDIA H200", n3=1100)
    (liar,) = found["suspects"]
    assert (liar["node"], liar["part"], liar["verdict"]) == ("n3", "GPU 0", "broken")
    fact = liar["fact"]
    assert (fact["code"], fact["case"]) == ("impossible", "above_peak")
    assert (fact["values"]["model"], fact["values"]["peak"]) == ("H200", 989.4)
    assert "n3" not in found["probes"]["torch_memory"]
    assert failing_nodes(found) == ["n3"]
    # Its maker's figures are right to a few percent.
    assert isolation_of("NVIDIA H200", n3=1020)["suspects"] == []


def test_a_node_that_states_longer_times_than_its_test_may_take_is_not_believed() -> None:
    def answer(node: str, asked: t.Any) -> Answer:
        said = healthy(node, asked)
        return {**said, "measured": [{**one, "samples": [1e5]} for one in said["measured"]]} if node == "n3" else said

    of_liar = {one["part"]: one for one in isolated(answer)["suspects"] if one["node"] == "n3"}
    assert {of_liar[part]["fact"]["case"] for part in ("cpu", "memory")} == {"too_long"}


def test_every_floor_is_of_a_model_that_the_table_knows_and_below_its_peak() -> None:
    for bounded in BOUNDED.values():
        assert {*bounded.of} <= {*PEAK_TFLOPS}
        assert all(0 < share < 1 for share in (bounded.least, *bounded.of.values()))
        assert all(bounded.peak(model) for model in bounded.of)
        assert bounded.peak(gpu_in("NVIDIA H200") or "")
