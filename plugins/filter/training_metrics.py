# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter training_metrics."""

from __future__ import annotations

DOCUMENTATION = r"""
name: training_metrics
short_description: The measurements of each training step in a log
version_added: 1.0.0
author:
  - The trainops.cluster maintainers (@trainops)
description:
  - Reads a training log that is on the controller, as the module of this name does on a node.
  - A log without any step gives a warning; if another framework wrote the log, the warning says which.
options:
  _input:
    description: Path of the log, or its text if that has more than one line.
    type: str
    required: true
  framework:
    description: The framework that wrote the log.
    type: str
    default: megatron
positional: framework
seealso:
  - plugin: trainops.cluster.training_metrics
    plugin_type: module
  - plugin: trainops.cluster.to_dataframe
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show the highest loss
  ansible.builtin.debug:
    msg: "{{ records | selectattr('metric', 'eq', 'loss') | map(attribute='value') | map('float') | max }}"
  vars:
    records: "{{ 'train.log' | trainops.cluster.training_metrics }}"
"""

RETURN = r"""
_value:
  description: A record for each step and metric, in the form that P(trainops.cluster.training_metrics#module) returns.
  type: list
  elements: dict
  sample:
    - {attempt: 1, step: 7, metric: loss, value: 2.71, unit: "1"}
"""

import os
import tempfile
import typing as t

from ansible.errors import AnsibleFilterError
from ansible.utils.display import Display

if t.TYPE_CHECKING:
    from collections.abc import Callable


def training_metrics(log: t.Any, framework: str | None = None) -> list[dict[str, t.Any]]:
    """Return the records of a log, given as its path or its text."""
    text = str(log)
    if "\n" not in text:
        path = os.path.expanduser(text)
        if not os.path.isfile(path):
            raise AnsibleFilterError(f"there is no log {path}; give the path of a file, or the lines of a log")
        return _records(path, framework)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", errors="surrogateescape", prefix="log-") as stream:
        stream.write(text)
        stream.flush()
        return _records(stream.name, framework)


def _records(path: str, framework: str | None) -> list[dict[str, t.Any]]:
    # Whoever uses any filter of this collection loads this file.
    from ..module_utils.logs.grammars.known import GRAMMARS
    from ..module_utils.logs.reader import read_log
    from ..module_utils.logs.results import measurements_of, no_steps

    framework = next(iter(GRAMMARS)) if framework is None else framework
    try:
        blocks = read_log(path, framework, final=True, failures="none")["rows"].blocks()
    except OSError as error:
        raise AnsibleFilterError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from None
    if not blocks:
        Display().warning(f"{no_steps(path, framework)}.")
    return measurements_of(blocks, "records")


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., t.Any]]:
        """Return the filter by its name."""
        return {"training_metrics": training_metrics}
