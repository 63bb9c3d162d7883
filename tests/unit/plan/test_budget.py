# SPDX-License-Identifier: GPL-3.0-or-later
"""Files and options that would keep a plan busy for ever, or fill the memory: each is refused in a word, and soon."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from maxtext_configs import BRANCH as MAXTEXT_BRANCH
from maxtext_configs import filled as maxtext
from nxdt_configs import HF, text_of
from training_configs import BRANCH, DISTRIBUTED, ROOT, filled, nodes, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.budget import text_of as text_of_file
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan_text import plan_text
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.sweep_plan import plan_sweep
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.threshold_files import ThresholdsFile
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.hostlist import expand_hostlist
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.plan_run import plan_run

MEGATRON = json.dumps(filled(DISTRIBUTED))
NXDT = text_of(HF)
MANY = 2500
# All cases together take some seconds of one core. Without the bounds a single one takes minutes.
MOST_SECONDS, MOST_MEMORY = 60, 4 * 1024**3


def many(name: str, value: t.Any = 1, count: int = MANY) -> dict[str, t.Any]:
    return {f"{name}_{place}": value for place in range(count)}


def seed(value: str) -> str:
    return NXDT.replace("seed: 1234", f"seed: {value}")


def chain(levels: int, last: str) -> str:
    """Values, each worth three of the next one."""
    below = (f"b{n}: ${{b{n - 1}}}${{b{n - 1}}}${{b{n - 1}}}\n" for n in range(levels, 0, -1))
    return f"{NXDT}{''.join(below)}b0: '{last}'\n"


ALIASES = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
REFERENCES = [",".join([f'"${{b{n}}}"'] * 3) for n in range(4)]
SECTIONS = f"b0: [{','.join('x' * 500)}]\n" + "".join(f"b{n}: [{three}]\n" for n, three in enumerate(REFERENCES, 1))
TWICE = ",".join(['{"a":1,"a":2}'] * 9000)
REGEX = {"config/training_scripts": {"(a+)+$": "examples/llama/train_llama3.sh"}}
# Name, text or None for a config without faults, options, and the message of the first fault.
CASES: dict[str, tuple[str | None, dict[str, t.Any], str]] = {
    "aliases": (NXDT + ALIASES, {}, "more than 3,000 values"),
    "an alias in itself": (NXDT + "a0: &a [*a]\n", {}, "more than 3,000 values"),
    "unknown keys": (NXDT + "".join(f"unknown_{n}: 1\n" for n in range(10_000)), {}, "more than 3,000 values"),
    "megabytes of YAML": (NXDT + "x: " + "a b " * 10**6, {}, "more than 256 KiB"),
    "megabytes of JSON": (json.dumps({"config": "a" * 10**7}), {}, "more than 256 KiB"),
    "values": (json.dumps({"config": {}, "x": [1] * 4000}), {}, "more than 3,000 values"),
    "keys that stand twice": (f'{{"config": [{TWICE}]}}', {}, "more than 3,000 values"),
    "brackets in YAML": (NXDT + "x: " + "[" * 100_000, {}, "more than 50 deep"),
    "parts of a key of TOML": ("a." * 100_000 + "b = 1\n", {}, "is not a known kind of training config"),
    "a long text": (NXDT + f"x: '{'a ' * 6000}'\n", {}, "more than 10,000 characters"),
    "unknown keys of a branch": (
        json.dumps(filled(DISTRIBUTED, {BRANCH: many("tensor_parallelism_of")})),
        {},
        "is not a known key.",
    ),
    "a regular expression": (json.dumps(filled(DISTRIBUTED, REGEX)), {}, "repeats a group"),
    "regular expressions": (
        json.dumps(filled(DISTRIBUTED, {"config/training_scripts": many("a.*.*", "examples/llama/train_llama3.sh")})),
        {},
        "more than 50 patterns",
    ),
    "a text many times": (seed('${multiply:"a",1000000000}'), {}, "multiply takes two numbers, and 'a' is not one"),
    "a large product": (seed("${multiply:1e17,1e17}"), {}, "the product is too large"),
    "interpolations": (chain(9, ""), {}, "more than 20 interpolations"),
    "interpolations of a long text": (chain(4, "x" * 9000), {}, "more than 10,000 characters"),
    "interpolations of a section": (NXDT + SECTIONS, {}, "more than 3,000 values"),
    "a circle": (seed("${seed}"), {}, "Recursive interpolation"),
    "hexadecimal digits": (seed("0x" + "f" * 9000), {}, "is text, not a whole number"),
    "base 60": (seed(":".join(["59"] * 3300)), {}, "is text, not a whole number"),
    "an infinite number": (seed("1e400"), {}, "is text, not a whole number"),
    "digits": (MEGATRON.replace('"nnodes": "4"', f'"nnodes": {"9" * 5000}'), {}, "cannot be read"),
    "a name": (NXDT.replace("name: hf_llama", f"name: {'a' * 900}"), {}, "has more than 60 characters"),
    "a run's name": (None, {"training_run_id": "a" * 200}, "has more than 128 characters"),
    "a run's very long name": (None, {"training_run_id": "a" * 10**6}, "more than 10,000 characters"),
    "a path of an override": (None, {"training_overrides": {".".join("a" * 3000): 1}}, "more than 50 keys deep"),
    "GPUs": (None, {"training_gpus_per_node": 10**12}, "is too large"),
    "nodes of a job": (
        None,
        {"training_launcher": "slurm", "training_slurm_nodes": 10**12},
        "a plan has at most 65,536",
    ),
    "nodes of a config for a job": (
        json.dumps(filled(DISTRIBUTED, {"config/nnodes": 10**12})),
        {"training_launcher": "slurm"},
        "a plan has at most 65,536",
    ),
    "hosts": (None, {"training_rank_order": list(many("gpu", count=9000))}, "is not a host of the run"),
    "more hosts": (None, {"training_exclude": list(many("gpu", count=90_000))}, "more than 10,000 values"),
    "flags": (
        json.dumps(maxtext(changes={f"{MAXTEXT_BRANCH}/xla_flags": many("xla_gpu_flag", "<changeme>")})),
        {"training_framework": "maxtext"},
        "",
    ),
    "variables": (
        json.dumps(filled(DISTRIBUTED, {"config/container_config": {"env_dict": many("V", "<changeme>")}})),
        {},
        "still contains <changeme>",
    ),
}


def first_fault(name: str) -> str:
    text, options, _told = CASES[name]
    is_yaml = text is not None and not text.startswith("{")
    options = {"training_model": "llama3_1_8b", "training_gpu": "mi300x", **options} if not is_yaml else options
    if "training_framework" in options:
        options = {"training_framework": "maxtext"}
    plan = plan_run(text or MEGATRON, "c.yaml" if is_yaml else "c.json", options, nodes(4), "now")
    assert len(plan["faults"]) + len(plan["warnings"]) <= 2 * 201
    assert plan_text(plan)
    return "\n".join(fault["message"] for fault in plan["faults"])


def told_by_all() -> dict[str, str]:
    told = {name: first_fault(name) for name in CASES}
    for what, matrix in (
        ("matrix", {f"k{n}": list(range(100)) for n in range(10)}),
        ("axis", {"micro_batch_size": list(range(100_000))}),
    ):
        sweep = plan_sweep(MEGATRON, "c.json", {}, matrix, nodes(4), str)
        told[what] = sweep["faults"][0]["message"]
    for what, hostlist in (("range", "gpu[1-999999999]"), ("product", "[1-99999]" * 3000)):
        try:
            told[what] = str(len(expand_hostlist(hostlist)))
        except ValueError as error:
            told[what] = str(error)
    text = json.dumps({"MBS=1": many("tokens", {"kind": "min", "value": 1}, 10**5)})
    options = {"training_model": "llama3_1_8b", "training_gpu": "mi300x", "training_thresholds": "t.json"}
    plan = plan_run(MEGATRON, "c.json", options, nodes(4), "now", thresholds=ThresholdsFile("t.json", text))
    told["thresholds"] = plan["faults"][0]["message"]
    return told


@pytest.mark.slow
def test_what_would_take_for_ever_is_a_fault_soon() -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))

    paths = [str(Path(__file__).parent), str(ROOT / "collections")]
    program = "import json, test_budget; print(json.dumps(test_budget.told_by_all()))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        preexec_fn=limited,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    expected = {name: case[2] for name, case in CASES.items()} | {
        "matrix": "cells; a sweep may have at most 256",
        "axis": "It has 100000 cells",
        "range": "is not an ascending range of at most 100,000 numbers",
        "product": "expands to more than 100,000 hosts",
        "thresholds": "more than 3,000 values",
    }
    assert {name: told[name] for name, words in expected.items() if words not in told[name]} == {}


def test_only_files_are_read_and_none_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "large").write_bytes(b"a" * (256 * 1024 + 1))
    (tmp_path / "latin").write_bytes(b"\xe4")
    for path, reason in (
        (tmp_path / "fifo", "it is a FIFO"),
        (tmp_path, "it is a directory"),
        (Path("/dev/zero"), "it is a device"),
        (tmp_path / "large", "it has more than 256 KiB"),
        (tmp_path / "latin", "it is not UTF-8 text"),
    ):
        with pytest.raises(ValueError, match=reason):
            text_of_file(str(path))


@pytest.mark.parametrize("options", [{}, {"training_overrides": {"run_name": "a\ud83d"}}])
def test_half_of_a_character_is_no_text(options: dict[str, t.Any]) -> None:
    text = json.dumps(maxtext(changes={} if options else {f"{MAXTEXT_BRANCH}/run_name": "a\ud83d"}))
    plan = plan_run(text, "c.json", options, nodes(2), "now")
    assert "it has half a character" in plan["faults"][0]["message"]
    assert plan_text(plan).encode()


@pytest.mark.parametrize("evil", ["\x1b[2J", "\x9b31m", "\u202e", "\r", "\x07"])
def test_what_a_terminal_obeys_never_reaches_it(evil: str) -> None:
    changes = {"config/log_dir": f"/x{evil}", f"config/a{evil}": 1, "config/nic_type": f"{evil}thor"}
    for plan in (
        planned(filled(DISTRIBUTED, changes)),
        planned(filled(DISTRIBUTED, {"config/container_config": {"env_dict": {"A": f"b{evil}c"}}})),
        planned("{" + evil),
        planned(filled(DISTRIBUTED), training_model=f"a{evil}"),
        plan_run(MEGATRON, f"{evil}.json", {}, nodes(1), unreadable=evil),
    ):
        assert plan["faults"]
        assert not {char for char in plan_text(plan) if not char.isprintable()} - {"\n"}
        assert evil not in json.dumps(plan["faults"], ensure_ascii=False)
