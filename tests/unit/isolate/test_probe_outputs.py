# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of tools, in the formats of several of their releases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.agfhc.output import failure_in
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.dcgm.output import failures_in
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.fio.output import seconds_in
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.ib_write_bw.output import bits_per_second
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.ib_write_bw.probe import adapters, command
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.nccl_tests.command import samples_in
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.nccl_tests.output import rows_in
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.rvs.output import (
    errors_in,
    gpus_in,
    speeds_in,
)
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.torch import script
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.torch.running import lines_in, part_of
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.torch.script import processors_in

DATA = Path(__file__).resolve().parents[2] / "data/probes"
PARTNER = {
    "node": "gpu1",
    "address": "10.0.0.1",
    "addresses": ["10.0.0.1", "10.0.0.2"],
    "port": 29700,
    "serves": False,
    "secret": "",
    "patience": 1.0,
    "slowdown": 1.0,
}


def text(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", ["nccl_tests_2_19.txt", "nccl_tests_2_19.json", "nccl_tests_2_10.txt", "rccl_tests.txt"]
)
def test_every_release_prints_the_same_rows(name: str) -> None:
    rows = rows_in(text(name))
    assert [row.size >> 20 for row in rows] == [512, 516, 520, 524, 528]
    assert rows[0].seconds == pytest.approx([2120.4e-6, 2118.9e-6])
    assert rows[0].wrong == (None if name == "nccl_tests_2_10.txt" else 0)


def test_rows_that_have_only_in_place_are_read_as_that() -> None:
    assert rows_in(text("rccl_tests_in_place.txt"))[0].seconds == pytest.approx([2118.9e-6])


def test_sizes_that_hardly_differ_are_samples_of_the_same_work() -> None:
    samples = samples_in(text("nccl_tests_2_19.txt"))
    assert samples == pytest.approx([2.12e-3] * 5, rel=0.002)


def test_wrong_values_are_no_result_at_any_speed() -> None:
    with pytest.raises(ValueError, match="6 values"):
        samples_in(text("nccl_tests_wrong.txt"))


def test_an_output_that_ends_early_is_no_result() -> None:
    whole = text("nccl_tests_2_19.txt")
    with pytest.raises(ValueError, match="ends before"):
        rows_in(whole[: whole.index("# Out of bounds")])
    with pytest.raises(ValueError, match="no results"):
        rows_in("gpu07: Test NCCL failure common.cu:1279 'unhandled cuda error'\n")


@pytest.mark.parametrize("name", ["ib_write_bw.txt", "ib_write_bw_mib.txt"])
def test_the_bandwidth_of_an_adapter_is_the_same_in_each_unit(name: str) -> None:
    assert bits_per_second(text(name)) == pytest.approx(393.62e9, rel=1e-4)


def test_an_output_without_a_bandwidth_is_no_result() -> None:
    with pytest.raises(ValueError, match="no bandwidth"):
        bits_per_second(" Failed to modify QP 295 to RTR\n")
    with pytest.raises(ValueError, match="no bandwidth"):
        bits_per_second(text("ib_write_bw.txt").replace("393.62", "0.00"))


@pytest.mark.parametrize("name", ["dcgm_3.json", "dcgm_4.json"])
def test_a_gpu_that_fails_in_dcgm_is_named_with_what_it_says(name: str) -> None:
    (found,) = failures_in(text(name)).items()
    assert found[0] == "GPU 3"
    assert "row remapping failed" in found[1]


def test_what_dcgm_prints_without_its_daemon_is_no_result() -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any reason will do
        failures_in("Error: unable to establish a connection to the specified host: localhost\n")
    assert failures_in(text("dcgm_4.json").replace("Fail", "Pass")) == {}


# Both are outputs of fio 3.33: on ext4 past the cache, and on ramfs, which does not allow that.
@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("fio_direct.json", {"write": [0.130, 0.088], "read": [0.167, 0.147]}),
        ("fio_buffered.json", {"write": [0.029, 0.014], "read": [0.013, 0.031]}),
    ],
)
def test_each_job_of_fio_took_its_time(name: str, seconds: dict[str, list[float]]) -> None:
    assert seconds_in(text(name), 64 << 20) == seconds
    # As fio prints on a full disk, on the same stream.
    assert seconds_in(f"fio: ENOSPC on laying out file, stopping\n{text(name)}", 64 << 20) == seconds


def test_a_job_of_fio_that_failed_is_no_result() -> None:
    with pytest.raises(ValueError, match="write: No space left"):
        seconds_in(text("fio_direct.json").replace('"error" : 0', '"error" : 28', 1), 64 << 20)
    with pytest.raises(ValueError, match="Expecting value"):
        seconds_in("fio: unrecognized option '--json'\n", 64 << 20)


def test_a_job_of_fio_whose_time_was_over_counts_by_its_speed() -> None:
    seconds = seconds_in(text("fio_direct.json").replace('"io_bytes" : 67108864', '"io_bytes" : 33554432', 1), 64 << 20)
    assert seconds["write"] == [0.260, 0.088]


