# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan: from a training config, the variables of a run and its hosts to the command of every node."""

from __future__ import annotations

import posixpath
import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...module_utils.logs.grammars.known import grammar_of
from ..contracts import Bound, OptionalPlan, Parameters, Plan, Workload
from ..text.words import key_path, listed
from .choice import Way, way_for
from .config.budget import over_budget, too_long
from .config.findings import Findings
from .config.model import typed
from .formats.face import Asked, Choice, ConfigT, Format, OwnThresholds
from .job.container import note_profile
from .job.gpu_checks import warn_of_gpu
from .job.job import Job, launch_of
from .job.memory import warn_of_memory
from .job.options import APPTAINER, ON_HOSTS, PYXIS, SSH, ConfigOptions, LaunchOptions, RunOptions, part_of
from .job.ranks import Node, in_rank_order
from .job.rdma import warn_of_rdma
from .job.rehearsal import rehearsed
from .job.thresholds import warn_of_impossible, warn_of_nothing_expected
from .job.workload import named_precision, workload_of
from .options import PlanOptions
from .threshold_files import BASELINE, CELL, OPTION, TARGET, ThresholdsFile, thresholds_of, warn_of_other_names
from .trainers.known import TRAINERS

SCHEMA_VERSION = 1
# As there are lists of hosts.
_MOST_OF_OPTION = 10_000


def make_plan(
    text: str,
    source: str,
    options: Mapping[str, t.Any],
    nodes: Sequence[Node],
    now: str = "",
    unreadable: str | None = None,
    thresholds: ThresholdsFile | None = None,
) -> Plan:
    """Return the plan of a run as plain data; its ``nodes`` are empty exactly if it has a fault, or ``gke``.

    ``text`` is the training config, ``source`` its file name, ``unreadable`` why it could not be read. ``options`` are
    the fields of `PlanOptions`, ``nodes`` the hosts in inventory order. ``now`` starts the run_id if none is set.
    ``thresholds`` is the file given in the option training_thresholds.

    The plan has ``schema_version``, ``framework``, ``mode``, ``model``, ``gpu``, ``run_id``, ``config_file``,
    ``container_engine``, ``rehearsal``, ``record_only``, ``overrides``, ``max_skipped``, ``abort_on_nan``,
    ``require_gpu``, ``keep`` and ``checkpoints`` (the folder from which the same command goes on), where there are any,
    ``parameters``, ``first_step``, ``tokens_per_step_per_gpu`` and ``tokens_per_sequence_per_gpu`` (tokens),
    ``workload`` (see `job/workload`), ``gke`` (on GKE: see `job/job`), ``expected``, ``target_loss`` (where there is
    one to reach), ``faults``, ``warnings``, ``notes`` (sentences) and ``nodes``. ``chosen`` has the format, the trainer
    and the grammar of the log, each with the reason. ``log_grammar`` is set only if the grammar is not the framework's
    own, as in a rehearsal. The plan never contains a secret.
    """
    findings = Findings()
    settings = typed_options(options, findings)
    unreadable = unreadable or too_long(text)
    text = "" if unreadable else text
    if settings.training_rehearsal:
        settings.training_record_only = True
    ordered: list[Node] = []
    # Another platform has its own hosts, so no inventory host takes part.
    if settings.training_platform == ON_HOSTS:
        ordered = in_rank_order(nodes, settings.training_rank_order or (), settings.training_exclude or (), findings)
    way = None if unreadable else way_for(settings, text, source, findings)
    if way:
        settings.training_framework = way.trainer.framework
    _check_platform(way, settings, findings)
    data = None
    if unreadable:
        _fault_unreadable(source, unreadable, findings)
    elif way:
        data = way.format.read(text, source, way.trainer.name, findings)
    job, grammar, own, noted = None, None, OwnThresholds(), findings
    if way and data is not None:
        own = _own_thresholds(way.format.thresholds(data), thresholds, settings, findings)
        data = way.format.without_sweep(data, findings)
        asked = part_of(ConfigOptions, settings)
        data = _overridden(way.format, data, asked, len(ordered), findings)
        data, noted = way.format.handed(data, asked, len(ordered), findings)
    if way and data is not None:
        engine = way.trainer.engine_for(data, part_of(way.trainer.options, settings), noted)
        settings.container_engine = _engine(engine, settings, noted)
        grammar = way.grammar(data, settings.training_log_grammar)
        job = way.trainer.plan_job(data, part_of(way.trainer.options, settings), ordered, noted)
    job = _settled(job, settings, noted) if job else None
    workload = workload_of(job) if job else None
    if job and workload:
        expected = _expected(job, workload, thresholds, own, settings, noted)
        job = None if findings.faults else replace(job, expected=expected)
    plan = _assembled(job, workload if job else None, settings, source, ordered, findings, now)
    if plan["nodes"] and own.target_loss is not None and not settings.training_rehearsal:
        plan["target_loss"] = own.target_loss
    if way and grammar:
        plan = _with_choices(plan, way, grammar)
    return rehearsed(plan) if settings.training_rehearsal else plan


