from __future__ import annotations

import json
from pathlib import Path

import pytest
from logged_runs import laid_out

from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.files import find_runs, fit_name


def files_of(run) -> dict[str, list[str]]:
    return {node: [str(path.relative_to(run.folder)) for path in paths] for node, paths in run.files.items()}


def test_each_log_of_a_folder_is_of_the_node_that_it_names_in_the_order_of_people(tmp_path):
    folder = laid_out(tmp_path / "monday", {f"node{n}.log": "" for n in (0, 1, 2, 10)})
    (run,) = find_runs([str(folder)])
    assert run.name == "monday"
    assert files_of(run) == {f"node{n}": [f"node{n}.log"] for n in (0, 1, 2, 10)}


def test_host_names_with_dots_stay_whole(tmp_path):
    folder = laid_out(tmp_path, {"gpu01.example.com.log": "", "gpu02.example.com.log": ""})
    (run,) = find_runs([str(folder)])
    assert list(run.files) == ["gpu01.example.com", "gpu02.example.com"]


def test_each_sub_folder_is_a_node_with_all_files_that_may_be_its_log(tmp_path):
    folder = laid_out(
        tmp_path / "run",
        {"out-node0/training.log": "", "out-node1/a.log": "", "out-node1/b.log": "", "empty/x.json": ""},
    )
    (run,) = find_runs([str(folder)])
    assert files_of(run) == {
        "out-node0": ["out-node0/training.log"],
        "out-node1": ["out-node1/a.log", "out-node1/b.log"],
    }
    assert run.notes == ["Without a log: empty."]


def test_what_is_left_aside_beside_logs_is_told(tmp_path):
    folder = laid_out(tmp_path / "run", {"node0.log": "", "notes.txt": "", "old/node0.log": ""})
    (run,) = find_runs([str(folder)])
    assert files_of(run) == {"node0": ["node0.log"]}
    assert run.notes == ["Not read, because there are logs next to them: notes.txt, old."]


def test_without_a_log_by_name_other_text_files_are_taken(tmp_path):
    folder = laid_out(tmp_path / "run", {"node0.out": "", "node0.err": "", "node1": "", "config.json": ""})
    (run,) = find_runs([str(folder)])
    assert files_of(run) == {"node0": ["node0.out"], "node1": ["node1"]}
    assert {output.name: [error.name for error in errors] for output, errors in run.errors.items()} == {
        "node0.out": ["node0.err"]
    }


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ("node0.log", "node0.log.err"),
        ("node0.log", "node0.errors"),
        ("node0.log", "node0.ERR"),
        ("node0.log", "stderr_node0.txt"),
        ("node0.txt", "node0_errors.txt"),
        ("node0.stdout", "node0.stderr"),
        ("node0_out.log", "node0_err.log"),
        ("node0.o123", "node0.e123"),
        ("stdout.log", "stderr.log"),
    ],
)
def test_a_standard_error_is_read_with_its_log_whatever_these_are_named(tmp_path, output, error):
    folder = laid_out(
        tmp_path / "run", {output: "x", error: "y", output.replace("node0", "node1").replace("123", "7"): ""}
    )
    (run,) = find_runs([str(folder)])
    assert {log.name: [file.name for file in files] for log, files in run.errors.items()} == {output: [error]}
    assert [file.name for files in run.files.values() for file in files if "err" in file.name.lower()] == []
    assert run.strays == []


def test_in_the_folder_of_a_node_a_standard_error_is_that_of_its_log(tmp_path):
    folder = laid_out(tmp_path / "run", {"node0/train.log": "", "node0/stderr.txt": "x", "node1/train.log": ""})
    (run,) = find_runs([str(folder)])
    assert {log.parent.name: [file.name for file in files] for log, files in run.errors.items()} == {
        "node0": ["stderr.txt"]
    }


def test_a_standard_error_of_no_log_is_a_stray_where_it_says_something(tmp_path):
    logs = {"node0.log": "", "node1.log": "", "stderr.txt": "x", "node9.err": "", "errors.json": "{}", "errata.md": "x"}
    (run,) = find_runs([str(laid_out(tmp_path / "run", logs))])
    assert [file.name for file in run.strays] == ["stderr.txt"]
    (alone,) = find_runs([str(tmp_path / "run" / "node0.log")])
    assert (alone.strays, alone.errors) == ([], {})


