# SPDX-License-Identifier: GPL-3.0-or-later
"""The history as a dataset in a folder."""

from __future__ import annotations

import multiprocessing
from itertools import islice
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from history_runs import run_row

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.history import history_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.history_store import (
    latest_rows,
    read_history,
    write_row,
)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_run_is_one_file_in_the_partition_of_its_framework_and_month(tmp_path):
    row = run_row("mine", hour=0)
    assert write_row(tmp_path, row) is True
    (only,) = files(tmp_path)
    assert only.relative_to(tmp_path).as_posix() == (
        f"framework=megatron/month=2026-03/20260301T120000Z_{row['key']}_mine.parquet"
    )


def test_pandas_reads_it_as_one_table(tmp_path):
    write_row(tmp_path, run_row("a", 1.5, hour=0))
    write_row(tmp_path, run_row("b", None, hour=24 * 40, verdict="FAIL", framework="maxtext"))
    frame = pd.read_parquet(tmp_path).set_index("run_id")
    assert frame.loc["a", "tokens_per_sec_per_gpu"] == 1.5
    assert frame.loc["b", ["framework", "month", "failure"]].tolist() == ["maxtext", "2026-04", "out_of_memory"]


def test_judging_a_run_again_replaces_its_row_even_where_its_begin_or_key_is_another(tmp_path):
    write_row(tmp_path, run_row("a", None, hour=None, verdict="ERROR"))
    assert write_row(tmp_path, run_row("a", 2.0, hour=3, verdict="PASS")) is True
    assert write_row(tmp_path, run_row("a", 2.0, hour=3, verdict="PASS")) is False
    assert write_row(tmp_path, run_row("a", 3.0, hour=3, verdict="PASS", image_id="sha256:two")) is True
    assert read_history(tmp_path, [])[["run_id", "tokens_per_sec_per_gpu"]].to_numpy().tolist() == [["a", 3.0]]
    assert len(files(tmp_path)) == 1


def test_a_run_whose_name_ends_like_another_s_is_not_replaced_with_it(tmp_path):
    write_row(tmp_path, run_row("a"))
    write_row(tmp_path, run_row("b_a"))
    write_row(tmp_path, run_row("a", 2.0))
    assert sorted(read_history(tmp_path, [])["run_id"]) == ["a", "b_a"]


def test_runs_of_the_same_name_that_began_at_other_times_are_all_kept(tmp_path):
    for night in range(3):
        write_row(tmp_path, run_row("nightly", 100.0 + night, hour=24 * night))
    assert read_history(tmp_path, [])["tokens_per_sec_per_gpu"].tolist() == [100.0, 101.0, 102.0]
    own = run_row("nightly", hour=48)
    found = latest_rows(tmp_path, "megatron", own["key"], own["started_at"], "nightly", [])
    assert [row["tokens_per_sec_per_gpu"] for row in found] == [101.0, 100.0]


def test_the_last_rows_of_a_key_come_first_and_only_those_before(tmp_path):
    for hour in range(6):
        write_row(tmp_path, run_row(f"run{hour}", hour=hour * 400))
    write_row(tmp_path, run_row("other", hour=1, precision="fp8"))
    write_row(tmp_path, run_row("never", None, hour=None, verdict="ERROR"))
    own = run_row("run4", hour=1600)
    found = latest_rows(tmp_path, "megatron", own["key"], own["started_at"], "run4", [])
    assert [row["run_id"] for row in found] == ["run3", "run2", "run1", "run0"]
    (newest,) = islice(latest_rows(tmp_path, "megatron", own["key"], None, "run5", []), 1)
    assert newest == {name: value for name, value in own.items() if name != "framework"}


@pytest.mark.parametrize("columns", [["loss_step"], ["grad_norm", "grad_norm_low", "grad_norm_high"]])
def test_rows_from_before_a_column_or_a_metric_was_added_are_read_and_compared(tmp_path, columns):
    write_row(tmp_path, run_row("a", 1.5))
    (path,) = files(tmp_path)
    pq.write_table(pq.read_table(path, partitioning=None).drop_columns(columns), path)
    left_out, own = [], run_row("b", 2.0, hour=1)
    (row,) = latest_rows(tmp_path, "megatron", own["key"], None, "b", left_out)
    assert [row[name] for name in ("tokens_per_sec_per_gpu", *columns)] == [1.5, *(None for _ in columns)]
    assert read_history(tmp_path, left_out)[columns].isna().to_numpy().all()
    assert history_of(own, tmp_path)["comparison"]["tokens_per_sec_per_gpu"]["before"] == 1.5
    assert left_out == []


def foreign(path: Path, **columns: list[object]) -> None:
    pq.write_table(pa.table(columns), path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"PAR1 and no more"),
        lambda path: path.write_bytes(path.read_bytes()[:200]),
        lambda path: foreign(path, price=[1.5]),
        lambda path: foreign(path, run_id=["b"], key=["k"]),
        lambda path: foreign(path, run_id=[["b"]], started_at=["yesterday"]),
    ],
)
def test_a_file_that_is_no_row_is_left_out_and_told_of(tmp_path, damage):
    write_row(tmp_path, run_row("a"))
    write_row(tmp_path, run_row("b", hour=1))
    (damaged,) = (path for path in files(tmp_path) if path.name.endswith("_b.parquet"))
    damage(damaged)
    of_key, of_all = [], []
    found = latest_rows(tmp_path, "megatron", run_row("c")["key"], None, "c", of_key)
    assert [row["run_id"] for row in found] == ["a"]
    assert read_history(tmp_path, of_all)["run_id"].tolist() == ["a"]
    assert of_key == of_all == [damaged]


def test_a_file_in_the_place_of_a_month_is_left_out_and_told_of(tmp_path):
    write_row(tmp_path, run_row("a"))
    (tmp_path / "framework=megatron/month=2026-04").write_text("no folder")
    left_out = []
    assert len(list(latest_rows(tmp_path, "megatron", run_row("c")["key"], None, "c", left_out))) == 1
    assert [path.name for path in left_out] == ["month=2026-04"]


def test_no_history_yet_has_no_rows(tmp_path):
    assert list(latest_rows(tmp_path / "none", "megatron", "key", None, "a", [])) == []
    assert read_history(tmp_path / "none", []).empty


def _write_many(folder: str, writer: int) -> None:
    for number in range(20):
        write_row(folder, run_row("shared", float(number), hour=1, image_id=f"sha256:{writer}"))
        write_row(folder, run_row(f"run{writer}-{number}", hour=number))


def test_several_controllers_write_at_once(tmp_path):
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write_many, args=(str(tmp_path), number)) for number in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    frame = read_history(tmp_path, [])
    assert frame["run_id"].is_unique
    assert len(frame) == 61
    assert len(files(tmp_path)) == 61
