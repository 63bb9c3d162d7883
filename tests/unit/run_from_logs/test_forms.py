"""The same logs give the same result in every form in which they are kept."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from logged_runs import OUT_OF_MEMORY, SILENT, laid_out, maxtext, megatron

from ansible_collections.trainops.cluster.plugins.module_utils.logs.rows import rows_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs import packed as packed_module
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.files import find_runs
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.open import read_runs
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.plan import Known

LOGS = Path(__file__).resolve().parents[2] / "data/logs"
HOSTS = ("mi300-0", "mi300-1")
NCCL = "".join(f"{{host}}:41{device:02d}:41{device:02d} [{device}] NCCL INFO Using network IB\n" for device in range(8))
FIRST = NCCL.format(host=HOSTS[0]) + SILENT
LAST = NCCL.format(host=HOSTS[1]) + megatron(range(1, 11))
STAMP = "2026-11-26T10:{:02d}:{:02d}.123456789Z "


def read(folder, files: dict[str, bytes], nodes: int | None = 2, **known):
    """Return the only run in a folder with these files."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    (found,) = find_runs([str(folder)])
    (run,) = read_runs(found, folder.parent / "out", None, None, Known("", "", {}, nodes, 0, **known))
    return run


def steps_of(run) -> dict[str, list[int]]:
    return {node: [row["step"] for row in rows_of(log.blocks)] for node, log in run.logs.items()}


def mixed(label: Callable[[int], str], texts: Iterable[str] = (FIRST, LAST)) -> bytes:
    """Return the logs of nodes in one file, a line of each in turn, each with its node's prefix."""
    left = [text.splitlines(keepends=True) for text in texts]
    lines = []
    while any(left):
        lines += [label(place) + of_one.pop(0) for place, of_one in enumerate(left) if of_one]
    return "".join(lines).encode()


@pytest.mark.parametrize(
    ("label", "names"),
    [
        (lambda node: f"{node}: ", HOSTS),
        (lambda node: f"{node:2d}: [default0]:", HOSTS),
        (lambda node: f"{node}: [rank0]:", HOSTS),
        (lambda node: f"[pod/train-worker-{node}/pytorch] ", ("train-worker-0", "train-worker-1")),
        (lambda node: f"[pod/train-worker-{node}/pytorch] {STAMP.format(1, 2)}", ("train-worker-0", "train-worker-1")),
        (lambda node: f"gpu{node + 9}: ", ("gpu9", "gpu10")),
        (lambda node: f"\x1b[36mnode{node}-1  | \x1b[0m", ("node0-1", "node1-1")),
        (lambda node: f"[1,{node}]<stdout>:", HOSTS),
        (lambda node: f"train.{node + 1}.{'x1y2z' * 5}@mi300-{node}    | ", HOSTS),
        (lambda node: f"Nov 26 10:00:00 mi300-{node} train.sh[4100]: ", HOSTS),
        (lambda node: f"{STAMP.format(1, 2)}mi300-{node} train.sh[4100]: ", HOSTS),
    ],
)
def test_one_file_of_all_nodes_is_split_by_what_stands_in_front_of_each_line(tmp_path, label, names):
    run = read(tmp_path / "run", {"slurm-77.out": mixed(label)})
    assert steps_of(run) == {names[0]: [], names[1]: list(range(1, 11))}
    assert "[after training is done]" in run.logs[names[0]].signs
    assert run.plan["mode"] == "multi_node"
    assert [node["node_rank"] for node in run.plan["nodes"]] == [0, 1]
    assert run.plan["not_known"] == [run.plan["not_known"][-1]]
    assert {"slurm-77.out", "2"} <= set(run.plan["warnings"][0]["message"].split())


def test_tasks_that_name_no_host_are_nodes_of_their_own_or_share_the_nodes_that_there_are(tmp_path):
    texts = [maxtext(range(9))] * 4
    content = mixed(lambda task: f"{task}: ", texts)
    assert list(read(tmp_path / "a", {"a.log": content}, None).logs) == ["task0", "task1", "task2", "task3"]
    assert list(read(tmp_path / "b", {"b.log": content}, 2).logs) == ["task0", "task2"]
    assert list(read(tmp_path / "c", {"c.log": content}, 3).logs) == ["task0", "task1", "task2", "task3"]


def test_of_a_task_for_each_accelerator_a_failure_names_the_rank(tmp_path):
    hosts = [f"mi300-{task // 2}:41:41 [{task % 2}] NCCL INFO Using network IB\n" for task in range(4)]
    failed = OUT_OF_MEMORY.replace("[rank5]: ", "")
    texts = [hosts[0], hosts[1] + failed, hosts[2] + failed, hosts[3] + megatron([1, 2])]
    run = read(tmp_path / "run", {"a.log": mixed(lambda task: f"{task}: ", texts)})
    found = {node: [(one["class"], one["rank"]) for one in log.failures] for node, log in run.logs.items()}
    assert found == {"mi300-0": [("out_of_memory", 1)], "mi300-1": [("out_of_memory", 2)]}
    assert steps_of(run)["mi300-1"] == [1, 2]


