from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.trainops.cluster.plugins.callback.training_output import CallbackModule


@pytest.mark.parametrize(("verbosity", "shown"), [(0, False), (3, True)])
def test_a_traceback_is_shown_only_if_all_is(verbosity: int, shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    handled: list[Any] = []
    monkeypatch.setattr(
        CallbackModule.__mro__[1], "_handle_exception", lambda _self, result, _to: handled.append(result)
    )
    callback: Any = CallbackModule.__new__(CallbackModule)
    callback._display = SimpleNamespace(verbosity=verbosity)
    result = {"msg": "no", "exception": "Traceback"}
    callback._handle_exception(result)
    assert (result in handled, "exception" in result) == (shown, shown)
