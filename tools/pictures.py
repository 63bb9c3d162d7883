#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Retakes the pictures of reports in docs/ if the pages that they show have changed; with --check it lists those.

A picture contains the SHA-256 of its page. Only taking one needs Chromium.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from pictured_runs import ROOT, Run, page_of

PICTURES = {
    ROOT / "docs/report.png": Run("monday", 16),
    ROOT / "docs/report_fail.png": Run("tuesday", 16, hangs=("mi300x-003", 12)),
    ROOT / "docs/report_slow_node.png": Run("wednesday", 64, slow=("mi300x-017", 0.05)),
}
SIZE = (1400, 900)
# The last chunk of every PNG file, which has no content.
_END = b"\x00\x00\x00\x00IEND\xaeB`\x82"


def main(arguments: list[str] | None = None) -> int:
    """Take the pictures that are stale, and return the exit status."""
    parser = argparse.ArgumentParser("pictures.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only list the pictures that are stale")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="trainops-pictures-") as folder:
        pages = {picture: page_of(run, Path(folder)) for picture, run in PICTURES.items()}
        digests = {picture: hashlib.sha256(page.read_bytes()).hexdigest() for picture, page in pages.items()}
        stale = [picture for picture, digest in digests.items() if not shows(picture, digest)]
        names = ", ".join(str(picture.relative_to(ROOT)) for picture in stale)
        if options.check and stale:
            print(f"The page has changed since these were taken; run make pictures: {names}", file=sys.stderr)
            return 1
        if stale and not shutil.which("chromium"):
            print(f"Chromium is not installed, so these still show an earlier page: {names}", file=sys.stderr)
            return 0
        for picture in stale if not options.check else ():
            take(pages[picture], picture, digests[picture])
            print(f"Took {picture.relative_to(ROOT)}")
    return 0


def shows(picture: Path, digest: str) -> bool:
    """Return whether a picture was taken of the page with a digest."""
    return picture.exists() and digest.encode() in picture.read_bytes()


def take(page: Path, picture: Path, digest: str) -> None:
    """Take a picture of the first screen of a page, and keep the digest in it."""
    size = ",".join(map(str, SIZE))
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={size}"]
    subprocess.run([*command, f"--screenshot={picture}", page.as_uri()], check=True, stderr=subprocess.DEVNULL)
    picture.write_bytes(with_text(picture.read_bytes(), b"page", digest.encode()))


def with_text(png: bytes, key: bytes, text: bytes) -> bytes:
    """Return a PNG file with a text in it that no viewer shows (RFC 2083, tEXt)."""
    content = b"tEXt" + key + b"\0" + text
    chunk = struct.pack(">I", len(content) - 4) + content + struct.pack(">I", zlib.crc32(content))
    return png.removesuffix(_END) + chunk + _END


if __name__ == "__main__":
    sys.exit(main())
