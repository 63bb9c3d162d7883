# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan as readable text: the run at a glance."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
import typing as t
from collections.abc import Sequence

from ...module_utils.node.interfaces import VARIABLES
from ..contracts import Finding, NodePlan, Plan
from ..text.numbers import exact
from ..text.words import counted, printable
from .config.kinds import PLACEHOLDER, is_placeholder
from .job.thresholds import bound_in_words
from .trainers.known import TRAINERS

_WIDTH = 118
# Lines of a staged file: longer ones would push everything else off the screen.
_MOST_LINES = 80
_FOUND_THERE = {(variable, "auto") for variable in VARIABLES}
# Rows of consecutive nodes: longer sequences become one row.
_MOST_ROWS = 16
_LAST_NUMBER = re.compile(r"\d+(?=\D*$)")
# Characters of a value: the rest is cut off before it becomes one short line.
_MOST_SHOWN = 1000


def plan_text(plan: Plan) -> str:
    """Return a plan as lines of text; with faults, the faults."""
    if plan["faults"]:
        title = f"{counted(len(plan['faults']), 'error')} in {plan['config_file'] or 'the plan'}:"
        blocks = [findings_text(title, plan["faults"])]
    else:
        blocks = [_summary(plan), *_where(plan), *([_notes(plan["notes"])] if plan["notes"] else [])]
    if plan["warnings"]:
        blocks.append(findings_text(f"{counted(len(plan['warnings']), 'warning')}:", plan["warnings"]))
    return printable("\n\n".join(blocks), keep="\n")


def plan_in_short(plan: Plan) -> str:
    """Return a plan without faults as text to check before a run: the training, its nodes, and the warnings."""
    blocks = [_rows_of(_settings(plan))]
    if plan["warnings"]:
        blocks.append(findings_text(f"{counted(len(plan['warnings']), 'warning')}:", plan["warnings"]))
    return printable("\n\n".join(blocks), keep="\n")


def _where(plan: Plan) -> list[str]:
    if "gke" in plan:
        return [_workload(plan)]
    return [_nodes(plan), _environment(plan), *([_job(plan)] if "slurm" in plan else []), *_dry_run(plan)]


def _dry_run(plan: Plan) -> list[str]:
    """Return the command that shows on a node what the trainer would start, if it can show that without training."""
    chosen = plan.get("chosen")
    command = TRAINERS[chosen["trainer"]["name"]].dry_run(plan) if chosen else ""
    if not command:
        return []
    node = plan["nodes"][0]
    files = "".join(f"; {name} is the file above" for name in node["files"])
    sentence = (
        f"To preview the command on {node['node']} without training, run this there (it installs and prepares the same "
        f"things as the training{files}):"
    )
    lines = _wrapped(sentence, 0, 4)
    return ["\n".join([*lines, *(f"  {line}" for line in command.splitlines())])]


def _job(plan: Plan) -> str:
    """Return the script that is submitted to Slurm."""
    lines = (f"  {line}".rstrip() for line in plan["slurm"]["script"].splitlines())
    return "\n".join(["Slurm chooses the nodes and runs this job:", *lines])


def findings_text(title: str, findings: Sequence[Finding]) -> str:
    """Return faults or warnings below a title: each with its place, its value and its remedy.

    Several keys to fill in are one finding, with at most two lines for each.
    """
    lines, others = [title], [finding for finding in findings if not is_placeholder(finding["value"])]
    to_fill_in = [finding for finding in findings if is_placeholder(finding["value"])]
    if len(to_fill_in) > 1:
        lines.append(f"  {len(to_fill_in)} keys still contain {PLACEHOLDER}; replace it in each of them:")
        for finding in to_fill_in:
            lines += _wrapped(f"{finding['key']}: {finding['remedy']}", 6, 10, 2)
    else:
        others = list(findings)
    for finding in others:
        held = "" if finding["value"] is None else f" = {_held(finding['value'])}"
        lines.append(f"  {finding['key']}{held}")
        lines += _wrapped(f"{finding['message']} {finding['remedy']}", 6, 6)
    return "\n".join(lines)


def _wrapped(text: str, first: int, others: int, most: int | None = None) -> list[str]:
    """Return a text as lines that break between words; the first line and the others are indented by so much.

    A text of more lines than ``most`` is cut.
    """
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=" " * first,
        subsequent_indent=" " * others,
        break_long_words=False,
        break_on_hyphens=False,
        max_lines=most,
        placeholder=" …",
    )


def _notes(notes: list[str]) -> str:
    lines = ["note:" if len(notes) == 1 else "notes:"]
    for note in notes:
        lines += _wrapped(note, 2, 6)
    return "\n".join(lines)


