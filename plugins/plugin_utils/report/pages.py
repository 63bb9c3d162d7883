# SPDX-License-Identifier: GPL-3.0-or-later
"""What all HTML pages share: their templates, and the plots in them, which need no network."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from pathlib import Path

import jinja2
from bokeh.embed import components
from bokeh.resources import Resources
from markupsafe import Markup

from .readable import instant, number, plural, shown, titled

if t.TYPE_CHECKING:
    from bokeh.plotting import figure


def page_of(template: str, charts: Mapping[str, figure], **given: t.Any) -> str:
    """Return a page as self-contained HTML; in its template ``charts`` are the places of the charts by their names."""
    script, places = components(dict(charts)) if charts else ("", {})
    # Only the core: no widgets, tables, WebGL or MathJax, which would triple the page.
    bokeh = Resources(mode="inline", components=["bokeh"]).render_js() if charts else ""
    environment = _environment()
    return environment.get_template(template).render(
        charts={name: Markup(place) for name, place in places.items()},
        scripts=Markup(bokeh + script),
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
    )
    environment.filters |= {"number": number, "titled": titled, "instant": instant, "plural": plural}
    return environment