@pytest.mark.parametrize(
    ("said", "nodes", "names"),
    [
        ("", 2, ["node0", "node1"]),
        ("[NODE-0(mi355-7)] Starting\n[NODE-1(mi355-3)] Starting\n", None, ["mi355-7", "mi355-3"]),
        (
            "[2026-11-27 10:00:00] [NODE-0(mi355-7)] [INFO] a\n[2026-11-27 10:00:00] [NODE-1(mi355-3)] [INFO] a\n",
            None,
            ["mi355-7", "mi355-3"],
        ),
        (
            "".join(f"gpu{2 - r // 8}:4:4 [0] NCCL INFO comm 0x1 rank {r} nranks 16 busId 5 - Init\n" for r in (0, 8)),
            None,
            ["gpu2", "gpu1"],
        ),
        ("", None, ["all"]),
    ],
)
def test_one_file_of_all_nodes_of_primus_is_split_by_the_ranks(tmp_path, said, nodes, names):
    def of_rank(rank: int, text: str) -> str:
        head = f"[20261126 10:00:00][rank-{rank}/16][INFO    ] [--trainer.py:120] :"
        return "".join(f"{head} {line}" for line in text.splitlines(keepends=True))

    both = said + of_rank(0, SILENT) + of_rank(15, megatron(range(1, 11))) + "[direct] torchrun finished successfully\n"
    run = read(tmp_path / "run", {"all.log": both.encode()}, nodes)
    assert list(run.logs) == names
    assert steps_of(run)[names[-1]] == list(range(1, 11))


def test_the_log_of_a_node_of_primus_is_read_where_it_is(tmp_path):
    log = (LOGS / "10_megatron_primus_mi355x_10of10_done.log").read_bytes()
    run = read(tmp_path / "run", {"node0.log": log, "node1.log": log}, 2)
    assert [len(log.blocks) > 0 for log in run.logs.values()] == [True, True]


def test_lines_without_a_label_are_of_the_first_node_unless_they_name_another(tmp_path):
    script = b"+ srun -l train.sh\n"
    error = b"srun: error: mi300-1: task 1: Exited with exit code 1\n"
    run = read(tmp_path / "run", {"a.log": script + mixed(lambda task: f"{task}: ") + error})
    assert [run.logs[host].last_lines[-1].startswith("srun: error") for host in HOSTS] == [False, True]


def test_tracebacks_of_the_ranks_of_a_node_stay_apart(tmp_path):
    failed = OUT_OF_MEMORY.replace("[rank5]: ", "")
    content = mixed(lambda rank: f"[default{rank}]:", [megatron([1]) + failed] * 3)
    (log,) = read(tmp_path / "run", {"node0.log": content}, 1).logs.values()
    assert [failure["class"] for failure in log.failures] == ["out_of_memory"] * 3


def test_two_nodes_whose_lines_all_begin_with_the_rank_of_their_node_share_no_rank(tmp_path):
    logs = {f"node{node}.log": mixed(lambda _: "[rank0]:", [text]) for node, text in enumerate((FIRST, LAST))}
    run = read(tmp_path / "run", logs)
    assert [text for log in run.logs.values() for text in log.ranks if text.startswith("rank ")] == []


@pytest.mark.parametrize(("suffix", "packed"), [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)])
def test_compressed_logs_say_what_they_held(tmp_path, suffix, packed):
    run = read(
        tmp_path / "run",
        {f"node0.log{suffix}": packed(FIRST.encode()), f"node1.log{suffix}": packed(LAST.encode())},
    )
    assert steps_of(run) == {"node0": [], "node1": list(range(1, 11))}
    assert [log.path.name for log in run.logs.values()] == [f"node0.log{suffix}", f"node1.log{suffix}"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (gzip.compress(megatron(range(1, 4000), 4000).encode())[:-900], "it is damaged or cut off"),
        (b"no gzip", "it cannot be read"),
        (gzip.compress(LAST.encode())[:60] + b"\xff" * 60, "damaged"),
    ],
    ids=["cut off", "no gzip", "damaged"],
)
def test_of_a_damaged_log_is_read_what_can_be_and_the_rest_is_told(tmp_path, content, problem):
    run = read(tmp_path / "run", {"node0.log.gz": content, "node1.log": LAST.encode()})
    assert problem in run.logs["node0"].problem
    assert steps_of(run)["node1"] == list(range(1, 11))
    assert bool(steps_of(run)["node0"]) == (len(content) > 200)


def test_a_compressed_log_is_read_up_to_what_any_log_may_unpack_to(tmp_path, monkeypatch):
    monkeypatch.setattr(packed_module, "_ALWAYS_ALLOWED", 1 << 20)
    content = gzip.compress(LAST.encode() + (b" " * 1023 + b"\n") * (64 << 10))
    run = read(tmp_path / "run", {"node0.log.gz": content})
    assert "bytes (node0.log.gz)" in run.logs["node0"].problem
    assert steps_of(run) == {"node0": list(range(1, 11))}
    assert sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()) < 8 << 20


