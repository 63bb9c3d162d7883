# SPDX-License-Identifier: GPL-3.0-or-later
"""The container image of the tests: a small Debian with Python, the RDMA tools and the project's own trainer.

No engine and no registry takes part: the file is put together here, in the layout of ``docker save``, which ``podman
load`` and ``docker load`` both read (Docker Image Specification v1.2, "Combined Image JSON + Filesystem Changeset
Format"). It has two layers: Debian, kept in the cache, and files of this clone.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import typing as t
from pathlib import Path

import _host
import _rootfs
from _run import run

NAME: t.Final = "localhost/trainops/trainer:1"
WORKSPACE: t.Final = "workspace/Megatron-LM"

PACKAGES: t.Final = (
    "bash",
    "coreutils",
    "dash",
    "grep",
    "hostname",
    "ibverbs-providers",
    "ibverbs-utils",
    "iproute2",
    "libc-bin",
    "procps",
    "python3",  # the trainer needs more than python3-minimal's half of the standard library
    "sed",
)

# Debian makes these when its packages are configured; the image is unpacked only. GPU launches say `--group-add video`.
_ACCOUNTS: t.Final = {
    "etc/passwd": b"root:x:0:0:root:/root:/bin/bash\n",
    "etc/group": b"root:x:0:\nvideo:x:44:\nrender:x:109:\n",
}


def write(out: Path, cache: Path, trainer: Path, *, install: bool) -> None:
    """Write the image archive to ``out``. ``trainer`` is the folder that becomes /workspace/Megatron-LM.

    Raises CannotRunHereError if mmdebstrap is missing, ClusterError if Debian's packages cannot be had.
    """
    debian = _debian_layer(cache, install=install)
    architecture = run(["dpkg", "--print-architecture"]).strip()
    with tarfile.open(out, "w") as archive:
        for name, content in archive_members(debian, own_layer(trainer), architecture):
            if isinstance(content, Path):
                archive.add(content, name, filter=_anonymous)
            else:
                _add(archive, name, content)


def archive_members(debian: Path, own: bytes, architecture: str) -> list[tuple[str, bytes | Path]]:
    """Names and contents of the files in an image archive of two layers. The same input gives the same image."""
    layers: list[tuple[str, bytes | Path]] = [(_digest(debian), debian), (hashlib.sha256(own).hexdigest(), own)]
    config = {
        "created": "1970-01-01T00:00:00Z",
        "architecture": architecture,
        "os": "linux",
        "config": {
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"],
            "Cmd": ["/bin/bash"],
            "WorkingDir": f"/{WORKSPACE}",
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest, _ in layers]},
        "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "trainops.cluster"} for _ in layers],
    }
    config_text = json.dumps(config, sort_keys=True).encode()
    config_name = f"{hashlib.sha256(config_text).hexdigest()}.json"
    files = [(f"{digest}.tar", content) for digest, content in layers]
    manifest = [{"Config": config_name, "RepoTags": [NAME], "Layers": [name for name, _ in files]}]
    return [("manifest.json", json.dumps(manifest).encode()), (config_name, config_text), *files]


def own_layer(trainer: Path) -> bytes:
    """A tar of the accounts and of ``trainer``, independent of owners and times."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as layer:
        for name, text in _ACCOUNTS.items():
            _add(layer, name, text)
        layer.add(trainer, WORKSPACE, filter=_without_leftovers)
    return content.getvalue()


def _debian_layer(cache: Path, *, install: bool) -> Path:
    key = hashlib.sha256(" ".join((_rootfs.SUITE, *PACKAGES)).encode()).hexdigest()[:12]
    layer = cache / f"image-{key}.tar"
    if not layer.exists():
        _host.require(_host.TO_BUILD, install=install)
        print(f"building the image's Debian layer, once for this machine: {layer}", flush=True)
        os.environ["SOURCE_DATE_EPOCH"] = "0"  # the time that mmdebstrap gives to every file
        unfinished = cache / f"{layer.stem}.unfinished.tar"
        merged = "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr"  # /bin is /usr/bin, as on an installed Debian
        _rootfs.mmdebstrap(unfinished, "extract", PACKAGES, "--skip=output/dev", merged)
        unfinished.rename(layer)
    return layer


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = "root"
    return entry


def _without_leftovers(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """None for leftovers of Python or git in the clone's folder."""
    name = Path(entry.name).name
    return None if name in {"__pycache__", ".gitkeep"} else _anonymous(entry)
