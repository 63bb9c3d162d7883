#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the site: the pages of docs/, and a reference of plugins and roles from their own documentation.

The site is docs/_build/html; it needs no network, neither to be built nor to be read. A warning ends the build.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
BUILD = DOCS / "_build"
REPOSITORY = "https://github.com/trainops/cluster/blob/main"

REFERENCE = "Plugins and roles"

# Pages elsewhere in the repository, by their name on the site.
MOVED = {"contributing.md": ROOT / "CONTRIBUTING.md", "changelog.md": ROOT / "CHANGELOG.md"}
PICTURES = (".svg", ".png")
# In the index, this line stands for all other pages of docs/.
OTHERS = "others"

_CONTENTS = re.compile(r"^\.\. contents::\n(?:   :.*\n)*", re.MULTILINE)
_TITLE_OF_REFERENCE = re.compile(r"^Trainops\.Cluster\n=+$", re.MULTILINE)
_ENTRY = re.compile(r"^    (?P<name>\w+)_(?P<kind>module|callback|filter|inventory|role)$", re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")


def pages() -> dict[str, Path]:
    """Return the file of each page of the site, by its name there."""
    return {path.name: path for path in sorted(DOCS.glob("*.md"))} | MOVED


def site_text(text: str, source: Path) -> str:
    """Return a page with its relative links pointing to pages of the site, or into the repository for all other files.

    Raises ValueError if a link leads to nothing.
    """
    names = {path: name for name, path in pages().items()}
    missing = []

    def target(link: re.Match[str]) -> str:
        wanted, anchor = link.group(1), link.group(2) or ""
        path = (source.parent / wanted).resolve()
        if wanted in MOVED or path in names:
            return (wanted if wanted in MOVED else names[path]) + anchor
        if path.parent == DOCS and path.suffix in PICTURES:
            return wanted
        if not path.exists():
            missing.append(wanted)
        return f"{REPOSITORY}/{path.relative_to(ROOT)}{anchor}"

    text = _LINK.sub(target, text)
    if missing:
        raise ValueError(f"{source.relative_to(ROOT)} has broken links: {', '.join(missing)}")
    return text


def index_text(text: str) -> str:
    """Return the index with the pages that it does not name in the place of the line ``others``."""
    named = set(text.split())
    left = [name for name in (page.removesuffix(".md") for page in pages()) if name not in {*named, "index"}]
    return re.sub(rf"^{OTHERS}\n", "".join(f"{name}\n" for name in left), text, flags=re.MULTILINE)


def gather(folder: Path) -> None:
    """Write the sources for Sphinx to a folder; raise ValueError with all links that lead nowhere."""
    shutil.copy(DOCS / "conf.py", folder)
    for picture in DOCS.iterdir():
        if picture.suffix in PICTURES:
            shutil.copy(picture, folder)
    styles = folder / "styles"
    styles.mkdir()
    shutil.copy(DOCS / "site.css", styles)
    wrong = []
    for name, path in pages().items():
        text = path.read_text(encoding="utf-8")
        try:
            text = site_text(index_text(text) if name == "index.md" else text, path)
        except ValueError as error:
            wrong.append(str(error))
        (folder / name).write_text(text, encoding="utf-8")
    if wrong:
        raise ValueError("\n".join(wrong))


def reference_text(text: str) -> str:
    """Return a page of antsibull-docs as it suits the theme, which shows the contents of the page and of the site."""
    text = _CONTENTS.sub("", text)
    text = _TITLE_OF_REFERENCE.sub(f"{REFERENCE}\n{'=' * len(REFERENCE)}", text)
    return _ENTRY.sub(lambda entry: f"    {entry['name']} {entry['kind']} <{entry[0].strip()}>", text)


def write_reference(folder: Path) -> None:
    """Write a page for each plugin and role, from the output of `ansible-doc`."""
    folder.mkdir()
    command = ["antsibull-docs", "collection", "--use-current", "--squash-hierarchy", "--fail-on-error"]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections")}
    subprocess.run([*command, "--dest-dir", str(folder), "trainops.cluster"], env=environment, check=True)
    for page in folder.glob("*.rst"):
        page.write_text(reference_text(page.read_text(encoding="utf-8")), encoding="utf-8")


def fetched(site: Path) -> list[str]:
    """Return everything that pages would fetch from elsewhere when they are read: pictures, scripts and styles."""
    loads = re.compile(
        r'<(?:script|img|iframe)[^>]*\ssrc="((?:https?:)?//[^"]*)|<link[^>]*rel="stylesheet"[^>]*href="(https?:[^"]*)'
    )
    return sorted(
        {first or second for page in site.rglob("*.html") for first, second in loads.findall(page.read_text("utf-8"))}
    )


def main() -> int:
    """Build the site and return the exit status."""
    source = BUILD / "source"
    shutil.rmtree(BUILD, ignore_errors=True)
    source.mkdir(parents=True)
    try:
        gather(source)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    print("Writing the reference of plugins and roles (about a minute)", flush=True)
    write_reference(source / "reference")
    print("Building the pages (about two minutes)", flush=True)
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--quiet", "--fail-on-warning", "--keep-going"]
    done = subprocess.run([*command, str(source), str(BUILD / "html")], check=False)
    foreign = fetched(BUILD / "html")
    if foreign:
        print(f"The site has to be readable without a network, and would fetch {', '.join(foreign)}", file=sys.stderr)
        return 1
    if done.returncode == 0:
        print(f"The site is {BUILD.relative_to(ROOT) / 'html/index.html'}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