def _engine(asked: str, settings: LaunchOptions, findings: Findings) -> str:
    """Return the container engine, given the launcher."""
    if settings.training_launcher == SSH and asked == APPTAINER:
        message, remedy = "Apptainer works only in a Slurm job.", "Choose docker, podman or none."
        findings.fault("container_engine", APPTAINER, message, remedy)
    by_slurm = settings.training_launcher != SSH and settings.training_slurm_pyxis
    return PYXIS if by_slurm and asked == "auto" else asked


def _settled(job: Job, settings: LaunchOptions, findings: Findings) -> Job:
    """Return a job with the common options applied, and note what its nodes cannot do."""
    if settings.training_image:
        job = _with_image(job, settings, findings)
    if settings.training_hf_token_file:
        # The file is passed with the run: its path on the controller may change, so it is not part of the plan.
        job = replace(job, token_file="")
    if not job.gke and settings.container_engine != "none":
        note_profile(job.container_options, findings)
    if not settings.training_rehearsal:
        _warn_of_machines(job, findings)
    return job


def _warn_of_machines(job: Job, findings: Findings) -> None:
    """Warn of features that a job uses and its accelerators or network cards do not have."""
    warn_of_gpu(job, findings)
    warn_of_rdma(job, findings)
    size = (job.architecture, job.parameters, job.keeping)
    warn_of_memory(*size, job.branch.gpu, job.chips_per_gpu, job.branch.path, findings)


def _with_image(job: Job, settings: RunOptions, findings: Findings) -> Job:
    """Return a job with the option's image if its config sets none."""
    named = job.image or settings.training_image
    if named != settings.training_image:
        message = f"training_image has no effect: the training config sets {named}."
        findings.warn("training_image", settings.training_image, message, "Leave it out, or change the config.")
    return replace(job, image=named if settings.container_engine != "none" else job.image)


def typed_options(options: Mapping[str, t.Any], findings: Findings) -> LaunchOptions:
    """Return the typed variables of a run; report and leave out those that exceed the size limits."""
    given = dict(options)
    for name, value in options.items():
        if reason := over_budget(value, _MOST_OF_OPTION):
            findings.fault(name, None, f"{name} cannot be read: {reason}.", "Make it smaller.")
            del given[name]
    return typed(PlanOptions, given, "", findings)


def _expected(
    job: Job,
    workload: Workload,
    thresholds: ThresholdsFile | None,
    own: OwnThresholds,
    settings: RunOptions,
    findings: Findings,
) -> list[Bound]:
    """Return the bounds of a run, from the thresholds file if there is one, or else from the config.

    A run without bounds is only recorded, with a warning unless that was requested.
    """
    expected, key = job.expected, key_path(job.branch.path, "result_dict")
    if thresholds and not settings.training_record_only:
        facts = {
            **job.parameters,
            **workload,
            BASELINE: own.baseline,
            TARGET: own.target_loss,
            CELL: thresholds.cell or own.cell,
            "nnodes": job.nnodes,
            "precision": named_precision(job),
        }
        expected, key = thresholds_of(thresholds, facts, findings), OPTION
        warn_of_other_names(thresholds.source, settings.training_framework, job.branch, findings)
    warn_of_impossible(expected, key, workload, job.branch.gpu, findings)
    is_judged = any(bound["kind"] != "info" for bound in expected)
    if not settings.training_record_only and not is_judged and not findings.faults:
        settings.training_record_only = True
        warn_of_nothing_expected(key, findings)
    return expected


def _own_thresholds(
    own: OwnThresholds, file: ThresholdsFile | None, settings: RunOptions, findings: Findings
) -> OwnThresholds:
    """Apply a config's settings for thresholds; ``file`` is used unless the run sets training_thresholds."""
    if not own.enforced and not settings.training_record_only:
        settings.training_record_only = True
        findings.note("The run is only recorded, because the config does not enforce its thresholds.")
    if file and not settings.training_thresholds:
        settings.training_thresholds = file.source
    return own


def thresholds_of_config(text: str, source: str, options: Mapping[str, t.Any]) -> str:
    """Return the path of the thresholds file that a training config gives, or nothing if it gives none."""
    settings = typed_options(options, Findings())
    text = "" if too_long(text) else text
    way = way_for(settings, text, source, Findings())
    config = way.format.read(text, source, way.trainer.name, Findings()) if way else None
    own = OwnThresholds() if way is None or config is None else way.format.thresholds(config)
    return posixpath.join(posixpath.dirname(source), own.file) if own.file else ""


