# SPDX-License-Identifier: GPL-3.0-or-later
"""How Sphinx makes the site; tools/build_site.py gathers its pages and calls it."""

from docutils import nodes

project = "trainops.cluster"
author = "The trainops.cluster maintainers"
copyright = f"2026, {author}"  # noqa: A001

extensions = ["myst_parser", "sphinx_antsibull_ext", "sphinx_copybutton"]
myst_enable_extensions = ["attrs_block", "colon_fence"]
myst_heading_anchors = 4
# Ansible's own pages are not read while building, so that this needs no network.
nitpicky = False
suppress_warnings = ["ref.ref", "myst.header"]

html_theme = "furo"
html_title = "trainops.cluster"
html_static_path = ["styles"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
# The tables of the reference have colours for a light page only; the theme knows which one a reader chose.
html_theme_options = {
    "light_css_variables": {
        "antsibull-table-background-header": "var(--color-background-secondary)",
        "antsibull-table-background-even": "var(--color-background-secondary)",
        "antsibull-narrowtable-background": "var(--color-background-secondary)",
        "antsibull-table-border": "var(--color-background-border)",
    },
    "dark_css_variables": {
        "antsibull-table-background-odd": "var(--color-background-primary)",
        "antsibull-option-type": "#ff93ff",
        "antsibull-option-elements": "#ff93ff",
        "antsibull-option-required": "#ff8282",
        "antsibull-option-version-added": "#71d471",
        "antsibull-option-aliases": "#71d471",
        "antsibull-option-default": "#adadff",
        "antsibull-option-sample": "#adadff",
        "antsibull-option-sample-header": "#fff",
        "antsibull-attribute-support-none": "#ff8282",
        "antsibull-attribute-support-partial": "#d0d000",
        "antsibull-attribute-support-full": "#3fd03f",
    },
}
copybutton_exclude = ".linenos, .gp"


def setup(app):
    """Let tables be lists on a narrow screen, where no table of seven columns fits."""
    app.connect("doctree-resolved", name_cells)


def name_cells(_app, page, name):
    """Give each cell of a table the name of its column, which site.css shows where it shows a table as a list."""
    for table in page.findall(nodes.table) if not name.startswith("reference/") else ():
        heads = [entry.astext() for entry in next(table.findall(nodes.thead)).findall(nodes.entry)]
        table["classes"].append("named-cells")
        for row in next(table.findall(nodes.tbody)).children:
            for head, entry in list(zip(heads, row.children, strict=False))[1:]:
                if entry.astext():
                    entry.insert(0, nodes.inline(head, head, classes=["column-name"]))
