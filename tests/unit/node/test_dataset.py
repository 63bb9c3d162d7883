from __future__ import annotations

import contextlib
import functools
import http.server
import os
import shutil
import subprocess
import threading
import typing as t
from pathlib import Path

import pytest
from not_run import need
from real_training import wait_until

from ansible_collections.trainops.cluster.plugins.module_utils.node.dataset import dataset_function
from ansible_collections.trainops.cluster.plugins.module_utils.node.launch import launch_script

# The inputs and outputs of Megatron-LM's script, without the gigabytes.
PREPARE = """\
echo "$DATASET $DATA_DIR $TOKENIZER_MODEL" >>"$DATA_DIR/fetched"
echo text >"$DATA_DIR/data.jsonl"
echo tokens >"$DATA_DIR/data_text_document.bin"
echo index >"$DATA_DIR/data_text_document.idx"
"""


class Cluster:
    """Nodes whose launch scripts run the same trainer's checkout and fetch to one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "it's data"
        self.trainer = folder / "trainer"
        (self.trainer / "examples").mkdir(parents=True)
        self.dataset: dict[str, t.Any] = {
            "name": "wiki",
            "folder": str(self.data),
            "prefix": str(self.data / "data_text_document"),
            "script": "examples/prepare_dataset.sh",
            "tokenizer": "a'b",
            "urls": [],
        }
        self.prepare(PREPARE)

    def prepare(self, script: str) -> None:
        (self.trainer / "examples/prepare_dataset.sh").write_text(script)

    def launch(self, name: str = "gpu0", progress_seconds: float = 60, **environment: str) -> subprocess.Popen[bytes]:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        node = {
            "node": name,
            "node_rank": 0,
            "env": {},
            "argv": ["bash", "-c", "echo training"],
            "working_dir": str(self.trainer),
            "run_folder": str(folder),
            "log_file": str(folder / "train.log"),
            "dataset": self.dataset,
        }
        (folder / "launch.sh").write_text(launch_script(node, "run-1", dataset_function(node, progress_seconds)))
        return subprocess.Popen(["bash", str(folder / "launch.sh")], env={**os.environ, **environment})

    def run(self, name: str = "gpu0", **environment: str) -> int:
        return self.launch(name, 60, **environment).wait()

    def log(self, name: str = "gpu0") -> str:
        """Return the contents of a node's log, without its first line."""
        path = self.folder / name / "train.log"
        return path.read_text(encoding="utf-8").partition("\n")[2] if path.exists() else ""

    def fetched(self) -> list[str]:
        return (self.data / "fetched").read_text().splitlines()


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


def test_a_plan_without_a_dataset_prepares_nothing() -> None:
    assert dataset_function({}) == {}


def test_the_script_gets_what_it_reads_and_the_training_follows(cluster: Cluster) -> None:
    assert cluster.run() == 0
    assert cluster.fetched() == [f"wiki {cluster.data} a'b"]
    assert cluster.log().splitlines() == [
        f"Dataset wiki tokenized with a'b: fetching to {cluster.data}",
        "training",
    ]
    assert (cluster.data / "trainops_dataset").read_text() == "wiki tokenized with a'b\n"
    assert not (cluster.data / "trainops_dataset.begun").exists()


def test_what_is_there_is_not_fetched_again(cluster: Cluster) -> None:
    assert (cluster.run(), cluster.run("gpu1")) == (0, 0)
    assert len(cluster.fetched()) == 1
    assert cluster.log("gpu1").splitlines() == [
        f"Dataset wiki tokenized with a'b: already there, {cluster.data}/data_text_document",
        "training",
    ]


def test_two_nodes_at_once_on_one_folder_fetch_once_and_the_other_waits(cluster: Cluster) -> None:
    go = cluster.folder / "go"
    os.mkfifo(go)
    cluster.prepare(f'read -r _ <"{go}"\n{PREPARE}')
    nodes = {name: cluster.launch(name) for name in ("gpu0", "gpu1")}
    wait_until(lambda: "waiting" in cluster.log("gpu0") + cluster.log("gpu1"))
    wait_until(lambda: "fetching" in cluster.log("gpu0") + cluster.log("gpu1"))
    assert "training" not in cluster.log("gpu0") + cluster.log("gpu1")
    go.write_text("go\n")
    assert [process.wait() for process in nodes.values()] == [0, 0]
    assert len(cluster.fetched()) == 1
    logs = [cluster.log(name) for name in nodes]
    assert all(log.endswith("training\n") for log in logs)
    assert sorted("already there" in log for log in logs) == [False, True]