@pytest.mark.parametrize(
    ("error", "is_stray"),
    [
        ("err/node0.log", False),
        ("logs.err/node0.txt", False),
        ("more/node0.err", False),
        ("err/rank3", True),
        ("node0.err.1", True),
        ("stderr.3", True),
        ("error.json", True),
        ("torchrun/none_x7/attempt_0/3/stderr.log", True),
        ("torchrun/none_x7/attempt_0/3/error.json", True),
        ("torchrun/none_x7/attempt_0/3/stdout.log", None),
        ("experiment/nemo_error_log.txt", None),
        ("a/b/c/d/e/stderr.log", None),
    ],
)
def test_a_standard_error_below_the_logs_or_with_a_number_is_seen(tmp_path, error, is_stray):
    (run,) = find_runs([str(laid_out(tmp_path / "run", {"node0.log": "", "node1.log": "", error: "x"}))])
    read = {log.name: [str(file.relative_to(run.folder)) for file in files] for log, files in run.errors.items()}
    assert read == ({"node0.log": [error]} if is_stray is False else {})
    assert [str(file.relative_to(run.folder)) for file in run.strays] == ([error] if is_stray else [])
    assert run.notes == (
        [] if is_stray is False else [f"Not read, because there are logs next to them: {error.split('/')[0]}."]
    )


def test_what_a_crash_left_is_a_stray(tmp_path):
    logs = {"node0.log": "", "core.77": "x", "core": "x", "gpucore.9": "x", "core.py": "", "score": ""}
    (run,) = find_runs([str(laid_out(tmp_path / "run", logs))])
    assert sorted(file.name for file in run.strays) == ["core", "core.77", "gpucore.9"]


def names_of(found) -> dict[str, list[str]]:
    return {file.name: [other.name for other in others] for file, others in found.items()}


def test_compressed_logs_are_logs_and_beside_the_log_itself_a_copy(tmp_path):
    names = ("node0.log", "node0.log.gz", "node1.log.xz", "node2.log.bz2", "node0.err.gz", "node3.log.zip")
    (run,) = find_runs([str(laid_out(tmp_path / "run", dict.fromkeys(names, "x")))])
    assert files_of(run) == {"node0": ["node0.log"], "node1": ["node1.log.xz"], "node2": ["node2.log.bz2"]}
    assert (names_of(run.errors), run.strays) == ({"node0.log": ["node0.err.gz"]}, [])
    assert run.notes == ["Not read, because there are logs next to them: node0.log.gz, node3.log.zip."]


def test_a_standard_error_that_python_cannot_unpack_is_a_stray(tmp_path):
    (run,) = find_runs([str(laid_out(tmp_path / "run", {"node0.log": "", "node0.err.zip": "x"}))])
    assert ([file.name for file in run.strays], run.errors) == (["node0.err.zip"], {})


@pytest.mark.parametrize(
    ("names", "older"),
    [
        (("train.log", "train.log.1"), ["train.log.1"]),
        (("train.log", "train.log.1", "train.log.2.gz", "train.log.10.gz"), ["log.10.gz", "log.2.gz", "log.1"]),
        (("train.log", "train.log-20261126", "train.log-20261125.xz"), ["log-20261125.xz", "log-20261126"]),
        (("train.log.gz", "train.log.2026-11-26_09.gz"), ["train.log.2026-11-26_09.gz"]),
    ],
)
def test_the_older_parts_of_a_log_are_its_own_in_the_order_of_their_time(tmp_path, names, older):
    (run,) = find_runs([str(laid_out(tmp_path / "run", dict.fromkeys(names, "x")))])
    assert files_of(run) == {"train": [names[0]]}
    assert names_of(run.parts) == {names[0]: [f"train.{name.removeprefix('train.')}" for name in older]}
    assert run.notes == []


def test_a_number_behind_a_name_without_a_log_of_that_name_is_no_older_part(tmp_path):
    (run,) = find_runs([str(laid_out(tmp_path / "run", {"rank": "x", "rank.1": "x", "node.1": "x"}))])
    assert (list(run.files), run.parts) == (["rank"], {})


def test_of_a_folder_that_cannot_be_a_run_the_others_are_still_found(tmp_path):
    laid_out(tmp_path, {"a/node0.log": "", "b/node0.log.zip": "", "c/x.json": "", "d/node0.log": ""})
    (tmp_path / "e").mkdir()
    runs = find_runs([str(tmp_path / name) for name in "abcde"])
    assert {run.name: bool(run.problem) for run in runs} == {"a": False, "b": True, "c": True, "d": False, "e": True}