def asked_by(text: str, source: str, options: Mapping[str, t.Any], node_count: int) -> Asked:
    """Return which nodes a training config asks for, given the overrides of a run on ``node_count`` nodes."""
    settings = typed_options(options, Findings())
    text = "" if too_long(text) else text
    way = way_for(settings, text, source, Findings())
    config = way.format.read(text, source, way.trainer.name, Findings()) if way else None
    if way is None or config is None:
        return Asked(None, None)
    asked = part_of(ConfigOptions, settings)
    return way.format.asked(_overridden(way.format, config, asked, node_count, Findings()), asked, node_count)


def _overridden(
    format_: Format[ConfigT], config: ConfigT, options: ConfigOptions, node_count: int, findings: Findings
) -> ConfigT:
    return format_.overridden(config, options, node_count, findings) if options.training_overrides else config


def _with_choices(plan: Plan, way: Way, grammar: Choice) -> Plan:
    """Return a plan with its choices, and the grammar of its log unless that is the framework's own."""
    plan = {**plan, "chosen": way.chosen(grammar)}
    if grammar.name != plan["framework"]:
        plan["log_grammar"] = grammar.name
    if plan["nodes"] or "gke" in plan:
        plan["first_step"] = grammar_of(grammar.name).first_step
    return plan


def _check_platform(way: Way | None, settings: RunOptions, findings: Findings) -> None:
    """Report a platform that the trainer does not support, and a rehearsal without hosts."""
    platform = settings.training_platform
    if platform in (None, ON_HOSTS):
        return
    if way is None or platform not in way.trainer.platforms:
        able = listed(known.title for known in TRAINERS.values() if platform in known.platforms)
        message = f"Only {able} trains on {platform}, but this config is for {settings.training_framework}."
        findings.fault("training_platform", platform, message, f"Leave it out, or choose a config for {able}.")
    if settings.training_rehearsal:
        message = f"A rehearsal runs on inventory hosts, and {platform} has none."
        findings.fault("training_rehearsal", True, message, "Leave it out.")


def _fault_unreadable(source: str, reason: str, findings: Findings) -> None:
    message = f"{source} cannot be read: {reason}." if source else "No training config is set."
    what = "Give the path of a training config" if source else "Set -e training_config=FILE"
    remedy = f"{what}; examples/ has training configs to start from."
    findings.fault("training_config", source or None, message, remedy)


def _assembled(
    job: Job | None,
    workload: Workload | None,
    settings: LaunchOptions,
    source: str,
    nodes: Sequence[Node],
    findings: Findings,
    now: str,
) -> Plan:
    run_id = settings.training_run_id or ""
    if job and not run_id:
        run_id = "-".join(part for part in (now, job.branch.model, job.branch.gpu) if part)
    planned = []
    if job:
        in_container, archive = settings.container_engine != "none", settings.training_image_archive
        planned = [
            job.for_node(node, place, run_id, in_container=in_container, image_archive=archive)
            for place, node in enumerate(nodes)
        ]
    optional: OptionalPlan = {"overrides": settings.training_overrides} if settings.training_overrides else {}
    if settings.training_on_interrupt == "stop":
        optional["on_interrupt"] = "stop"
    if settings.training_abort_on_nan:
        optional["abort_on_nan"] = True
    if not settings.training_require_gpu:
        optional["require_gpu"] = False
    if settings.training_keep_runs:
        optional["keep"] = {"keep_runs": settings.training_keep_runs, "keep_days": settings.training_keep_days}
    if settings.training_max_skipped:
        optional["max_skipped"] = settings.training_max_skipped
    if job and job.checkpoints and not settings.training_rehearsal:
        optional["checkpoints"] = job.checkpoints
    if job and job.gke:
        optional["gke"] = launch_of(run_id, job.gke)
    return {
        "schema_version": SCHEMA_VERSION,
        "framework": settings.training_framework,
        "mode": job.branch.mode if job else settings.training_mode,
        "model": job.branch.model if job else settings.training_model,
        "gpu": job.branch.gpu if job else settings.training_gpu,
        "run_id": run_id,
        "config_file": source,
        "container_engine": settings.container_engine,
        "rehearsal": False,
        "record_only": settings.training_record_only,
        **optional,
        "parameters": job.parameters if job else t.cast(Parameters, {}),
        "first_step": 1,
        "tokens_per_step_per_gpu": job.tokens_per_step_per_gpu if job else None,
        "tokens_per_sequence_per_gpu": job.tokens_per_sequence_per_gpu if job else None,
        "workload": workload,
        "expected": job.expected if job else [],
        **findings.as_dict(),
        "nodes": planned,
    }
