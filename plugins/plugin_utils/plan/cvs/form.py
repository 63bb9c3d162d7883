# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading a training config in the format of CVS, which has the same shape for every framework."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel

from ...contracts import Bound
from ..config.findings import Findings
from ..config.model import refuse_unknown_keys, section, typed
from ..job.branch import Branch
from ..job.options import RunOptions
from ..job.ranks import Node, master_address
from ..job.thresholds import ExpectedResults, expected_of
from .branch import choose_branch, mode_of
from .reading import CvsBranchReading, CvsReading

ConfigT = t.TypeVar("ConfigT", bound=BaseModel)
BranchT = t.TypeVar("BranchT", bound=BaseModel)
OptionsT = t.TypeVar("OptionsT", bound=RunOptions)


@dataclass(frozen=True)
class CvsForm(t.Generic[ConfigT, BranchT, OptionsT]):
    """How the configs of one framework differ from those of another.

    ``config`` and ``branch`` are the models of the two sections, ``unused_keys`` the known keys that nothing reads in
    a run, ``prepared`` the section ``config`` as it is to be typed, and ``elsewhere`` where keys belong, in words, that
    do not belong into the branch.
    """

    config: type[ConfigT]
    branch: type[BranchT]
    unused_keys: Callable[[Mapping[str, t.Any], str, OptionsT], set[str]]
    prepared: Callable[[Mapping[str, t.Any]], Mapping[str, t.Any]] = dict
    elsewhere: Mapping[str, str] = field(default_factory=dict)

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


def read_config(
    form: CvsForm[ConfigT, t.Any, OptionsT],
    data: Mapping[str, t.Any],
    options: OptionsT,
    nodes: Sequence[Node],
    findings: Findings,
) -> tuple[ConfigT, dict[str, t.Any] | None, str]:
    """Return the section ``config`` with its types, the same as it stands in the file, and the mode of the run.

    The second one is None where the file has no such section, which is a fault.
    """
    lower_unknown = options.training_unknown_keys == "warn"
    refuse_unknown_keys(
        data,
        ("config", "model_params"),
        "",
        findings,
        lower_to_warning=lower_unknown,
        elsewhere=form.of_branch | form.of_config,
    )
    mode = mode_of(data, options, len(nodes))
    given = section(data, "config", "config", findings)
    config = typed(
        form.config,
        form.prepared(given or {}),
        "config",
        # Without the section, that it is missing says enough.
        findings if given is not None else Findings(),
        unused=form.unused_keys(data, mode, options),
        lower_unknown=lower_unknown,
        elsewhere=form.of_branch,
    )
    return config, given, mode


def read_branch(
    form: CvsForm[t.Any, BranchT, OptionsT], data: Mapping[str, t.Any], mode: str, options: OptionsT, findings: Findings
) -> tuple[Branch, BranchT] | None:
    """Return the branch that the run uses, as it stands in the file and with its types; None, and faults, for none."""
    branch = choose_branch(data, mode, options, findings)
    if branch is None:
        return None
    parameters = typed(
        form.branch,
        branch.values,
        branch.path,
        findings,
        unused=form.unused_keys(data, mode, options),
        lower_unknown=options.training_unknown_keys == "warn",
        elsewhere={**form.of_config, **form.elsewhere},
    )
    return branch, parameters


def master_of(reading: CvsReading[t.Any, t.Any], key: str, asked: str | None) -> str:
    """Return where the nodes of a job meet, which the config asks for under a key.

    It is localhost as well where that is not known, for a fault or for no nodes.
    """
    if not reading.multi_node or not reading.nodes or (asked is None and reading.given.get(key) is not None):
        return "localhost"
    return master_address(asked, reading.nodes, f"config.{key}", reading.findings)


def expected_in(reading: CvsBranchReading[t.Any, t.Any, t.Any]) -> list[Bound]:
    """Return the thresholds of a branch, and note what is wrong with them."""
    return expected_of(
        reading.parameters.result_dict,
        reading.key("result_dict"),
        reading.findings,
        reading.options,
    )