def test_a_pattern_takes_no_index_no_plots_and_no_run_made_of_logs(tmp_path):
    made = json.dumps({"logs": {"folder": "/data/x"}})
    laid_out(
        tmp_path,
        {"a/node0.log": "", "index.html": "", "plots/a.svg": "", "note.md": "", "left/.hidden": "", "one.log": ""},
    )
    assert [run.name for run in find_runs([f"{tmp_path}/*"])] == ["a", "left", "one"]
    laid_out(tmp_path / "runs", {"x/plan.json": "{}", "x/nodes/n0/train.log": "", "y/plan.json": "{}"})
    laid_out(tmp_path / "runs", {"x-nodes/plan.json": made, "x-nodes/nodes/n0/status.json": "{}"})
    (run,) = find_runs([f"{tmp_path}/runs/*/nodes"])
    assert (run.name, files_of(run)) == ("x-nodes", {"n0": ["n0/train.log"]})


def test_sub_folders_that_have_sub_folders_are_runs(tmp_path):
    laid_out(tmp_path, {"a/node0/train.log": "", "b/node0.log": "", "b/more/x.log": "", "c/README.md": ""})
    assert [run.name for run in find_runs([str(tmp_path)])] == ["a", "b"]


def test_each_of_several_folders_and_each_match_of_a_pattern_is_a_run(tmp_path):
    laid_out(tmp_path, {"x1/node0.log": "", "x2/node0.log": "", "y/node0.log": ""})
    assert [run.name for run in find_runs([str(tmp_path / "x*"), str(tmp_path / "y")])] == ["x1", "x2", "y"]


def test_runs_of_the_same_name_are_told_apart_by_the_folders_above(tmp_path):
    laid_out(tmp_path, {"before/logs/node0.log": "", "after/logs/node0.log": ""})
    runs = find_runs([str(tmp_path / "before/logs"), str(tmp_path / "after/logs")])
    assert [run.name for run in runs] == ["before-logs", "after-logs"]


def test_the_same_folder_twice_is_refused(tmp_path):
    laid_out(tmp_path, {"a/node0.log": ""})
    with pytest.raises(ValueError, match="named more than once"):
        find_runs([str(tmp_path / "a"), str(tmp_path / "a")])


def test_a_file_is_a_run_of_one_node(tmp_path):
    (run,) = find_runs([str(laid_out(tmp_path, {"train.log": ""}) / "train.log")])
    assert (run.name, list(run.files)) == ("train", ["train"])


def test_the_folder_of_a_run_of_this_collection_is_known(tmp_path):
    laid_out(tmp_path, {"a/plan.json": "{}", "a/nodes/node0/train.log": "", "b/plan.json": "{}"})
    assert [(run.name, run.known) for run in find_runs([str(tmp_path / "a")])] == [("a", True)]
    assert [(run.name, run.known) for run in find_runs([str(tmp_path)])] == [("a", True), ("b", True)]


def test_all_that_is_wrong_is_told_at_once(tmp_path):
    laid_out(tmp_path, {"empty/x.json": "", "packed/node0.log.zip": ""})
    named = [str(tmp_path / name) for name in ("none", "no*ne", "empty", "packed")]
    with pytest.raises(ValueError, match="none does not exist") as refused:
        find_runs(named)
    assert [line.split(" ")[-1] for line in str(refused.value).splitlines()] == [
        "logs",
        "logs",
        "(NODE/train.log)",
        "first",
    ]
    assert f"{tmp_path / 'packed' / 'node0.log.zip'} is compressed in a way" in str(refused.value)


def test_no_folder_at_all_is_told():
    with pytest.raises(ValueError, match="-e training_logs=DIR"):
        find_runs([])


@pytest.mark.parametrize(("text", "name"), [("a b/c", "a-b-c"), ("..x", "x"), ("", "logs"), ("gpu:1_2.3", "gpu:1_2.3")])
def test_a_name_is_made_fit_for_a_folder(text, name):
    assert fit_name(text) == name


def test_relative_paths_are_of_the_current_folder(tmp_path, monkeypatch):
    laid_out(tmp_path, {"a/node0.log": ""})
    monkeypatch.chdir(tmp_path)
    (run,) = find_runs(["a"])
    assert run.folder == Path(tmp_path / "a")
