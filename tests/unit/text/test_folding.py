"""Findings become sentences, and many of them few sentences."""

from __future__ import annotations

from ansible_collections.trainops.cluster.plugins.plugin_utils.contracts import Reason
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.folding import told
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.sentences import Form, filled, sentence

FORMS = {
    "steps": {"": Form("{node} reached only step {step} of {goal}.")},
    "clock": {"": Form("{node} is {seconds:duration} late.")},
    "speed": {"": Form("{node} took {value} per step.")},
    "xid": {"": Form("{node} has Xid {xid} on GPU {gpu}.", many="{each}.", each="{node} has Xid {xid} on GPU {gpu}")},
    "world": {"": Form("The trainer sees {ranks:count rank}.")},
}


def found(code: str, node: str = "", **values) -> Reason:
    finding: Reason = {"code": code, "values": values, "message": ""}
    if node:
        finding["node"] = node
    return {**finding, "message": sentence(FORMS, finding)}


def messages(*findings: Reason) -> list[str]:
    return [one.message for one in told(FORMS, findings)]


def test_values_read_as_their_field_says() -> None:
    quantity = {"value": 8725.4, "unit": "tokens/s per GPU"}
    text = "{a:duration}, {b:count step}, {c}, {d:and}, {e:.4g}, {f:all node}, {g:list 1}"
    values = {"a": 300, "b": 1, "c": quantity, "d": ["x", "y"], "e": "nan", "f": 2, "g": ["u", "v"]}
    assert filled(text, values) == "5 min, 1 step, 8,725 tokens/s per GPU, x and y, nan, Both nodes, u and 1 more"


def test_nodes_of_which_the_same_is_said_are_named_together_and_the_odd_one_comes_first() -> None:
    of_many = [found("steps", f"gpu{n:02}", step=7, goal=10) for n in range(1, 4)]
    assert messages(*of_many, found("steps", "gpu04", step=3, goal=10)) == [
        "gpu04 reached only step 3 of 10.",
        "gpu[01-03] reached only step 7 of 10.",
    ]


def test_the_verb_after_many_names_is_plural() -> None:
    assert messages(*(found("clock", node, seconds=60.0) for node in ("a1", "a2"))) == ["a[1-2] are 60 s late."]


def test_from_four_nodes_on_numbers_that_differ_are_a_range_if_measured_else_a_list() -> None:
    speeds = [found("speed", f"n{n}", value={"value": 420.6 + n, "unit": "ms"}) for n in range(4)]
    steps = [found("steps", f"n{n}", step=n, goal=10) for n in range(4)]
    assert messages(*speeds) == ["n[0-3] took 420.6 – 423.6 ms per step."]
    assert messages(*steps) == ["n[0-3] reached only step 0, 1, 2 and 3 of 10."]
    assert len(messages(*steps[:3])) == 3


def test_each_node_keeps_its_own_values_where_these_belong_together() -> None:
    found_of = [found("xid", f"gpu0{n}", xid=xid, gpu=gpu) for n, xid, gpu in ((1, 48, 0), (2, 63, 3), (3, 48, 0))]
    assert messages(*found_of) == ["gpu[01,03] has Xid 48 on GPU 0, gpu02 has Xid 63 on GPU 3."]
    many = [found("xid", f"gpu{n:02}", xid=n, gpu=0) for n in range(10)]
    assert messages(*many)[0].endswith("and 2 more.")


def test_a_finding_of_the_run_stays_as_it_is_and_so_does_one_without_a_form() -> None:
    old: Reason = {"code": "gone", "node": "a", "message": "a said so."}
    assert messages(found("world", ranks=1), old) == ["a said so.", "The trainer sees 1 rank."]


def test_what_two_checks_say_of_a_node_is_told_once() -> None:
    assert messages(found("world", "a", ranks=1), found("world", "a", ranks=1)) == ["The trainer sees 1 rank."]
