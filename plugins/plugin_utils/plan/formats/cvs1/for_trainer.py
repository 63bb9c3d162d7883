# SPDX-License-Identifier: GPL-3.0-or-later
"""A CVS config as far as a trainer that CVS was not made for needs it: its section ``config``, and one branch."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Set

from ...config.findings import Findings
from ...config.model import refuse_unknown_keys, section, typed
from ...job.job import Branch
from ...job.options import ConfigOptions
from ..face import Sections
from .branch import choose_branch, mode_of
from .checks import check_rdma_devices, check_run, unused_in_run
from .reading import CvsReading
from .run_table import MULTI_NODE_KEYS, WITHOUT_EFFECT, check_node_count


class ForTrainer(t.NamedTuple):
    """The section ``config`` with its mode, and the branch with its typed parameters; both None if there is none.

    ``faults`` counts the faults reported before the branch.
    """

    reading: CvsReading[t.Any, ConfigOptions]
    branch: Branch | None
    parameters: t.Any
    faults: int


def for_trainer(
    data: Mapping[str, t.Any],
    options: ConfigOptions,
    node_count: int,
    findings: Findings,
    models: Sections,
    unused: Set[str],
) -> ForTrainer:
    """Return the parts of a config for another trainer, and report every fault in them.

    ``unused`` are known keys that the trainer does not read, in addition to those that none reads.
    """
    mode = mode_of(data, options.training_mode, node_count)
    kinds: dict[str, t.Any] = {
        "unused": {*WITHOUT_EFFECT, *unused, *unused_in_run(data, mode, options, MULTI_NODE_KEYS)},
        "lower_unknown": options.lower_unknown,
    }
    refuse_unknown_keys(data, ("config", "model_params"), "", findings, lower_to_warning=kinds["lower_unknown"])
    given = section(data, "config", "config", findings)
    own = findings if given is not None else Findings()
    config = typed(models.config, given or {}, "config", own, **kinds)
    reading = CvsReading(config, mode, (), options, own, given or {})
    check_run(reading, data.get("model_params"), WITHOUT_EFFECT, MULTI_NODE_KEYS, "master_address")
    check_node_count(reading, node_count, own)
    if reading.multi_node:
        check_rdma_devices(reading, "nccl_ib_hca_list", "nccl_ib_hca")
    branch = choose_branch(data, mode, options.selection, findings)
    faults = len(findings.faults)
    parameters = branch and typed(models.branch, branch.values, branch.path, findings, **kinds)
    return ForTrainer(reading, branch, parameters, faults)