def _held(value: t.Any) -> str:
    """Return a value on one short line, as in the file, but strings without quotes."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return textwrap.shorten(text[:_MOST_SHOWN], _WIDTH // 2, placeholder=" …") if text.strip() else '""'


def _summary(plan: Plan) -> str:
    return _rows_of({**_settings(plan), **_choices(plan)})


def _rows_of(values: dict[str, t.Any]) -> str:
    return "\n".join(line for name, value in values.items() for line in _wrapped(f"{name:<10} {value}", 0, 11))


def _settings(plan: Plan) -> dict[str, t.Any]:
    parameters = plan["parameters"]
    kind = "one job over all nodes" if plan["mode"] == "multi_node" else "one job on each node"
    gpus = counted(parameters["gpus_per_node"], parameters.get("device", "GPU"))
    context, experts = parameters.get("context_parallelism") or 1, parameters.get("expert_parallelism") or 1
    split = ("tensor_parallelism", "pipeline_parallelism", "context_parallelism", "data_parallelism")
    factors = [name for name in split if name != "context_parallelism" or context > 1]
    # Where trainers do not count them as a factor of their own, GPUs that share experts are counted as data already.
    others = [f"expert {experts}"] * (experts > 1) + ["FSDP"] * bool(parameters.get("fsdp"))
    bounds = [bound_in_words(bound) for bound in plan["expected"] if bound["kind"] != "info"]
    rows = {
        "run": plan["run_id"],
        "config": plan["config_file"],
        "model": f"{plan['model']} on {plan['gpu']}, {plan['framework']}",
        "nodes": f"{parameters['nnodes']} × {gpus}, {kind}",
        "batch": _known(parameters, ", ", "global_batch_size", "micro_batch_size", "sequence_length"),
        "parallel": ", ".join([_known(parameters, " × ", *factors), *others]),
        "precision": parameters["precision"],
        "steps": parameters["iterations"],
        "container": _container(plan),
        "judged by": ", ".join(bounds) or "all evidence except thresholds",
    }
    if "target_loss" in plan:
        rows["loss"] = f"{exact(plan['target_loss'])} to reach"
    if plan["rehearsal"]:
        rows = {"REHEARSAL": "the embedded trainer runs instead of the real one", **rows}
    return rows


def _known(parameters: t.Mapping[str, t.Any], between: str, *names: str) -> str:
    """Return sizes with their names; values from a trainer's own files are not known here."""
    words = {name: name.removesuffix("_parallelism").replace("_", " ") for name in names}
    known = [f"{words[name]} {parameters[name]}" for name in names if parameters[name] is not None]
    return between.join(known) or "as the trainer's own files say"


def _choices(plan: Plan) -> dict[str, str]:
    """Return which format, trainer and grammar of the log were chosen, each with the reason."""
    chosen = plan.get("chosen")
    if chosen is None:
        return {}
    rows = {"format": chosen["format"], "trainer": chosen["trainer"], "log": chosen["log_grammar"]}
    return {name: f"{choice['name']}: {choice['why']}" for name, choice in rows.items()}


def _container(plan: Plan) -> str:
    if "gke" in plan:
        return "on GKE"
    return f"{plan['container_engine']}, {plan['nodes'][0]['image']}" if plan["container_engine"] != "none" else "none"


def _workload(plan: Plan) -> str:
    """Return the controller's command line, one option with its value per line."""
    command, options = plan["gke"]["argv"][:3], plan["gke"]["argv"][3:]
    pairs = (f"{name} {shlex.quote(value)}" for name, value in zip(options[::2], options[1::2], strict=True))
    return "The controller runs this, and GKE starts the training:\n" + " \\\n    ".join([" ".join(command), *pairs])


def _nodes(plan: Plan) -> str:
    rows = [("rank", "node", "log file"), *(row for nodes in _in_sequence(plan["nodes"]) for row in _rows(nodes))]
    ranks, names = (max(len(row[column]) for row in rows) for column in (0, 1))
    return "\n".join(f"{rank:>{ranks}}  {name:<{names}}  {log}" for rank, name, log in rows)


def _rows(nodes: Sequence[NodePlan]) -> list[tuple[str, str, str]]:
    if len(nodes) <= _MOST_ROWS:
        return [(str(node["node_rank"]), node["node"], node["log_file"]) for node in nodes]
    first, last = nodes[0], nodes[-1]
    ranks = dict.fromkeys((first["node_rank"], last["node_rank"]))
    return [(" to ".join(map(str, ranks)), f"{first['node']} to {last['node']}", _without_name(first))]


def _in_sequence(nodes: Sequence[NodePlan]) -> list[list[NodePlan]]:
    """Return nodes in groups of consecutively numbered names whose logs have matching paths."""
    groups: list[list[NodePlan]] = []
    for node in nodes:
        last = groups[-1][-1] if groups else None
        if last and node["node"] == _counted_up(last["node"]) and _without_name(node) == _without_name(last):
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups


def _counted_up(name: str) -> str:
    """Return a name with its last number increased by one: ``gpu009-ib`` becomes ``gpu010-ib``."""
    return _LAST_NUMBER.sub(lambda found: str(int(found[0]) + 1).zfill(len(found[0])), name)


def _without_name(node: NodePlan) -> str:
    return node["log_file"].replace(f"/{node['node']}/", "/<node>/")


def _environment(plan: Plan) -> str:
    first = plan["nodes"][0]
    values: dict[str, set[str]] = {}
    for node in plan["nodes"]:
        for name, value in node["env"].items():
            values.setdefault(name, set()).add(value)
    given_twice = {f"{name}={value}" for name, value in first["env"].items()}
    command = [word for word in first["argv"] if word not in given_twice]
    twice = ", also as KEY=VALUE arguments" if len(command) < len(first["argv"]) else ""
    sentence = f"{shlex.join(command)} in {first['working_dir']}, with this environment{twice}:"
    lines = _wrapped(sentence, 0, 4)
    for name, value in first["env"].items():
        found = (
            ("   (found on the node: the interface with the route to rank 0)") if (name, value) in _FOUND_THERE else ""
        )
        lines.append(f"  {name}={value}{'   (by node)' if len(values[name]) > 1 else found}")
    for name, text in first["files"].items():
        lines += _file(name, text.splitlines())
    return "\n".join(lines)


def _file(name: str, text: list[str]) -> list[str]:
    """Return the content of a staged file; for a long one, such as an unchanged config, only its name."""
    if len(text) > _MOST_LINES:
        return [f"and the file {name} in the run's folder ({len(text)} lines; see the plan)"]
    return [f"and the file {name} in the run's folder:", *(f"  {line}".rstrip() for line in text)]