def test_a_fetch_that_fails_ends_the_launch_with_its_status_and_its_output_in_the_log(cluster: Cluster) -> None:
    cluster.prepare("echo no route to host >&2; exit 42")
    assert cluster.run() == 42
    assert cluster.log().splitlines()[1:] == [
        "no route to host",
        f"ERROR: fetching the dataset wiki tokenized with a'b to {cluster.data} failed with exit status 42",
    ]
    assert (cluster.folder / "gpu0/exit_status").read_text().splitlines()[0] == "42"
    assert not (cluster.data / "trainops_dataset").exists()


def test_after_a_failure_the_next_attempt_starts_without_half_a_download(cluster: Cluster) -> None:
    cluster.prepare('echo half >"$DATA_DIR/data.jsonl"; touch "$DATA_DIR/data_text_document.bin"; exit 1')
    assert cluster.run() == 1
    cluster.prepare(f"[[ -e $DATA_DIR/data.jsonl ]] && exit 5\n{PREPARE}")
    assert cluster.run("gpu1") == 0
    assert (cluster.data / "data.jsonl").read_text() == "text\n"


def test_another_node_tries_after_the_first_has_been_killed(cluster: Cluster) -> None:
    cluster.prepare('echo $$ >"$DATA_DIR/pid.new"; mv "$DATA_DIR/pid.new" "$DATA_DIR/pid"; exec cat "$DATA_DIR/never"')
    cluster.data.mkdir()
    os.mkfifo(cluster.data / "never")
    first = cluster.launch()
    pid = wait_until(lambda: (cluster.data / "pid").exists() and int((cluster.data / "pid").read_text()))
    second = cluster.launch("gpu1")
    wait_until(lambda: "waiting" in cluster.log("gpu1"))
    cluster.prepare(PREPARE)
    os.kill(pid, 9)
    assert (first.wait(), second.wait()) == (137, 0)
    assert cluster.log("gpu1").endswith("training\n")


def test_a_script_that_hides_its_failure_is_found_out_by_what_it_left(cluster: Cluster) -> None:
    cluster.prepare("echo Killed")
    assert cluster.run() == 1
    assert cluster.log().splitlines()[-1] == (
        f"ERROR: fetching the dataset wiki tokenized with a'b left no {cluster.data}/data_text_document.bin and "
        ".idx: the fetch failed silently, or this image's examples/prepare_dataset.sh does not read DATA_DIR"
    )


def test_a_folder_with_another_dataset_or_another_tokenizer_is_left_alone(cluster: Cluster) -> None:
    assert cluster.run() == 0
    cluster.dataset["tokenizer"] = "other"
    assert cluster.run("gpu1") == 1
    assert cluster.log("gpu1").splitlines() == [
        f"ERROR: {cluster.data} holds the dataset wiki tokenized with a'b, not wiki tokenized with other; "
        "choose another data_dir"
    ]
    assert len(cluster.fetched()) == 1


def test_what_somebody_else_has_put_there_is_not_overwritten(cluster: Cluster) -> None:
    cluster.data.mkdir()
    (cluster.data / "data_text_document.bin").write_text("precious")
    assert cluster.run() == 1
    assert "no run has fetched it; set data_path to train on it" in cluster.log()
    assert (cluster.data / "data_text_document.bin").read_text() == "precious"


def test_a_folder_that_cannot_be_made_ends_the_launch(cluster: Cluster) -> None:
    cluster.data.write_text("a file")
    assert cluster.run() == 1
    assert "cannot create directory" in cluster.log()
    assert "training" not in cluster.log()


