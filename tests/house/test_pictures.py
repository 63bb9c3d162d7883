# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of reports in docs/: the run that each shows, and the page that it was taken of."""

from __future__ import annotations

import json
import struct
import sys
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "collections")]

import pictures
from pictured_runs import Run, page_of

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.text import verdict_lines

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(name: bytes, content: bytes = b"") -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def test_a_picture_knows_the_page_that_it_was_taken_of(tmp_path: Path) -> None:
    picture, digest = tmp_path / "report.png", "a1" * 32
    picture.write_bytes(SIGNATURE + chunk(b"IHDR", bytes(13)) + chunk(b"IEND"))
    assert not pictures.shows(picture, digest)
    picture.write_bytes(pictures.with_text(picture.read_bytes(), b"page", digest.encode()))
    assert pictures.shows(picture, digest)
    text = chunk(b"tEXt", b"page\0" + digest.encode())
    assert picture.read_bytes() == SIGNATURE + chunk(b"IHDR", bytes(13)) + text + chunk(b"IEND")


def test_every_picture_of_the_docs_can_be_retaken() -> None:
    assert set(pictures.PICTURES) == set((ROOT / "docs").glob("*.png"))


@pytest.mark.slow
def test_a_run_that_is_shown_is_the_same_every_time(tmp_path: Path) -> None:
    run = Run("monday", 4, slow=("mi300x-002", 0.05))
    first, second = (page_of(run, tmp_path / folder) for folder in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()
    summary = json.loads((first.parent / "summary.json").read_text())
    assert summary["verdict"] == "PASS"
    assert [slow["node"] for slow in summary["stragglers"]["nodes"]] == ["mi300x-002"]


def test_a_failed_run_that_is_shown_names_its_gpu_hang(tmp_path: Path) -> None:
    page = page_of(Run("tuesday", 3, hangs=("mi300x-001", 12)), tmp_path)
    summary = json.loads((page.parent / "summary.json").read_text())
    failure = summary["first_failure"]
    assert (summary["verdict"], failure["class"], failure["node"]) == ("FAIL", "gpu_hang", "mi300x-001")


@pytest.mark.slow
def test_the_readme_shows_how_the_failed_run_of_its_picture_ends_on_the_terminal(tmp_path: Path) -> None:
    page = page_of(pictures.PICTURES[ROOT / "docs/report_fail.png"], tmp_path)
    *lines, _report = (line.text for line in verdict_lines(str(page)))
    assert f"```text\n{chr(10).join(lines)}\n```" in (ROOT / "README.md").read_text("utf-8")
