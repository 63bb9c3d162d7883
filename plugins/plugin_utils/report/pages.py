# SPDX-License-Identifier: GPL-3.0-or-later
"""What all HTML pages share: their templates, which need no network."""

from __future__ import annotations

import contextlib
import sys
import typing as t
from collections.abc import Mapping
from importlib.util import cache_from_source
from pathlib import Path

import jinja2

from .readable import instant, measured, number, plural, retry_label, shown, titled

if t.TYPE_CHECKING:
    from jinja2.bccache import Bucket
    from markupsafe import Markup


class _Compiled(jinja2.FileSystemBytecodeCache):
    """Compiled templates, next to Python's own compiled files; without that folder each page compiles its own."""

    def load_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)


def page_of(template: str, charts: Mapping[str, Markup], **given: t.Any) -> str:
    """Return a page as self-contained HTML; in its template ``charts`` are the charts by their names."""
    environment = _environment()
    return environment.get_template(template).render(
        charts=charts,
        sections=environment.list_templates(filter_func=lambda name: name.startswith("sections/")),
        **given,
    )


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
    filters = (number, titled, instant, retry_label, plural, measured)
    environment.filters |= {shows.__name__: shows for shows in filters}
    return environment
