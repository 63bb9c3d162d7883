from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from preflight_cases import Bench, base_facts

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return base_facts(tmp_path_factory.mktemp("node"))


@pytest.fixture
def bench(base: dict[str, Any]) -> Callable[..., Bench]:
    def make(**options: Any) -> Bench:
        return Bench(base, **options)

    return make
