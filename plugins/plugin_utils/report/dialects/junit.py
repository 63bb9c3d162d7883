# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict as JUnit XML, which CI servers read: a test case for the verdict, for each node and for each threshold.

Whatever keeps the run from PASS is a failure (FAIL) or an error (INCONCLUSIVE, ERROR), so that a server that only looks
at the counts is red exactly if the run did not pass.
"""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree as ET

from ...contracts import FirstFailure, JudgedBound, NodeSummary, Reason, Summary
from ...text.failures import named_in_words
from ..failures import findings_of
from ..readable import with_unit
from ..thresholds import required

if t.TYPE_CHECKING:
    from .judged_run import JudgedRun

# Characters that occur in logs but not in XML 1.0, such as terminal colours.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MOST_FINDINGS = 20
_OF_FAILURE = ("node", "node_rank", "class", "case", "values", "line", "origin", "rank", "exit_code")
_PROBLEM = {"FAIL": "failure", "ERROR": "error", "INCONCLUSIVE": "error"}


def junit(run: JudgedRun) -> str:
    """Return the XML of one test suite. ``time`` is the time of the whole run in seconds."""
    summary = run.summary
    suite = ET.Element("testsuite", name=_clean(f"trainops.cluster {summary['run_id']}"))
    if summary["started_at"]:
        suite.set("timestamp", summary["started_at"])
    _add_properties(suite, run)
    verdict = _case(suite, summary["run_id"], "verdict")
    if run.seconds is not None:
        verdict.set("time", f"{run.seconds:.3f}")
    if summary["verdict"] in _PROBLEM:
        messages = [reason["message"] for reason in summary["reasons"]]
        _add_findings(verdict, summary["reasons"], summary["first_failure"])
        _problem(verdict, summary["verdict"], messages[0] if messages else summary["verdict"], _details(summary))
    for node in summary["nodes"]:
        _add_node(suite, summary, node)
    for bound in summary["thresholds"]:
        _add_threshold(suite, summary, bound)
    for count, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(count, str(sum(1 for _case in suite.iter(tag))))
    suite.set("time", "0" if run.seconds is None else f"{run.seconds:.3f}")
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def _add_properties(suite: ET.Element, run: JudgedRun) -> None:
    of_run = {name: run.summary[name] for name in ("framework", "model", "gpu", "mode", "rehearsal", "verdict")}
    properties = ET.SubElement(suite, "properties")
    for name, value in {**of_run, "image": run.image, "image_digest": run.image_digest}.items():
        if value not in (None, ""):
            ET.SubElement(properties, "property", name=name, value=_clean(value))


def _add_node(suite: ET.Element, summary: Summary, node: NodeSummary) -> None:
    case = _case(suite, f"{summary['run_id']}.nodes", node["node"])
    against = [
        reason for reason in summary["reasons"] if reason.get("node") == node["node"] and reason["verdict"] in _PROBLEM
    ]
    if against:
        messages = [reason["message"] for reason in against]
        _add_findings(case, against)
        _problem(case, against[0]["verdict"], messages[0], "\n".join(messages))


def _add_threshold(suite: ET.Element, summary: Summary, bound: JudgedBound) -> None:
    case = _case(suite, f"{summary['run_id']}.thresholds", f"{bound['metric']} {bound['kind']}")
    wanted = "for information" if bound["kind"] == "info" else required(bound)
    if bound["met"] is False:
        _add_findings(case, [reason for reason in summary["reasons"] if _is_of(bound, reason)])
    if bound["measured"] is None and bound["met"] is False:
        _problem(case, "INCONCLUSIVE", f"{bound['metric']} was not measured; {wanted}", "")
        return
    judged = f"{bound['metric']} {with_unit(bound['measured'], bound['metric'])} on {bound['node']}; {wanted}"
    if bound["met"] is False:
        _problem(case, "FAIL", judged, "")
    elif bound["met"] is None:
        ET.SubElement(case, "skipped", message=_clean(f"{judged}; not judged"))


def _is_of(bound: JudgedBound, reason: Reason) -> bool:
    judged = reason.get("values", {}).get("bound", {})
    return bool(judged) and (judged["metric"], judged["kind"]) == (bound["metric"], bound["kind"])


def _add_findings(case: ET.Element, reasons: Sequence[Reason], failure: FirstFailure | None = None) -> None:
    """Add the codes, cases, nodes and values behind a problem as properties of its test case, each as JSON."""
    found: list[tuple[str, Mapping[str, t.Any]]] = [("finding", one) for one in findings_of(reasons, _MOST_FINDINGS)]
    if failure:
        found.append(
            ("first_failure", {name: failure.get(name) for name in _OF_FAILURE if failure.get(name) is not None})
        )
    if found:
        properties = ET.SubElement(case, "properties")
    for name, value in found:
        ET.SubElement(properties, "property", name=name, value=_clean(json.dumps(value)))


def _case(suite: ET.Element, classname: str, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=_clean(classname), name=_clean(name))


def _problem(case: ET.Element, verdict: str, message: str, details: str) -> None:
    ET.SubElement(case, _PROBLEM[verdict], type=verdict, message=_clean(message)).text = _clean(details)


def _details(summary: Summary) -> str:
    lines = [reason["message"] for reason in summary["reasons"]]
    failure = summary["first_failure"]
    if failure:
        lines += [f"First failure: {failure['node']}, {failure['class']}: {failure['message']}", *failure["evidence"]]
        lines += filter(None, [named_in_words(failure.get("named", {}))])
        lines.append(f"What to do: {failure['remedy']}")
    return "\n".join(lines)


def _clean(value: t.Any) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", str(value))
