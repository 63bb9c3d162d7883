# SPDX-License-Identifier: GPL-3.0-or-later
"""Dumps of PyTorch's flight recorder on a node: asking ranks for them, and reading real ones."""

from __future__ import annotations

import io
import os
import pickle
import shutil
import threading
import time
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node import flight_recorder
from ansible_collections.trainops.cluster.plugins.module_utils.node.flight_recorder import recorded_here
from ansible_collections.trainops.cluster.plugins.module_utils.node.plain_pickle import NotPlainError, read_plain
from ansible_collections.trainops.cluster.plugins.module_utils.node.recorded import groups_in

# Written by make_dumps.py there.
REAL = Path(__file__).parents[2] / "data/flight_recorder"
PREFIX = "nccl_trace_rank_"


def node(folder: Path, **env: str) -> t.Any:
    given = {
        "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": f"{folder}/{PREFIX}",
        "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": f"{folder}/{PREFIX}",
    }
    return {"run_folder": str(folder), "env": given | env}


def leave(folder: Path, *ranks: int) -> None:
    for rank in ranks:
        shutil.copy(REAL / f"gloo_rank_{rank}", folder / f"{PREFIX}{rank}")


def row(**values: t.Any) -> dict[str, t.Any]:
    """Return an entry of NCCL's recorder, in the format of FlightRecorderDetail.hpp."""
    return {
        "pg_id": 1,
        "process_group": ("1", "PP"),
        "collective_seq_id": 0,
        "p2p_seq_id": 0,
        "profiling_name": "nccl:all_reduce",
        "input_sizes": [[8]],
        "output_sizes": [[8]],
        "state": "scheduled",
        "is_p2p": False,
        **values,
    }


def dump(*rows: dict[str, t.Any], ranks: str = "[0, 8, 16, 24]", **status: int) -> dict[str, t.Any]:
    return {
        "version": "2.10",
        "entries": list(rows),
        "pg_config": {"1": {"name": "1", "desc": "PP", "ranks": ranks}},
        "pg_status": {"1": status},
    }


def test_what_a_real_dump_says_of_a_rank(tmp_path: Path) -> None:
    leave(tmp_path, 1, 3)
    waits, late = recorded_here(node(tmp_path), ask=False)
    assert (waits["rank"], late["rank"], late["file"]) == (1, 3, str(tmp_path / f"{PREFIX}3"))
    by_name = {group["description"]: group for group in waits["groups"]}
    assert by_name["TP"]["pending"] == []
    (pending,) = by_name["DP"]["pending"]
    assert (pending["number"], pending["operation"], pending["sizes"]) == (4, "all_reduce", "[64, 2]")
    assert [(group["description"], group["entered"], group["pending"]) for group in late["groups"]] == [
        ("default_pg", 3, []),
        ("DP", 3, []),
        ("TP", 3, []),
    ]


@pytest.fixture
def rank_with_a_pipe(tmp_path: Path) -> Iterator[Path]:
    """Let a rank look at its pipe, and write a dump in two parts on request, as PyTorch does."""
    pipe, ended = tmp_path / f"{PREFIX}2.pipe", threading.Event()
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    def look() -> None:
        while not ended.is_set():
            if os.read(reader, 128):
                content = (REAL / "gloo_rank_2").read_bytes()
                with open(tmp_path / f"{PREFIX}2", "wb", buffering=0) as file:
                    file.write(content[:100])
                    time.sleep(0.3)
                    file.write(content[100:])
            time.sleep(0.01)

    thread = threading.Thread(target=look)
    thread.start()
    yield tmp_path
    ended.set()
    thread.join()
    os.close(reader)


def test_a_rank_that_runs_is_asked_for_a_dump_and_waited_for(rank_with_a_pipe: Path) -> None:
    leave(rank_with_a_pipe, 0)
    assert [one["rank"] for one in recorded_here(node(rank_with_a_pipe), ask=False)] == [0]
    assert [one["rank"] for one in recorded_here(node(rank_with_a_pipe), ask=True)] == [0, 2]


def test_a_rank_that_does_not_react_is_waited_for_only_so_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flight_recorder, "_WAIT_SECONDS", 0.1)
    os.mkfifo(tmp_path / f"{PREFIX}1.pipe")
    reader = os.open(tmp_path / f"{PREFIX}1.pipe", os.O_RDONLY | os.O_NONBLOCK)
    leave(tmp_path, 0)
    assert [one["rank"] for one in recorded_here(node(tmp_path), ask=True)] == [0]
    os.close(reader)


def test_an_old_dump_of_a_rank_that_is_asked_in_vain_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flight_recorder, "_WAIT_SECONDS", 0.1)
    os.mkfifo(tmp_path / f"{PREFIX}1.pipe")
    reader = os.open(tmp_path / f"{PREFIX}1.pipe", os.O_RDONLY | os.O_NONBLOCK)
    leave(tmp_path, 0, 1)
    assert [one["rank"] for one in recorded_here(node(tmp_path), ask=True)] == [0]
    os.close(reader)


