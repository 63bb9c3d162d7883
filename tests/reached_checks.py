"""A check of the verdict that no unit test reaches fails a run of all unit tests.

Each process of pytest notes the checks that the verdict itself uses for reasons or notes. A test's own calls do not
count.
"""

from __future__ import annotations

import sys
import typing as t
from pathlib import Path

import pytest

UNIT = Path(__file__).resolve().parent / "unit"
_BY_THE_VERDICT = "plugin_utils/verdict/"
# From pytest-xdist: the data that a worker hands to the process that started it.
_KEY = "reached_checks"

_reached: set[str] = set()


def watch() -> None:
    """Note from now on the codes of the verdict's findings."""
    from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.reasons import Reasons  # noqa: PLC0415

    for name in ("argue", "remark", "take_over"):
        setattr(Reasons, name, _noting(getattr(Reasons, name)))


def _noting(method: t.Callable[..., None]) -> t.Callable[..., None]:
    def noted(self: t.Any, *arguments: t.Any, **values: t.Any) -> None:
        if _BY_THE_VERDICT in sys._getframe(1).f_code.co_filename:
            # A lack of a plan has its code within it.
            _reached.update(one if isinstance(one, str) else one["code"] for one in arguments if one)
        method(self, *arguments, **values)

    return noted


def is_whole(config: pytest.Config) -> bool:
    """Return whether all unit tests run, less the slow ones maybe."""
    option = config.option
    folders = [Path(path).resolve() for path in config.args]
    choices = ("keyword", "deselect", "ignore", "ignore_glob", "lf", "only_ansible")
    chosen = any(getattr(option, name, None) for name in choices)
    return not chosen and option.markexpr in ("", "not slow") and any(UNIT.is_relative_to(path) for path in folders)


def unreached(reached: t.Container[str]) -> list[str]:
    """Return the codes of the checks that no test has reached."""
    from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.checks import CHECKS  # noqa: PLC0415

    return [check.code for check in CHECKS if check.code not in reached]


def pytest_collection_finish(session: pytest.Session) -> None:
    if any(item.path.is_relative_to(UNIT) for item in session.items) and is_whole(session.config):
        watch()


def pytest_testnodedown(node: t.Any) -> None:
    _reached.update(getattr(node, "workeroutput", {}).get(_KEY, ()))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_KEY] = sorted(_reached)
    elif exitstatus == pytest.ExitCode.OK and is_whole(session.config) and (missing := unreached(_reached)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        lines = f"\nno unit test lets the verdict reach: {', '.join(missing)} (verdict/checks.py)"
        session.config.get_terminal_writer().line(lines, red=True)
