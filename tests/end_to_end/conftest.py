"""A folder of its own for every test that plays a playbook."""

from __future__ import annotations

from pathlib import Path

import pytest
from playbook_bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
