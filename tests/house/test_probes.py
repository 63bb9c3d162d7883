"""A probe is a row of `module_utils.node.probes.known`, and one in the table of the page for users."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.known import PROBES, Probe

PAGE = Path(__file__).resolve().parents[2] / "docs/isolation.md"
# The names in the first cell of a row -> the row.
ROWS = {
    name: row
    for row in PAGE.read_text("utf-8").splitlines()
    if row.startswith("| `")
    for name in re.findall(r"`(\w+)`", row.split("|")[1])
}


@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
def test_the_page_describes_each_probe_and_says_whether_it_runs_only_if_named(probe: Probe) -> None:
    assert probe.name in ROWS
    assert bool(probe.only_if_named) == ("runs only if named" in ROWS[probe.name])
