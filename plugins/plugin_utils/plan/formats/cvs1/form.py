# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading a training config in CVS format, which has the same shape for every framework."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel

from ...config.findings import Findings
from ...config.model import refuse_unknown_keys, section, typed
from ...job.job import Job
from ...job.options import RunOptions
from ...job.ranks import Node
from ...job.thresholds import ExpectedResults
from .branch import choose_branch, mode_of
from .reading import CvsBranchReading, CvsReading

ConfigT = t.TypeVar("ConfigT", bound=BaseModel)
BranchT = t.TypeVar("BranchT", bound=BaseModel)
OptionsT = t.TypeVar("OptionsT", bound=RunOptions)


def _of_inventory(_options: t.Any, _given: t.Any, inventory: Sequence[Node]) -> Sequence[Node]:
    return inventory


@dataclass(frozen=True)
class CvsForm(t.Generic[ConfigT, BranchT, OptionsT]):
    """What distinguishes the CVS configs of one framework, and how they become a job.

    ``config`` and ``branch`` are the models of the two sections, ``master_key`` the key of ``config`` with the address
    at which the nodes of a job meet, and ``unused_keys`` the known keys that a run does not read. ``check_config``
    reports errors in ``config``, given model_params; ``job_of`` returns the job of a branch whose nodes meet at an
    address, or None if there is any fault. ``completed`` returns the whole file with the values that one of its keys
    implies, ``prepared`` the section ``config`` ready for typing. ``elsewhere`` says where keys belong that do not
    belong in the branch, and ``hosts_of`` returns the nodes of the job: the inventory's, or others that ``config`` asks
    for.
    """

    config: type[ConfigT]
    branch: type[BranchT]
    master_key: str
    unused_keys: Callable[[Mapping[str, t.Any], str, OptionsT], set[str]]
    check_config: Callable[[CvsReading[ConfigT, OptionsT], t.Any], None]
    job_of: Callable[[CvsBranchReading[ConfigT, OptionsT, BranchT], str], Job | None]
    completed: Callable[[Mapping[str, t.Any]], Mapping[str, t.Any]] = dict
    prepared: Callable[[Mapping[str, t.Any]], Mapping[str, t.Any]] = dict
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    hosts_of: Callable[[OptionsT, t.Any, Sequence[Node]], Sequence[Node]] = _of_inventory

    @property
    def of_config(self) -> dict[str, str]:
        """Return where the keys of the section ``config`` belong."""
        return dict.fromkeys(self.config.model_fields, "config")

    @property
    def of_branch(self) -> dict[str, str]:
        """Return where the keys of a branch belong."""
        return {
            **dict.fromkeys(self.branch.model_fields, "model_params.<mode>.<model>.<gpu>"),
            **dict.fromkeys(ExpectedResults.model_fields, "result_dict"),
        }


def plan_job(
    form: CvsForm[ConfigT, BranchT, OptionsT],
    data: Mapping[str, t.Any],
    options: OptionsT,
    nodes: Sequence[Node],
    findings: Findings,
) -> Job | None:
    """Return the job to run, or None if there is any fault.

    ``data`` is the config without its documentation keys, ``nodes`` the nodes in rank order.
    """
    data = form.completed(data)
    reading = _read_config(form, data, options, nodes, findings)
    master = _master_of(reading, form.master_key)
    branch = choose_branch(data, reading.mode, options.selection, findings)
    if branch is None:
        return None
    parameters = typed(
        form.branch,
        branch.values,
        branch.path,
        findings,
        unused=form.unused_keys(data, reading.mode, options),
        lower_unknown=options.lower_unknown,
        elsewhere={**form.of_config, **form.elsewhere},
    )
    return form.job_of(CvsBranchReading(**vars(reading), branch=branch, parameters=parameters), master)


def _read_config(
    form: CvsForm[ConfigT, t.Any, OptionsT],
    data: Mapping[str, t.Any],
    options: OptionsT,
    nodes: Sequence[Node],
    findings: Findings,
) -> CvsReading[ConfigT, OptionsT]:
    """Return the section ``config``, checked; if the file has no such section, report a fault and use an empty one."""
    lower_unknown = options.lower_unknown
    hosts = form.hosts_of(options, data.get("config"), nodes)
    refuse_unknown_keys(
        data,
        ("config", "model_params"),
        "",
        findings,
        lower_to_warning=lower_unknown,
        elsewhere=form.of_branch | form.of_config,
    )
    mode = mode_of(data, options.training_mode, len(hosts))
    given = section(data, "config", "config", findings)
    config = typed(
        form.config,
        form.prepared(given or {}),
        "config",
        # A missing section is reported already.
        findings if given is not None else Findings(),
        unused=form.unused_keys(data, mode, options),
        lower_unknown=lower_unknown,
        elsewhere=form.of_branch,
    )
    reading = CvsReading(config, mode, hosts, options, findings, given or {})
    if given is not None:
        form.check_config(reading, data.get("model_params"))
    return reading


def _master_of(reading: CvsReading[t.Any, t.Any], key: str) -> str:
    """Return the address under a key at which the nodes of a job meet, or localhost if that is invalid."""
    is_wrong = getattr(reading.config, key) is None and reading.is_given(key)
    return "localhost" if is_wrong else reading.master_address(f"config.{key}")