def test_a_long_fetch_tells_how_far_it_is_and_only_while_it_gets_on(cluster: Cluster) -> None:
    go = cluster.folder / "go"
    os.mkfifo(go)
    cluster.prepare(f'head -c 3M /dev/zero >"$DATA_DIR/data.jsonl"; read -r _ <"{go}"\n{PREPARE}')
    process = cluster.launch(progress_seconds=0.05)
    wait_until(lambda: f"3 MiB in {cluster.data}" in cluster.log())
    go.write_text("go\n")
    assert process.wait() == 0
    assert cluster.log().count("3 MiB") == 1


class _Files(http.server.SimpleHTTPRequestHandler):
    """A file server that can resume, like the servers of datasets."""

    asked: t.ClassVar[list[tuple[str, str | None]]] = []

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        wanted = self.headers.get("Range")
        self.asked.append((path.name, wanted))
        if not path.exists():
            self.send_error(404)
            return
        start = int(wanted.split("=")[1].rstrip("-")) if wanted else 0
        body = path.read_bytes()
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        self.wfile.write(body[start:])

    def log_message(self, *_: t.Any) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def downloads(cluster: Cluster) -> t.Iterator[Cluster]:
    """Return a cluster whose dataset is a set of files of a server on this machine."""
    served = cluster.folder / "served"
    served.mkdir()
    for name in ("a.json", "deep.bin", "deep.idx"):
        (served / name).write_text(f"all of {name}")
    _Files.asked.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Files, directory=str(served)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    cluster.dataset = {
        "name": "deepseek",
        "folder": str(cluster.data),
        "prefix": str(cluster.data / "deep"),
        "script": "",
        "tokenizer": "",
        "urls": [f"{base}/{name}" for name in ("a.json", "deep.bin", "deep.idx")],
    }
    with contextlib.closing(server.socket):
        yield cluster
        server.shutdown()


def only_with(folder: Path, *programs: str) -> dict[str, str]:
    """Return the environment of an image that has only these of the programs that could download."""
    folder.mkdir()
    used = ("bash", "mkdir", "flock", "cat", "mv", "du", "cut", "rm", *programs)
    need(*used)
    for program in used:
        (folder / program).symlink_to(str(shutil.which(program)))
    return {"PATH": str(folder)}


@pytest.mark.parametrize("program", ["wget", "curl"])
def test_files_are_downloaded_with_what_the_image_has_and_a_broken_download_goes_on(
    program: str, downloads: Cluster, tmp_path: Path
) -> None:
    image = only_with(tmp_path / "bin", program)
    downloads.data.mkdir()
    (downloads.data / "trainops_dataset.begun").write_text("deepseek\n")
    (downloads.data / "a.json").write_text("complete")
    (downloads.data / "deep.bin.part").write_text("all of")
    assert downloads.run(**image) == 0, downloads.log()
    assert _Files.asked == [("deep.bin", "bytes=6-"), ("deep.idx", None)]
    texts = {path.name: path.read_text() for path in downloads.data.iterdir()}
    assert texts == {
        "a.json": "complete",
        "deep.bin": "all of deep.bin",
        "deep.idx": "all of deep.idx",
        "trainops_dataset": "deepseek\n",
        "trainops_dataset.lock": "",
    }
    assert downloads.log().endswith("training\n")


@pytest.mark.parametrize(("program", "status"), [("wget", 8), ("curl", 22)])
def test_a_file_that_is_not_to_be_had_ends_the_launch(
    program: str, status: int, downloads: Cluster, tmp_path: Path
) -> None:
    image = only_with(tmp_path / "bin", program)
    (downloads.folder / "served/deep.bin").unlink()
    assert downloads.run(**image) == status
    assert "404" in downloads.log()
    assert "training" not in downloads.log()
    assert (downloads.data / "a.json").read_text() == "all of a.json"


def test_an_image_with_neither_is_told(downloads: Cluster, tmp_path: Path) -> None:
    assert downloads.run(**only_with(tmp_path / "bin")) == 127
    assert f"ERROR: there is neither wget nor curl here to fetch {downloads.dataset['urls'][0]}\n" in downloads.log()
