"""The pages of the site: their links lead somewhere, and the index names all of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "collections")]

import build_site

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.files import HELP

PAGE = ROOT / "docs/getting_started.md"


def test_links_to_pages_stay_on_the_site_and_all_others_lead_to_the_repository():
    text = (
        "[a](architecture.md#rooms) [b](../CONTRIBUTING.md) [c](../examples/megatron) [d](https://example.org) [e](#f)"
    )
    assert build_site.site_text(text, PAGE) == (
        "[a](architecture.md#rooms) [b](contributing.md) "
        "[c](https://github.com/trainops/cluster/blob/main/examples/megatron) [d](https://example.org) [e](#f)"
    )


def test_a_link_that_leads_to_nothing_is_named():
    with pytest.raises(ValueError, match=r"docs/getting_started.md has broken links: gone.md, ../gone"):
        build_site.site_text("[a](gone.md) [b](../gone) [c](architecture.md)", PAGE)


def test_the_help_that_terminals_and_reports_link_to_is_a_page():
    assert HELP.startswith(f"{build_site.REPOSITORY}/docs/")
    assert HELP.rpartition("/")[2] in build_site.pages()


def test_every_page_is_in_the_index(tmp_path):
    build_site.gather(tmp_path)
    index = (tmp_path / "index.md").read_text().split()
    names = {path.stem for path in tmp_path.glob("*.md")} - {"index"}
    assert names - set(index) == set()
    assert build_site.OTHERS not in index


def test_the_navigation_names_plugins_in_a_word_or_two():
    page = (
        "Trainops.Cluster\n================\n\n.. contents::\n   :local:\n\n    training_plan_module\n    report_role\n"
    )
    assert build_site.reference_text(page) == (
        "Plugins and roles\n=================\n\n\n"
        "    training_plan module <training_plan_module>\n    report role <report_role>\n"
    )


def test_what_a_page_would_fetch_is_found(tmp_path):
    page = tmp_path / "page.html"
    page.write_text('<a href="https://example.org"></a><script src="_static/own.js"></script>')
    assert build_site.fetched(tmp_path) == []
    page.write_text(
        '<img alt="" src="https://example.org/a.png"><link rel="stylesheet" href="https://example.org/b.css">'
    )
    assert build_site.fetched(tmp_path) == ["https://example.org/a.png", "https://example.org/b.css"]
