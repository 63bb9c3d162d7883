# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes without the accelerator of a plan, by what their kernels show."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from node_trees import h100_cx7, mi300x_thor2, write

from ansible_collections.trainops.cluster.plugins.module_utils.node.accelerators import (
    accelerator_problems,
    is_other_model,
    required_gpu,
)

PCI = "/sys/bus/pci/devices"


def without_accelerator(root: Path, **more: tuple[str, str]) -> Path:
    """Write a machine with a bridge, a console and a network adapter, and further devices: vendor and class by slot."""
    devices = {"00": ("0x8086", "0x060000"), "02": ("0x1a03", "0x030000"), "03": ("0x14e4", "0x020000"), **more}
    for slot, (vendor, kind) in devices.items():
        write(root, {f"{PCI}/0000:00:{slot}.0/vendor": vendor, f"{PCI}/0000:00:{slot}.0/class": kind})
    write(root, {"/dev/null": "", "/dev/vfio/vfio": ""})
    return root


def found(wanted: str | None, root: Path) -> list[tuple[str, t.Any]]:
    return [(one["code"], one["values"].get("found")) for one in accelerator_problems(wanted, str(root))]


@pytest.mark.parametrize("wanted", ["mi300x", "h100", "tpu_v5p", "trn2.48xlarge", ""])
def test_a_machine_without_any_accelerator(tmp_path: Path, wanted: str) -> None:
    assert found(wanted, without_accelerator(tmp_path)) == [("no_gpu", None)]


def test_a_plan_that_requires_none_takes_any_machine(tmp_path: Path) -> None:
    assert found(None, without_accelerator(tmp_path)) == []


@pytest.mark.parametrize(
    "device",
    [
        ("0x10de", "0x030200"),  # an NVIDIA GPU without its driver
        ("0x1002", "0x030000"),  # AMD's graphics of a console cannot be told from a GPU
        ("0x1ae0", "0x088000"),
        ("0x1da3", "0x120000"),
        ("0x10ee", "0x120000"),
    ],
)
def test_a_device_that_may_be_an_accelerator_is_no_evidence(tmp_path: Path, device: tuple[str, str]) -> None:
    assert found("mi300x", without_accelerator(tmp_path, **{"05": device})) == []


@pytest.mark.parametrize("file", ["kfd", "nvidiactl", "dxg", "neuron0", "accel0", "vfio/17"])
def test_a_device_file_of_an_accelerator_is_no_evidence(tmp_path: Path, file: str) -> None:
    write(without_accelerator(tmp_path), {f"/dev/{file}": ""})
    assert found("mi300x", tmp_path) == []


def test_a_machine_that_cannot_be_read_is_no_evidence(tmp_path: Path) -> None:
    assert found("mi300x", tmp_path) == []
    write(tmp_path, {"/dev/null": ""})
    assert found("mi300x", tmp_path) == []
    without_accelerator(tmp_path)
    (tmp_path / PCI[1:] / "0000:00:05.0").mkdir()
    assert found("mi300x", tmp_path) == []


def test_another_model_than_the_plan_is_for(tmp_path: Path) -> None:
    of_amd, of_nvidia = mi300x_thor2(tmp_path / "amd"), h100_cx7(tmp_path / "nvidia")
    assert found("MI325X", of_amd) == [("other_gpu", ["AMD Instinct MI300X"])]
    assert found("h100", of_amd) == [("other_gpu", ["AMD Instinct MI300X"])]
    assert found("mi300", of_nvidia) == [("other_gpu", ["NVIDIA H100 80GB HBM3"])]
    assert [found(wanted, of_amd) for wanted in ("mi300x", "MI300", "", "gpu")] == [[], [], [], []]


def test_one_gpu_of_the_plan_or_without_a_name_suffices(tmp_path: Path) -> None:
    mi300x_thor2(tmp_path)
    write(tmp_path, {f"{PCI}/0000:75:00.0/product_name": "AMD Instinct MI325X OAM"})
    assert found("mi325x", tmp_path) == []
    write(tmp_path, {f"{PCI}/0000:75:00.0/product_name": "AMD Radeon Graphics"})
    assert found("mi325x", tmp_path) == []


@pytest.mark.parametrize(
    ("wanted", "name", "other"),
    [
        ("mi300x", "AMD Instinct MI300X VF", False),
        ("mi300x", "AMD Instinct MI308X", True),
        ("mi250", "AMD Instinct MI250X/MI250", False),
        ("a100", "NVIDIA A100-SXM4-80GB", False),
        ("h100", "NVIDIA H200", True),
        ("gb200", "NVIDIA GB200", False),
        ("h100", "Tesla V100-SXM2-16GB", True),
        ("h100", "NVIDIA GeForce RTX 4090", True),
        ("h100", "Tesla T4", True),
        ("h100", "NVIDIA Graphics Device", False),
        ("tpu_v5p", "TPU v5e", True),
        ("v5p", "TPU v5p", False),
        ("trn2.48xlarge", "trn1.32xlarge", True),
        ("trn2.48xlarge", "Trainium2", False),
        ("p5.48xlarge", "NVIDIA H100 80GB HBM3", False),
    ],
)
def test_names_of_models(wanted: str, name: str, other: bool) -> None:
    assert is_other_model(wanted, name) is other


@pytest.mark.parametrize(
    ("plan", "required"),
    [
        ({"gpu": "mi300x"}, "mi300x"),
        ({"gpu": ""}, ""),
        ({"gpu": "CPU"}, None),
        ({"gpu": "mi300x", "rehearsal": True}, None),
        ({"gpu": "mi300x", "require_gpu": False}, None),
    ],
)
def test_what_a_plan_requires(plan: dict[str, t.Any], required: str | None) -> None:
    assert required_gpu(plan) == required
