# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import typing as t

import _image

if t.TYPE_CHECKING:
    from pathlib import Path


def trainer(folder: Path) -> Path:
    (folder / "examples/llama/__pycache__").mkdir(parents=True)
    (folder / "examples/llama/train_llama3.sh").write_text("echo iteration 1\n")
    (folder / "examples/llama/train_llama3.sh").chmod(0o755)
    (folder / "examples/llama/__pycache__/x.pyc").write_bytes(b"x")
    return folder


def members(layer: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
        return {entry.name: entry for entry in archive}


def test_the_clones_trainer_is_in_its_layer_without_what_python_left(tmp_path: Path) -> None:
    found = members(_image.own_layer(trainer(tmp_path)))

    assert set(found) == {
        "etc/passwd",
        "etc/group",
        "workspace/Megatron-LM",
        "workspace/Megatron-LM/examples",
        "workspace/Megatron-LM/examples/llama",
        "workspace/Megatron-LM/examples/llama/train_llama3.sh",
    }
    assert found["workspace/Megatron-LM/examples/llama/train_llama3.sh"].mode == 0o755


def test_the_same_trainer_is_the_same_layer_whenever_it_was_written(tmp_path: Path) -> None:
    first = _image.own_layer(trainer(tmp_path))
    os.utime(tmp_path / "examples/llama/train_llama3.sh", (1, 1))

    assert _image.own_layer(tmp_path) == first


def test_names_and_digests_of_the_archive_fit_its_contents(tmp_path: Path) -> None:
    debian = tmp_path / "debian.tar"
    debian.write_bytes(b"debian")

    found = dict(_image.archive_members(debian, b"own", "amd64"))

    manifest = json.loads(t.cast("bytes", found["manifest.json"]))
    assert [entry["RepoTags"] for entry in manifest] == [[_image.NAME]]
    config_name = manifest[0]["Config"]
    config_text = t.cast("bytes", found[config_name])
    assert config_name == f"{hashlib.sha256(config_text).hexdigest()}.json"
    layers = [hashlib.sha256(content).hexdigest() for content in (b"debian", b"own")]
    config = json.loads(config_text)
    assert config["rootfs"]["diff_ids"] == [f"sha256:{digest}" for digest in layers]
    assert config["architecture"] == "amd64"
    assert manifest[0]["Layers"] == [f"{digest}.tar" for digest in layers]
    assert [found[name] for name in manifest[0]["Layers"]] == [debian, b"own"]