@pytest.mark.parametrize("older", ["train.log.1", "train.log-20261126", "train.log-20261126.gz"])
@pytest.mark.parametrize("lines", [3, 8, 12])
def test_a_log_that_was_rotated_is_read_from_its_begin(tmp_path, older, lines):
    whole = LAST.encode().splitlines(keepends=True)
    head, tail = b"".join(whole[:lines]), b"".join(whole[lines:])
    before = gzip.compress(head) if older.endswith(".gz") else head
    run = read(tmp_path / "run", {older: before, "train.log": tail}, 1)
    assert (steps_of(run), run.plan["warnings"]) == ({"train": list(range(1, 11))}, [])
    assert run.logs["train"].transports == ["NET/IB"]


def test_the_parts_of_a_log_of_all_nodes_are_one_log(tmp_path):
    lines = mixed(lambda task: f"{task}: ").splitlines(keepends=True)
    parts = {".2.gz": gzip.compress(b"".join(lines[:4])), ".1": b"".join(lines[4:14]), "": b"".join(lines[14:])}
    run = read(tmp_path / "run", {f"slurm.out{name}": part for name, part in parts.items()})
    assert steps_of(run) == {HOSTS[0]: [], HOSTS[1]: list(range(1, 11))}


@pytest.mark.parametrize(
    ("older", "newer", "steps"),
    [
        (megatron([1, 2, 3]), LAST, range(1, 11)),
        (LAST + megatron([1, 2]), LAST, range(1, 11)),
        (SILENT, SILENT, ()),
    ],
    ids=["some steps", "all steps", "no steps"],
)
def test_older_files_of_another_training_are_left_aside(tmp_path, older, newer, steps):
    run = read(tmp_path / "run", {"train.log.1": older.encode(), "train.log": newer.encode()}, 1)
    assert steps_of(run) == {"train": list(steps)}
    assert "older files are not read: train.log.1" in run.plan["warnings"][0]["message"]


def test_a_training_that_went_on_from_a_checkpoint_in_the_next_file_is_one(tmp_path):
    run = read(
        tmp_path / "run",
        {"train.log.1": megatron(range(1, 7)).encode(), "train.log": megatron(range(5, 11)).encode()},
        1,
    )
    assert steps_of(run) == {"train": [*range(1, 7), *range(5, 11)]}


def test_a_standard_error_of_all_nodes_is_split_as_well(tmp_path):
    errors = mixed(lambda task: f"{task}: ", ["a\n" * 4, OUT_OF_MEMORY.replace("[rank5]: ", "")])
    run = read(tmp_path / "run", {"job.out": mixed(lambda task: f"{task}: "), "job.err": errors})
    assert {node: [one["class"] for one in log.failures_at_end] for node, log in run.logs.items()} == {
        HOSTS[0]: [],
        HOSTS[1]: ["out_of_memory"],
    }


def test_stamps_in_front_of_the_lines_say_when_the_run_was(tmp_path):
    lines = "".join(
        STAMP.format(*divmod(place, 60)) + text for place, text in enumerate(LAST.splitlines(keepends=True))
    )
    (log,) = read(tmp_path / "run", {"node0.log": lines.encode()}, 1).logs.values()
    assert log.began == 1795687200.123456789


def test_logs_of_several_frameworks_in_a_folder_are_several_runs(tmp_path):
    files = {"a0.log": SILENT, "a1.log": megatron(range(1, 11)), "b.log": maxtext(range(9))}
    (found,) = find_runs([str(laid_out(tmp_path / "mixed", files))])
    runs = read_runs(found, tmp_path / "out", None, None, Known("", "", {}, None, 0))
    assert {run.run_id: (run.plan["framework"], list(run.logs)) for run in runs} == {
        "mixed-megatron": ("megatron", ["a0", "a1"]),
        "mixed-maxtext": ("maxtext", ["b"]),
    }


@pytest.mark.parametrize("text", ["", "nothing\n", ':::MLLOG {"key": "global_batch_size", "value": 128}\n'])
def test_logs_without_a_step_are_a_run_of_which_that_is_not_known(tmp_path, text):
    run = read(tmp_path / "run", {"node0.log": text.encode()}, 1)
    assert run.plan["framework"] == "unknown"
    (lack,) = [lack for lack in run.plan["not_known"] if lack["code"] == "no_steps"]
    assert "completed step: N" in lack["message"]


def test_a_number_of_steps_that_was_told_counts_whatever_the_log_announces(tmp_path):
    run = read(tmp_path / "run", {"node0.log": megatron(range(1, 6), 100).encode()}, 1, steps=5)
    assert run.plan["parameters"]["iterations"] == run.logs["node0"].steps_total == 5