# Outputs of RVS come from AMD's system acceptance guide for MI300X, AGFHC's from AMD's notes on MI350X.
def test_gpus_that_rvs_lists_are_numbered_by_their_pci_addresses() -> None:
    listed = text("rvs_list.txt").splitlines()
    numbers = ["28851", "23018", "29122", "22683", "53458", "63883", "53667", "63738"]
    assert gpus_in("\n".join(listed)) == gpus_in("\n".join(reversed(listed))) == numbers


def test_the_speeds_of_a_gpu_in_rvs_are_those_after_its_warm_up_without_the_best_one_again() -> None:
    assert speeds_in(text("rvs_gst.txt")) == {"28851": [1640057, 1595462, 1687129, 1686102, 1687129]}


def test_rvs_without_a_speed_says_its_error() -> None:
    with pytest.raises(ValueError, match="no platform support"):
        speeds_in("RVS-ERROR [CLI] no platform support for the detected GPU\n")
    failed = "[ERROR ] [1101988.831928] [trainops] gst 28851 memory allocation failed\n"
    with pytest.raises(ValueError, match="memory allocation failed"):
        speeds_in(failed)
    assert errors_in(failed) == {"28851": "memory allocation failed"}


def test_a_recipe_of_agfhc_passes_only_if_nothing_of_it_failed() -> None:
    passed = text("agfhc.txt")
    assert failure_in(passed) == ""
    failed = passed.replace("PASS: hbm_bw-1-1", "FAIL: hbm_bw-1-1")
    assert "FAIL: hbm_bw-1-1" in failure_in(failed)
    assert failure_in(passed.replace("AGFHC_SUCCESS [0]", "AGFHC_TEST [3]")) == "it ended with AGFHC_TEST"
    with pytest.raises(ValueError, match="no return code"):
        failure_in(passed[: passed.index("Program exiting")])


def test_a_gpu_that_hangs_or_aborts_is_named_and_the_others_say_their_own(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(
        "import os, signal, sys\n"
        "class cuda:\n"
        "    def device_count(): return 3\n"
        "    def set_device(number):\n"
        "        if number == 1: signal.pause()\n"
        "        if number == 2: print('CUDA error: uncorrectable ECC error', file=sys.stderr); os.abort()\n"
        "        raise RuntimeError('of its own')\n"
    )
    done = subprocess.run(
        [sys.executable, script.__file__, "--limit", "5"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    problems = {part_of(line): line["problem"] for line in lines_in(done.stdout)}
    assert "of its own" in problems["GPU 0"]
    assert "did not finish" in problems["GPU 1"]
    assert "uncorrectable ECC" in problems["GPU 2"]


def test_the_end_of_a_load_is_measured_in_as_many_samples_as_any_other_work() -> None:
    done, waited = [], []
    torch = SimpleNamespace(cuda=SimpleNamespace(synchronize=lambda: waited.append(len(done))))
    took = script._under_load(torch, lambda: done.append(1), 0.0)
    assert len(took) == script._SAMPLES
    assert min(took) > 0
    # The GPU has done one batch before the next begins, and there is a first part that does not count.
    assert waited == [script._TIMES * batch for batch in range(1, script._SETTLED * script._SAMPLES + 1)]


def test_what_is_odd_in_the_results_of_dcgm_hides_no_failure_beside_it() -> None:
    failed = {"entity_group": "GPU", "entity_id": 3, "status": "Fail", "warnings": "row remapping failed"}
    categories = [{"tests": None}, {"tests": [{"name": "a", "results": None}, {"name": "memory", "results": [failed]}]}]
    printed = {"version": 4, "DCGM Diagnostic": {"test_categories": categories}}
    assert failures_in(json.dumps(printed)) == {"GPU 3": "memory: row remapping failed"}


def test_processors_are_read_as_the_kernel_lists_them() -> None:
    assert processors_in("0-3,8,10-11\n") == {0, 1, 2, 3, 8, 10, 11}
    with pytest.raises(ValueError, match="invalid literal"):
        processors_in("\n")


@pytest.mark.parametrize(
    ("chosen", "left"),
    [
        ("", ["mlx5_0", "mlx5_1", "mlx5_10", "eth0"]),
        ("mlx5", ["mlx5_0", "mlx5_1", "mlx5_10"]),
        ("mlx5_1", ["mlx5_1", "mlx5_10"]),
        ("=mlx5_1:1", ["mlx5_1"]),
        ("^mlx5_1,eth0", ["mlx5_0"]),
        ("^=mlx5_1", ["mlx5_0", "mlx5_10", "eth0"]),
    ],
)
def test_the_adapters_are_those_that_a_training_uses(chosen: str, left: list[str]) -> None:
    assert adapters(chosen, ["mlx5_0", "mlx5_1", "mlx5_10", "eth0"]) == left


def test_both_ends_of_an_adapter_meet_at_a_port_with_the_gid_of_a_training() -> None:
    client = command("mlx5_1", 29828, {"NCCL_IB_GID_INDEX": "3"}, "10.0.0.1")
    server = command("mlx5_1", 29828, {"NCCL_IB_GID_INDEX": "3"})
    assert client == [*server, "10.0.0.1"]
    assert client[client.index("-p") + 1] == "29828"
    assert client[client.index("-x") + 1] == "3"
    assert "-x" not in command("mlx5_1", 29828, {})