def test_what_takes_too_long_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(tmp_path, 0, 1)
    monkeypatch.setattr(flight_recorder, "_SECONDS", -1.0)
    found = recorded_here(node(tmp_path), ask=False)
    assert [(one["rank"], one["groups"]) for one in found] == [(0, None), (1, None)]


def test_what_is_no_pipe_and_no_dump_of_ours_is_left_alone(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "run"
    folder.mkdir()
    outside.write_text("not ours")
    (folder / f"{PREFIX}1.pipe").symlink_to(outside)
    (folder / f"{PREFIX}2.pipe").write_text("a file")
    (folder / f"{PREFIX}3").symlink_to(REAL / "gloo_rank_3")
    (folder / f"{PREFIX}4").write_bytes(pickle.dumps([1, 2], protocol=2))
    (folder / f"{PREFIX}5").write_bytes((REAL / "gloo_rank_0").read_bytes()[:-200])
    assert [(one["rank"], one["groups"]) for one in recorded_here(node(folder), ask=True)] == [(4, None), (5, None)]
    assert (outside.read_text(), (folder / f"{PREFIX}2.pipe").read_text()) == ("not ours", "a file")


@pytest.mark.parametrize(("exit_status", "ranks"), [(1, [3]), (0, None)])
def test_the_last_answer_of_a_failed_training_says_what_its_ranks_recorded(
    exit_status: int, ranks: list[int] | None, training: t.Callable[..., t.Any]
) -> None:
    run = training(f"cp {REAL}/gloo_rank_3 $TORCH_NCCL_DEBUG_INFO_TEMP_FILE'3'\nexit {exit_status}")
    run.node["env"]["TORCH_NCCL_DEBUG_INFO_TEMP_FILE"] = f"{run.node['run_folder']}/{PREFIX}"
    recorded = run.run_to_its_end().get("recorded")
    assert (recorded and [one["rank"] for one in recorded]) == ranks


def test_a_dump_is_collected_by_its_rank(training: t.Callable[..., t.Any]) -> None:
    run = training(f"cp {REAL}/gloo_rank_3 $TORCH_NCCL_DEBUG_INFO_TEMP_FILE'3'\nexit 1")
    run.node["env"]["TORCH_NCCL_DEBUG_INFO_TEMP_FILE"] = f"{run.node['run_folder']}/{PREFIX}"
    run.run_to_its_end()
    assert run.collect(dump_of_rank=3)[0] == (REAL / "gloo_rank_3").read_bytes()
    assert run.collect(dump_of_rank=4)[1] == {"data": "", "size": 0}


@pytest.mark.parametrize("can", [True, False], ids=["pipes", "no pipes"])
def test_ranks_get_no_pipe_where_the_folder_of_the_run_can_have_none(
    training: t.Callable[..., t.Any], tmp_path: Path, can: bool
) -> None:
    if not can:
        # Like file systems in user space.
        refusing = tmp_path / "mkfifo"
        refusing.write_text("#!/bin/sh\necho 'Function not implemented' >&2\nexit 1\n")
        refusing.chmod(0o755)
    run = training("echo pipe: ${TORCH_NCCL_DEBUG_INFO_PIPE_FILE-none}")
    prefix = f"{run.node['run_folder']}/{PREFIX}"
    run.node["env"] |= {"TORCH_NCCL_DEBUG_INFO_PIPE_FILE": prefix, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert run.run_to_its_end()["exit_status"] == 0
    assert f"pipe: {prefix if can else 'none'}\n" in run.log()
    assert not [name for name in os.listdir(run.node["run_folder"]) if name.startswith(PREFIX)]


@pytest.mark.parametrize("prefix", ["{outside}/nccl_trace_rank_", "{folder}/../outside/nccl_trace_rank_", ""])
def test_files_outside_the_folder_of_the_run_are_not_read(prefix: str, tmp_path: Path) -> None:
    for name in ("outside", "run"):
        (tmp_path / name).mkdir()
        leave(tmp_path / name, 0)
    given = prefix.format(outside=tmp_path / "outside", folder=tmp_path / "run")
    plan = node(tmp_path / "run", TORCH_NCCL_DEBUG_INFO_TEMP_FILE=given)
    assert recorded_here(plan, ask=True) == []


def test_the_later_name_of_the_variable_wins(tmp_path: Path) -> None:
    (tmp_path / "later").mkdir()
    leave(tmp_path / "later", 1)
    leave(tmp_path, 0)
    plan = node(tmp_path, TORCH_FR_DUMP_TEMP_FILE=f"{tmp_path}/later/{PREFIX}")
    assert [one["rank"] for one in recorded_here(plan, ask=False)] == [1]


class Calls:
    """An object that runs a function if it is unpickled."""

    def __reduce__(self) -> tuple[t.Any, ...]:
        return os.mkdir, ("made",)


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(Calls(), protocol=0),
        pickle.dumps(Calls(), protocol=2),
        pickle.dumps(Calls(), protocol=4),
        pickle.dumps({"a": Path("x")}, protocol=2),
        pickle.dumps({("a", "tuple"): 1}, protocol=2),
        pickle.dumps({("a", "tuple"): 1, "b": 2}, protocol=2),
        # Names place 4,294,967,294 of the memory of an unpickler, which the one of C would make room for.
        b"\x80\x02}r\xfe\xff\xff\xffh\x00.",
        b"",
        b"\x80\x02}(X\x01",
        b"no pickle",
    ],
)
def test_a_pickle_that_does_more_than_hold_plain_data_is_refused(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotPlainError):
        read_plain(io.BytesIO(content))
    assert list(tmp_path.iterdir()) == []


