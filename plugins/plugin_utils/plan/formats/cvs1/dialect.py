# SPDX-License-Identifier: GPL-3.0-or-later
"""What distinguishes the files in this format by the trainer that they are for."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable
from dataclasses import dataclass

from ...config.findings import Findings
from ...job.options import ConfigOptions
from ..face import Sections


class CvsFile(t.NamedTuple):
    """A file read without its documentation keys, and its dialect."""

    data: dict[str, t.Any]
    dialect: Dialect


def _same(values: dict[str, t.Any]) -> dict[str, t.Any]:
    return values


def _as_it_is(
    config: CvsFile, _options: ConfigOptions, _node_count: int, findings: Findings
) -> tuple[CvsFile, Findings]:
    return config, findings


@dataclass(frozen=True)
class Dialect:
    """The files for one trainer.

    ``name`` is the name of their schema, ``trainer`` the trainer. ``telling`` matches keys that only these files have,
    in their text, so that it works even if the JSON is broken. ``master_key`` is the key of ``config`` with the address
    at which the nodes of a job meet. ``sections`` returns the models of the sections, loaded only on demand.
    ``of_cell`` returns the values of a sweep block's cell by training config key, ``handed`` a file in the form that
    the trainer takes, like `Format.handed`. ``certain`` tells whether these keys rule out every other trainer.
    """

    name: str
    trainer: str
    telling: re.Pattern[str]
    master_key: str
    sections: Callable[[], Sections]
    of_cell: Callable[[dict[str, t.Any]], dict[str, t.Any]] = _same
    handed: Callable[[CvsFile, ConfigOptions, int, Findings], tuple[t.Any, Findings]] = _as_it_is
    certain: bool = False
