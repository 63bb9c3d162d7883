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


def test_the_warnings_of_a_task_are_shown_where_it_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    warned: list[Any] = []
    monkeypatch.setattr(CallbackModule, "_is_short", lambda _self: True)
    monkeypatch.setattr(CallbackModule, "_is_message", lambda _self, _result: False)
    monkeypatch.setattr(CallbackModule, "_handle_warnings_and_exception", lambda _self, result: warned.append(result))
    callback: Any = CallbackModule.__new__(CallbackModule)
    result: Any = SimpleNamespace(result={"changed": False, "warnings": ["it wins"]}, task=SimpleNamespace(loop=None))
    callback.v2_runner_on_ok(result)
    assert warned == [result]