def test_plain_data_is_read_as_it_was_written() -> None:
    for rank in range(4):
        content = (REAL / f"gloo_rank_{rank}").read_bytes()
        assert read_plain(io.BytesIO(content)) == pickle.loads(content)
    value = {"a": [1, -2, 1 << 40, 0.5, None, True], "b": ("x", (), (1,), (1, 2, 3, 4)), "c": {}}
    assert read_plain(io.BytesIO(pickle.dumps(value, protocol=2))) == value


def test_members_of_a_group_are_spans_of_ranks() -> None:
    (group,) = groups_in(dump(row(), ranks="[0, 1, 2, 3, 8, 9, 10, 11, 64]"))
    assert group["members"] == [[0, 4, 1], [8, 4, 1], [64, 1, 1]]
    (group,) = groups_in(dump(row(), ranks=str(list(range(0, 8192, 8)))))
    assert group["members"] == [[0, 1024, 8]]


def moved(number: int, name: str, **values: t.Any) -> dict[str, t.Any]:
    return row(is_p2p=True, p2p_seq_id=number, profiling_name=f"nccl:{name}", **values)


def batch(numbers: tuple[int, int], *names: str, state: str = "completed") -> list[dict[str, t.Any]]:
    """Return the rows of transfers that are started together: only the last has a state, and it is not a transfer."""
    of_batch = {"collective_seq_id": numbers[0], "p2p_seq_id": numbers[1]}
    each = [row(is_p2p=True, profiling_name=f"nccl:{name}", **of_batch) for name in names]
    return [*each, row(profiling_name="nccl:coalesced", input_sizes=[], state=state, **of_batch)]


BETWEEN = ("send 1->2", "recv 1<-0")


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param(((3, 1), (3, 2), (3, 3)), id="counted as transfers"),
        # So did PyTorch 2.4.
        pytest.param(((4, 0), (5, 0), (6, 0)), id="counted as collectives"),
    ],
)
def test_of_transfers_that_are_started_together_only_their_end_has_a_state(
    numbers: tuple[tuple[int, int], ...],
) -> None:
    first, second, third = numbers
    done = [row(collective_seq_id=3, state="completed"), *batch(first, *BETWEEN), *batch(second, *BETWEEN)]
    (group,) = groups_in(dump(*done))
    assert (group["entered"], group["pending"]) == (3, [])
    (group,) = groups_in(dump(*done, *batch(third, *BETWEEN, state="scheduled")))
    assert [(one["operation"], one["peer"], one["is_transfer"]) for one in group["pending"]] == [
        ("send", 16, True),
        ("recv", 0, True),
    ]


def test_transfers_with_several_ranks_are_done_in_any_order() -> None:
    (group,) = groups_in(dump(moved(1, "send 1->2"), moved(2, "recv 1<-0", state="completed")))
    assert [(one["operation"], one["peer"]) for one in group["pending"]] == [("send", 16)]


def test_a_collective_is_pending_whatever_number_the_transfers_of_its_group_have_reached() -> None:
    rows = [row(collective_seq_id=2), moved(9000, "send 1->2", collective_seq_id=1, state="completed")]
    (group,) = groups_in(dump(*rows, last_completed_collective=9000))
    assert [one["number"] for one in group["pending"]] == [2]


def test_a_collective_that_is_retired_is_not_pending() -> None:
    rows = [row(collective_seq_id=number, retired=number < 9) for number in (7, 8, 9)]
    (group,) = groups_in(dump(*rows))
    assert (group["entered"], [one["number"] for one in group["pending"]]) == (9, [9])
    rows[2]["state"] = "started"
    (group,) = groups_in(dump(*rows))
    assert group["pending"][0]["started"]


@pytest.mark.parametrize("key", ["process_group", "profiling_name", "input_sizes"])
def test_values_that_would_be_endless_as_text_are_left_out(key: str) -> None:
    nested: t.Any = ()
    for _level in range(60):
        nested = (nested, nested)
    value = [nested] if key == "input_sizes" else (nested, nested) if key == "process_group" else nested
    (group,) = groups_in(dump(row(collective_seq_id=1, **{key: value})))
    assert group["entered"] == 1


@pytest.mark.parametrize("value", [{}, {"entries": [7, {"process_group": 7}]}])
def test_a_dump_of_a_rank_without_collectives_has_no_groups(value: t.Any) -> None:
    assert groups_in(value) == []


@pytest.mark.parametrize("value", [None, [], "text", {"entries": 7}])
def test_what_is_no_dump_is_an_error_that_says_so(value: t.Any) -> None:
    with pytest.raises(ValueError, match="flight recorder"):
        groups_in(value)
