from __future__ import annotations

import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.identity import ADOPTS, another_run

PLAN = {"script": "a1", "container": "b2"}


@pytest.mark.parametrize(
    ("nonce", "plan", "status", "code", "different"),
    [
        ("mine", PLAN, "running", None, []),
        (ADOPTS, PLAN, "running", None, []),
        ("mine", PLAN | {"container": "c3"}, "staged", None, []),
        ("mine", PLAN | {"container": "c3"}, "running", "plan_differs", ["container"]),
        (ADOPTS, PLAN | {"container": "c3"}, "staged", "plan_differs", ["container"]),
        (ADOPTS, PLAN | {"image": "d4"}, "running", "plan_differs", ["image"]),
        (ADOPTS, {"script": "a1"}, "running", "plan_differs", ["container"]),
        ("yours", PLAN, "staged", "other_run", []),
        ("yours", PLAN | {"image": "d4"}, "staged", "other_run_and_plan", ["image"]),
    ],
)
def test_which_run_the_node_has_and_what_is_different(
    nonce: str, plan: dict[str, str], status: str, code: str | None, different: list[str]
) -> None:
    state: t.Any = {"identity": {"nonce": "mine", "plan": PLAN}, "status": status, "started_at": 1.0}
    error = another_run(t.cast("t.Any", {"run_id": "r", "identity": {"nonce": nonce, "plan": plan}}), state)
    found = error.problems[0] if error else None
    assert (found and found["code"], found["values"]["different"] if found else []) == (code, different)
