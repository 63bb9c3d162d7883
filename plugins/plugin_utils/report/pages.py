# SPDX-License-Identifier: GPL-3.0-or-later
"""The basis of all HTML pages: templates, which need no network."""

from __future__ import annotations

import contextlib
import functools
import html
import json
import re
import sys
import typing as t
from collections.abc import Mapping
from importlib.util import cache_from_source
from pathlib import Path

import jinja2

from ..text.slowness import at_most, bounds, signed
from .readable import instant, measured, number, percent, plural, retry_label, shown, titled, with_unit

if t.TYPE_CHECKING:
    from jinja2.bccache import Bucket
    from markupsafe import Markup


class _Compiled(jinja2.FileSystemBytecodeCache):
    """Compiled templates, next to Python's own compiled files; without that folder, each page compiles them again."""

    def load_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)


def page_of(template: str, charts: Mapping[str, Markup], **given: t.Any) -> str:
    """Return a page as self-contained HTML; its template finds the charts in ``charts``, by name."""
    environment = _environment()
    return environment.get_template(template).render(
        charts=charts,
        version=_version(),
        sections=environment.list_templates(filter_func=lambda name: name.startswith("sections/")),
        **given,
    )


def contents(page: str) -> list[tuple[str, str]]:
    """Return the sections of a page that have a name, as pairs of id and title."""
    found = []
    for section in re.split(r"(?=<section )", page)[1:]:
        head = re.match(r'<section id="([\w-]+)"(?: data-title="([^"]+)")?', section)
        title = head and (head[2] or ((heading := re.search(r"<h2[^>]*>([^<]+)</h2>", section)) and heading[1]))
        if head and title:
            found.append((head[1], html.unescape(title)))
    return found


@functools.cache
def _version() -> str:
    """Return the version of this collection; empty without its manifest and its galaxy.yml."""
    root = Path(__file__).resolve().parents[3]
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return str(json.loads((root / "MANIFEST.json").read_text(encoding="utf-8"))["collection_info"]["version"])
    with contextlib.suppress(OSError):
        found = re.search(r"^version: *(\S+)", (root / "galaxy.yml").read_text(encoding="utf-8"), re.MULTILINE)
        return found[1] if found else ""
    return ""


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "page"),
        autoescape=True,
        finalize=shown,
        undefined=jinja2.ChainableUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=None if sys.dont_write_bytecode else _Compiled(str(Path(cache_from_source(__file__)).parent)),
    )
    filters = (
        number,
        titled,
        instant,
        retry_label,
        plural,
        measured,
        percent,
        with_unit,
        contents,
        at_most,
        bounds,
        signed,
    )
    environment.filters |= {shows.__name__: shows for shows in filters}
    return environment
